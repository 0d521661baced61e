/** Checks a username and password, under the limits on failed log-ins. */
import type { Role } from '../../contracts/roles.ts';
import type { EntityManager } from '../../db/orm.ts';
import { AppError } from '../errors.ts';
import { deviceOf, issueDeviceMark } from './device.ts';
import { writeAudit } from '../audit/write.ts';
import { verifyPassword } from './password.ts';
import { acceptPasskey } from './passkeys.ts';
import {
  acceptProof,
  findChallenge,
  secondFactorNeeded,
  useChallenge,
  type Challenge,
  type FactorDeps,
  type Proof,
} from './second-factor.ts';
import { LOG_IN, originOfOpening, type OpenedFrom } from './sessions.ts';
import { accountKey, checkThrottle, recordAttempt } from './throttle.ts';

export interface LogInDeps {
  /** Not in a transaction, so that a failed attempt stays counted. */
  em: EntityManager;
  /** The request's address, as `addressKey` returns it. */
  address: string;
  from: OpenedFrom;
  factors: FactorDeps;
  /** The mark that the device sent, and the keyed hash that verifies it. */
  device: { mark: string | null; mac: (text: string) => string };
}

export interface LogIn<T> {
  session: T;
  /** The mark to set on a device that has none for this user. */
  newMark: string | null;
}

interface LoginRow {
  id: string;
  password_hash: string | null;
  status: string;
}

interface LoggedInUser {
  id: string;
  token_epoch: number;
  roles: Role[];
  second_factor: boolean;
}

/**
 * Opens a session by `open`, in the transaction that accepts the password. Null for wrong credentials,
 * whether or not the user exists. @throws 429; 401 `mfa_required` with a challenge
 */
export async function logIn<T>(
  deps: LogInDeps,
  { username, password }: { username: string; password: string },
  open: (em: EntityManager, user: LoggedInUser) => Promise<T>,
): Promise<LogIn<T> | null> {
  const [user] = await deps.em.execute<LoginRow[]>(
    `select id, password_hash, status from user_account
      where lower(username) = lower(?) or lower(email) = lower(?) order by id limit 1`,
    [username, username],
  );
  const device = user ? deviceOf(deps.device.mac, user.id, deps.device.mark) : null;
  const source = { account: accountKey(user?.id ?? null, username), address: deps.address, device };
  await checkThrottle(deps.em, source);
  const fits = await verifyPassword(password, user?.password_hash ?? null);
  const session = await deps.em.transactional(async (em) => {
    const accepted = await recordAttempt(em, source, fits && user?.status === 'active');
    const current = accepted && user ? await lockUnchanged(em, user) : undefined;
    if (current?.second_factor === true) return secondFactorNeeded(em, deps.factors, current.id);
    if (current) return open(em, current);
    await auditFailure(em, deps.from, user?.id ?? null);
    return null;
  });
  if (session instanceof AppError) throw session;
  if (session === null || !user) return null;
  return { session, newMark: device === null ? issueDeviceMark(deps.device.mac, user.id) : null };
}

export interface ChallengeAnswer extends Proof {
  challenge: string;
}

/**
 * Completes a log-in whose password was right, or logs in by a passkey alone. Null for a wrong proof, which
 * is counted, or a challenge that is over. @throws 429
 */
export async function completeLogIn<T>(
  deps: LogInDeps,
  { challenge: token, ...proof }: ChallengeAnswer,
  open: (em: EntityManager, user: LoggedInUser) => Promise<T>,
): Promise<LogIn<T> | null> {
  const done = await deps.em.transactional(async (em) => {
    const challenge = await findChallenge(em, token, ['log_in', 'passkey']);
    if (challenge === null) return null;
    const userId = await proven(em, deps, challenge, proof);
    if (userId === null) {
      await auditFailure(em, deps.from, challenge.user_id, 'wrong_second_factor');
      return null;
    }
    await useChallenge(em, challenge);
    const [user] = await em.execute<LoggedInUser[]>(
      `select id, token_epoch, roles, second_factor from user_account
        where id = ? and status = 'active' for share`,
      [userId],
    );
    return user === undefined ? null : { session: await open(em, user), userId };
  });
  if (done === null) return null;
  const device = deviceOf(deps.device.mac, done.userId, deps.device.mark);
  const newMark = device === null ? issueDeviceMark(deps.device.mac, done.userId) : null;
  return { session: done.session, newMark };
}

async function proven(
  em: EntityManager,
  { factors, address }: LogInDeps,
  { user_id: userId, challenge }: Challenge,
  proof: Proof,
): Promise<string | null> {
  if (userId !== null)
    return (await acceptProof(em, factors, { userId, address, challenge }, proof)) ? userId : null;
  if (proof.passkey === undefined || challenge === null) return null;
  return acceptPasskey(em, factors.baseUrl, null, { challenge, response: proof.passkey });
}

/** Without the name that was typed: people type their passwords there. */
async function auditFailure(
  em: EntityManager,
  from: OpenedFrom,
  userId: string | null,
  code = 'invalid_credentials',
): Promise<void> {
  await writeAudit(em, originOfOpening(from), {
    action: LOG_IN,
    outcome: 'refused',
    objectType: 'user',
    objectId: userId,
    data: { code },
    ...(userId === null ? {} : { actor: { id: userId, name: null } }),
  });
}

/** Reads the row again with a lock: the password may have changed while its hash was computed. */
async function lockUnchanged(em: EntityManager, seen: LoginRow): Promise<LoggedInUser | undefined> {
  const [row] = await em.execute<LoggedInUser[]>(
    `select id, token_epoch, roles, second_factor from user_account
     where id = ? and password_hash = ? and status = 'active' for share`,
    [seen.id, seen.password_hash],
  );
  return row;
}
