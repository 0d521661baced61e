/** The device flow (RFC 8628): a program shows a code, and its user approves it in a browser. */
import { randomBytes, randomInt } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import type { Role } from '../../contracts/roles.ts';
import { AppError, conflict, notFound, OAuthError } from '../errors.ts';
import type { Claims } from './access-token.ts';
import type { Actor } from './actor.ts';
import {
  hashToken,
  openSession,
  revokeSession,
  shortUserAgent,
  type OpenedFrom,
  type Session,
} from './sessions.ts';
import { checkThrottle, recordAttempt } from './throttle.ts';

export const DEVICE_CODE_SECONDS = 600;
export const POLL_SECONDS = 5;
/** Added to a device's interval each time it polls too soon. */
const SLOW_DOWN_SECONDS = 5;
/** Live requests that one network may have. */
const MAX_PER_NETWORK = 20;
/** No vowels, so no words, and no characters that look alike (RFC 8628 section 6.1): 34 bits in eight. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;

/** A keyed hash, the same in every API process. */
type Mac = (text: string) => string;

export interface DeviceCodes {
  deviceCode: string;
  /** With a hyphen, for people. */
  userCode: string;
}

/**
 * `em` must be in a transaction.
 * @param from the request's origin, with `network` as `addressKey` returns it
 * @throws 429
 */
export async function requestDevice(
  em: EntityManager,
  mac: Mac,
  from: OpenedFrom & { network: string },
): Promise<DeviceCodes> {
  // Requests of one network wait for each other, so those sent at once do not exceed the limit together.
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`device ${from.network}`]);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from device_request
      where network = ? and expires_at > now() and status = 'pending'`,
    [from.network],
  );
  if ((row?.count ?? 0) >= MAX_PER_NETWORK) {
    const detail = `Your address has ${MAX_PER_NETWORK} codes that nobody has decided. Try again later.`;
    throw new AppError('too_many_requests', 'too_many_codes', detail, { headers: { 'Retry-After': '60' } });
  }
  const deviceCode = randomBytes(32).toString('base64url');
  const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  await em.execute(
    `insert into device_request
       (id, device_code_hash, user_code_hash, network, address, user_agent, expires_at, interval_seconds)
     values (?, ?, ?, ?, ?, ?, now() + make_interval(secs => ?), ?)`,
    [
      uuidv7(),
      hashToken(deviceCode),
      userCodeHash(mac, code),
      from.network,
      from.ip,
      shortUserAgent(from),
      DEVICE_CODE_SECONDS,
      POLL_SECONDS,
    ],
  );
  return { deviceCode, userCode: `${code.slice(0, 4)}-${code.slice(4)}` };
}

/** Ignores case, spaces and hyphens, as people type them. */
function userCodeHash(mac: Mac, code: string): string {
  return mac(`device code ${code.toUpperCase().replaceAll(/[\s-]/g, '')}`);
}

export interface DeviceRequest {
  id: string;
  address: string;
  user_agent: string;
  created_at: Date;
  expires_at: Date;
}

/** Who asks, under the limit on wrong codes. */
export interface Asking {
  actor: Actor;
  /** The request's address, as `addressKey` returns it. */
  network: string;
}

/**
 * The pending request of a user code. `em` must not be in a transaction, so that a wrong code stays counted.
 * @throws 404; 429 after ten wrong codes in 15 minutes
 */
export async function findDeviceRequest(
  em: EntityManager,
  mac: Mac,
  { actor, network }: Asking,
  userCode: string,
): Promise<DeviceRequest> {
  const source = { account: `device-code:${actor.id}`, address: network, perAccount: 10 };
  await checkThrottle(em, source);
  const found = await em.transactional(async (tx) => {
    const [row] = await tx.execute<(DeviceRequest & { created_at: string; expires_at: string })[]>(
      `select id, address, user_agent, created_at, expires_at from device_request
        where user_code_hash = ? and status = 'pending' and expires_at > now()`,
      [userCodeHash(mac, userCode)],
    );
    return (await recordAttempt(tx, source, row !== undefined)) ? row : undefined;
  });
  if (!found) throw notFound('code');
  return { ...found, created_at: new Date(found.created_at), expires_at: new Date(found.expires_at) };
}

/**
 * @param decider the user, and the session in which the user decides
 * @throws 409 if it was decided meanwhile
 */
export async function decideDeviceRequest(
  em: EntityManager,
  decider: Pick<Claims, 'sub' | 'sid'>,
  id: string,
  decision: 'approve' | 'deny',
): Promise<void> {
  const decided = await em.execute<object[]>(
    `update device_request d
        set status = ?, user_id = u.id, token_epoch = u.token_epoch, approved_by = ?
       from user_account u
      where d.id = ? and d.status = 'pending' and d.expires_at > now() and u.id = ? and u.status = 'active'
      returning 1`,
    [decision === 'approve' ? 'approved' : 'denied', decider.sid, id, decider.sub],
  );
  if (decided.length === 0) throw conflict('already_decided', 'The code was decided, or has expired.');
}

interface PolledRow {
  id: string;
  status: 'pending' | 'approved' | 'denied' | 'used';
  user_id: string | null;
  token_epoch: number | null;
  approved_by: string | null;
  session_id: string | null;
  expired: boolean;
  too_soon: boolean;
}

/**
 * Exchanges an approved device code for a session. `em` must not be in a transaction.
 * @throws OAuthError by RFC 8628 section 3.5: `authorization_pending`, `slow_down`, `access_denied`,
 * `expired_token`; `invalid_grant` for an unknown or used code, whose session then ends
 */
export async function pollDevice(em: EntityManager, deviceCode: string, from: OpenedFrom): Promise<Session> {
  const polled = await em.transactional(async (tx) => {
    const [row] = await tx.execute<PolledRow[]>(
      `select id, status, user_id, token_epoch, approved_by, session_id,
              expires_at <= clock_timestamp() as expired,
              coalesce(polled_at > clock_timestamp() - make_interval(secs => interval_seconds), false)
                as too_soon
         from device_request where device_code_hash = ? for update`,
      [hashToken(deviceCode)],
    );
    return row ? answerPoll(tx, row, from) : new OAuthError('invalid_grant', 'The device code is unknown.');
  });
  if (polled instanceof OAuthError) throw polled;
  return polled;
}

async function answerPoll(
  em: EntityManager,
  row: PolledRow,
  from: OpenedFrom,
): Promise<Session | OAuthError> {
  if (row.status === 'used') {
    if (row.session_id !== null) await revokeSession(em, row.session_id);
    return new OAuthError('invalid_grant', 'The device code was used before.');
  }
  if (row.status === 'denied') return new OAuthError('access_denied', 'The user denied the request.');
  if (row.expired) return new OAuthError('expired_token', 'The code has expired. Ask for a new one.');
  if (row.too_soon) {
    await em.execute(
      `update device_request set polled_at = clock_timestamp(), interval_seconds = interval_seconds + ?
        where id = ?`,
      [SLOW_DOWN_SECONDS, row.id],
    );
    return new OAuthError('slow_down', `Wait ${SLOW_DOWN_SECONDS} seconds longer between two requests.`);
  }
  await em.execute('update device_request set polled_at = clock_timestamp() where id = ?', [row.id]);
  if (row.status === 'pending') {
    return new OAuthError('authorization_pending', 'The user has not decided yet.');
  }
  const [user] = await em.execute<{ id: string; token_epoch: number; roles: Role[] }[]>(
    `select u.id, u.token_epoch, u.roles from user_account u
       join auth_session s on s.id = ? and s.user_id = u.id and s.revoked_at is null and s.expires_at > now()
      where u.id = ? and u.token_epoch = ? and u.status = 'active' for share`,
    [row.approved_by, row.user_id, row.token_epoch],
  );
  const session = user
    ? await openSession(em, user, { ...from, byPassword: false, approvedBy: row.approved_by })
    : null;
  await em.execute(`update device_request set status = ?, session_id = ? where id = ?`, [
    session ? 'used' : 'denied',
    session?.sid ?? null,
    row.id,
  ]);
  return session ?? new OAuthError('access_denied', 'The session that approved has ended.');
}
