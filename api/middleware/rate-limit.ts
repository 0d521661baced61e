import type { Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { addressKey } from '../../domain/auth/throttle.ts';
import { AppError } from '../../domain/errors.ts';

/**
 * Limits requests per user and minute, counted in PostgreSQL for all API processes. Runs after
 * authentication.
 */
export function rateLimitMiddleware(fork: () => EntityManager, perMinute: number): Middleware {
  return async (ctx, next) => {
    const actor: Actor = ctx.state['actor'];
    ctx.set(await countRequest(fork, actor, perMinute));
    await next();
  };
}

/**
 * Counts one request. @returns the RateLimit headers; none if `perMinute` is 0, which means no limit. @throws
 * 429
 */
export async function countRequest(
  fork: () => EntityManager,
  actor: Actor,
  perMinute: number,
): Promise<Record<string, string>> {
  if (actor === anonymous || perMinute === 0) return {};
  const [row] = await fork().execute<{ requests: number; seconds: number }[]>(
    `insert into request_count (user_id, minute, requests)
     values (?, date_trunc('minute', clock_timestamp()), 1)
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
    throw new AppError(
      'too_many_requests',
      'rate_limited',
      `More than ${perMinute} requests in this minute.`,
      {
        headers: { ...headers, 'Retry-After': String(seconds) },
      },
    );
  }
  return headers;
}

export interface AddressLimit {
  /** Counts one request without a valid token. @returns the RateLimit headers. @throws 429 */
  count(ip: string): Promise<Record<string, string>>;
}

/** Maximum number of blocked addresses that this process remembers. */
const MAX_BLOCKED = 10_000;

/**
 * Limits requests without a valid token per address and minute, counted in PostgreSQL for all API processes.
 * A process that has seen an address exceed the limit rejects it without a query, so a flood costs the
 * database no more than the limit. 0 means no limit. While the database is unavailable nothing is counted:
 * requests that need it fail anyway.
 */
export function createAddressLimit({
  fork,
  perMinute,
  logger,
}: {
  fork: () => EntityManager;
  perMinute: number;
  logger: Logger;
}): AddressLimit {
  const blockedUntilMs = new Map<string, number>();
  const reject = (seconds: number): never => {
    throw new AppError(
      'too_many_requests',
      'rate_limited',
      `More than ${perMinute} requests without a token in this minute.`,
      {
        headers: { ...addressHeaders(perMinute, 0, seconds), 'Retry-After': String(seconds) },
      },
    );
  };
  return {
    async count(ip) {
      if (perMinute === 0) return {};
      const address = addressKey(ip);
      const blockedMs = (blockedUntilMs.get(address) ?? 0) - Date.now();
      if (blockedMs > 0) return reject(Math.ceil(blockedMs / 1_000));
      const row = await countAddress(fork(), address).catch((error: unknown) => {
        logger.warn({ err: error }, 'cannot count a request without a token');
        return null;
      });
      if (row === null) return {};
      if (row.requests <= perMinute) return addressHeaders(perMinute, perMinute - row.requests, row.seconds);
      if (blockedUntilMs.size >= MAX_BLOCKED) blockedUntilMs.clear();
      blockedUntilMs.set(address, Date.now() + row.seconds * 1_000);
      return reject(row.seconds);
    },
  };
}

function addressHeaders(perMinute: number, left: number, seconds: number): Record<string, string> {
  return {
    'RateLimit-Policy': `"address";q=${perMinute};w=60`,
    RateLimit: `"address";r=${left};t=${seconds}`,
  };
}

async function countAddress(
  em: EntityManager,
  address: string,
): Promise<{ requests: number; seconds: number }> {
  const [row] = await em.execute<{ requests: number; seconds: number }[]>(
    `insert into address_request_count (address, minute, requests)
     values (?, date_trunc('minute', clock_timestamp()), 1)
     on conflict (address, minute) do update set requests = address_request_count.requests + 1
     returning requests, greatest(ceil(60 - extract(second from clock_timestamp())), 1)::int as seconds`,
    [address],
  );
  return row ?? { requests: 0, seconds: 60 };
}
