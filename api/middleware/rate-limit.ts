import type { Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import type { EntityManager } from '../../db/orm.ts';
import { anonymous, type Actor } from '../../domain/auth/actor.ts';
import { addressKey } from '../../domain/auth/throttle.ts';
import { AppError } from '../../domain/errors.ts';
import { tokenIdOf, type WorkerCaller } from '../../domain/jobs/worker-tokens.ts';
import type { Endpoint } from '../endpoint.ts';
import { ProvenCredentials } from './proven-credentials.ts';

/**
 * Limits requests per user and minute, counted in PostgreSQL for all API processes. A token of an external
 * worker counts by itself. Runs after authentication.
 */
export function rateLimitMiddleware(
  fork: () => EntityManager,
  perMinute: number,
  { workerToken }: Pick<Endpoint, 'workerToken'>,
): Middleware {
  // Polls that wait must not cost the database anything, so each process counts those that it gets.
  const polls = workerToken === 'kept' ? createMinuteCounts() : null;
  return async (ctx, next) => {
    const worker: WorkerCaller | undefined = ctx.state['worker'];
    const actor: Actor = ctx.state['actor'];
    if (worker && polls) ctx.set(headersOf(polls.count(worker.holder), perMinute));
    else ctx.set(await countRequest(fork, worker ? { id: tokenIdOf(worker) } : actor, perMinute));
    await next();
  };
}

/** The most tokens that are counted at once. */
const MAX_COUNTED = 20_000;
const MINUTE_MS = 60_000;

function createMinuteCounts(): { count(key: string): Counted } {
  let minute = 0;
  const requests = new Map<string, number>();
  return {
    count(key) {
      const now = Date.now();
      if (Math.floor(now / MINUTE_MS) !== minute || requests.size >= MAX_COUNTED) requests.clear();
      minute = Math.floor(now / MINUTE_MS);
      const count = (requests.get(key) ?? 0) + 1;
      requests.set(key, count);
      return { requests: count, seconds: Math.ceil((MINUTE_MS - (now % MINUTE_MS)) / 1_000) };
    },
  };
}

/**
 * Counts one request. @returns the RateLimit headers; none if `perMinute` is 0, which means no limit. @throws
 * 429
 */
export async function countRequest(
  fork: () => EntityManager,
  actor: Pick<Actor, 'id'>,
  perMinute: number,
): Promise<Record<string, string>> {
  if (actor === anonymous || perMinute === 0) return {};
  const [row] = await fork().execute<Counted[]>(
    `insert into request_count (user_id, minute, requests)
     values (?, date_trunc('minute', clock_timestamp()), 1)
     on conflict (user_id, minute) do update set requests = request_count.requests + 1
     returning requests, ceil(60 - extract(second from clock_timestamp()))::int as seconds`,
    [actor.id],
  );
  return headersOf(row ?? { requests: 0, seconds: 60 }, perMinute);
}

/** Requests in this minute, and the seconds until the next one. */
interface Counted {
  requests: number;
  seconds: number;
}

/** @throws 429 */
function headersOf({ requests, seconds }: Counted, perMinute: number): Record<string, string> {
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
  /**
   * Before a token or a cookie is looked up. From an address that has exceeded its limit, those that were
   * valid here are, and in the rest of the minute as many others as the limit. @throws 429
   */
  admit(ip: string, credential: string): void;
  /** It was valid. */
  proved(credential: string): void;
  /** It was not, or is not any more. */
  disproved(credential: string): void;
  /** Counts one whose path is its proof, by what it proves, whatever address it comes from. As `count`. */
  countProof(proof: string): Promise<Record<string, string>>;
}

interface Blocked {
  untilMs: number;
  /** How many more credentials that this process does not know are looked up until then. */
  lookups: number;
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
  const blocked = new Map<string, Blocked>();
  const proven = new ProvenCredentials();
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
  const countBy = async (address: string): Promise<Record<string, string>> => {
    if (perMinute === 0) return {};
    const blockedMs = (blocked.get(address)?.untilMs ?? 0) - performance.now();
    if (blockedMs > 0) return reject(Math.ceil(blockedMs / 1_000));
    const row = await countAddress(fork(), address).catch((error: unknown) => {
      logger.warn({ err: error }, 'cannot count a request without a token');
      return null;
    });
    if (row === null) return {};
    if (row.requests <= perMinute) return addressHeaders(perMinute, perMinute - row.requests, row.seconds);
    if (blocked.size >= MAX_BLOCKED) blocked.clear();
    blocked.set(address, { untilMs: performance.now() + row.seconds * 1_000, lookups: perMinute });
    return reject(row.seconds);
  };
  return {
    count: (ip) => countBy(addressKey(ip)),
    admit(ip, credential) {
      const block = blocked.get(addressKey(ip));
      const blockedMs = (block?.untilMs ?? 0) - performance.now();
      if (block === undefined || blockedMs <= 0 || proven.has(credential)) return;
      if (block.lookups === 0) reject(Math.ceil(blockedMs / 1_000));
      block.lookups -= 1;
    },
    proved(credential) {
      if (perMinute > 0) proven.add(credential);
    },
    disproved: (credential) => proven.delete(credential),
    countProof: (proof) => countBy(`proof ${proof}`),
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
