/** Temporary links that read one file without a login: a JWT signed with the platform's keys. */
import { errors, SignJWT } from 'jose';

import { verifyLink, type LinkDeps } from '../auth/signed-link.ts';
import { AppError } from '../errors.ts';

const TYPE = 'file-link+jwt';
const AUDIENCE = 'cadenza-files';
/** A replaced signing key stays valid for a day; a link must not outlive it. */
export const LONGEST_LINK_SECONDS = 24 * 3600;
export const DEFAULT_LINK_SECONDS = 3600;

export interface FileLink {
  url: string;
  expires_at: Date;
}

/** A URL that gives the file to anyone who has it, for `seconds`, at most a day. */
export async function createFileLink(
  { keys, baseUrl }: LinkDeps,
  fileId: string,
  seconds = DEFAULT_LINK_SECONDS,
): Promise<FileLink> {
  const { kid, privateKey } = await keys.current();
  const issuedAt = Math.floor(Date.now() / 1000);
  const expiresAt = issuedAt + Math.min(seconds, LONGEST_LINK_SECONDS);
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ: TYPE, kid })
    .setIssuer(baseUrl)
    .setAudience(AUDIENCE)
    .setSubject(fileId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .sign(privateKey);
  return { url: `${baseUrl}/files/${fileId}?token=${token}`, expires_at: new Date(expiresAt * 1000) };
}

/** @throws 410 for an expired link, 401 for a token that is not a valid link to this file */
export async function checkFileLink(deps: LinkDeps, fileId: string, token: string): Promise<void> {
  try {
    const expected = { typ: TYPE, audience: AUDIENCE, subject: fileId, requiredClaims: ['exp'] };
    await verifyLink(deps, token, expected);
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new AppError('gone', 'link_expired', 'The link has expired: request a new one.');
    if (error instanceof errors.JOSEError) {
      throw new AppError('unauthorized', 'invalid_link', 'The link is not valid.', {
        headers: { 'WWW-Authenticate': 'Bearer realm="cadenza"' },
      });
    }
    throw error;
  }
}
