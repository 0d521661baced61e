/** Authorization codes: a minute long, used once, bound to client, redirect URI, PKCE and session. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { hasRole, limitRoles, rolesUnless, type Actor } from '../auth/actor.ts';
import {
  hashToken,
  openSession,
  revokeSession,
  SESSION_WAITS,
  type OpenedFrom,
  type Session,
} from '../auth/sessions.ts';
import { OAuthError } from '../errors.ts';
import type { AuthorizationRequest } from './authorization.ts';
import type { OpenIdGrant } from './openid.ts';

const CODE_SECONDS = 60;

/**
 * The session's limit is what the user was shown. A role that the user gets later does not raise it.
 * @param approver the user, and the session in which the user approved
 */
export async function issueCode(
  em: EntityManager,
  request: AuthorizationRequest,
  approver: { user: Pick<Actor, 'id' | 'roles'>; sid: string; authTime: number | null },
): Promise<string> {
  const [roleLimit = 'viewer'] = limitRoles(approver.user.roles, request.roleLimit);
  const code = randomBytes(32).toString('base64url');
  await em.execute(
    `insert into oauth_code (code_hash, client_id, user_id, token_epoch, approved_by, redirect_uri,
                             code_challenge, resource, role_limit, may_decide, scopes, openid,
                             expires_at)
     select ?, ?, u.id, u.token_epoch, ?, ?, ?, ?, ?, ?, ?::text[], ?::jsonb, now() + make_interval(secs => ?)
       from user_account u where u.id = ?`,
    [
      hashToken(code),
      request.client.id,
      approver.sid,
      request.redirectUri,
      request.codeChallenge,
      request.resource,
      roleLimit,
      request.mayDecide,
      request.scopes === null ? null : arrayLiteral(request.scopes),
      request.openid === null ? null : JSON.stringify({ ...request.openid, auth_time: approver.authTime }),
      CODE_SECONDS,
      approver.user.id,
    ],
  );
  await em.execute('update oauth_client set approved_at = now() where id = ?', [request.client.id]);
  return code;
}

export interface Redemption {
  code: string;
  verifier: string | null;
  redirectUri: string | null;
  resource: string | null;
}

interface CodeRow {
  client_id: string;
  user_id: string;
  token_epoch: number;
  approved_by: string;
  redirect_uri: string;
  code_challenge: string | null;
  resource: string | null;
  role_limit: Role;
  may_decide: boolean;
  scopes: string[] | null;
  openid: OpenIdGrant | null;
  required_role: Role | null;
  expired: boolean;
  used: boolean;
  session_id: string | null;
}

/**
 * Exchanges a code for a session of the authenticated client. `em` must not be in a transaction.
 * @throws OAuthError `invalid_grant`; `invalid_target` for another resource than the approved one
 */
export async function redeemCode(
  em: EntityManager,
  clientId: string,
  redemption: Redemption,
  from: OpenedFrom,
): Promise<Session> {
  const codeHash = hashToken(redemption.code);
  const redeemed = await em.transactional(async (tx) => {
    const [row] = await tx.execute<CodeRow[]>(
      `select o.client_id, o.user_id, o.token_epoch, o.approved_by, o.redirect_uri, o.code_challenge,
              o.resource, o.role_limit, o.may_decide, o.scopes, o.openid, c.required_role,
              o.expires_at <= clock_timestamp() as expired, o.used_at is not null as used, o.session_id
         from oauth_code o join oauth_client c on c.id = o.client_id where o.code_hash = ? for update of o`,
      [codeHash],
    );
    // Another client's code is as good as unknown, and must not be spent by whoever stole it.
    if (row?.client_id !== clientId) return invalidGrant();
    if (row.used && row.session_id !== null) await revokeSession(tx, row.session_id);
    if (row.used || row.expired) return invalidGrant();
    const answer = mismatch(row, redemption) ?? (await openClientSession(tx, row, from));
    // A code that came with a wrong verifier was stolen from the client, so it is spent as well.
    await tx.execute('update oauth_code set used_at = now(), session_id = ? where code_hash = ?', [
      answer instanceof OAuthError ? null : answer.sid,
      codeHash,
    ]);
    return answer;
  });
  if (redeemed instanceof OAuthError) throw redeemed;
  return redeemed;
}

function mismatch(row: CodeRow, { verifier, redirectUri, resource }: Redemption): OAuthError | null {
  if (!verifierFits(verifier, row.code_challenge)) return invalidGrant();
  // OpenID Connect Core section 3.1.3.1 demands it.
  const isNeeded = row.openid !== null;
  if ((isNeeded || redirectUri !== null) && redirectUri !== row.redirect_uri) return invalidGrant();
  return resource === null || resource === row.resource
    ? null
    : new OAuthError('invalid_target', 'resource is not the one that the user approved');
}

/**
 * RFC 7636 section 4.6, `S256`. A verifier without a challenge says that the request was another one
 * (RFC 9700 section 4.8.2).
 */
function verifierFits(verifier: string | null, challenge: string | null): boolean {
  if (challenge === null) return verifier === null;
  if (verifier === null || !/^[\w.~-]{43,128}$/.test(verifier)) return false;
  const [own, expected] = [
    createHash('sha256').update(verifier).digest(),
    Buffer.from(challenge, 'base64url'),
  ];
  return own.length === expected.length && timingSafeEqual(own, expected);
}

async function openClientSession(
  em: EntityManager,
  row: CodeRow,
  from: OpenedFrom,
): Promise<Session | OAuthError> {
  const { secondFactorRoles = [] } = from.policy ?? {};
  // In two statements: the second sees what has changed until the account was held.
  await em.execute('select from user_account where id = ? for share', [row.user_id]);
  const [user] = await em.execute<{ id: string; token_epoch: number; roles: Role[] }[]>(
    `select u.id, u.token_epoch, ${rolesUnless(SESSION_WAITS)} from user_account u
       join auth_session s on s.id = ? and s.user_id = u.id and s.revoked_at is null and s.expires_at > now()
      where u.id = ? and u.token_epoch = ? and u.status = 'active'`,
    [arrayLiteral(secondFactorRoles), row.approved_by, row.user_id, row.token_epoch],
  );
  if (!user || (row.required_role !== null && !hasRole(user, row.required_role))) return invalidGrant();
  const client = {
    id: row.client_id,
    roleLimit: row.role_limit,
    resource: row.resource,
    mayDecide: row.may_decide,
    scopes: row.scopes,
    openid: row.openid,
  };
  return openSession(em, user, { ...from, byPassword: false, approvedBy: row.approved_by, client });
}

/** One answer for all reasons: a thief learns nothing. */
function invalidGrant(): OAuthError {
  return new OAuthError('invalid_grant', 'The code is invalid, has expired, or was used before.');
}
