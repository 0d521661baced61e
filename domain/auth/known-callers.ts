/**
 * Callers of this process's last second, so that a read does not check signature and row of a token that was
 * checked just before. Only reads may use it: a change always reads the caller's row.
 */
import { NotifiedCache } from '../notified-cache.ts';
import type { Actor } from './actor.ts';
import type { ExpiringClaims } from './access-token.ts';

export interface Caller {
  actor: Actor;
  claims: ExpiringClaims;
}

/** The longest that a read is answered to somebody whose rights have changed, if no notification arrives. */
const KEPT_MS = 1_000;
const MAX_CALLERS = 10_000;

export class KnownCallers {
  readonly #known: NotifiedCache<Caller>;

  /** `isNotified`: whether this process hears of changes. While it does not, nothing is kept. */
  constructor(isNotified: () => boolean) {
    this.#known = new NotifiedCache({ isNotified, keptMs: KEPT_MS, most: MAX_CALLERS });
  }

  /** The caller with this token, or what `identify` finds; its failures are not kept. */
  async find<Failure>(token: string, identify: () => Promise<Caller | Failure>): Promise<Caller | Failure> {
    const kept = this.#known.get(token);
    if (kept !== undefined && kept.claims.exp * 1_000 > Date.now()) return kept;
    const keep = this.#known.reading();
    const found = await identify();
    if (isCaller(found)) keep(token, { actor: found.actor, claims: found.claims });
    return found;
  }

  /** Whenever somebody's rights may have changed. */
  clear(): void {
    this.#known.clear();
  }
}

function isCaller(found: unknown): found is Caller {
  return typeof found === 'object' && found !== null;
}
