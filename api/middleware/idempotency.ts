/**
 * `Idempotency-Key`: stores the first response in the transaction of the change itself, so the two cannot
 * diverge.
 */
import type { Context } from 'koa';

import { canonicalJson } from '../../contracts/canonical-json.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared, type Value } from '../../db/prepared.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { badRequest, conflict, invalid } from '../../domain/errors.ts';
import type { KeyedAnswer } from '../../domain/hitl/decide-at-once.ts';
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
  const path = withoutEnd(ctx.path.replace(/^\/api\/v1(?=\/)/, ''), '/');
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
    return canonicalJson(JSON.parse(text || '{}'));
  } catch {
    // Not JSON: compare the raw bytes.
    return text;
  }
}

type Claim = { taken: boolean; body: string | null } & (
  | { fingerprint: string; status: number; headers: Record<string, string> }
  | { fingerprint: null; status: null; headers: null }
);

const CLAIM = new Prepared(
  'select taken, fingerprint, status, headers, body from claim_key(?::uuid, ?::text, ?::text, ?::text)',
);
const KEEP = new Prepared(
  'select keep_answer(?::uuid, ?::text, ?::text, ?::text, ?::text, ?::int, ?::jsonb, ?::text)',
);

/**
 * Claims the key for this transaction.
 * @returns the stored response if there is one
 * @throws 409 while another request holds the key; 422 for a different body
 */
export async function claimKey(em: EntityManager, scope: IdempotencyScope): Promise<EndpointResponse | null> {
  const [claim] = await CLAIM.execute<Claim>(em, valuesOf(scope));
  if (!claim?.taken) {
    throw conflict(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still in progress.',
    );
  }
  const { fingerprint, status, headers, body } = claim;
  if (fingerprint === null) return null;
  if (fingerprint !== scope.fingerprint)
    throw invalid([], 'This Idempotency-Key was used with another body.', 'idempotency_key_reused');
  return {
    status,
    headers: { ...headers, 'Idempotency-Replayed': 'true' },
    ...(body === null ? {} : { body: JSON.parse(body) }),
  };
}

/** Stores a 2xx response for 24 h, as the last statement of the change's transaction, and commits both. */
export async function storeAnswer(
  em: EntityManager,
  scope: IdempotencyScope,
  response: EndpointResponse,
): Promise<void> {
  if (response.status < 200 || response.status > 299) {
    return;
  }
  await KEEP.executeAndCommit(em, [
    ...valuesOf(scope),
    scope.fingerprint,
    response.status,
    JSON.stringify(response.headers ?? {}),
    response.body === undefined ? null : JSON.stringify(response.body),
  ]);
}

/** The same for a statement that claims the key and makes the change, too. */
export function keyedAnswer(scope: IdempotencyScope, response: EndpointResponse): KeyedAnswer {
  const { userId: user_id, method, path, key, fingerprint } = scope;
  const { status, headers = {}, body } = response;
  return { user_id, method, path, key, fingerprint, status, headers, body };
}

function valuesOf({ userId, method, path, key }: IdempotencyScope): Value[] {
  return [userId, method, path, key];
}
