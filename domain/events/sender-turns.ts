/**
 * Whose events are matched next. Senders take turns, none is worked on twice at once, and those whose last
 * batch took long leave one place to the others.
 */
import type { EntityManager } from '../../db/orm.ts';
import { FIRST } from './find-listeners.ts';

/** Below the smallest pool size: each batch holds one connection and uses others. */
export const CONCURRENT_BATCHES = 3;
const PAGE = 50;
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Events of a batch: at first, and at most if they take little time. */
const FIRST_SIZE = 100;
const MAX_SIZE = 500;
const QUICK_MS = 250;
const SLOW_MS = 1_000;
/** How long a sender is skipped after a failure, or while another process has it, unless `wake` is called. */
const PASSED_MS = 1_000;
/** Senders whose times are remembered. */
const MAX_KNOWN = 10_000;

export interface Turn {
  sender: string;
  /** How many of its events. */
  size: number;
}

/** How many events were matched; or another process matches the sender's, or it failed. */
export type Outcome = number | 'elsewhere' | 'failed';

export class SenderTurns {
  #after = FIRST;
  #wakes = 0;
  readonly #busy = new Set<string>();
  /** Another process works for them, or they failed: until when, unless something happens. */
  readonly #passed = new Map<string, number>();
  /** Slow ones whose turn came while the places for them were taken. They come first. */
  readonly #overtaken = new Set<string>();
  readonly #known = new Map<string, { size: number; isSlow: boolean }>();

  /** How often `wake` was called. */
  get wakes(): number {
    return this.#wakes;
  }

  /** Somebody matches events, here or in another process. */
  get isBusy(): boolean {
    return this.#busy.size > 0 || this.#passed.size > 0;
  }

  /** The next sender who has events; null if there is none now. Call `done` afterwards. */
  async take(em: EntityManager): Promise<Turn | null> {
    for (const sender of this.#overtaken) if (this.#mayTake(sender)) return this.#begin(sender);
    const begin = this.#after;
    // To the end, and then up to where it began.
    for (const [first, upTo] of [[begin, LAST] as const, [FIRST, begin] as const]) {
      for (let after: string | undefined = first; after !== undefined && after < upTo;) {
        const senders = await sendersWithEvents(em, after);
        const sender = senders.find((each) => each <= upTo && this.#mayTake(each));
        if (sender !== undefined) return this.#begin((this.#after = sender));
        after = senders.length < PAGE ? undefined : senders.at(-1);
      }
    }
    return null;
  }

  /** Ends a turn; `ms` is how long its batch took. */
  done({ sender, size }: Turn, { outcome, ms }: { outcome: Outcome; ms: number }): void {
    this.#busy.delete(sender);
    if (typeof outcome === 'string') this.#passed.set(sender, performance.now() + PASSED_MS);
    if (outcome === 'elsewhere' || outcome === 0) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const isSlow = ms > SLOW_MS;
    // What was too much for a transaction or a statement has to become less.
    const isLess = isSlow || outcome === 'failed';
    const next = isLess ? Math.ceil(size / 2) : ms < QUICK_MS ? Math.min(2 * size, MAX_SIZE) : size;
    this.#known.set(sender, { size: next, isSlow });
  }

  /** Call when there may be new events, or a while later. */
  wake(): void {
    this.#wakes++;
    this.#passed.clear();
  }

  /** Notes a slow one that has to wait. */
  #mayTake(sender: string): boolean {
    if (this.#busy.has(sender) || (this.#passed.get(sender) ?? 0) > performance.now()) return false;
    if (!this.#isSlow(sender)) return true;
    if ([...this.#busy].filter((each) => this.#isSlow(each)).length < CONCURRENT_BATCHES - 1) return true;
    this.#overtaken.add(sender);
    return false;
  }

  #isSlow(sender: string): boolean {
    return this.#known.get(sender)?.isSlow ?? false;
  }

  #begin(sender: string): Turn {
    this.#overtaken.delete(sender);
    this.#busy.add(sender);
    return { sender, size: this.#known.get(sender)?.size ?? FIRST_SIZE };
  }
}

async function sendersWithEvents(em: EntityManager, after: string): Promise<string[]> {
  const rows = await em.execute<{ owner_id: string }[]>(
    `with recursive sender as (
       (select owner_id from inbound_event where matched_at is null and owner_id > ?
         order by owner_id limit 1)
       union all
       select next.owner_id from sender cross join lateral (
         select i.owner_id from inbound_event i
          where i.matched_at is null and i.owner_id > sender.owner_id order by i.owner_id limit 1) next)
     select owner_id from sender limit ?`,
    [after, PAGE],
  );
  return rows.map(({ owner_id }) => owner_id);
}
