/** `strptime` of C in the C locale, as jq uses it. */
import { raise } from '../errors.ts';
import type { Json } from '../values/json-types.ts';
import { daysFromCivil, fromEpoch, toArray, type Time } from './civil.ts';
import { COMPOSITES, MONTHS, WEEKDAYS } from './strftime.ts';

interface State {
  text: string;
  at: number;
  time: Time;
  /** Set by the fields that fix the day. */
  has: {
    weekday: boolean;
    yearday: boolean;
    date: boolean;
    pm: boolean | null;
    hour12: boolean;
    century: number | null;
    yearOfCentury: number | null;
  };
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

/** Reads one field; false when the text does not match it. */
function field(state: State, letter: string): boolean {
  const pattern = COMPOSITES.get(letter);
  if (pattern !== undefined) return match(state, pattern);
  return FIELDS.get(letter)?.(state) ?? false;
}

type Field = (state: State) => boolean;

function digits(count: number, min: number, max: number, set?: (state: State, value: number) => void): Field {
  return (state) => {
    const value = number(state, count, min, max);
    if (value === null) return false;
    set?.(state, value);
    return true;
  };
}

function word(names: readonly string[], set: (state: State, index: number) => void): Field {
  return (state) => {
    const index = name(state, names);
    if (index === null) return false;
    set(state, index);
    return true;
  };
}

const weekday = word(WEEKDAYS, ({ time, has }, index) => {
  time.weekday = index;
  has.weekday = true;
});
const month = word(MONTHS, ({ time, has }, index) => {
  time.month = index;
  has.date = true;
});
const day = digits(2, 1, 31, ({ time, has }, value) => {
  time.day = value;
  has.date = true;
});
const hour24 = digits(2, 0, 23, ({ time, has }, value) => {
  time.hours = value;
  has.hour12 = false;
});
const hour12 = digits(2, 1, 12, ({ time, has }, value) => {
  time.hours = value % 12;
  has.hour12 = true;
});
const half = word(['AM', 'PM'], ({ has }, index) => {
  has.pm = index === 1;
});
/** Weeks are read and not used, like the year that belongs to them. */
const week = digits(2, 0, 53);

const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries<Field>({
    a: weekday,
    A: weekday,
    b: month,
    B: month,
    C: digits(2, 0, 99, ({ has }, value) => {
      has.century = value;
    }),
    d: day,
    e: day,
    g: digits(2, 0, 99),
    G: digits(4, 0, 9999),
    h: month,
    H: hour24,
    I: hour12,
    j: digits(3, 1, 366, ({ time, has }, value) => {
      time.yearday = value - 1;
      has.yearday = true;
    }),
    k: hour24,
    l: hour12,
    m: digits(2, 1, 12, ({ time, has }, value) => {
      time.month = value - 1;
      has.date = true;
    }),
    M: digits(2, 0, 59, ({ time }, value) => {
      time.minutes = value;
    }),
    n: skipBlanks,
    p: half,
    P: half,
    s: digits(15, -1e14, 1e14, ({ time, has }, value) => {
      Object.assign(time, fromEpoch(value));
      has.weekday = has.yearday = true;
    }),
    S: digits(2, 0, 61, ({ time }, value) => {
      time.seconds = value;
    }),
    t: skipBlanks,
    u: digits(1, 1, 7, ({ time, has }, value) => {
      time.weekday = value % 7;
      has.weekday = true;
    }),
    U: week,
    V: week,
    w: digits(1, 0, 6, ({ time, has }, value) => {
      time.weekday = value;
      has.weekday = true;
    }),
    W: week,
    y: digits(2, 0, 99, ({ has }, value) => {
      has.yearOfCentury = value;
    }),
    Y: digits(4, 0, 9999, ({ time, has }, value) => {
      time.year = value;
      has.date = true;
      has.century = null;
      has.yearOfCentury = null;
    }),
    z: zone,
    Z: skipLetters,
    '%': percentSign,
  }),
);

function skipBlanks(state: State): boolean {
  while (isBlank(state.text.charAt(state.at))) state.at++;
  return true;
}

function skipLetters(state: State): boolean {
  while (/[A-Za-z]/.test(state.text.charAt(state.at))) state.at++;
  return true;
}

function percentSign(state: State): boolean {
  if (state.text.charAt(state.at) !== '%') return false;
  state.at++;
  return true;
}

function match(state: State, pattern: string): boolean {
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i);
    if (isBlank(char)) {
      skipBlanks(state);
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
  const state = initialState(text);
  const matched = match(state, pattern);
  if (!matched || (state.at < text.length && !isBlank(text.charAt(state.at))))
    raise(`date "${text}" does not match format "${pattern}"`);
  completeYearAndHour(state);
  completeDay(state);
  const result = toArray(state.time);
  if (state.at < text.length && Array.isArray(result)) result.push(text.slice(state.at));
  return result;
}

function initialState(text: string): State {
  return {
    text,
    at: 0,
    time: {
      year: 1900,
      month: 0,
      day: 0,
      hours: 0,
      minutes: 0,
      seconds: 0,
      weekday: 0,
      yearday: 0,
    },
    has: {
      weekday: false,
      yearday: false,
      date: false,
      pm: null,
      hour12: false,
      century: null,
      yearOfCentury: null,
    },
  };
}

/** Combines the half of the day and its hour, the century and its year. */
function completeYearAndHour({ time, has }: State): void {
  if (has.pm !== null && has.hour12) time.hours += has.pm ? 12 : 0;
  if (has.yearOfCentury !== null) {
    const century = has.century ?? (has.yearOfCentury < 69 ? 20 : 19);
    time.year = century * 100 + has.yearOfCentury;
    has.date = true;
  } else if (has.century !== null) time.year = has.century * 100;
}

/** Computes the weekday and the day of the year from the date, or the date from the day of the year. */
function completeDay({ time, has }: State): void {
  if (has.yearday && !has.date) Object.assign(time, fixedDay(time));
  if (time.day !== 0) {
    const days = daysFromCivil(time.year, time.month, time.day);
    if (!has.weekday || has.date) time.weekday = (((days + 4) % 7) + 7) % 7;
    if (!has.yearday) time.yearday = days - daysFromCivil(time.year, 0, 1);
  } else if (!has.yearday)
    time.yearday = daysFromCivil(time.year, time.month, 0) - daysFromCivil(time.year, 0, 1);
}

/** Month and day from the day of the year. */
function fixedDay(time: Time): { month: number; day: number } {
  const { month, day } = fromEpoch((daysFromCivil(time.year, 0, 1) + time.yearday) * 86400);
  return { month, day };
}
