/** Addresses that complete a call from outside, once: JWTs signed with the platform's keys. */
import { errors, SignJWT } from 'jose';

import { isUuid } from '../../contracts/uuid.ts';
import { verifyLink, type LinkDeps } from '../auth/signed-link.ts';
import { AppError, notFound } from '../errors.ts';

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
export async function readCallbackToken(deps: LinkDeps, token: string): Promise<string> {
  try {
    const expected = { typ: TYPE, audience: AUDIENCE, requiredClaims: ['exp', 'jti'] };
    const { jti } = await verifyLink(deps, token, expected);
    if (jti === undefined || !isUuid(jti)) throw notFound('callback');
    return jti;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw callbackVoid('The call has timed out.');
    if (error instanceof errors.JOSEError) throw notFound('callback');
    throw error;
  }
}

export function callbackVoid(detail: string): AppError {
  return new AppError('gone', 'callback_void', detail);
}
