import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { pauseMs, STANDARD_RETRY } from '../../../domain/delivery/retry.ts';
import { decodePosition, encodePosition } from '../../../domain/events/position.ts';
import { refusalOf } from '../../../domain/hooks/verify.ts';
import { matchesType } from '../../../domain/events/type-filter.ts';
import { isSecret, newSecret, signedHeaders } from '../../../domain/webhooks/signature.ts';

test('signatures verify with the library of Standard Webhooks', () => {
  const secret = newSecret();
  expect(isSecret(secret)).toBe(true);
  const body = '{"text":"€ 😀"}';
  const headers = signedHeaders([secret], { id: 'run:1', body, at: new Date() });
  expect(new Webhook(secret).verify(body, headers)).toEqual({ text: '€ 😀' });
  expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
  const old = signedHeaders([secret], { id: 'run:1', body, at: new Date(Date.now() - 600_000) });
  expect(() => new Webhook(secret).verify(body, old)).toThrow();
});

test('a request with two signatures is genuine for receivers with either secret', () => {
  const [secret, former] = [newSecret(), newSecret()];
  const body = '{}';
  const headers = signedHeaders([secret, former], { id: 'run:1', body, at: new Date() });
  expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const known of [secret, former]) {
    expect(new Webhook(known).verify(body, headers)).toEqual({});
    const request = { header: (name: string) => headers[name] ?? '', body: Buffer.from(body) };
    const check = { secrets: [known], toleranceSeconds: 300, now: new Date() };
    expect(refusalOf('standard', request, check)).toBeNull();
  }
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('No matching signature');
});

test('only secrets in the form of Standard Webhooks are accepted', () => {
  const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
  expect([of(24), of(64)].map(isSecret)).toEqual([true, true]);
  expect([of(23), of(65), 'whsec_', 'whsec_***', of(32).slice(6), `${of(32)} `].map(isSecret)).toEqual([
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('a type pattern matches a whole type, its dotted prefix, or wildcards', () => {
  const type = 'io.cadenza.hitl.task-created.v1';
  expect(matchesType([], type)).toBe(true);
  expect(
    ['io.cadenza.hitl', type, 'io.cadenza.*', '*.v1', '*', '*task-created*', 'io', '**'].filter(
      (pattern) => !matchesType([pattern], type),
    ),
  ).toEqual([]);
  expect(
    [
      'io.cadenza.hit',
      'cadenza',
      'io.cadenza.hitl.',
      '*.v2',
      'ioXcadenza.hitl',
      'io.cadenza.hitl.task',
    ].filter((pattern) => matchesType([pattern], type)),
  ).toEqual([]);
  expect(matchesType(['other', 'io.cadenza'], type)).toBe(true);
});

test('parts between wildcards are found in their order, and share no characters', () => {
  const fits = ['a*b', 'a*a*b', 'ab*', '*ab', 'a**b', 'ab*ab', '*b*a*'].filter((pattern) =>
    matchesType([pattern], 'abab'),
  );
  expect(fits).toEqual(['a*b', 'a*a*b', 'ab*', '*ab', 'a**b', 'ab*ab', '*b*a*']);
  const others = ['abab*ab', 'aba*bab', 'b*', '*a', 'a*c*b', '*b*b*b*'].filter((pattern) =>
    matchesType([pattern], 'abab'),
  );
  expect(others).toEqual([]);
});

test('a pattern of many wildcards takes no longer than another', () => {
  // A regular expression with these wildcards would run for years.
  const pattern = `${'*a'.repeat(100)}*x`;
  expect(matchesType([pattern], 'a'.repeat(250))).toBe(false);
  expect(matchesType([pattern], `${'a'.repeat(250)}x`)).toBe(true);
});

describe('the pause after a failed delivery', () => {
  const pause = (attempts: number, ageMs: number, askedMs: number | null = null, random = 0.5) =>
    pauseMs(STANDARD_RETRY, { attempts, ageMs, askedMs }, random);
  const minute = 60_000;

  test('doubles, grows with the outage, varies by a fifth, and follows Retry-After up to an hour', () => {
    expect([1, 2, 3, 4, 9].map((attempts) => pause(attempts, 0))).toEqual([
      5_000, 10_000, 20_000, 30_000, 30_000,
    ]);
    expect([10, 60, 600, 1_440].map((minutes) => pause(100, minutes * minute))).toEqual([
      30_000, 180_000, 1_800_000, 3_600_000,
    ]);
    expect([pause(1, 0, null, 0), pause(1, 0, null, 1)]).toEqual([4_000, 6_000]);
    expect([pause(1, 0, minute), pause(1, 0, 1e12), pause(1_000, 1e12)]).toEqual([
      minute,
      3_600_000,
      3_600_000,
    ]);
  });

  test('allows about a hundred attempts a day, and 36 seconds at most after ten minutes', () => {
    let [attempts, ageMs] = [0, 0];
    while (ageMs < 1_440 * minute) ageMs += pause(++attempts, ageMs);
    expect(attempts).toBeGreaterThan(80);
    expect(attempts).toBeLessThan(160);
    expect(pause(30, 10 * minute, null, 1)).toBeLessThanOrEqual(36_000);
  });
});

test('a position survives encoding, and a foreign Last-Event-ID is refused', () => {
  for (const position of [
    { tx: '742', gpos: '-1' },
    { tx: '18446744073', gpos: '9223372036854775807' },
  ]) {
    expect(decodePosition(encodePosition(position))).toEqual(position);
  }
  for (const text of [
    '',
    'x',
    '5',
    Buffer.from('1.').toString('base64url'),
    Buffer.from('1.9999999999999999999').toString('base64url'),
    Buffer.from("1.1'").toString('base64url'),
  ]) {
    expect(() => decodePosition(text)).toThrow('Last-Event-ID');
  }
});
