/** The grants for access tokens (RFC 6749, RFC 8628). */
import { v7 as uuidv7 } from 'uuid';

import { isUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { ACCESS_TOKEN_SECONDS, audienceOf, signAccessToken } from './access-token.ts';
import { writeAudit } from '../audit/write.ts';
import { signIdToken } from '../oauth/openid.ts';
import { DECIDE_SCOPE } from '../oauth/scopes.ts';
import type { Role } from '../../contracts/roles.ts';
import { rolesUnless } from './actor.ts';
import { clientSecretFits } from './clients.ts';
import { completeLogIn, logIn, type ChallengeAnswer, type LogInDeps } from './log-in.ts';
import { openSession, originOfOpening, rotateSession, type OpenedFrom, type Session } from './sessions.ts';
import type { SigningKeys } from './signing-keys.ts';
import { accountKey, checkThrottle, recordAttempt } from './throttle.ts';

export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  refresh_token?: string;
  scope: string;
  /** Of OpenID Connect. */
  id_token?: string;
}

export interface GrantDeps {
  /** Not in a transaction: each grant opens its own, so that a failed attempt stays counted. */
  em: EntityManager;
  keys: SigningKeys;
  issuer: string;
  /** The request's address, as `addressKey` returns it. */
  address: string;
  from: OpenedFrom;
}

export type PasswordGrantDeps = GrantDeps & LogInDeps;

export interface PasswordGrant {
  answer: TokenAnswer;
  /** The mark to set on a device that has none for this user. */
  newMark: string | null;
}

/** Null for wrong credentials, whether or not the user exists. @throws 429 */
export async function passwordGrant(
  deps: PasswordGrantDeps,
  username: string,
  password: string,
): Promise<PasswordGrant | null> {
  const login = await logIn(deps, { username, password }, (em, user) =>
    openSession(em, user, { ...deps.from, byPassword: true }),
  );
  return login && { answer: await sessionAnswer(deps, login.session), newMark: login.newMark };
}

/** The second step of a log-in. Null for a wrong or late answer. @throws 429 */
export async function secondFactorGrant(
  deps: PasswordGrantDeps,
  answer: ChallengeAnswer,
): Promise<PasswordGrant | null> {
  const login = await completeLogIn(deps, answer, (em, user) =>
    openSession(em, user, { ...deps.from, byPassword: true }),
  );
  return login && { answer: await sessionAnswer(deps, login.session), newMark: login.newMark };
}

/** Null if the token is unknown, used, expired, another client's, or its session ended. */
export async function refreshGrant(
  deps: GrantDeps,
  refreshToken: string,
  clientId: string,
): Promise<TokenAnswer | null> {
  const session = await deps.em.transactional((em) => rotateSession(em, refreshToken, clientId, deps.from));
  return session ? sessionAnswer(deps, session) : null;
}

function scopeTextOf({ roles, mayDecide, scopes, openid }: Session): string {
  const rights = scopes ?? [...roles, ...(mayDecide ? [DECIDE_SCOPE] : [])];
  return [...(openid?.scopes ?? []), ...rights].join(' ');
}

/** The tokens of a session. */
export async function sessionAnswer(deps: GrantDeps, session: Session): Promise<TokenAnswer> {
  const scope = scopeTextOf(session);
  const claims = {
    sub: session.userId,
    sid: session.sid,
    client_id: session.clientId,
    epoch: session.epoch,
    ...(session.authTime === null ? {} : { auth_time: session.authTime }),
    scope,
    jti: uuidv7(),
  };
  const audience = audienceOf(deps.issuer, session.resource);
  const token = await signAccessToken(deps.keys, deps.issuer, claims, audience);
  const { openid: grant, userId, clientId } = session;
  const idToken = grant === null ? null : await signIdToken(deps, { userId, clientId, grant }, token);
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    refresh_token: session.refreshToken,
    scope,
    ...(idToken === null ? {} : { id_token: idToken }),
  };
}

/** Null for a wrong client or secret. The token acts as the client's user; there is no refresh token. */
export async function clientGrant(
  deps: GrantDeps,
  clientId: string,
  secret: string,
): Promise<TokenAnswer | null> {
  // A secret of 256 random bits cannot be guessed. A limit per account would only let strangers lock out a
  // machine.
  const source = { account: `client:${accountKey(null, clientId)}`, address: deps.address, perAccount: null };
  await checkThrottle(deps.em, source);
  const [row] = await deps.em.execute<
    {
      id: string;
      secret_hash: string;
      user_id: string;
      status: string;
      token_epoch: number;
      roles: Role[];
      scopes: string[] | null;
    }[]
  >(
    `select c.id, c.secret_hash, c.scopes, u.id as user_id, u.status, u.token_epoch,
            ${rolesUnless('c.awaits_second_factor')}
     from auth_client c join user_account u on u.id = c.user_id where c.id = ? and c.expires_at > now()`,
    [isUuid(clientId) ? clientId : null],
  );
  const fits = clientSecretFits(secret, row?.secret_hash ?? null) && row?.status === 'active';
  const accepted = await deps.em.transactional(async (em) => {
    const settled = await recordAttempt(em, source, fits);
    await em.execute('update auth_client set last_used = now() where id = ?', [
      settled ? (row?.id ?? null) : null,
    ]);
    await writeAudit(em, originOfOpening(deps.from), {
      action: 'client_log_in',
      outcome: settled ? 'done' : 'refused',
      objectType: 'client',
      objectId: row?.id ?? null,
      ...(row ? { actor: { id: row.user_id, name: null } } : {}),
    });
    return settled;
  });
  if (!accepted || !row) {
    return null;
  }
  const id = uuidv7();
  const scope = (row.scopes ?? row.roles).join(' ');
  const token = await signAccessToken(deps.keys, deps.issuer, {
    sub: row.user_id,
    sid: id,
    client_id: row.id,
    epoch: row.token_epoch,
    scope,
    jti: id,
  });
  return { access_token: token, token_type: 'Bearer', expires_in: ACCESS_TOKEN_SECONDS, scope };
}
