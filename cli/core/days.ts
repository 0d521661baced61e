/** Days and times as people type them: a day is one of their time zone. */
import type { Cli } from './cli.ts';
import { usageError } from './errors.ts';

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAY_MS = 86_400_000;

/** The time zone of the user's notifications, which is that of the platform by default. */
export async function zoneOf(cli: Cli): Promise<string> {
  const settings = await cli.client.call('getNotificationSettings', { signal: cli.signal });
  return settings.time_zone ?? settings.default_time_zone;
}

/** A day, as its midnight in UTC; undefined for anything else. @throws CliError if it does not exist */
export function dayIn(text: string): Date | undefined {
  if (!DAY.test(text)) return undefined;
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text))
    throw usageError(`${text} is not a day or a time.`);
  return day;
}

/** When the day begins in the zone. */
export function startOfDay(day: Date, zone: string): Date {
  const guess = new Date(day.getTime() - offsetMs(day, zone));
  // The clocks may have been changed between the two.
  const midnight = new Date(day.getTime() - offsetMs(guess, zone));
  // West of UTC, clocks that skip midnight are changed at the guess, and show the day before until then.
  return midnight.getTime() + offsetMs(midnight, zone) < day.getTime() ? guess : midnight;
}

/** When the day ends in the zone: at the begin of the next. */
export const endOfDay = (day: Date, zone: string): Date => startOfDay(new Date(day.getTime() + DAY_MS), zone);

/** How far clocks in the zone are ahead of UTC. */
function offsetMs(at: Date, zone: string): number {
  const seconds = Math.floor(at.getTime() / 1_000);
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return local - seconds * 1_000;
}
