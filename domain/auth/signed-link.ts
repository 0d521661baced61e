/** Tokens of links that carry their own proof (docs/security.md): JWTs signed with the platform's keys. */
import { errors, jwtVerify, SignJWT, type JWTPayload } from 'jose';

import { isUuid } from '../../contracts/uuid.ts';
import { AppError, notFound } from '../errors.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface LinkDeps {
  keys: Pick<SigningKeys, 'current' | 'publicKey'>;
  /** Without a trailing slash. */
  baseUrl: string;
}

/** @throws JOSEError for a token that is not of this kind, or has expired */
export async function verifyLink(
  { keys, baseUrl }: LinkDeps,
  token: string,
  expected: { typ: string; audience: string; subject?: string; requiredClaims: string[] },
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(
    token,
    async ({ kid }) => {
      const key = kid === undefined ? null : await keys.publicKey(kid);
      if (key === null) throw new errors.JWKSNoMatchingKey();
      return key;
    },
    { algorithms: ['ES256'], issuer: baseUrl, ...expected },
  );
  return payload;
}

/** What the tokens of one purpose have in common, so that none counts for another. */
interface LinkKind {
  typ: string;
  audience: string;
}

/** The token of a link for one person, which a row with this id knows. */
export async function signPersonalLink(
  { keys, baseUrl }: LinkDeps,
  { typ, audience }: LinkKind,
  { id, userId, expiresAt }: { id: string; userId: string; expiresAt: Date },
): Promise<string> {
  const { kid, privateKey } = await keys.current();
  return new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ, kid })
    .setIssuer(baseUrl)
    .setAudience(audience)
    .setSubject(userId)
    .setJti(id)
    .setExpirationTime(Math.floor(expiresAt.getTime() / 1_000))
    .sign(privateKey);
}

/** @throws 404 for a token that is not of this kind, 410 for one that has expired */
export async function readPersonalLink(
  deps: LinkDeps,
  kind: LinkKind,
  token: string,
): Promise<{ id: string; userId: string }> {
  try {
    const expected = { ...kind, requiredClaims: ['exp', 'jti', 'sub'] };
    const { jti: id = '', sub: userId = '' } = await verifyLink(deps, token, expected);
    if (!isUuid(id) || !isUuid(userId)) throw notFound('link');
    return { id, userId };
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw linkGone('The link has expired.');
    if (error instanceof errors.JOSEError) throw notFound('link');
    throw error;
  }
}

export function linkGone(detail: string): AppError {
  return new AppError('gone', 'link_void', detail);
}
