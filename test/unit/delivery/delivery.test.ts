import { expect, test } from '@jest/globals';
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

test('pauses double up to an hour, spread by a fifth, and keep to what was asked for', () => {
  const pauses = Array.from({ length: 14 }, (_, index) => pauseMs(standardRetry, index + 1, null, 0.5));
  expect(pauses.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000]);
  expect(pauses.at(-1)).toBe(3_600_000);
  expect([pauseMs(standardRetry, 1, null, 0), pauseMs(standardRetry, 1, null, 1)]).toEqual([4_000, 6_000]);
  expect(pauseMs(standardRetry, 1, 60_000, 0.5)).toBe(60_000);
  expect(pauseMs(standardRetry, 1, 1e12, 0.5)).toBe(3_600_000);
  expect(pauseMs(standardRetry, 1_000, null, 0.5)).toBe(3_600_000);
});

test('positions are opaque, and only ours are read', () => {
  for (const position of [{ tx: '742', gpos: '-1' }, { tx: '18446744073', gpos: '9223372036854775807' }]) {
    expect(decodePosition(encodePosition(position))).toEqual(position);
  }
  for (const text of ['', 'x', '5', Buffer.from('1.').toString('base64url'), Buffer.from('1.9999999999999999999').toString('base64url'), Buffer.from("1.1'").toString('base64url')]) {
    expect(() => decodePosition(text)).toThrow('Last-Event-ID');
  }
});
