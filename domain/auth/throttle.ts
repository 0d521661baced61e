/** Failed log-ins are stored as rows, so the limits hold across all API processes. */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { AppError } from '../errors.ts';

const WINDOW_SECONDS = 900;
/**
 * The most failures in the window: for an account from one address, for an address, for an account from all
 * addresses, and for a known device.
 */
const limits = { accountFromAddress: 10, address: 100, account: 100, device: 10 };

/** The account of a log-in, and where it came from. */
export interface LoginSource {
  /** The same for all names of an account. */
  account: string;
  address: string;
  /**
   * A device that has logged in to this account before. Its failures are counted separately, so failures of
   * strangers do not block it.
   */
  device?: string | null;
  /** Default: 100. Null: no limit, for secrets that cannot be guessed. */
  perAccount?: number | null;
  /** What a refusal says. Default: of failed log-ins. */
  refusal?: string;
}

export function accountKey(userId: string | null, name: string): string {
  return userId
    ? `user:${userId}`
    : `name:${createHash('sha256').update(name.toLowerCase()).digest('base64url')}`;
}

/** An IPv6 /64 network counts as one address, because one household usually has a whole one. */
export function addressKey(ip: string): string {
  const plain = ip.replace(/^::ffff:(?=\d+\.)/, '');
  if (!plain.includes(':')) {
    return plain;
  }
  const [head = '', tail] = plain.split('::');
  const groups = head ? head.split(':') : [];
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail ? tail.split(':').length : 0);
  return `${[...groups, ...Array<string>(missing).fill('0')].slice(0, 4).join(':')}::/64`;
}

interface Bucket {
  condition: string;
  values: string[];
  limit: number;
}

function bucketsOf({ account, address, device, perAccount = limits.account }: LoginSource): Bucket[] {
  if (device)
    return [
      {
        condition: 'account = ? and address = ?',
        values: [deviceKey(account), device],
        limit: limits.device,
      },
    ];
  return [
    {
      condition: 'account = ? and address = ?',
      values: [account, address],
      limit: limits.accountFromAddress,
    },
    { condition: 'address = ?', values: [address], limit: limits.address },
    ...(perAccount === null ? [] : [{ condition: 'account = ?', values: [account], limit: perAccount }]),
  ];
}

/** Of failures from known devices of an account; what stands for a device takes the place of the address. */
function deviceKey(account: string): string {
  return `device:${account}`;
}

/** @throws 429 with `Retry-After` after too many failures */
export async function checkThrottle(em: EntityManager, source: LoginSource): Promise<void> {
  const buckets = bucketsOf(source);
  const [row] = await em.execute<{ seconds: number | null }[]>(
    `select ceil(extract(epoch from
              greatest(${buckets.map(nthFailure).join(', ')}) + interval '15 minutes' - clock_timestamp()
            ))::int as seconds`,
    buckets.flatMap(({ values, limit }) => [...values, limit - 1]),
  );
  const seconds = row?.seconds ?? 0;
  if (seconds > 0) {
    const detail = source.refusal ?? 'Too many failed log-ins. Try again later.';
    throw new AppError('too_many_requests', 'too_many_logins', detail, {
      headers: {
        'Retry-After': String(seconds),
        'RateLimit-Policy': `"login";q=${limits.accountFromAddress};w=${WINDOW_SECONDS}`,
        RateLimit: `"login";r=0;t=${seconds}`,
      },
    });
  }
}

/** SQL: the time of the failure that reached the limit; null if the limit is not reached. */
function nthFailure({ condition }: Bucket): string {
  return `(select at from login_attempt
            where ${condition} and at > clock_timestamp() - interval '15 minutes'
            order by at desc offset ? limit 1)`;
}

/**
 * Records whether an attempt with a password, code or second factor was correct, in the caller's transaction.
 * Attempts for an account are serialized, so that concurrent guesses cannot exceed its limits; that of an
 * address is exceeded by those under way at once. @returns `correct`; a failure is counted @throws 429
 */
export async function recordAttempt(
  em: EntityManager,
  source: LoginSource,
  correct: boolean,
): Promise<boolean> {
  const [account, address] = source.device
    ? [deviceKey(source.account), source.device]
    : [source.account, source.address];
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`login ${account}`]);
  await checkThrottle(em, source);
  if (!correct) {
    await em.execute(
      `delete from login_attempt where account = ? and at < clock_timestamp() - interval '15 minutes'`,
      [account],
    );
    await em.execute('insert into login_attempt (id, account, address) values (?, ?, ?)', [
      uuidv7(),
      account,
      address,
    ]);
  }
  return correct;
}

/** For somebody who has shown otherwise who they are. Failures of other accounts from the address stay. */
export async function forgetFailures(em: EntityManager, userId: string): Promise<void> {
  const account = accountKey(userId, '');
  await em.execute('delete from login_attempt where account in (?, ?)', [account, deviceKey(account)]);
}
