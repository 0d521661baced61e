/**
 * Dates in UTC (manual: Dates). Broken-down time is `[year, month 0-11, day, hours, minutes, seconds,
 * weekday, yearday]`.
 */
import { raise } from '../errors.ts';
import { SHIFT, tickSize } from '../runtime.ts';
import type { Json } from '../values/json-types.ts';
import { fromEpoch, toArray, toEpoch, type Time } from './civil.ts';
import { format } from './strftime.ts';
import { parseTime } from './strptime.ts';
import { jq, value, type Family } from './types.ts';

/** Broken-down time from an array; fields out of range carry over, missing ones are zero. */
function fromArray(input: readonly Json[], message: string): Time {
  const [year = 1900, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0, weekday = 0, yearday = 0] =
    input.slice(0, 8).map((field) => {
      if (typeof field !== 'number' || field !== field) raise(message);
      return Math.trunc(Math.max(-2147483648, Math.min(2147483647, field)));
    });
  const epoch = toEpoch({ year, month, day, hours, minutes, seconds, weekday, yearday });
  return fromEpoch(epoch);
}

function gmtime(input: Json, name: string): Time {
  if (typeof input !== 'number') raise(`${name}() requires numeric inputs`);
  if (!Number.isFinite(input) || Math.abs(input) > 6.7e16)
    raise('error converting number of seconds since epoch to datetime');
  return fromEpoch(input);
}

function strftime(input: Json, pattern: Json, name: string): Json {
  if (typeof input !== 'number' && !Array.isArray(input)) raise(`${name}/1 requires parsed datetime inputs`);
  if (typeof pattern !== 'string') raise(`${name}/1 requires a string format`);
  // `%c` alone stands for seven fields.
  tickSize(pattern.length * 4, SHIFT.build);
  const time = Array.isArray(input)
    ? fromArray(input, `${name}/1 requires parsed datetime inputs`)
    : gmtime(input, name === 'strftime' ? 'gmtime' : 'localtime');
  return format(time, pattern);
}

function mktime(input: Json): Json {
  if (!Array.isArray(input)) raise('mktime requires array inputs');
  const time = fromArray(input, 'mktime requires parsed datetime inputs');
  return toEpoch(time);
}

function strptime(input: Json, pattern: Json): Json {
  if (typeof input !== 'string' || typeof pattern !== 'string')
    raise('strptime/1 requires string inputs and arguments');
  tickSize(pattern.length, SHIFT.build);
  tickSize(input.length, SHIFT.write);
  return parseTime(input, pattern);
}

const ISO = '%Y-%m-%dT%H:%M:%SZ';

export const dates: Family = {
  'gmtime/0': value((input) => toArray(gmtime(input, 'gmtime'))),
  // The platform has no local time: an expression must not depend on where it runs.
  'localtime/0': value((input) => toArray(gmtime(input, 'localtime'))),
  'mktime/0': value(mktime),
  'strftime/1': value((input, pattern) => strftime(input, pattern ?? null, 'strftime')),
  'strflocaltime/1': value((input, pattern) => strftime(input, pattern ?? null, 'strflocaltime')),
  'strptime/1': value((input, pattern) => strptime(input, pattern ?? null)),
  'todateiso8601/0': value((input) => strftime(input, ISO, 'strftime')),
  'fromdateiso8601/0': value((input) => mktime(strptime(input, ISO))),
  'todate/0': value((input) => strftime(input, ISO, 'strftime')),
  'fromdate/0': value((input) => mktime(strptime(input, ISO))),
  'date/0': value((input) => strftime(input, ISO, 'strftime')),
  'dateadd/2': jq('def dateadd(u; n): . + n;'),
  'datesub/2': jq('def datesub(u; n): . - n;'),
};
