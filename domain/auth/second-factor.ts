/**
 * The second factor of a log-in: a code of an authenticator app, a passkey, or a recovery code. A password
 * that was right opens a challenge, which is answered once, within five minutes (docs/adr/0054).
 */
import { randomBytes, randomInt } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { AppError, forbidden } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { acceptPasskey, signingOptions, type PasskeyAnswer } from './passkeys.ts';
import { hashToken, SESSION_LACKS_FACTOR } from './sessions.ts';
import { checkThrottle, recordAttempt } from './throttle.ts';
import { acceptTotp } from './totp.ts';
import { lockAccounts, settlePrograms } from './waiting-programs.ts';

const CHALLENGE_MINUTES = 5;
const RECOVERY_CODES = 10;
/** 10 characters of 32: 50 bits, of which ten wrong ones may be tried in 15 minutes. */
const RECOVERY_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const RECOVERY_LENGTH = 10;
/** Sessions of one statement. */
const BATCH = 1_000;

export interface FactorDeps {
  encryption: Encryption;
  baseUrl: string;
}

export type ChallengePurpose = 'log_in' | 'passkey' | 'register' | 'step_up';

/** What a person shows: one of these. */
export interface Proof {
  code?: string | undefined;
  recovery_code?: string | undefined;
  passkey?: PasskeyAnswer | undefined;
}

export interface Factors {
  totp: boolean;
  passkeys: number;
  recovery_codes_left: number;
}

export async function factorsOf(em: EntityManager, userId: string): Promise<Factors> {
  const [row] = await em.execute<Factors[]>(
    `select exists (select 1 from user_totp where user_id = u.id and confirmed_at is not null) as totp,
            (select count(*)::int from passkey where user_id = u.id) as passkeys,
            (select count(*)::int from recovery_code where user_id = u.id and used_at is null)
              as recovery_codes_left
       from user_account u where u.id = ?`,
    [userId],
  );
  return row ?? { totp: false, passkeys: 0, recovery_codes_left: 0 };
}

/** Opens a challenge. @returns its secret token, which only this answer has */
export async function openChallenge(
  em: EntityManager,
  userId: string | null,
  purpose: ChallengePurpose,
  challenge: string | null,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await em.execute(
    `insert into auth_challenge (id, user_id, purpose, token_hash, challenge, expires_at)
     values (?, ?, ?, ?, ?, now() + make_interval(mins => ?))`,
    [uuidv7(), userId, purpose, hashToken(token), challenge, CHALLENGE_MINUTES],
  );
  return token;
}

export interface Challenge {
  id: string;
  user_id: string | null;
  challenge: string | null;
}

/** The open challenge of a token, locked; null if it is unknown, used or over. */
export async function findChallenge(
  em: EntityManager,
  token: string,
  purposes: readonly ChallengePurpose[],
): Promise<Challenge | null> {
  const [row] = await em.execute<(Challenge & { purpose: ChallengePurpose })[]>(
    `select id, user_id, challenge, purpose from auth_challenge
      where token_hash = ? and used_at is null and expires_at > clock_timestamp() for update`,
    [hashToken(token)],
  );
  return row !== undefined && purposes.includes(row.purpose) ? row : null;
}

export async function useChallenge(em: EntityManager, { id }: Challenge): Promise<void> {
  await em.execute('update auth_challenge set used_at = now() where id = ?', [id]);
}

/** 401 with what completes the log-in: the answer to a right password of somebody with a second factor. */
export async function secondFactorNeeded(
  em: EntityManager,
  { baseUrl }: FactorDeps,
  userId: string,
): Promise<AppError> {
  const factors = await factorsOf(em, userId);
  const options = factors.passkeys > 0 ? await signingOptions(em, baseUrl, userId) : null;
  const challenge = await openChallenge(em, userId, 'log_in', options?.challenge ?? null);
  const methods = methodsOf(factors);
  return new AppError('unauthorized', 'mfa_required', 'The log-in needs a second factor.', {
    extra: { challenge, methods, ...(options === null ? {} : { passkey: options }) },
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza"', 'Cache-Control': 'no-store' },
  });
}

function methodsOf({ totp, passkeys, recovery_codes_left: left }: Factors): string[] {
  return [
    ...(totp ? ['code'] : []),
    ...(passkeys > 0 ? ['passkey'] : []),
    ...(left > 0 ? ['recovery_code'] : []),
  ];
}

/**
 * Keeps a password alone from passing as a step-up where the log-in needs a second factor: with a stolen
 * session it would remove that factor. @throws 403 `mfa_required`
 */
export async function refusePasswordAlone(em: EntityManager, userId: string): Promise<void> {
  const factors = await factorsOf(em, userId);
  if (!factors.totp && factors.passkeys === 0) return;
  const detail = 'You have a second factor: show a code, a passkey or a recovery code too.';
  throw new AppError('forbidden', 'mfa_required', detail, { extra: { methods: methodsOf(factors) } });
}

/** Where wrong answers are counted: ten in 15 minutes for an account, wherever they come from. */
function attemptsOf(userId: string, address: string) {
  return { account: `factor:${userId}`, address, perAccount: 10 };
}

/**
 * Whether the proof is right, counted. `em` must be in a transaction, to be committed in both cases.
 * @throws 429
 */
export async function acceptProof(
  em: EntityManager,
  deps: FactorDeps,
  { userId, address, challenge }: { userId: string; address: string; challenge: string | null },
  proof: Proof,
): Promise<boolean> {
  const source = attemptsOf(userId, address);
  await checkThrottle(em, source);
  return recordAttempt(em, source, await isRight(em, deps, { userId, challenge }, proof));
}

async function isRight(
  em: EntityManager,
  { encryption, baseUrl }: FactorDeps,
  { userId, challenge }: { userId: string; challenge: string | null },
  { code, recovery_code: recovery, passkey }: Proof,
): Promise<boolean> {
  if (code !== undefined) return acceptTotp(em, encryption, userId, code);
  if (recovery !== undefined) return acceptRecoveryCode(em, userId, recovery);
  if (passkey === undefined || challenge === null) return false;
  return (await acceptPasskey(em, baseUrl, userId, { challenge, response: passkey })) !== null;
}

async function acceptRecoveryCode(em: EntityManager, userId: string, code: string): Promise<boolean> {
  const used = await em.execute<object[]>(
    `update recovery_code set used_at = now()
      where user_id = ? and code_hash = ? and used_at is null returning 1`,
    [userId, recoveryHash(userId, code)],
  );
  return used.length === 1;
}

function recoveryHash(userId: string, code: string): Buffer {
  return hashToken(`${userId} ${code.toUpperCase().replaceAll(/[\s-]/g, '')}`);
}

/** New recovery codes, which end the former ones. They are only in this answer. */
export async function renewRecoveryCodes(em: EntityManager, userId: string): Promise<string[]> {
  await em.execute('delete from recovery_code where user_id = ?', [userId]);
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    Array.from(
      { length: RECOVERY_LENGTH },
      () => RECOVERY_ALPHABET[randomInt(RECOVERY_ALPHABET.length)],
    ).join(''),
  );
  for (const code of codes)
    await em.execute('insert into recovery_code (user_id, code_hash) values (?, ?)', [
      userId,
      recoveryHash(userId, code),
    ]);
  return codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`);
}

/**
 * After a factor was added or removed: notes whether there is one. The first one gives recovery codes, and
 * the session that has added it and the user's programs their full rights; the last one takes the codes
 * along, and the rights for which roles of the user need a factor.
 * @returns new recovery codes; null if there is nothing new
 */
export async function noteFactors(
  em: EntityManager,
  { userId, sid, neededBy }: { userId: string; sid: string | null; neededBy: readonly Role[] },
): Promise<string[] | null> {
  await lockAccounts(em, [userId]);
  const { totp, passkeys, recovery_codes_left: left } = await factorsOf(em, userId);
  const has = totp || passkeys > 0;
  const [user] = await em.execute<{ had: boolean }[]>(
    `update user_account u set second_factor = ?, updated_at = now()
       from (select id, second_factor as had from user_account where id = ? for update) old
      where u.id = old.id returning old.had`,
    [has, userId],
  );
  if (!has) {
    await em.execute('delete from recovery_code where user_id = ?', [userId]);
    await forgetShown(em, userId);
    await limitSessions(em, [userId], neededBy);
    return null;
  }
  if (sid !== null && user?.had === false) await endWaiting(em, userId, sid);
  await settlePrograms(em, [userId], neededBy);
  return left > 0 ? null : renewRecoveryCodes(em, userId);
}

/** A factor that is gone counts no more in the sessions in which it was shown. Those of issuers do. */
async function forgetShown(em: EntityManager, userId: string): Promise<void> {
  await em.execute(
    `update auth_session set second_factor = null where user_id = ? and second_factor = 'own'`,
    [userId],
  );
}

/**
 * Leaves a viewer's rights to the sessions in which no second factor was shown, if a role of their user needs
 * one: after the last factor is gone, and after roles have changed, whoever changed them. Without such a role
 * they have all rights again. The users' programs follow. The accounts are locked.
 */
export async function limitSessions(
  em: EntityManager,
  userIds: readonly string[],
  neededBy: readonly Role[],
): Promise<void> {
  if (userIds.length === 0) return;
  await em.execute(
    `update auth_session s set awaits_second_factor = not s.awaits_second_factor
       from user_account u
      where u.id = s.user_id and u.id = any(?::uuid[]) and s.revoked_at is null
        and s.awaits_second_factor <> ${SESSION_LACKS_FACTOR}`,
    [arrayLiteral(userIds), arrayLiteral(neededBy)],
  );
  await settlePrograms(em, userIds, neededBy);
}

/**
 * `limitSessions` for everybody, after the settings have named more roles. In batches, so that no statement
 * holds many sessions. @returns the number of sessions that wait now
 */
export async function limitOpenSessions(em: EntityManager, neededBy: readonly Role[]): Promise<number> {
  for (let limited = 0; ;) {
    const rows = await em.execute<object[]>(
      `with unproven as materialized (
         select s.id from auth_session s join user_account u on u.id = s.user_id
          where ${SESSION_LACKS_FACTOR} and s.revoked_at is null
            and not s.awaits_second_factor and s.expires_at > now()
          order by s.id limit ${BATCH} for no key update of s)
       update auth_session set awaits_second_factor = true
        where id = any(array(select id from unproven)) returning 1`,
      [arrayLiteral(neededBy)],
    );
    limited += rows.length;
    if (rows.length < BATCH) return limited;
  }
}

/** For administrators, for a user who has lost everything. Ends what was opened before. */
export async function removeFactors(
  em: EntityManager,
  userId: string,
  neededBy: readonly Role[],
): Promise<void> {
  await lockAccounts(em, [userId]);
  for (const table of ['user_totp', 'passkey', 'recovery_code', 'auth_challenge'])
    await em.execute(`delete from ${table} where user_id = ?`, [userId]);
  await em.execute('update user_account set second_factor = false, updated_at = now() where id = ?', [
    userId,
  ]);
  await forgetShown(em, userId);
  await limitSessions(em, [userId], neededBy);
}

/**
 * Notes that the session's user has just shown a second factor again, or a password if there is no factor.
 * The second factor gives a session that waits for it its full rights.
 */
export async function noteVerified(
  em: EntityManager,
  userId: string,
  sid: string,
  by: 'password' | 'factor',
): Promise<void> {
  await em.execute('update auth_session set verified_at = now() where id = ? and user_id = ?', [sid, userId]);
  if (by === 'factor') await endWaiting(em, userId, sid);
}

/** Notes that a factor of the account was shown in the session. */
async function endWaiting(em: EntityManager, userId: string, sid: string): Promise<void> {
  await em.execute(
    `update auth_session set awaits_second_factor = false, second_factor = coalesce(second_factor, 'own')
      where id = ? and user_id = ?`,
    [sid, userId],
  );
}

/** Whether a session has a viewer's rights until its user shows a second factor, or sets up the first one. */
export async function waitingOf(
  em: EntityManager,
  sid: string,
): Promise<'no' | 'for the first' | 'for a proof'> {
  const [row] = await em.execute<{ has: boolean }[]>(
    `select u.second_factor as has from auth_session s join user_account u on u.id = s.user_id
      where s.id = ? and s.awaits_second_factor`,
    [sid],
  );
  return row === undefined ? 'no' : row.has ? 'for a proof' : 'for the first';
}

/**
 * Keeps a session that waits for a second factor from making what would not wait.
 * @throws 403 `second_factor_required`
 */
export async function refuseWaiting(
  em: EntityManager,
  sid: string,
  { mayBeFirst = false }: { mayBeFirst?: boolean } = {},
): Promise<void> {
  const waiting = await waitingOf(em, sid);
  if (waiting === 'no' || (mayBeFirst && waiting === 'for the first')) return;
  const detail =
    waiting === 'for the first'
      ? 'Set up a second factor first: your role needs one.'
      : 'Show your second factor first, at POST /users/me/verify.';
  throw forbidden(detail, 'second_factor_required');
}
