/** Addresses that complete a call from outside, once: JWTs signed with the platform's keys. */
import { errors, jwtVerify, SignJWT } from 'jose';

import { isUuid } from '../../contracts/uuid.ts';
import { AppError, notFound } from '../errors.ts';
import type { LinkDeps } from '../files/file-link.ts';

const TYPE = 'callback+jwt';
const AUDIENCE = 'cadenza-callbacks';
/** A replaced signing key stays valid for a day; an address must not outlive it. */
export const LONGEST_CALLBACK_MS = 24 * 3_600_000;

export interface CallbackAddress {
  url: string;
  token: string;
}

export async function createCallbackAddress(
  { keys, baseUrl }: LinkDeps,
  jobId: string,
  until: Date,
): Promise<CallbackAddress> {
  const { kid, privateKey } = await keys.current();
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ: TYPE, kid })
    .setIssuer(baseUrl)
    .setAudience(AUDIENCE)
    .setJti(jobId)
    .setExpirationTime(Math.ceil(until.getTime() / 1_000))
    .sign(privateKey);
  return { url: `${baseUrl}/callbacks/${token}`, token };
}

/** The job's id. @throws 410 for an expired token, 404 for one that is not ours */
export async function readCallbackToken({ keys, baseUrl }: LinkDeps, token: string): Promise<string> {
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? null : await keys.publicKey(kid);
        if (key === null) throw new errors.JWKSNoMatchingKey();
        return key;
      },
      {
        algorithms: ['ES256'],
        typ: TYPE,
        issuer: baseUrl,
        audience: AUDIENCE,
        requiredClaims: ['exp', 'jti'],
      },
    );
    if (payload.jti === undefined || !isUuid(payload.jti)) throw notFound('callback');
    return payload.jti;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw callbackVoid('The call has timed out.');
    if (error instanceof errors.JOSEError) throw notFound('callback');
    throw error;
  }
}

export function callbackVoid(detail: string): AppError {
  return new AppError('gone', 'callback_void', detail);
}
