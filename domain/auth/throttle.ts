/** Failed log-ins are rows, so that the limits hold across all copies of the API. */
import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

import type { EntityManager } from '../../db/orm.ts';
import { AppError } from '../errors.ts';

const windowSeconds = 900;
const limits = { account: 10, address: 100 };

/** Whom a log-in counts against: one account under all its names, and where it came from. */
export interface LoginSource {
  account: string;
  address: string;
}

export function accountKey(userId: string | null, name: string): string {
  return userId ? `user:${userId}` : `name:${createHash('sha256').update(name.toLowerCase()).digest('base64url')}`;
}

/** An IPv6 network of 64 bits is one household, so one address. */
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

/** 429 with `Retry-After` when the account or the address has too many failures behind it. */
export async function checkThrottle(em: EntityManager, source: LoginSource): Promise<void> {
  const [row] = await em.execute<{ account_s: number | null; address_s: number | null }[]>(
    `select ceil(extract(epoch from (${nthFailure('account')}) + interval '15 minutes' - clock_timestamp()))::int as account_s,
            ceil(extract(epoch from (${nthFailure('address')}) + interval '15 minutes' - clock_timestamp()))::int as address_s`,
    [source.account, limits.account - 1, source.address, limits.address - 1],
  );
  const seconds = Math.max(row?.account_s ?? 0, row?.address_s ?? 0);
  if (seconds > 0) {
    throw new AppError('too_many_requests', 'too_many_logins', 'Too many failed log-ins. Try again later.', {
      headers: {
        'Retry-After': String(seconds),
        'RateLimit-Policy': `"login";q=${limits.account};w=${windowSeconds}`,
        RateLimit: `"login";r=0;t=${seconds}`,
      },
    });
  }
}

/** The oldest of the last failures that fill the limit. */
function nthFailure(column: 'account' | 'address'): string {
  return `select at from login_attempt where ${column} = ? and at > clock_timestamp() - interval '15 minutes' order by at desc offset ? limit 1`;
}

/**
 * Decides one log-in in the caller's transaction, one after the other for an account: of a thousand guesses at once, ten are
 * answered. @returns `correct`; a failure is counted.
 */
export async function settleLogin(em: EntityManager, source: LoginSource, correct: boolean): Promise<boolean> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`login ${source.account}`]);
  await checkThrottle(em, source);
  if (!correct) {
    await em.execute(`delete from login_attempt where account = ? and at < clock_timestamp() - interval '15 minutes'`, [source.account]);
    await em.execute('insert into login_attempt (id, account, address) values (?, ?, ?)', [uuidv7(), source.account, source.address]);
  }
  return correct;
}
