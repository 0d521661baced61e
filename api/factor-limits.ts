/**
 * Tells the other copies of the API which roles need a second factor here (domain/auth/factor-roles.ts), and
 * limits what is open already. What waits for a role that no copy names any more has its rights again.
 */
import { v7 as uuidv7 } from 'uuid';

import type { Logger } from '../config/logger.ts';
import type { Role } from '../contracts/roles.ts';
import type { EntityManager } from '../db/orm.ts';
import { factorRoles, noteSetting, withdrawSetting } from '../domain/auth/factor-roles.ts';
import { limitOpenSessions } from '../domain/auth/second-factor.ts';
import { settlePrograms } from '../domain/auth/waiting-programs.ts';

/** A small part of the time for which the setting counts. Longer than any statement of a request. */
const RENEW_MS = 30_000;
/** How often everything is looked at, though no setting has changed. */
const PASS_MS = 10 * 60_000;

export interface FactorLimitsOptions {
  fork: () => EntityManager;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** SECOND_FACTOR_ROLES of this copy. */
  roles: readonly Role[];
}

export class FactorLimits {
  readonly #options: FactorLimitsOptions;
  readonly #copyId = uuidv7();
  /** The roles of all copies at the last renewal; null if that has failed. */
  #known: string | null = null;
  #passesDue = 0;
  #passedMs = 0;
  #renewal: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(options: FactorLimitsOptions) {
    this.#options = options;
  }

  /** Resolves when what was open before is limited. If that has failed, the next renewal tries again. */
  async begin(): Promise<void> {
    await this.renew();
    if (!this.#isStopped) this.#timer = setInterval(() => void this.renew(), RENEW_MS);
  }

  /** Failures are logged. */
  renew(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => (this.#renewal = null));
    return this.#renewal;
  }

  /** Soon the setting of this copy counts no more on others. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#renewal;
    const { fork, logger } = this.#options;
    await withdrawSetting(fork(), this.#copyId).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot withdraw the roles that need a second factor'),
    );
  }

  async #renew(): Promise<void> {
    const { fork, logger, roles } = this.#options;
    try {
      const hasCounted = await noteSetting(fork(), this.#copyId, roles);
      const known = (await factorRoles(fork(), roles)).join();
      // Twice: what others had begun before they could see the change has ended by the second time.
      if (known !== this.#known || !hasCounted) this.#passesDue = 2;
      else if (performance.now() - this.#passedMs >= PASS_MS) this.#passesDue = Math.max(this.#passesDue, 1);
      this.#known = known;
      if (this.#passesDue === 0) return;
      await this.#limit();
      this.#passesDue -= 1;
      this.#passedMs = performance.now();
    } catch (error) {
      this.#known = null;
      logger.warn({ err: error }, 'cannot limit what has shown no second factor');
    }
  }

  async #limit(): Promise<void> {
    const { fork, logger, roles } = this.#options;
    const sessions = this.#known === '' ? 0 : await limitOpenSessions(fork(), roles);
    if (sessions > 0) logger.info({ sessions }, 'sessions wait for a second factor');
    const programs = await settlePrograms(fork(), 'of everybody', roles);
    if (programs > 0)
      logger.info(
        { programs },
        'access tokens, machine clients and tokens of workers wait for a second factor of their users',
      );
  }
}
