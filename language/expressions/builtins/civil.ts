/** The proleptic Gregorian calendar in UTC, without the host's dates. */
import type { Json } from '../values/json-types.ts';

export interface Time {
  year: number;
  month: number;
  day: number;
  hours: number;
  minutes: number;
  seconds: number;
  weekday: number;
  yearday: number;
}

/** Days since 1970-01-01 of a date in the proleptic Gregorian calendar; any month is allowed. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = year + Math.floor(month / 12);
  const m = ((month % 12) + 12) % 12;
  const shifted = m < 2 ? y - 1 : y;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (m < 2 ? m + 10 : m - 2) + 2) / 5) + day - 1;
  return (
    era * 146097 +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    dayOfYear -
    719468
  );
}

/** Broken-down time of seconds since the epoch; the fraction stays with the seconds. */
export function fromEpoch(epoch: number): Time {
  const whole = Math.trunc(epoch);
  const fraction = epoch - Math.floor(epoch);
  const days = Math.floor(whole / 86400);
  const rest = whole - days * 86400;
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const dayOfEra = z - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const mp = Math.floor((5 * dayOfYear + 2) / 153);
  const month = mp < 10 ? mp + 2 : mp - 10;
  const year = yearOfEra + era * 400 + (month < 2 ? 1 : 0);
  return {
    year,
    month,
    day: dayOfYear - Math.floor((153 * mp + 2) / 5) + 1,
    hours: Math.floor(rest / 3600),
    minutes: Math.floor((rest % 3600) / 60),
    seconds: (rest % 60) + fraction,
    weekday: (((days + 4) % 7) + 7) % 7,
    yearday: days - daysFromCivil(year, 0, 1),
  };
}

export function toEpoch(time: Time): number {
  return (
    daysFromCivil(time.year, time.month, time.day) * 86400 +
    time.hours * 3600 +
    time.minutes * 60 +
    Math.trunc(time.seconds)
  );
}

export function toArray(time: Time): Json {
  return [
    time.year,
    time.month,
    time.day,
    time.hours,
    time.minutes,
    time.seconds,
    time.weekday,
    time.yearday,
  ];
}
