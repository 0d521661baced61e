/**
 * What an issuer calls somebody at a log-in. Its provisioning (SCIM) finds the account by these names and
 * identifiers, if people logged in before it was switched on. They lead to no account of another issuer.
 */
import type { ClaimMapping } from '../../contracts/identity.ts';
import type { IssuedIdentity } from '../ports.ts';
import { valuesAt, type ClaimValues } from './claims.ts';
import type { Issuer } from './issuers.ts';

/** As long as `userName` and `externalId` may be. */
const MAX_LENGTH = 255;
/** Okta has the user's id in `sub`; Entra in `oid`, while its `sub` differs from client to client. */
const USUAL_CLAIMS = ['sub', 'oid'];

/**
 * Usernames and the e-mail address, in small letters. An address counts only if the issuer has verified it:
 * at many issuers people enter any address themselves.
 */
export function issuedNames(mapping: ClaimMapping, claims: ClaimValues): string[] {
  const addresses = new Set([mapping.email, 'email']);
  const usernames = [mapping.username, 'preferred_username', 'upn'].filter((path) => !addresses.has(path));
  const paths = claims['email_verified'] === true ? [...usernames, ...addresses] : usernames;
  const names = paths.flatMap((path) => firstAt(claims, path)).map((name) => name.toLowerCase());
  return [...new Set(names)];
}

/** Identifiers that never change, as `<claim>=<value>`, so that they fit whichever claim is named later. */
export function issuedIds(
  { external_id_claim: claim }: Pick<Issuer, 'external_id_claim'>,
  { subject, claims }: Pick<IssuedIdentity, 'subject' | 'claims'>,
): string[] {
  const known: ClaimValues = { ...claims, sub: subject };
  const paths = new Set(claim === null ? USUAL_CLAIMS : [...USUAL_CLAIMS, claim]);
  return [...paths].flatMap((path) => firstAt(known, path).map((value) => `${path}=${value}`));
}

/** The forms in which `issuedIds` may have an `externalId`. */
export function issuedIdsOf(
  { external_id_claim: claim }: Pick<Issuer, 'external_id_claim'>,
  externalId: string,
): string[] {
  return (claim === null ? USUAL_CLAIMS : [claim]).map((path) => `${path}=${externalId}`);
}

function firstAt(claims: ClaimValues, path: string): string[] {
  return valuesAt(claims, path).slice(0, 1).filter(isUsable);
}

/** Hidden characters make a text read as another. */
function isUsable(text: string): boolean {
  return text !== '' && text.length <= MAX_LENGTH && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
}
