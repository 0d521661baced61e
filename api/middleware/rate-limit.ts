import type { Middleware } from 'koa';

import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';

/** So many requests a user and minute, counted in PostgreSQL for all copies of the API. Comes after authentication. */
export function rateLimitMiddleware(fork: () => EntityManager, perMinute: number): Middleware {
  return async (ctx, next) => {
    const actor: Actor = ctx.state['actor'];
    ctx.set(await countRequest(fork, actor, perMinute));
    await next();
  };
}

/** Counts one request; gives the headers that say what is left. 0 a minute: no limit. @throws 429 */
export async function countRequest(fork: () => EntityManager, actor: Actor, perMinute: number): Promise<Record<string, string>> {
  if (actor === anonymous || perMinute === 0) return {};
  const [row] = await fork().execute<{ requests: number; seconds: number }[]>(
    `insert into request_count (user_id, minute, requests) values (?, date_trunc('minute', clock_timestamp()), 1)
     on conflict (user_id, minute) do update set requests = request_count.requests + 1
     returning requests, ceil(60 - extract(second from clock_timestamp()))::int as seconds`,
    [actor.id],
  );
  const { requests = 0, seconds = 60 } = row ?? {};
  const headers = {
    'RateLimit-Policy': `"user";q=${perMinute};w=60`,
    RateLimit: `"user";r=${Math.max(perMinute - requests, 0)};t=${seconds}`,
  };
  if (requests > perMinute) {
    throw new AppError('too_many_requests', 'rate_limited', `More than ${perMinute} requests in this minute.`, {
      headers: { ...headers, 'Retry-After': String(seconds) },
    });
  }
  return headers;
}
