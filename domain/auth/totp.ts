/** Codes of authenticator apps (RFC 6238): six digits, 30 seconds, SHA-1, as all apps support them. */
import { Secret, TOTP } from 'otpauth';

import type { EntityManager } from '../../db/orm.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { conflict, invalid, notFound } from '../errors.ts';

const PERIOD_SECONDS = 30;
/** Of a clock that is wrong: one period before and after. */
const WINDOW = 1;
const SECRET_BYTES = 20;
const ISSUER = 'Cadenza';

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), period: PERIOD_SECONDS });
}

export const totpContext = (userId: string): string => `totp:${userId}`;

/** A new secret, which counts once a code of it was given. @throws 409 if there is one that counts */
export async function beginTotp(
  em: EntityManager,
  encryption: Encryption,
  user: { id: string; username: string },
): Promise<{ secret: string; uri: string }> {
  const { base32: secret } = new Secret({ size: SECRET_BYTES });
  const stored = await em.execute<object[]>(
    `insert into user_totp (user_id, secret_encrypted) values (?, ?)
     on conflict (user_id) do update set secret_encrypted = excluded.secret_encrypted, created_at = now()
       where user_totp.confirmed_at is null
     returning 1`,
    [user.id, encryption.encrypt(secret, totpContext(user.id))],
  );
  if (stored.length === 0) throw conflict('totp_exists', 'Remove the authenticator app first.');
  return { secret, uri: totpOf(secret, user.username).toString() };
}

/** @throws 404 without a begun one, 422 for a wrong code */
export async function confirmTotp(
  em: EntityManager,
  encryption: Encryption,
  userId: string,
  code: string,
): Promise<void> {
  const accepted = await takeCode(em, encryption, userId, code, false);
  if (accepted === null) throw notFound('authenticator app that waits for its first code');
  if (!accepted) throw invalid([{ pointer: '/code', code: 'wrong_code', message: 'is not the code of now' }]);
  await em.execute('update user_totp set confirmed_at = now() where user_id = ?', [userId]);
}

/** Whether it is a code of now that was not used before. */
export async function acceptTotp(
  em: EntityManager,
  encryption: Encryption,
  userId: string,
  code: string,
): Promise<boolean> {
  return (await takeCode(em, encryption, userId, code, true)) === true;
}

async function takeCode(
  em: EntityManager,
  encryption: Encryption,
  userId: string,
  code: string,
  confirmed: boolean,
): Promise<boolean | null> {
  const [row] = await em.execute<{ secret_encrypted: string }[]>(
    'select secret_encrypted from user_totp where user_id = ? and (confirmed_at is not null) = ? for update',
    [userId, confirmed],
  );
  if (row === undefined) return null;
  const totp = totpOf(encryption.decrypt(row.secret_encrypted, totpContext(userId)));
  const nowMs = Date.now();
  const delta = totp.validate({ token: code.replaceAll(/\s/g, ''), timestamp: nowMs, window: WINDOW });
  if (delta === null) return false;
  const step = Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta;
  // A code that was seen once, by whomever, is of no use any more.
  const taken = await em.execute<object[]>(
    'update user_totp set last_step = ? where user_id = ? and last_step < ? returning 1',
    [step, userId, step],
  );
  return taken.length === 1;
}

/** @throws 409 */
export async function removeTotp(em: EntityManager, userId: string): Promise<void> {
  const removed = await em.execute<object[]>('delete from user_totp where user_id = ? returning 1', [userId]);
  if (removed.length === 0) throw conflict('no_totp', 'No authenticator app is set up.');
}
