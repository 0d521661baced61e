/** Access tokens outside of HTTP; its middleware verifies them with koa-jwt by the same rules. */
import { jwtVerify } from 'jose';

import { audience, claimsSchema, type Claims } from './access-token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Null for what is no token of ours, or no longer good. @throws what the look-up of keys fails with */
export async function verifyAccessToken(keys: SigningKeys, issuer: string, token: string): Promise<Claims | null> {
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
      { algorithms: ['ES256'], issuer, audience, typ: 'at+jwt', requiredClaims: ['exp'] },
    );
    return claimsSchema.safeParse(payload).data ?? null;
  } catch (error) {
    if ('failed' in lookup) throw lookup.failed;
    // jose's errors, and a key that is not there: the token's fault.
    return error instanceof Error ? null : Promise.reject(error);
  }
}
