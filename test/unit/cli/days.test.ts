/** Days of a time zone. */
import { expect, test } from '@jest/globals';

import { dayIn, endOfDay, startOfDay } from '../../../cli/core/days.ts';

const day = (text: string): Date => dayIn(text) as Date;

test('a day begins and ends at midnight of the zone, also when clocks change', () => {
  const length = (text: string, zone: string): string[] =>
    [startOfDay(day(text), zone), endOfDay(day(text), zone)].map((at) => at.toISOString());
  expect(length('2027-01-08', 'Europe/Berlin')).toEqual([
    '2027-01-07T23:00:00.000Z',
    '2027-01-08T23:00:00.000Z',
  ]);
  expect(length('2027-03-28', 'Europe/Berlin')).toEqual([
    '2027-03-27T23:00:00.000Z',
    '2027-03-28T22:00:00.000Z',
  ]);
  expect(length('2027-11-07', 'America/New_York')).toEqual([
    '2027-11-07T04:00:00.000Z',
    '2027-11-08T05:00:00.000Z',
  ]);
  expect(length('2027-11-07', 'America/Havana')).toEqual([
    '2027-11-07T04:00:00.000Z',
    '2027-11-08T05:00:00.000Z',
  ]);
  expect(length('2027-12-31', 'UTC')).toEqual(['2027-12-31T00:00:00.000Z', '2028-01-01T00:00:00.000Z']);
});

test.each([
  ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z', '2026-09-07T03:00:00.000Z'],
  ['America/Santiago', '2026-04-05', '2026-04-05T04:00:00.000Z', '2026-04-06T04:00:00.000Z'],
  ['America/Havana', '2027-03-14', '2027-03-14T05:00:00.000Z', '2027-03-15T04:00:00.000Z'],
  ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z', '2026-03-29T21:00:00.000Z'],
  ['Asia/Beirut', '2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T22:00:00.000Z'],
])('where clocks change at midnight, in %s, %s begins then', (zone, text, start, end) => {
  expect(startOfDay(day(text), zone).toISOString()).toBe(start);
  expect(endOfDay(day(text), zone).toISOString()).toBe(end);
  // The day before ends when it begins.
  const before = new Date(day(text).getTime() - 86_400_000);
  expect(endOfDay(before, zone).toISOString()).toBe(start);
});

test('a time is no day, and a day that does not exist is refused', () => {
  expect(dayIn('2027-01-08T09:00Z')).toBeUndefined();
  expect(() => dayIn('2027-02-30')).toThrow('2027-02-30 is not a day or a time.');
  expect(() => dayIn('2027-13-01')).toThrow('is not a day');
});
