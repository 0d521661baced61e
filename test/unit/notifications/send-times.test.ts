import { expect, test } from '@jest/globals';
import type { NotificationSettings } from '../../../contracts/notifications.ts';
import { sendTime } from '../../../domain/notifications/send-times.ts';

const due = (settings: NotificationSettings, now: string, expires?: string, isMail = true): string =>
  sendTime(settings, {
    now: new Date(now),
    expiresAt: expires === undefined ? null : new Date(expires),
    defaultZone: 'UTC',
    isMail,
  }).toISOString();
const night = { from: '22:00', to: '07:00' };

test('a message is due at once, unless its person chose otherwise', () => {
  expect(due({}, '2026-01-05T10:20:30Z')).toBe('2026-01-05T10:20:30.000Z');
});

test.each([
  ['2026-01-05T21:59:00Z', '2026-01-05T21:59:00.000Z'],
  ['2026-01-05T22:00:00Z', '2026-01-06T07:00:00.000Z'],
  ['2026-01-06T06:59:59Z', '2026-01-06T07:00:00.000Z'],
  ['2026-01-06T07:00:00Z', '2026-01-06T07:00:00.000Z'],
])('quiet hours past midnight: what happens at %s is sent at %s', (now, then) => {
  expect(due({ quiet_hours: night }, now)).toBe(then);
});

test('quiet hours follow the clocks of the time zone, also when they change', () => {
  const settings = { quiet_hours: night, time_zone: 'Europe/Paris' };
  expect(due(settings, '2026-01-05T21:30:00Z')).toBe('2026-01-06T06:00:00.000Z');
  // In the night to 29 March 2026, clocks go from 2:00 to 3:00, and in the night to 25 October back.
  expect(due(settings, '2026-03-28T22:00:00Z')).toBe('2026-03-29T05:00:00.000Z');
  expect(due(settings, '2026-10-24T22:00:00Z')).toBe('2026-10-25T06:00:00.000Z');
  expect(due({ ...settings, time_zone: 'Asia/Kolkata' }, '2026-01-05T17:00:00Z')).toBe(
    '2026-01-06T01:30:00.000Z',
  );
});

test('a digest is due at the next hour, or at the chosen time of the day', () => {
  expect(due({ digest: 'hourly' }, '2026-01-05T10:20:00Z')).toBe('2026-01-05T11:00:00.000Z');
  expect(due({ digest: 'daily' }, '2026-01-05T10:20:00Z')).toBe('2026-01-06T08:00:00.000Z');
  const settings: NotificationSettings = {
    digest: 'daily',
    digest_at: '17:30',
    time_zone: 'America/New_York',
  };
  expect(due(settings, '2026-01-05T10:20:00Z')).toBe('2026-01-05T22:30:00.000Z');
});

test('a digest that would come after the expiry is sent at once, and chats are not collected', () => {
  const now = '2026-01-05T10:20:00Z';
  expect(due({ digest: 'daily' }, now, '2026-01-05T12:00:00Z')).toBe('2026-01-05T10:20:00.000Z');
  expect(due({ digest: 'daily' }, now, undefined, false)).toBe('2026-01-05T10:20:00.000Z');
});
