import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { pauseMs, standardRetry } from '../../../domain/delivery/retry.ts';
import { decodePosition, encodePosition } from '../../../domain/events/position.ts';
import { matchesType } from '../../../domain/events/type-filter.ts';
import { isSecret, newSecret, signedHeaders } from '../../../domain/webhooks/signature.ts';

test('signatures are those of the standard, as its own library verifies them', () => {
  const secret = newSecret();
  expect(isSecret(secret)).toBe(true);
  const body = '{"text":"€ 😀"}';
  const headers = signedHeaders(secret, { id: 'run:1', body, at: new Date() });
  expect(new Webhook(secret).verify(body, headers)).toEqual({ text: '€ 😀' });
  expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
  const old = signedHeaders(secret, { id: 'run:1', body, at: new Date(Date.now() - 600_000) });
  expect(() => new Webhook(secret).verify(body, old)).toThrow();
});

test('only secrets of the standard are taken', () => {
  const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
  expect([of(24), of(64)].map(isSecret)).toEqual([true, true]);
  expect([of(23), of(65), 'whsec_', 'whsec_***', of(32).slice(6), `${of(32)} `].map(isSecret)).toEqual([false, false, false, false, false, false]);
});

test('patterns of types', () => {
  const type = 'io.cadenza.hitl.task-created.v1';
  expect(matchesType([], type)).toBe(true);
  expect(['io.cadenza.hitl', type, 'io.cadenza.*', '*.v1', '*', '*task-created*', 'io', '**'].filter((pattern) => !matchesType([pattern], type))).toEqual([]);
  expect(['io.cadenza.hit', 'cadenza', 'io.cadenza.hitl.', '*.v2', 'ioXcadenza.hitl', 'io.cadenza.hitl.task'].filter((pattern) => matchesType([pattern], type))).toEqual([]);
  expect(matchesType(['other', 'io.cadenza'], type)).toBe(true);
});

describe('pauses after a failure', () => {
  const pause = (attempts: number, ageMs: number, askedMs: number | null = null, random = 0.5) => pauseMs(standardRetry, { attempts, ageMs, askedMs }, random);
  const minute = 60_000;

  test('double, grow with the outage, spread by a fifth, and keep to what was asked for', () => {
    expect([1, 2, 3, 4, 9].map((attempts) => pause(attempts, 0))).toEqual([5_000, 10_000, 20_000, 30_000, 30_000]);
    expect([10, 60, 600, 1_440].map((minutes) => pause(100, minutes * minute))).toEqual([30_000, 180_000, 1_800_000, 3_600_000]);
    expect([pause(1, 0, null, 0), pause(1, 0, null, 1)]).toEqual([4_000, 6_000]);
    expect([pause(1, 0, minute), pause(1, 0, 1e12), pause(1_000, 1e12)]).toEqual([minute, 3_600_000, 3_600_000]);
  });

  test('a day is some hundred attempts, and who is back after ten minutes hears of it within half a minute', () => {
    let [attempts, ageMs] = [0, 0];
    while (ageMs < 1_440 * minute) ageMs += pause(++attempts, ageMs);
    expect(attempts).toBeGreaterThan(80);
    expect(attempts).toBeLessThan(160);
    expect(pause(30, 10 * minute, null, 1)).toBeLessThanOrEqual(36_000);
  });
});

test('positions are opaque, and only ours are read', () => {
  for (const position of [{ tx: '742', gpos: '-1' }, { tx: '18446744073', gpos: '9223372036854775807' }]) {
    expect(decodePosition(encodePosition(position))).toEqual(position);
  }
  for (const text of ['', 'x', '5', Buffer.from('1.').toString('base64url'), Buffer.from('1.9999999999999999999').toString('base64url'), Buffer.from("1.1'").toString('base64url')]) {
    expect(() => decodePosition(text)).toThrow('Last-Event-ID');
  }
});
