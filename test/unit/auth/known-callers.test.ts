/** What is kept of a caller, and for how long. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { KnownCallers, type Caller } from '../../../domain/auth/known-callers.ts';

const now = Date.parse('2026-11-23T07:00:00Z');
const caller = (exp = now / 1_000 + 900): Caller => ({
  actor: { id: 'u', username: 'u', roles: ['viewer'], groups: [] },
  claims: { sub: 'u', sid: 's', client_id: 'cadenza', epoch: 1, exp },
});
let reads = 0;
const identify = async (): Promise<Caller | 'invalid_token'> => {
  reads++;
  return caller();
};

beforeEach(() => {
  reads = 0;
  jest.useFakeTimers({ now });
});
afterEach(() => {
  jest.useRealTimers();
});

test('a caller is read again after a second, after a change, and for another token', async () => {
  const callers = new KnownCallers(() => true);
  await callers.find('a', identify);
  expect(await callers.find('a', identify)).toMatchObject({ actor: { id: 'u' } });
  expect(reads).toBe(1);
  await callers.find('b', identify);
  expect(reads).toBe(2);
  jest.advanceTimersByTime(1_000);
  await callers.find('a', identify);
  expect(reads).toBe(3);
  callers.clear();
  await callers.find('a', identify);
  expect(reads).toBe(4);
  jest.setSystemTime(now - 3_600_000);
  jest.advanceTimersByTime(1_000);
  await callers.find('a', identify);
  expect(reads).toBe(5);
});

test('nothing is kept beyond the token, of a failure, or while changes go unnoticed', async () => {
  const callers = new KnownCallers(() => true);
  const expiring = jest.fn(async () => caller(now / 1_000));
  const failing = jest.fn(async () => 'invalid_token' as const);
  for (let n = 0; n < 2; n++) {
    await callers.find('expiring', expiring);
    expect(await callers.find('failing', failing)).toBe('invalid_token');
  }
  expect(expiring).toHaveBeenCalledTimes(2);
  expect(failing).toHaveBeenCalledTimes(2);

  let isNotified = true;
  const deaf = new KnownCallers(() => isNotified);
  await deaf.find('a', identify);
  isNotified = false;
  await deaf.find('a', identify);
  await deaf.find('a', identify);
  expect(reads).toBe(3);
});

test('what was read before a change is not kept after it', async () => {
  const callers = new KnownCallers(() => true);
  await callers.find('a', async () => {
    callers.clear();
    return caller();
  });
  await callers.find('a', identify);
  expect(reads).toBe(1);
});
