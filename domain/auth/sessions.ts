/** Sessions and their refresh tokens. Only hashes of the tokens are stored. */
import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Role } from '../../contracts/roles.ts';
import { writeAudit, type AuditOrigin } from '../audit/write.ts';
import { FIRST_PARTY_CLIENT } from './access-token.ts';
import { hasRole, limitRoles, rolesUnless } from './actor.ts';
import { ROLE_NEEDS_FACTOR } from './factor-roles.ts';
import { endSessions } from './own-sessions.ts';
import type { OpenIdGrant } from '../oauth/openid.ts';

/** The longest that a session may be idle; the settings can only shorten it. */
export const SESSION_DAYS = 30;
const MAX_USER_AGENT = 300;
/** `action` of log-ins in the audit log. */
export const LOG_IN = 'log_in';

export interface Session {
  sid: string;
  /** `client_id` of its tokens. */
  clientId: string;
  userId: string;
  epoch: number;
  roles: Role[];
  refreshToken: string;
  /** When the password was entered, in seconds since 1970; null if another session approved this one. */
  authTime: number | null;
  /** What its tokens are for (RFC 8707); null: the whole API. */
  resource: string | null;
  /** Its client may decide human tasks through tools. */
  mayDecide: boolean;
  /** Of its client; null: all that the role allows. */
  scopes: string[] | null;
  /** What its client may learn of the user; null without OpenID Connect. */
  openid: OpenIdGrant | null;
}

/** The OAuth client of a session, with what the user allowed it. */
export interface SessionClient {
  id: string;
  roleLimit: Role;
  resource: string | null;
  mayDecide: boolean;
  scopes: string[] | null;
  openid: OpenIdGrant | null;
}

/** Where a session was opened, for the list that its owner sees. */
export interface OpenedFrom {
  ip: string;
  userAgent: string;
  requestId: string | null;
  /** Default: 30 days without use, 90 days in all, and no role needs a second factor. */
  policy?: SessionPolicy | undefined;
}

export interface SessionPolicy {
  /** A session ends this long after its last refresh, or after the last request with its cookie. */
  idleSeconds: number;
  /** It ends this long after its log-in in any case. */
  maxSeconds: number;
  /** Without a second factor, users with these roles have a viewer's rights. */
  secondFactorRoles: readonly Role[];
}

/** Who has asked for a second factor before a session is opened. */
interface FactorsAsked {
  /** `own`: Cadenza, if the account has one. `issuer`: the issuer, and it was shown. */
  by: 'own' | 'issuer' | 'nobody';
  /** The session that approved this one: both wait, or none. */
  approvedBy?: string | null;
}

/** Values of `NEW_SESSION_LIMITS`, which are columns of a new session. */
export function limitsOf(
  { policy }: OpenedFrom,
  userId: string,
  { by, approvedBy = null }: FactorsAsked,
): (number | string | boolean | null)[] {
  const {
    idleSeconds,
    maxSeconds,
    secondFactorRoles: roles,
  } = policy ?? { idleSeconds: SESSION_DAYS * 86_400, maxSeconds: 90 * 86_400, secondFactorRoles: [] };
  const idle = Math.min(idleSeconds, maxSeconds);
  const factor = [approvedBy, approvedBy === null ? by : 'nobody', userId];
  return [idle, idleSeconds, maxSeconds, ...factor, approvedBy, arrayLiteral(roles), userId, ...factor];
}

/** SQL: whether the session `s` lacks a factor that the user `u` needs; its one `?`: SECOND_FACTOR_ROLES. */
export const SESSION_LACKS_FACTOR = `(s.second_factor is null and ${ROLE_NEEDS_FACTOR})`;

/**
 * SQL: whether the session `s` of the user `u` waits for a second factor; its `?` as that of
 * `SESSION_LACKS_FACTOR`, which counts before copies with this setting have limited what was open.
 */
export const SESSION_WAITS = `(s.awaits_second_factor or ${SESSION_LACKS_FACTOR})`;

/**
 * SQL: the factor that was shown in a new session, or in the one that approved it. Its `?`: the latter, who
 * has asked for a factor, the user.
 */
const SHOWN_FACTOR = `coalesce(
  (select a.second_factor from auth_session a where a.id = ?::uuid),
  (select case ?::text when 'issuer' then 'issuer'
          when 'own' then case when u.second_factor then 'own' end end
     from user_account u where u.id = ?))`;

/**
 * SQL of `expires_at, idle_seconds, ends_at, second_factor, awaits_second_factor`. Who opens a session holds
 * the account: a change of its roles or factors is seen here, or waits and then finds the session.
 */
export const NEW_SESSION_LIMITS = `now() + make_interval(secs => ?), ?, now() + make_interval(secs => ?),
  ${SHOWN_FACTOR},
  coalesce((select a.awaits_second_factor from auth_session a where a.id = ?::uuid), false)
    or (select ${ROLE_NEEDS_FACTOR} from user_account u where u.id = ?) and ${SHOWN_FACTOR} is null`;

/** SQL: when a session ends that is used now. */
export const PROLONGED = `least(now() + make_interval(secs => idle_seconds), ends_at)`;

/** A session that another one approved ends with the identity that opened the other. */
export async function openSession(
  em: EntityManager,
  user: { id: string; token_epoch: number; roles: Role[] },
  from: OpenedFrom & { byPassword: boolean; approvedBy?: string | null; client?: SessionClient },
): Promise<Session> {
  const sid = uuidv7();
  const { client } = from;
  const [row] = await em.execute<{ auth_time: number | null; awaits: boolean }[]>(
    `insert into auth_session
       (id, user_id, expires_at, idle_seconds, ends_at, second_factor, awaits_second_factor, address,
        user_agent, by_password, oauth_client_id, role_limit, resource, may_decide, scopes, openid,
        identity_id)
     values (?, ?, ${NEW_SESSION_LIMITS}, ?, ?, ?, ?, ?, ?, ?, ?::text[], ?::jsonb - 'nonce',
             (select identity_id from auth_session where id = ?::uuid))
     returning case when by_password then extract(epoch from created_at)::int end as auth_time,
               awaits_second_factor as awaits`,
    [
      sid,
      user.id,
      ...limitsOf(from, user.id, { by: 'own', approvedBy: from.approvedBy ?? null }),
      from.ip,
      shortUserAgent(from),
      from.byPassword,
      client?.id ?? null,
      client?.roleLimit ?? null,
      client?.resource ?? null,
      client?.mayDecide ?? false,
      client?.scopes ? arrayLiteral(client.scopes) : null,
      client?.openid ? JSON.stringify(client.openid) : null,
      from.approvedBy ?? null,
    ],
  );
  const by = client ? 'oauth' : from.byPassword ? 'password' : 'device';
  await auditLogIn(em, user.id, from, { sid, by, ...(client && { client_id: client.id }) });
  return {
    sid,
    clientId: client?.id ?? FIRST_PARTY_CLIENT,
    userId: user.id,
    epoch: user.token_epoch,
    roles: row?.awaits === false ? limitRoles(user.roles, client?.roleLimit ?? null) : ['viewer'],
    refreshToken: await addRefreshToken(em, sid),
    authTime: row?.auth_time ?? null,
    resource: client?.resource ?? null,
    mayDecide: client?.mayDecide ?? false,
    scopes: client?.scopes ?? null,
    openid: client?.openid ?? null,
  };
}

/** Every session that is opened is in the audit log, in the transaction that opens it. */
export async function auditLogIn(
  em: EntityManager,
  userId: string,
  from: OpenedFrom,
  { sid, ...data }: { sid: string; by: string; client_id?: string },
): Promise<void> {
  const note = { action: LOG_IN, objectType: 'session', objectId: sid, data };
  await writeAudit(em, originOfOpening(from, sid), { ...note, actor: { id: userId, name: null } });
}

/** What is known of the origin of a log-in, before there is a session. */
export function originOfOpening(from: OpenedFrom, sid: string | null = null): AuditOrigin {
  return {
    actorId: null,
    actorName: null,
    credential: sid === null ? 'none' : 'session',
    credentialId: sid,
    via: 'api',
    address: from.ip,
    userAgent: from.userAgent || null,
    requestId: from.requestId,
  };
}

interface RefreshRow {
  id: string;
  used: boolean;
  valid: boolean;
  user_id: string;
  token_epoch: number;
  roles: Role[];
  role_limit: Role | null;
  client_id: string | null;
  auth_time: number | null;
  resource: string | null;
  may_decide: boolean;
  scopes: string[] | null;
  openid: OpenIdGrant | null;
  required_role: Role | null;
}

const REFRESH = `
  select r.id, r.used_at is not null as used, u.id as user_id, u.token_epoch,
            ${rolesUnless('s.awaits_second_factor')},
            case when s.by_password then extract(epoch from s.created_at)::int end as auth_time,
            s.role_limit, s.oauth_client_id as client_id, s.resource, s.may_decide, s.scopes,
            s.openid, c.required_role,
            r.expires_at > now() and s.expires_at > now() and s.revoked_at is null
              and u.status = 'active' as valid
     from refresh_token r join auth_session s on s.id = r.session_id join user_account u on u.id = s.user_id
     left join oauth_client c on c.id = s.oauth_client_id
     where r.token_hash = ?`;

/**
 * Exchanges a refresh token for the next one; null if it is invalid, or another client's. Reuse of a token
 * ends the whole session, since the owner or a thief holds a newer one. Commit the transaction in both cases.
 */
export async function rotateSession(
  em: EntityManager,
  refreshToken: string,
  clientId: string,
  from: OpenedFrom,
): Promise<Session | null> {
  const tokenHash = hashToken(refreshToken);
  // The session's row is the lock: of two concurrent refreshes, the second sees that the token is used.
  const [locked] = await em.execute<{ id: string }[]>(
    `select s.id from auth_session s join refresh_token r on r.session_id = s.id
      where r.token_hash = ? for update of s`,
    [tokenHash],
  );
  if (!locked) {
    return null;
  }
  const [row] = await em.execute<RefreshRow[]>(REFRESH, [tokenHash]);
  if (row?.used) {
    await revokeSession(em, locked.id);
    await writeAudit(em, originOfOpening(from, locked.id), {
      action: 'refresh_token_reused',
      outcome: 'refused',
      actor: { id: row.user_id, name: null },
      objectType: 'session',
      objectId: locked.id,
    });
  }
  if (!row || row.used || !row.valid || (row.client_id ?? FIRST_PARTY_CLIENT) !== clientId) {
    return null;
  }
  if (row.required_role !== null && !hasRole(row, row.required_role)) {
    await revokeSession(em, locked.id);
    return null;
  }
  await em.execute('update refresh_token set used_at = now() where id = ?', [row.id]);
  await em.execute(`update auth_session set last_used_at = now(), expires_at = ${PROLONGED} where id = ?`, [
    locked.id,
  ]);
  return {
    sid: locked.id,
    clientId,
    userId: row.user_id,
    epoch: row.token_epoch,
    roles: limitRoles(row.roles, row.role_limit),
    refreshToken: await addRefreshToken(em, locked.id),
    authTime: row.auth_time,
    resource: row.resource,
    mayDecide: row.may_decide,
    scopes: row.scopes,
    openid: row.openid,
  };
}

async function addRefreshToken(em: EntityManager, sid: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await em.execute(
    `insert into refresh_token (id, session_id, token_hash, expires_at)
     values (?, ?, ?, now() + make_interval(days => ?))`,
    [uuidv7(), sid, hashToken(token), SESSION_DAYS],
  );
  return token;
}

export async function revokeSession(em: EntityManager, sid: string): Promise<void> {
  await em.execute('update auth_session set revoked_at = coalesce(revoked_at, now()) where id = ?', [sid]);
}

/** Ends the session of one of the user's own refresh tokens, or an access token; ignores any other token. */
export async function revokeRefreshToken(
  em: EntityManager,
  userId: string,
  refreshToken: string,
): Promise<void> {
  await em.execute('delete from access_token where token_hash = ? and user_id = ?', [
    hashToken(refreshToken),
    userId,
  ]);
  await em.execute(
    `update auth_session s set revoked_at = coalesce(s.revoked_at, now())
     from refresh_token r where r.session_id = s.id and r.token_hash = ? and s.user_id = ?`,
    [hashToken(refreshToken), userId],
  );
}

/** Ends the session of a client's own refresh token; ignores any other token. */
export async function revokeClientRefreshToken(
  em: EntityManager,
  clientId: string,
  refreshToken: string,
): Promise<void> {
  await em.execute(
    `update auth_session s set revoked_at = coalesce(s.revoked_at, now())
     from refresh_token r
     where r.session_id = s.id and r.token_hash = ? and coalesce(s.oauth_client_id::text, ?) = ?`,
    [hashToken(refreshToken), FIRST_PARTY_CLIENT, clientId],
  );
}

/** Ends the session of an access token; for machine clients, which have none, revokes the token itself. */
export async function revokeAccess(em: EntityManager, userId: string, sid: string): Promise<void> {
  await em.execute(
    `insert into auth_session (id, user_id, expires_at, revoked_at)
     values (?, ?, now() + interval '1 day', now())
     on conflict (id) do update set revoked_at = coalesce(auth_session.revoked_at, now())
       where auth_session.user_id = excluded.user_id`,
    [sid, userId],
  );
}

/**
 * Permanently ends all sessions, machine clients, access tokens and workers' tokens of users, as of this
 * commit.
 */
export async function endAllSessions(em: EntityManager, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  const ids = [arrayLiteral(userIds)];
  await em.execute('update user_account set token_epoch = token_epoch + 1 where id = any(?::uuid[])', ids);
  await endSessions(em, userIds);
  await em.execute('delete from auth_client where user_id = any(?::uuid[])', ids);
  await em.execute('delete from access_token where user_id = any(?::uuid[])', ids);
  await em.execute('delete from worker_token where owner_id = any(?::uuid[])', ids);
  // Log-ins whose second step is still to come.
  await em.execute('delete from auth_challenge where user_id = any(?::uuid[])', ids);
}

export function shortUserAgent({ userAgent }: OpenedFrom): string {
  return userAgent.slice(0, MAX_USER_AGENT);
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
