/** Verifies access tokens outside of HTTP; the HTTP middleware applies the same rules with koa-jwt. */
import { jwtVerify } from 'jose';

import { AUDIENCE, expiringClaimsSchema, type ExpiringClaims } from './access-token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Null for an invalid or expired token. @throws if the keys cannot be read */
export async function verifyAccessToken(
  keys: SigningKeys,
  issuer: string,
  token: string,
): Promise<ExpiringClaims | null> {
  const lookup: { failed?: unknown } = {};
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = await keys.publicKey(kid ?? '').catch((error: unknown) => {
          lookup.failed = error;
          throw error;
        });
        if (!key) throw new Error('unknown key');
        return key;
      },
      { algorithms: ['ES256'], issuer, audience: AUDIENCE, typ: 'at+jwt', requiredClaims: ['exp'] },
    );
    return expiringClaimsSchema.safeParse(payload).data ?? null;
  } catch (error) {
    if ('failed' in lookup) throw lookup.failed;
    // Errors of jose and an unknown key mean an invalid token.
    return error instanceof Error ? null : Promise.reject(error);
  }
}
