/** Writes refused actions (403) to the audit log: their own transaction was rolled back, or never began. */
import type { Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { EndpointTrail } from '../audit-trail.ts';
import type { Endpoint } from '../endpoint.ts';

/** Of one user, in this process; what is above is only in the server's log. */
const MAX_PER_MINUTE = 60;
const MAX_USERS = 10_000;

/** Counts refusals by user. */
export class RefusalCounts {
  #minute = 0;
  #counts = new Map<string, number>();

  /** Whether one more of this user's refusals is written. */
  take(userId: string): boolean {
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute || this.#counts.size >= MAX_USERS) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(userId) ?? 0) + 1;
    this.#counts.set(userId, count);
    return count <= MAX_PER_MINUTE;
  }
}

export function auditRefusals(
  { fork, logger, refusals }: { fork: () => EntityManager; logger: Logger; refusals: RefusalCounts },
  endpoint: Endpoint,
): Middleware {
  if (endpoint.method === 'GET' && endpoint.role !== 'admin') return (_ctx, next) => next();
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const actor: Actor = ctx.state['actor'] ?? anonymous;
      const isRefusal = error instanceof AppError && error.kind === 'forbidden' && actor !== anonymous;
      if (isRefusal && refusals.take(actor.id)) {
        await new EndpointTrail(endpoint, ctx)
          .write(fork(), { outcome: 'refused', data: { code: error.code } })
          .catch((failure: unknown) =>
            logger.warn({ err: failure }, 'cannot write a refusal to the audit log'),
          );
      }
      throw error;
    }
  };
}
