/** Sessions, and the refresh tokens that carry them on. Tokens are kept as hashes only. */
import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import type { Role } from './actor.ts';

/** A session ends when it is not refreshed for so long. */
const sessionDays = 30;

export interface Session {
  sid: string;
  userId: string;
  epoch: number;
  roles: Role[];
  refreshToken: string;
}

export async function openSession(em: EntityManager, user: { id: string; token_epoch: number; roles: Role[] }): Promise<Session> {
  const sid = uuidv7();
  await em.execute(`insert into auth_session (id, user_id, expires_at) values (?, ?, now() + make_interval(days => ?))`, [sid, user.id, sessionDays]);
  return { sid, userId: user.id, epoch: user.token_epoch, roles: user.roles, refreshToken: await addRefreshToken(em, sid) };
}

/**
 * Trades a refresh token for the next one; null if it is not good. A token that was used before ends its whole session:
 * either its owner or a thief holds a newer one. Commit the transaction in both cases.
 */
export async function rotateSession(em: EntityManager, refreshToken: string): Promise<Session | null> {
  const tokenHash = hashToken(refreshToken);
  // The session's row is the lock: of two refreshes at once the second one sees the first one's use.
  const [locked] = await em.execute<{ id: string }[]>(
    'select s.id from auth_session s join refresh_token r on r.session_id = s.id where r.token_hash = ? for update of s',
    [tokenHash],
  );
  if (!locked) {
    return null;
  }
  const [row] = await em.execute<{ id: string; used: boolean; good: boolean; user_id: string; token_epoch: number; roles: Role[] }[]>(
    `select r.id, r.used_at is not null as used, u.id as user_id, u.token_epoch, u.roles,
            r.expires_at > now() and s.expires_at > now() and s.revoked_at is null and u.status = 'active' as good
     from refresh_token r join auth_session s on s.id = r.session_id join user_account u on u.id = s.user_id
     where r.token_hash = ?`,
    [tokenHash],
  );
  if (row?.used) {
    await revokeSession(em, locked.id);
  }
  if (!row || row.used || !row.good) {
    return null;
  }
  await em.execute('update refresh_token set used_at = now() where id = ?', [row.id]);
  await em.execute('update auth_session set expires_at = now() + make_interval(days => ?) where id = ?', [sessionDays, locked.id]);
  return { sid: locked.id, userId: row.user_id, epoch: row.token_epoch, roles: row.roles, refreshToken: await addRefreshToken(em, locked.id) };
}

async function addRefreshToken(em: EntityManager, sid: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await em.execute(
    'insert into refresh_token (id, session_id, token_hash, expires_at) values (?, ?, ?, now() + make_interval(days => ?))',
    [uuidv7(), sid, hashToken(token), sessionDays],
  );
  return token;
}

export async function revokeSession(em: EntityManager, sid: string): Promise<void> {
  await em.execute('update auth_session set revoked_at = coalesce(revoked_at, now()) where id = ?', [sid]);
}

/** Ends the session of one of the user's own refresh tokens; any other token changes nothing. */
export async function revokeRefreshToken(em: EntityManager, userId: string, refreshToken: string): Promise<void> {
  await em.execute(
    `update auth_session s set revoked_at = coalesce(s.revoked_at, now())
     from refresh_token r where r.session_id = s.id and r.token_hash = ? and s.user_id = ?`,
    [hashToken(refreshToken), userId],
  );
}

/** Ends the session behind an access token, or that token itself where there is none (machine clients). */
export async function revokeAccess(em: EntityManager, userId: string, sid: string): Promise<void> {
  await em.execute(
    `insert into auth_session (id, user_id, expires_at, revoked_at) values (?, ?, now() + interval '1 day', now())
     on conflict (id) do update set revoked_at = coalesce(auth_session.revoked_at, now()) where auth_session.user_id = excluded.user_id`,
    [sid, userId],
  );
}

/** All sessions and all access tokens of a user, from this commit on. */
export async function endAllSessions(em: EntityManager, userId: string): Promise<void> {
  await em.execute('update user_account set token_epoch = token_epoch + 1 where id = ?', [userId]);
  await em.execute('update auth_session set revoked_at = now() where user_id = ? and revoked_at is null', [userId]);
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
