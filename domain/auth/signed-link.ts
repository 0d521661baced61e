/** Tokens of links that carry their own proof (docs/security.md): JWTs signed with the platform's keys. */
import { errors, jwtVerify, type JWTPayload } from 'jose';

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
