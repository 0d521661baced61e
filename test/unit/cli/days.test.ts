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
  expect(length('2027-12-31', 'UTC')).toEqual(['2027-12-31T00:00:00.000Z', '2028-01-01T00:00:00.000Z']);
});

test('a time is no day, and a day that does not exist is refused', () => {
  expect(dayIn('2027-01-08T09:00Z')).toBeUndefined();
  expect(() => dayIn('2027-02-30')).toThrow('2027-02-30 is not a day or a time.');
  expect(() => dayIn('2027-13-01')).toThrow('is not a day');
});
