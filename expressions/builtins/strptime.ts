/** `strptime` of C in the C locale, as jq uses it. */
import { raise } from '../errors.ts';
import type { Json } from '../values/json-types.ts';
import { daysFromCivil, fromEpoch, toArray, type Time } from './civil.ts';
import { months, weekdays } from './strftime.ts';

interface State {
  text: string;
  at: number;
  time: Time;
  /** Set by the fields that fix the day. */
  has: { weekday: boolean; yearday: boolean; date: boolean; pm: boolean | null; hour12: boolean; century: number | null; yearOfCentury: number | null };
}

function number(state: State, digits: number, min: number, max: number): number | null {
  while (isBlank(state.text.charAt(state.at))) state.at++;
  const found = new RegExp(`[+-]?[0-9]{1,${digits}}`, 'y');
  found.lastIndex = state.at;
  const text = found.exec(state.text)?.[0];
  if (text === undefined) return null;
  const value = Number(text);
  if (value < min || value > max) return null;
  state.at += text.length;
  return value;
}

function name(state: State, names: readonly string[]): number | null {
  const rest = state.text.slice(state.at, state.at + 12).toLowerCase();
  for (const [i, full] of names.entries()) {
    for (const candidate of [full, full.slice(0, 3)]) {
      if (!rest.startsWith(candidate.toLowerCase())) continue;
      state.at += candidate.length;
      return i;
    }
  }
  return null;
}

function isBlank(char: string): boolean {
  return char === ' ' || (char >= '\t' && char <= '\r');
}

function zone(state: State): boolean {
  const found = /^(?:Z|[+-]\d{2}(?::?\d{2})?)/.exec(state.text.slice(state.at, state.at + 8));
  if (!found) return false;
  state.at += found[0].length;
  return true;
}

const composite: Record<string, string> = { c: '%a %b %e %H:%M:%S %Y', D: '%m/%d/%y', x: '%m/%d/%y', F: '%Y-%m-%d', R: '%H:%M', r: '%I:%M:%S %p', T: '%H:%M:%S', X: '%H:%M:%S' };

/** Reads one field; false when the text does not match it. */
function field(state: State, letter: string): boolean {
  const { time, has } = state;
  const take = (digits: number, min: number, max: number, set: (value: number) => void): boolean => {
    const value = number(state, digits, min, max);
    if (value === null) return false;
    set(value);
    return true;
  };
  const inner = composite[letter];
  if (inner !== undefined) return match(state, inner);
  switch (letter) {
    case 'a':
    case 'A': {
      const day = name(state, weekdays);
      if (day === null) return false;
      time.weekday = day;
      has.weekday = true;
      return true;
    }
    case 'b':
    case 'B':
    case 'h': {
      const month = name(state, months);
      if (month === null) return false;
      time.month = month;
      has.date = true;
      return true;
    }
    case 'C': return take(2, 0, 99, (v) => (has.century = v));
    case 'd':
    case 'e': return take(2, 1, 31, (v) => ((time.day = v), (has.date = true)));
    case 'H':
    case 'k': return take(2, 0, 23, (v) => ((time.hours = v), (has.hour12 = false)));
    case 'I':
    case 'l': return take(2, 1, 12, (v) => ((time.hours = v % 12), (has.hour12 = true)));
    case 'j': return take(3, 1, 366, (v) => ((time.yearday = v - 1), (has.yearday = true)));
    case 'm': return take(2, 1, 12, (v) => ((time.month = v - 1), (has.date = true)));
    case 'M': return take(2, 0, 59, (v) => (time.minutes = v));
    case 'p':
    case 'P': {
      const half = name(state, ['AM', 'PM']);
      if (half === null) return false;
      has.pm = half === 1;
      return true;
    }
    case 's': return take(15, -1e14, 1e14, (v) => {
      Object.assign(time, fromEpoch(v));
      has.weekday = has.yearday = true;
    });
    case 'S': return take(2, 0, 61, (v) => (time.seconds = v));
    case 'u': return take(1, 1, 7, (v) => ((time.weekday = v % 7), (has.weekday = true)));
    case 'w': return take(1, 0, 6, (v) => ((time.weekday = v), (has.weekday = true)));
    case 'U':
    case 'W':
    case 'V': return take(2, 0, 53, () => undefined);
    case 'G': return take(4, 0, 9999, () => undefined);
    case 'g': return take(2, 0, 99, () => undefined);
    case 'y': return take(2, 0, 99, (v) => (has.yearOfCentury = v));
    case 'Y': return take(4, 0, 9999, (v) => ((time.year = v), (has.date = true), (has.century = null), (has.yearOfCentury = null)));
    case 'z': return zone(state);
    case 'Z': {
      while (/[A-Za-z]/.test(state.text.charAt(state.at))) state.at++;
      return true;
    }
    case 'n':
    case 't': {
      while (isBlank(state.text.charAt(state.at))) state.at++;
      return true;
    }
    case '%': {
      if (state.text.charAt(state.at) !== '%') return false;
      state.at++;
      return true;
    }
    default:
      return false;
  }
}

function match(state: State, pattern: string): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i);
    if (isBlank(char)) {
      while (isBlank(state.text.charAt(state.at))) state.at++;
    } else if (char === '%') {
      let letter = pattern.charAt(++i);
      while ('-_0^#EO'.includes(letter) && letter !== '') letter = pattern.charAt(++i);
      if (!field(state, letter)) return false;
    } else {
      if (state.text.charAt(state.at) !== char) return false;
      state.at++;
    }
  }
  return true;
}

/** Broken-down time of a text, with the unread rest (which must begin with a blank) behind it. */
export function parseTime(text: string, pattern: string): Json {
  const time: Time = { year: 1900, month: 0, day: 0, hours: 0, minutes: 0, seconds: 0, weekday: 0, yearday: 0 };
  const state: State = { text, at: 0, time, has: { weekday: false, yearday: false, date: false, pm: null, hour12: false, century: null, yearOfCentury: null } };
  const matched = match(state, pattern);
  if (!matched || (state.at < text.length && !isBlank(text.charAt(state.at)))) raise(`date "${text}" does not match format "${pattern}"`);
  const { has } = state;
  if (has.pm !== null && has.hour12) time.hours += has.pm ? 12 : 0;
  if (has.yearOfCentury !== null) {
    const century = has.century ?? (has.yearOfCentury < 69 ? 20 : 19);
    time.year = century * 100 + has.yearOfCentury;
    has.date = true;
  } else if (has.century !== null) time.year = has.century * 100;
  if (has.yearday && !has.date) Object.assign(time, fixedDay(time));
  if (time.day !== 0) {
    const days = daysFromCivil(time.year, time.month, time.day);
    if (!has.weekday || has.date) time.weekday = (((days + 4) % 7) + 7) % 7;
    if (!has.yearday) time.yearday = days - daysFromCivil(time.year, 0, 1);
  } else if (!has.yearday) time.yearday = daysFromCivil(time.year, time.month, 0) - daysFromCivil(time.year, 0, 1);
  const result = toArray(time);
  if (state.at < text.length && Array.isArray(result)) result.push(text.slice(state.at));
  return result;
}

/** Month and day from the day of the year. */
function fixedDay(time: Time): { month: number; day: number } {
  const { month, day } = fromEpoch((daysFromCivil(time.year, 0, 1) + time.yearday) * 86400);
  return { month, day };
}
