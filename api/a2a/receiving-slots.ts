/**
 * Limits how many messages of one user are received at once, so that a user's share of memory is bounded.
 * Further messages wait unread.
 */

const SLOTS = 8;

export interface ReceivingSlots {
  /**
   * Calls `ready` when a slot is free.
   * @returns a function that gives up the slot, or the place in the queue. It is idempotent.
   */
  take(userId: string, ready: () => void): () => void;
}

interface User {
  taken: number;
  waiting: Set<() => void>;
}

export function createReceivingSlots(): ReceivingSlots {
  const users = new Map<string, User>();
  return {
    take(userId, ready) {
      const user = users.get(userId) ?? { taken: 0, waiting: new Set() };
      users.set(userId, user);
      let state: 'waiting' | 'taken' | 'over' = 'waiting';
      const start = (): void => {
        user.waiting.delete(start);
        user.taken += 1;
        state = 'taken';
        ready();
      };
      if (user.taken < SLOTS) start();
      else user.waiting.add(start);
      return () => {
        if (state === 'over') return;
        if (state === 'taken') user.taken -= 1;
        user.waiting.delete(start);
        state = 'over';
        const [next] = user.waiting;
        if (next && user.taken < SLOTS) next();
        else if (user.taken === 0) users.delete(userId);
      };
    },
  };
}
