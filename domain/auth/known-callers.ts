/**
 * Callers of this process's last second, so that a read does not check signature and row of a token that was
 * checked just before. Only reads may use it: a change always reads the caller's row.
 */
import type { Actor } from './actor.ts';
import type { ExpiringClaims } from './access-token.ts';

export interface Caller {
  actor: Actor;
  claims: ExpiringClaims;
}

interface Kept extends Caller {
  untilMs: number;
}

/** The longest that a read is answered to somebody whose rights have changed, if no notification arrives. */
const KEPT_MS = 1_000;
const MAX_CALLERS = 10_000;

export class KnownCallers {
  readonly #isNotified: () => boolean;
  #known = new Map<string, Kept>();
  #generation = 0;

  /** `isNotified`: whether this process hears of changes. While it does not, nothing is kept. */
  constructor(isNotified: () => boolean) {
    this.#isNotified = isNotified;
  }

  /** The caller with this token, or what `identify` finds; its failures are not kept. */
  async find<Failure>(token: string, identify: () => Promise<Caller | Failure>): Promise<Caller | Failure> {
    const kept = this.#known.get(token);
    if (kept !== undefined && isFresh(kept) && this.#isNotified()) return kept;
    const generation = this.#generation;
    const found = await identify();
    // What was read before a change is not kept after it.
    if (isCaller(found) && generation === this.#generation && this.#isNotified()) this.#keep(token, found);
    return found;
  }

  /** Whenever somebody's rights may have changed. */
  clear(): void {
    this.#generation++;
    this.#known.clear();
  }

  #keep(token: string, { actor, claims }: Caller): void {
    if (this.#known.size >= MAX_CALLERS) this.#known.clear();
    this.#known.set(token, { actor, claims, untilMs: performance.now() + KEPT_MS });
  }
}

/** `untilMs` does not jump when the clock is set; the token expires by the clock. */
function isFresh({ untilMs, claims }: Kept): boolean {
  return untilMs > performance.now() && claims.exp * 1_000 > Date.now();
}

function isCaller(found: unknown): found is Caller {
  return typeof found === 'object' && found !== null;
}
