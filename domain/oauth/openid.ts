/** OpenID Connect: who the user of a client's session is, as ID token and at the UserInfo endpoint. */
import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';

import type { EntityManager } from '../../db/orm.ts';
import { ACCESS_TOKEN_SECONDS } from '../auth/access-token.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';

/** `openid` makes a request one of OpenID Connect; the others say which claims. */
export const OPENID_SCOPES = ['openid', 'profile', 'email'] as const;

/** What the user allowed a client to learn. */
export interface OpenIdGrant {
  scopes: string[];
  /** When the user showed who it is, in seconds since 1970; null if that is not known. */
  auth_time: number | null;
  /** Of the authorization request; only its own ID token has it. */
  nonce?: string;
}

/** The scopes of OpenID Connect that were asked for; null without `openid`. */
export function openIdScopesIn(scope: string | null): string[] | null {
  const asked = new Set((scope ?? '').split(' '));
  return asked.has('openid') ? OPENID_SCOPES.filter((one) => asked.has(one)) : null;
}

export interface UserClaims {
  sub: string;
  name?: string;
  preferred_username?: string;
  email?: string;
  /** Nobody has checked that the address is the user's. */
  email_verified?: false;
}

/** OpenID Connect Core section 5.4. Null if there is no such user. */
async function readUserClaims(
  em: EntityManager,
  userId: string,
  scopes: readonly string[],
): Promise<UserClaims | null> {
  const [user] = await em.execute<{ username: string; email: string; display_name: string | null }[]>(
    'select username, email, display_name from user_account where id = ?',
    [userId],
  );
  if (!user) return null;
  return {
    sub: userId,
    ...(scopes.includes('profile')
      ? { name: user.display_name ?? user.username, preferred_username: user.username }
      : {}),
    ...(scopes.includes('email') ? { email: user.email, email_verified: false } : {}),
  };
}

/** The claims for the holder of a session's access token; null without OpenID Connect. */
export async function userInfo(em: EntityManager, userId: string, sid: string): Promise<UserClaims | null> {
  const [session] = await em.execute<{ openid: OpenIdGrant | null }[]>(
    'select openid from auth_session where id = ? and user_id = ?',
    [sid, userId],
  );
  return session?.openid ? readUserClaims(em, userId, session.openid.scopes) : null;
}

/** For whom an ID token is. */
export interface IdTokenSubject {
  userId: string;
  clientId: string;
  grant: OpenIdGrant;
}

/**
 * An ID token (OpenID Connect Core section 2), as long-lived as the access token beside it. Its type is not
 * that of access tokens, so no endpoint takes it for one.
 */
export async function signIdToken(
  deps: { em: EntityManager; keys: SigningKeys; issuer: string },
  { userId, clientId, grant }: IdTokenSubject,
  accessToken: string,
): Promise<string> {
  const claims = await readUserClaims(deps.em, userId, grant.scopes);
  const [client] = await deps.em.execute<{ name: string }[]>(
    'select coalesce(handle, id::text) as name from oauth_client where id = ?',
    [clientId],
  );
  if (!claims || !client) throw new Error('the session has no user or client');
  const { kid, privateKey } = await deps.keys.current();
  return new SignJWT({
    ...claims,
    azp: client.name,
    at_hash: accessTokenHash(accessToken),
    ...(grant.auth_time === null ? {} : { auth_time: grant.auth_time }),
    ...(grant.nonce === undefined ? {} : { nonce: grant.nonce }),
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid })
    .setIssuer(deps.issuer)
    .setAudience(client.name)
    .setIssuedAt()
    .setExpirationTime(`${ACCESS_TOKEN_SECONDS}s`)
    .sign(privateKey);
}

/** OpenID Connect Core section 3.1.3.6. */
function accessTokenHash(token: string): string {
  return createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');
}
