/**
 * Bounds what deliveries to slow receivers take of a worker: each waits for its answer in a slot of the
 * worker, for up to the timeout of an attempt, and nothing else gets the slot meanwhile.
 */
import { holderOf } from '../auth/ownership.ts';
import type { DeliveryTarget } from './target.ts';

/** Of 200 slots. Of one user or team, and of one receiver, whoever sends to it. */
const MAX_TOGETHER = 25;
/** Of the 8 slots of a worker that is short of memory. */
const MAX_TOGETHER_WHEN_SHORT = 2;
/** A target gives its place to others after this time. */
const TURN_MS = 10_000;
/** How long a target without a place waits: by chance, so that all get one sometime. */
const WAIT_MS = { least: 500, most: 3_000 };

/** The place of one target, from `take` to `leave`. */
export interface DeliveryPlace {
  /** @returns false: there is none now */
  take(target: Pick<DeliveryTarget, 'owner_id' | 'team_id' | 'url'>): boolean;
  /** Whether others want it, or it is one too many by now, and this target has had it for long enough. */
  isOver(): boolean;
  leave(): void;
}

/** Of one process. */
export class DeliveryPlaces {
  readonly #places = new Map<string, Set<{ isWanted: boolean }>>();
  readonly #isShortOfMemory: () => boolean;

  /** @param isShortOfMemory whether the worker grants only a few slots now */
  constructor(isShortOfMemory: () => boolean = () => false) {
    this.#isShortOfMemory = isShortOfMemory;
  }

  place(): DeliveryPlace {
    const mine = { isWanted: false };
    let keys: string[] = [];
    let sinceMs = 0;
    return {
      take: (target) => {
        if (keys.length > 0) return true;
        const wanted = [`holder ${holderOf(target)}`, `receiver ${new URL(target.url).host}`];
        const full = wanted.filter((key) => this.#count(key) >= this.#most());
        for (const key of full) this.#places.get(key)?.forEach((other) => (other.isWanted = true));
        if (full.length > 0) return false;
        for (const key of wanted) this.#places.set(key, (this.#places.get(key) ?? new Set()).add(mine));
        [keys, sinceMs] = [wanted, performance.now()];
        return true;
      },
      isOver: () => {
        // Without slots for others, none of these asks.
        const isTooMuch = keys.some((key) => this.#count(key) > this.#most());
        return (mine.isWanted || isTooMuch) && performance.now() - sinceMs > TURN_MS;
      },
      leave: () => {
        for (const key of keys.splice(0)) {
          const together = this.#places.get(key);
          together?.delete(mine);
          if (together?.size === 0) this.#places.delete(key);
        }
      },
    };
  }

  #count(key: string): number {
    return this.#places.get(key)?.size ?? 0;
  }

  #most(): number {
    return this.#isShortOfMemory() ? MAX_TOGETHER_WHEN_SHORT : MAX_TOGETHER;
  }
}

/** Milliseconds after which a target without a place asks again. */
export function placeWaitMs(random = Math.random()): number {
  return Math.round(WAIT_MS.least + (WAIT_MS.most - WAIT_MS.least) * random);
}
