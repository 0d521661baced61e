/** Sessions of browsers. Their cookie holds a random secret, of which only the hash is stored. */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { FIRST_PARTY_CLIENT, type ExpiringClaims } from './access-token.ts';
import { rightsUnless, type Actor, type TeamRole } from './actor.ts';
import {
  auditLogIn,
  hashToken,
  limitsOf,
  NEW_SESSION_LIMITS,
  PROLONGED,
  SESSION_DAYS,
  shortUserAgent,
  type OpenedFrom,
} from './sessions.ts';

/** How long browsers keep the cookie; each use of the session starts this time anew. */
export const COOKIE_SECONDS = SESSION_DAYS * 86_400;

/** How an external issuer has identified the user of a session. */
export interface ByIdentity {
  identity_id: string;
  /** `sid` of the session at the issuer. */
  issuer_sid: string | null;
  /** Makes the sealed ID token for the log-out there. */
  sealIdToken: (sessionId: string) => string;
  /** When the issuer asked for the credentials; null if it does not tell, and was not told to. */
  authenticated_at: Date | null;
  /** The issuer says that the user has shown a second factor there. */
  has_second_factor: boolean;
}

/** Opens a session. @returns the secret for the cookie */
export async function openCookieSession(
  em: EntityManager,
  user: { id: string },
  from: OpenedFrom & { by?: ByIdentity },
): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const sid = uuidv7();
  const { by } = from;
  await em.execute(
    `insert into auth_session (id, user_id, expires_at, idle_seconds, ends_at, second_factor,
                               awaits_second_factor, address, user_agent, cookie_hash, identity_id,
                               issuer_sid, id_token_encrypted, authenticated_at)
     values (?, ?, ${NEW_SESSION_LIMITS}, ?, ?, ?, ?, ?, ?, ?)`,
    [
      sid,
      user.id,
      ...limitsOf(from, user.id, { by: askedBy(by) }),
      from.ip,
      shortUserAgent(from),
      hashToken(secret),
      by?.identity_id ?? null,
      by?.issuer_sid ?? null,
      by?.sealIdToken(sid) ?? null,
      // Unknown is long ago.
      by === undefined ? null : (by.authenticated_at ?? new Date(0)),
    ],
  );
  await auditLogIn(em, user.id, from, { sid, by: by === undefined ? 'browser' : 'issuer' });
  return secret;
}

/** Who has asked for a second factor: an issuer that may have done so has not asked for ours. */
function askedBy(by: ByIdentity | undefined): 'own' | 'issuer' | 'nobody' {
  if (by === undefined) return 'own';
  return by.has_second_factor ? 'issuer' : 'nobody';
}

/** Ends a browser's session; an unknown secret ends none. */
export async function endCookieSession(em: EntityManager, secret: string): Promise<void> {
  await em.execute(
    'update auth_session set revoked_at = now() where cookie_hash = ? and revoked_at is null',
    [hashToken(secret)],
  );
}

export interface CookieCaller {
  actor: Actor;
  /** The claims that an access token of this session would have. */
  claims: ExpiringClaims;
  /** The session now ends later, so the browser has to keep the cookie longer too. */
  prolonged: boolean;
}

interface Row {
  sid: string;
  user_id: string;
  username: string;
  roles: Role[];
  groups: string[];
  teams: TeamRole[];
  awaits: boolean;
  token_epoch: number;
  auth_time: number;
  exp: number;
  due: boolean;
}

/** The user of a cookie by one indexed read; null if the session ended or the user is disabled. */
export async function callerOfCookie(em: EntityManager, secret: string): Promise<CookieCaller | null> {
  const [row] = await em.execute<Row[]>(
    `select s.id as sid, u.id as user_id, u.username, u.token_epoch,
            ${rightsUnless('s.awaits_second_factor')},
            extract(epoch from greatest(coalesce(s.authenticated_at, s.created_at), s.verified_at))::int
              as auth_time,
            floor(extract(epoch from s.expires_at))::int as exp,
            s.last_used_at < now() - interval '1 minute' as due
       from auth_session s join user_account u on u.id = s.user_id
      where s.cookie_hash = ? and s.revoked_at is null and s.expires_at > now() and u.status = 'active'`,
    [hashToken(secret)],
  );
  if (!row) return null;
  const { user_id: id, username, roles, groups, teams } = row;
  const exp = (row.due ? await prolong(em, row.sid) : null) ?? row.exp;
  return {
    actor: { id, username, roles, groups, teams, ...(row.awaits && { awaitsSecondFactor: true }) },
    claims: {
      sub: id,
      sid: row.sid,
      client_id: FIRST_PARTY_CLIENT,
      epoch: row.token_epoch,
      auth_time: row.auth_time,
      exp,
    },
    prolonged: row.due,
  };
}

/**
 * Written at most once a minute, so that a page with many requests does not write with each of them.
 * @returns when the session ends now, in seconds since 1970; null if another request was faster
 */
async function prolong(em: EntityManager, sid: string): Promise<number | null> {
  const [row] = await em.execute<{ exp: number }[]>(
    `update auth_session set last_used_at = now(), expires_at = ${PROLONGED}
      where id = ? and revoked_at is null and last_used_at < now() - interval '1 minute'
      returning floor(extract(epoch from expires_at))::int as exp`,
    [sid],
  );
  return row?.exp ?? null;
}
