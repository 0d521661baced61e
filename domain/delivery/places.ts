/**
 * Bounds what deliveries to slow receivers take of a worker: each waits for its answer in a slot of the
 * worker, for up to the timeout of an attempt, and nothing else gets the slot meanwhile.
 */
import { holderOf } from '../auth/ownership.ts';
import type { DeliveryTarget } from './target.ts';

/** Of 200 slots. Of one user or team, and of one receiver, whoever sends to it. */
const MAX_TOGETHER = 25;
/** A target gives its place to others after this time. */
const TURN_MS = 10_000;
/** How long a target without a place waits: by chance, so that all get one sometime. */
const WAIT_MS = { least: 500, most: 3_000 };

/** The place of one target, from `take` to `leave`. */
export interface DeliveryPlace {
  /** @returns false: there is none now */
  take(target: Pick<DeliveryTarget, 'owner_id' | 'team_id' | 'url'>): boolean;
  /** Whether another target waits for it, and this one has had it for long enough. */
  isOver(): boolean;
  leave(): void;
}

/** Of one process. */
export class DeliveryPlaces {
  readonly #places = new Map<string, Set<{ isWanted: boolean }>>();

  place(): DeliveryPlace {
    const mine = { isWanted: false };
    let keys: string[] = [];
    let sinceMs = 0;
    return {
      take: (target) => {
        if (keys.length > 0) return true;
        const wanted = [`holder ${holderOf(target)}`, `receiver ${new URL(target.url).host}`];
        const full = wanted.filter((key) => (this.#places.get(key)?.size ?? 0) >= MAX_TOGETHER);
        for (const key of full) this.#places.get(key)?.forEach((other) => (other.isWanted = true));
        if (full.length > 0) return false;
        for (const key of wanted) this.#places.set(key, (this.#places.get(key) ?? new Set()).add(mine));
        [keys, sinceMs] = [wanted, performance.now()];
        return true;
      },
      isOver: () => mine.isWanted && performance.now() - sinceMs > TURN_MS,
      leave: () => {
        for (const key of keys.splice(0)) {
          const together = this.#places.get(key);
          together?.delete(mine);
          if (together?.size === 0) this.#places.delete(key);
        }
      },
    };
  }
}

/** Milliseconds after which a target without a place asks again. */
export function placeWaitMs(random = Math.random()): number {
  return Math.round(WAIT_MS.least + (WAIT_MS.most - WAIT_MS.least) * random);
}
