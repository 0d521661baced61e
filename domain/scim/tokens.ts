/** Bearer tokens with which an issuer provisions users and groups. Long and random, so a hash is enough. */
import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import { counted } from '../../contracts/counted.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { conflict, invalid, notFound } from '../errors.ts';

const PREFIX = 'cadenza_scim_';
const MAX_TOKENS = 10;
const DAY_MS = 86_400_000;

export interface ScimToken {
  id: string;
  name: string;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
}

/** Oldest first; without a page all. */
export async function listScimTokens(
  em: EntityManager,
  issuerId: string,
  { after, limit }: KeysetPage = { limit: MAX_TOKENS },
): Promise<ScimToken[]> {
  const rows = await em.execute<Record<keyof ScimToken, string>[]>(
    `select id, name, created_at, expires_at, last_used_at from scim_token
      where issuer_id = ? and id > ? order by id limit ?`,
    [issuerId, after ?? '00000000-0000-0000-0000-000000000000', limit],
  );
  return rows.map(tokenOf);
}

/** The token is only in this answer. @throws 409, 422 */
export async function createScimToken(
  em: EntityManager,
  args: { issuerId: string; userId: string; name: string; expiresAt?: Date | undefined; maxDays: number },
): Promise<{ record: ScimToken; token: string }> {
  const latest = new Date(Date.now() + args.maxDays * DAY_MS);
  const expiresAt = args.expiresAt ?? latest;
  if (expiresAt.getTime() <= Date.now() || expiresAt > latest) {
    const message = `must be a time within the next ${counted(args.maxDays, 'day')}`;
    throw invalid([{ pointer: '/expires_at', code: 'out_of_range', message }]);
  }
  await em.execute('delete from scim_token where issuer_id = ? and expires_at < now()', [args.issuerId]);
  if ((await listScimTokens(em, args.issuerId)).length >= MAX_TOKENS)
    throw conflict('limit_reached', `An issuer has at most ${MAX_TOKENS} SCIM tokens.`);
  const token = PREFIX + randomBytes(32).toString('base64url');
  const [row] = await em.execute<Record<keyof ScimToken, string>[]>(
    `insert into scim_token (id, issuer_id, name, token_hash, created_by, expires_at)
     values (?, ?, ?, ?, ?, ?) returning id, name, created_at, expires_at, last_used_at`,
    [uuidv7(), args.issuerId, args.name, hashOf(token), args.userId, expiresAt],
  );
  if (!row) throw new Error('no token was inserted');
  return { record: tokenOf(row), token };
}

/** It stops working at once. @throws 404 */
export async function deleteScimToken(em: EntityManager, issuerId: string, id: string): Promise<void> {
  const deleted = await em.execute<object[]>(
    'delete from scim_token where id = ? and issuer_id = ? returning 1',
    [id, issuerId],
  );
  if (deleted.length === 0) throw notFound('SCIM token');
}

/** The issuer that a token provisions, with the token's id; null for an unknown or expired token. */
export async function issuerOfToken(
  em: EntityManager,
  token: string,
): Promise<{ issuerId: string; tokenId: string } | null> {
  if (!token.startsWith(PREFIX) || token.length > 100) return null;
  const [row] = await em.execute<{ id: string; issuer_id: string; due: boolean }[]>(
    `select t.id, t.issuer_id, coalesce(t.last_used_at < now() - interval '1 minute', true) as due
       from scim_token t join identity_issuer r on r.id = t.issuer_id and r.enabled
      where t.token_hash = ? and t.expires_at > now()`,
    [hashOf(token)],
  );
  if (row?.due) await em.execute('update scim_token set last_used_at = now() where id = ?', [row.id]);
  return row === undefined ? null : { issuerId: row.issuer_id, tokenId: row.id };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function tokenOf(row: Record<keyof ScimToken, string>): ScimToken {
  return {
    id: row.id,
    name: row.name,
    created_at: new Date(row.created_at),
    expires_at: new Date(row.expires_at),
    last_used_at: row.last_used_at === null ? null : new Date(row.last_used_at),
  };
}
