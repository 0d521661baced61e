/** The three ways to an access token (RFC 6749): password, refresh token, client credentials. */
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { accessTokenSeconds, firstPartyClient, signAccessToken } from './access-token.ts';
import type { Role } from './actor.ts';
import { clientSecretFits } from './clients.ts';
import { verifyPassword } from './password.ts';
import { openSession, rotateSession, type Session } from './sessions.ts';
import type { SigningKeys } from './signing-keys.ts';
import { accountKey, checkThrottle, settleLogin } from './throttle.ts';

export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
  refresh_token?: string;
  scope: string;
}

export interface GrantDeps {
  /** Not in a transaction: each grant opens its own, so that a refusal stays counted. */
  em: EntityManager;
  keys: SigningKeys;
  issuer: string;
  /** Where the request came from, as `addressKey` gives it. */
  address: string;
}

interface LoginRow {
  id: string;
  password_hash: string;
  status: string;
}

/** Null for wrong credentials, whether or not there is such a user. Throws 429. */
export async function passwordGrant(deps: GrantDeps, username: string, password: string): Promise<TokenAnswer | null> {
  const [user] = await deps.em.execute<LoginRow[]>(
    'select id, password_hash, status from user_account where lower(username) = lower(?) or lower(email) = lower(?) order by id limit 1',
    [username, username],
  );
  const source = { account: accountKey(user?.id ?? null, username), address: deps.address };
  await checkThrottle(deps.em, source);
  const fits = await verifyPassword(password, user?.password_hash ?? null);
  const session = await deps.em.transactional(async (em) => {
    const good = await settleLogin(em, source, fits && user?.status === 'active');
    return good && user ? openSessionOf(em, user) : null;
  });
  return session ? sessionAnswer(deps, session) : null;
}

/** The row is read again, locked: the password may have changed while its hash was computed. */
async function openSessionOf(em: EntityManager, seen: LoginRow): Promise<Session | null> {
  const [row] = await em.execute<{ id: string; token_epoch: number; roles: Role[] }[]>(
    `select id, token_epoch, roles from user_account where id = ? and password_hash = ? and status = 'active' for share`,
    [seen.id, seen.password_hash],
  );
  return row ? openSession(em, row) : null;
}

/** Null if the token is unknown, used, expired, or its session ended. */
export async function refreshGrant(deps: GrantDeps, refreshToken: string): Promise<TokenAnswer | null> {
  const session = await deps.em.transactional((em) => rotateSession(em, refreshToken));
  return session ? sessionAnswer(deps, session) : null;
}

async function sessionAnswer(deps: GrantDeps, session: Session): Promise<TokenAnswer> {
  const scope = session.roles.join(' ');
  const token = await signAccessToken(deps.keys, deps.issuer, {
    sub: session.userId, sid: session.sid, client_id: firstPartyClient, epoch: session.epoch, scope, jti: uuidv7(),
  });
  return { access_token: token, token_type: 'Bearer', expires_in: accessTokenSeconds, refresh_token: session.refreshToken, scope };
}

/** Null for a wrong client or secret. The token acts as the client's user; there is no refresh token. */
export async function clientGrant(deps: GrantDeps, clientId: string, secret: string): Promise<TokenAnswer | null> {
  const source = { account: `client:${accountKey(null, clientId)}`, address: deps.address };
  await checkThrottle(deps.em, source);
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(clientId);
  const [row] = await deps.em.execute<{ id: string; secret_hash: string; user_id: string; status: string; token_epoch: number; roles: Role[] }[]>(
    `select c.id, c.secret_hash, u.id as user_id, u.status, u.token_epoch, u.roles
     from auth_client c join user_account u on u.id = c.user_id where c.id = ?`,
    [isId ? clientId : null],
  );
  const fits = clientSecretFits(secret, row?.secret_hash ?? null) && row?.status === 'active';
  const good = await deps.em.transactional(async (em) => {
    const settled = await settleLogin(em, source, fits);
    await em.execute('update auth_client set last_used = now() where id = ?', [settled ? (row?.id ?? null) : null]);
    return settled;
  });
  if (!good || !row) {
    return null;
  }
  const id = uuidv7();
  const scope = row.roles.join(' ');
  const token = await signAccessToken(deps.keys, deps.issuer, {
    sub: row.user_id, sid: id, client_id: row.id, epoch: row.token_epoch, scope, jti: id,
  });
  return { access_token: token, token_type: 'Bearer', expires_in: accessTokenSeconds, scope };
}
