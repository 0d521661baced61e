/** When a person wants to be told: digests and quiet hours, in their time zone. Pure. */
import type { NotificationSettings } from '../../contracts/notifications.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

export interface Timing {
  now: Date;
  /** The task's end; a digest after it would be useless. */
  expiresAt: Date | null;
  defaultZone: string;
  /** Mails are collected; chats are not. */
  isMail: boolean;
}

/** The first time at which the message may be sent. */
export function sendTime(settings: NotificationSettings, timing: Timing): Date {
  const zone = settings.time_zone ?? timing.defaultZone;
  const wanted = timing.isMail ? digestTime(settings, timing.now, zone) : timing.now;
  const due = timing.expiresAt !== null && wanted >= timing.expiresAt ? timing.now : wanted;
  return afterQuietHours(settings.quiet_hours ?? null, due, zone);
}

function digestTime({ digest, digest_at: at }: NotificationSettings, now: Date, zone: string): Date {
  if (digest === 'hourly') return new Date((Math.floor(now.getTime() / 3_600_000) + 1) * 3_600_000);
  return digest === 'daily' ? nextAt(at ?? '08:00', now, zone) : now;
}

/** The hours may pass midnight; equal times mean none. */
function afterQuietHours(quiet: { from: string; to: string } | null, at: Date, zone: string): Date {
  if (quiet === null) return at;
  const [from, to, minute] = [minuteOf(quiet.from), minuteOf(quiet.to), localMinute(at, zone)];
  const isQuiet = from <= to ? minute >= from && minute < to : minute >= from || minute < to;
  return isQuiet ? nextAt(quiet.to, at, zone) : at;
}

/** The next moment, after `now`, at which clocks in the zone show this time. */
function nextAt(clock: string, now: Date, zone: string): Date {
  const target = minuteOf(clock);
  const ahead = (target - localMinute(now, zone) + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  const guess = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS + ahead * MINUTE_MS;
  // Clocks may change in between.
  const off = (target - localMinute(new Date(guess), zone) + DAY_MINUTES * 1.5) % DAY_MINUTES;
  return new Date(Math.max(guess + (off - DAY_MINUTES / 2) * MINUTE_MS, now.getTime()));
}

function minuteOf(clock: string): number {
  const [hours, minutes] = clock.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}

function localMinute(at: Date, zone: string): number {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return minuteOf(clock.format(at));
}
