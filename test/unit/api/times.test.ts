import { expect, test } from '@jest/globals';
import { optionalTime, time } from '../../../api/times.ts';

test.each([
  '2026-11-28 17:16:54.123456+00',
  '2026-11-28 17:16:54.999999+00',
  '2026-11-28 17:16:54.12+00',
  '2026-11-28 17:16:54+00',
  '2026-11-28T17:16:54.123456+00:00',
  '2026-11-28T17:16:54+00:00',
  '2026-11-28T17:16:54.5Z',
  '2026-11-28T18:16:54.5+01:00',
])('%s is the time that a date makes of it', (text) => {
  expect(time(text)).toBe(new Date(text).toISOString());
});

test('a date and no time', () => {
  const date = new Date('2026-11-28T17:16:54.123Z');
  expect(time(date)).toBe('2026-11-28T17:16:54.123Z');
  expect([optionalTime(date), optionalTime(null), optionalTime(undefined)]).toEqual([
    '2026-11-28T17:16:54.123Z',
    null,
    null,
  ]);
});
