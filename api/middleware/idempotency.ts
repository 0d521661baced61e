/**
 * `Idempotency-Key`: stores the first response in the transaction of the change itself, so the two cannot
 * diverge.
 */
import type { Context } from 'koa';

import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { badRequest, conflict, invalid } from '../../domain/errors.ts';
import type { EndpointResponse } from '../endpoint.ts';

export interface IdempotencyScope {
  userId: string;
  method: string;
  path: string;
  key: string;
  fingerprint: string;
}

/** Null without the header. @throws 400 for a value that cannot be a key */
export function idempotencyKeyOf(ctx: Context): string | null {
  const key = ctx.get('idempotency-key');
  if (ctx.req.headers['idempotency-key'] === undefined) {
    return null;
  }
  if (!/^(?=.{1,255}$)[!-~](?:[ -~]*[!-~])?$/.test(key)) {
    throw badRequest(
      'invalid_idempotency_key',
      'An Idempotency-Key must have 1 to 255 printable ASCII characters.',
    );
  }
  return key;
}

/** Scope of the request's key; null without the header. Paths below `/api/v1` and `/` count as the same. */
export function idempotencyScope(
  ctx: Context,
  actor: Actor,
  body: Buffer,
  hash: (text: string) => string,
): IdempotencyScope | null {
  const key = idempotencyKeyOf(ctx);
  if (key === null) return null;
  const path = ctx.path.replace(/^\/api\/v1(?=\/)/, '').replace(/\/+$/, '');
  return {
    userId: actor.id,
    method: ctx.method,
    path,
    key,
    fingerprint: hash(`${ctx.querystring}\n${canonical(body)}`),
  };
}

/** Canonical text of a body: equivalent JSON gives equal text. */
function canonical(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    return JSON.stringify(sortKeys(JSON.parse(text || '{}')));
  } catch {
    // Not JSON: compare the raw bytes.
    return text;
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sortKeys);
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, entry]) => [key, sortKeys(entry)]),
    );
  }
  return value;
}

/**
 * Claims the key for this transaction.
 * @returns the stored response if there is one
 * @throws 409 while another request holds the key; 422 for a different body
 */
export async function claimKey(em: EntityManager, scope: IdempotencyScope): Promise<EndpointResponse | null> {
  const { userId, method, path, key } = scope;
  const [lock] = await em.execute<{ taken: boolean }[]>(
    'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as taken',
    [`idempotency ${userId} ${method} ${path} ${key}`],
  );
  if (!lock?.taken) {
    throw conflict(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still in progress.',
    );
  }
  const [record] = await em.execute<
    { fingerprint: string; status: number; headers: Record<string, string>; body: string | null }[]
  >(
    `select fingerprint, status, headers, body from idempotency_record
      where user_id = ? and method = ? and path = ? and key = ? and expires_at > now()`,
    [userId, method, path, key],
  );
  if (!record) {
    return null;
  }
  if (record.fingerprint !== scope.fingerprint) {
    throw invalid([], 'This Idempotency-Key was used with another body.', 'idempotency_key_reused');
  }
  return {
    status: record.status,
    headers: { ...record.headers, 'Idempotency-Replayed': 'true' },
    ...(record.body === null ? {} : { body: JSON.parse(record.body) }),
  };
}

/** Stores a 2xx response for 24 h, in the same transaction as the change. */
export async function storeAnswer(
  em: EntityManager,
  scope: IdempotencyScope,
  response: EndpointResponse,
): Promise<void> {
  if (response.status < 200 || response.status > 299) {
    return;
  }
  await em.execute(
    `insert into idempotency_record
       (user_id, method, path, key, fingerprint, status, headers, body, expires_at)
     values (?, ?, ?, ?, ?, ?, ?::jsonb, ?, now() + interval '24 hours')
     on conflict (user_id, method, path, key) do update set
       fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
       body = excluded.body, expires_at = excluded.expires_at`,
    [
      scope.userId,
      scope.method,
      scope.path,
      scope.key,
      scope.fingerprint,
      response.status,
      JSON.stringify(response.headers ?? {}),
      response.body === undefined ? null : JSON.stringify(response.body),
    ],
  );
}
