/** Passkeys (WebAuthn): registration and signatures, each for a challenge that is used once. */
import { v7 as uuidv7 } from 'uuid';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';

import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict, invalid, notFound } from '../errors.ts';

const MAX_PASSKEYS = 20;
const RP_NAME = 'Cadenza';

export interface Passkey {
  id: string;
  name: string;
  created_at: Date;
  last_used_at: Date | null;
}

/** An answer of `navigator.credentials`, as `toJSON` writes it; the library checks what is in it. */
export interface PasskeyAnswer {
  id: string;
}

interface StoredPasskey {
  id: string;
  user_id: string;
  credential_id: string;
  public_key: Buffer;
  counter: string;
  transports: string[];
}

/** Credentials belong to the host of the configured base URL, and sign for its pages only. */
function relyingParty(baseUrl: string): { rpID: string; origin: string } {
  const { hostname, origin } = new URL(baseUrl);
  return { rpID: hostname, origin };
}

/** WebAuthn binds credentials to names; browsers refuse addresses. */
function isHostName(baseUrl: string): boolean {
  return !/^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(new URL(baseUrl).hostname);
}

/** @throws 409 for 20 passkeys, or a server without a host name */
export async function registrationOptions(
  em: EntityManager,
  baseUrl: string,
  user: { id: string; username: string },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  if (!isHostName(baseUrl))
    throw conflict(
      'no_host_name',
      'Passkeys need a host name in BASE_URL, such as localhost, not an address.',
    );
  const known = await passkeysOf(em, user.id);
  if (known.length >= MAX_PASSKEYS)
    throw conflict('too_many_passkeys', `A user has at most ${MAX_PASSKEYS} passkeys.`);
  return generateRegistrationOptions({
    rpName: RP_NAME,
    rpID: relyingParty(baseUrl).rpID,
    userID: new TextEncoder().encode(user.id),
    userName: user.username,
    attestationType: 'none',
    excludeCredentials: known.map(credentialOf),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  });
}

/** @throws 422 if the answer does not fit the challenge, the page or the host */
export async function addPasskey(
  em: EntityManager,
  baseUrl: string,
  userId: string,
  { name, challenge, response }: { name: string; challenge: string; response: PasskeyAnswer },
): Promise<Passkey> {
  const { rpID, origin } = relyingParty(baseUrl);
  const verified = await verifyRegistrationResponse({
    // It checks each member itself.
    response: response as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    requireUserVerification: false,
  }).catch(() => null);
  if (verified?.verified !== true) throw wrongPasskey();
  const { credential } = verified.registrationInfo;
  const [row] = await em.execute<PasskeyRow[]>(
    `insert into passkey (id, user_id, credential_id, public_key, counter, transports, name)
     values (?, ?, ?, ?, ?, ?::text[], ?) on conflict (credential_id) do nothing
     returning id, name, created_at, last_used_at`,
    [
      uuidv7(),
      userId,
      credential.id,
      Buffer.from(credential.publicKey),
      credential.counter,
      arrayLiteral(credential.transports ?? []),
      name,
    ],
  );
  if (row === undefined) throw conflict('passkey_exists', 'This passkey is registered already.');
  return presentable(row);
}

function wrongPasskey(): Error {
  return invalid([{ pointer: '/passkey', code: 'wrong_passkey', message: 'does not fit the challenge' }]);
}

/** @param userId null: any passkey that the browser keeps for this host, which then has to verify its user */
export async function signingOptions(
  em: EntityManager,
  baseUrl: string,
  userId: string | null,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const known = userId === null ? [] : await passkeysOf(em, userId);
  return generateAuthenticationOptions({
    rpID: relyingParty(baseUrl).rpID,
    ...(userId === null ? {} : { allowCredentials: known.map(credentialOf) }),
    userVerification: userId === null ? 'required' : 'preferred',
  });
}

function credentialOf({ credential_id: id, transports }: StoredPasskey) {
  // The browser has named them itself; what it does not know it ignores.
  return { id, transports: transports as AuthenticatorTransport[] };
}

/**
 * @param userId null: whoever's passkey it is, if it has verified its user
 * @returns the user; null for a signature that does not fit
 */
export async function acceptPasskey(
  em: EntityManager,
  baseUrl: string,
  userId: string | null,
  { challenge, response }: { challenge: string; response: PasskeyAnswer },
): Promise<string | null> {
  const [row] = await em.execute<StoredPasskey[]>(
    `select id, user_id, credential_id, public_key, counter::text as counter, transports
       from passkey where credential_id = ? for update`,
    [response.id],
  );
  if (row === undefined || (userId !== null && row.user_id !== userId)) return null;
  const { rpID, origin } = relyingParty(baseUrl);
  const verified = await verifyAuthenticationResponse({
    // It checks each member itself.
    response: response as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: {
      id: row.credential_id,
      publicKey: new Uint8Array(row.public_key),
      counter: Number(row.counter),
    },
    requireUserVerification: userId === null,
  }).catch(() => null);
  if (verified?.verified !== true) return null;
  await em.execute('update passkey set counter = ?, last_used_at = now() where id = ?', [
    verified.authenticationInfo.newCounter,
    row.id,
  ]);
  return row.user_id;
}

async function passkeysOf(em: EntityManager, userId: string): Promise<StoredPasskey[]> {
  return em.execute<StoredPasskey[]>(
    `select id, user_id, credential_id, public_key, counter::text as counter, transports
       from passkey where user_id = ? order by id limit ?`,
    [userId, MAX_PASSKEYS],
  );
}

type PasskeyRow = Omit<Passkey, 'created_at' | 'last_used_at'> & {
  created_at: string | Date;
  last_used_at: string | Date | null;
};

function presentable(row: PasskeyRow): Passkey {
  const { last_used_at: used } = row;
  return {
    ...row,
    created_at: new Date(row.created_at),
    last_used_at: used === null ? null : new Date(used),
  };
}

/** Oldest first; there are at most 20. */
export async function listPasskeys(em: EntityManager, userId: string): Promise<Passkey[]> {
  const rows = await em.execute<PasskeyRow[]>(
    'select id, name, created_at, last_used_at from passkey where user_id = ? order by id limit ?',
    [userId, MAX_PASSKEYS],
  );
  return rows.map(presentable);
}

/** @throws 404 */
export async function removePasskey(em: EntityManager, userId: string, id: string): Promise<void> {
  const removed = await em.execute<object[]>('delete from passkey where id = ? and user_id = ? returning 1', [
    id,
    userId,
  ]);
  if (removed.length === 0) throw notFound('passkey');
}
