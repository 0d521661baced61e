/** `strftime` of C in the C locale, in UTC. */
import { checkString } from '../runtime.ts';
import { daysFromCivil, toEpoch, type Time } from './civil.ts';

export const WEEKDAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const;
export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

function pad(n: number, width: number, fill = '0'): string {
  return n < 0 ? `-${String(-n).padStart(width - 1, fill)}` : String(n).padStart(width, fill);
}

/** ISO 8601 week and the year that it belongs to. */
function isoWeek(time: Time): { year: number; week: number } {
  const monday = (time.weekday + 6) % 7;
  const thursday = time.yearday - monday + 3;
  if (thursday < 0)
    return isoWeek({
      ...time,
      year: time.year - 1,
      month: 11,
      day: 31,
      yearday: time.yearday + length(time.year - 1),
    });
  const days = length(time.year);
  if (thursday >= days) return { year: time.year + 1, week: 1 };
  return { year: time.year, week: Math.floor(thursday / 7) + 1 };
}

function length(year: number): number {
  return daysFromCivil(year + 1, 0, 1) - daysFromCivil(year, 0, 1);
}

/** The time as text. */
export function format(time: Time, pattern: string): string {
  let out = '';
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i);
    if (char !== '%') {
      out += char;
      continue;
    }
    let flag = '';
    let letter = pattern.charAt(++i);
    if ('-_0^#'.includes(letter) && letter !== '') {
      flag = letter;
      letter = pattern.charAt(++i);
    }
    let width = '';
    while (letter >= '0' && letter <= '9' && width.length < 3) {
      width += letter;
      letter = pattern.charAt(++i);
    }
    if (letter === 'E' || letter === 'O') letter = pattern.charAt(++i);
    out += adjust(field(time, letter), flag, Number(width || 0));
    checkString(out.length);
  }
  return out;
}

/** Applies GNU's flags: no padding, padding by spaces or zeros, upper case, other case. */
function adjust(text: string, flag: string, width: number): string {
  let out = text;
  if (flag === '-') out = out.replace(/^[0 ]+(?=.)/, '');
  else if (flag === '_') out = out.replace(/^0+(?=.)/, (zeros) => ' '.repeat(zeros.length));
  else if (flag === '0') out = out.replace(/^ +(?=.)/, (blanks) => '0'.repeat(blanks.length));
  else if (flag === '^') out = out.toUpperCase();
  else if (flag === '#') out = out === out.toUpperCase() ? out.toLowerCase() : out.toUpperCase();
  return out.padStart(width, /^-?\d/.test(out) && flag !== '_' ? '0' : ' ');
}

function field(time: Time, letter: string): string {
  const pattern = COMPOSITES.get(letter);
  if (pattern !== undefined) return format(time, pattern);
  return FIELDS.get(letter)?.(time) ?? `%${letter}`;
}

/** Fields that stand for several others. */
export const COMPOSITES: ReadonlyMap<string, string> = new Map([
  ['c', '%a %b %e %H:%M:%S %Y'],
  ['D', '%m/%d/%y'],
  ['x', '%m/%d/%y'],
  ['F', '%Y-%m-%d'],
  ['R', '%H:%M'],
  ['r', '%I:%M:%S %p'],
  ['T', '%H:%M:%S'],
  ['X', '%H:%M:%S'],
]);

const FIELDS: ReadonlyMap<string, (time: Time) => string> = new Map(
  Object.entries<(time: Time) => string>({
    a: ({ weekday }) => (WEEKDAYS[weekday] ?? '').slice(0, 3),
    A: ({ weekday }) => WEEKDAYS[weekday] ?? '',
    b: shortMonth,
    B: ({ month }) => MONTHS[month] ?? '',
    C: ({ year }) => pad(Math.floor(year / 100), 2),
    d: ({ day }) => pad(day, 2),
    e: ({ day }) => pad(day, 2, ' '),
    g: (time) => pad(yearOfCentury(isoWeek(time).year), 2),
    G: (time) => String(isoWeek(time).year),
    h: shortMonth,
    H: ({ hours }) => pad(hours, 2),
    I: ({ hours }) => pad(hour12(hours), 2),
    j: ({ yearday }) => pad(yearday + 1, 3),
    k: ({ hours }) => pad(hours, 2, ' '),
    l: ({ hours }) => pad(hour12(hours), 2, ' '),
    m: ({ month }) => pad(month + 1, 2),
    M: ({ minutes }) => pad(minutes, 2),
    n: () => '\n',
    p: ({ hours }) => (hours < 12 ? 'AM' : 'PM'),
    P: ({ hours }) => (hours < 12 ? 'am' : 'pm'),
    s: (time) => String(toEpoch(time)),
    S: ({ seconds }) => pad(Math.trunc(seconds), 2),
    t: () => '\t',
    u: ({ weekday }) => String(weekday === 0 ? 7 : weekday),
    U: ({ yearday, weekday }) => pad(Math.floor((yearday + 7 - weekday) / 7), 2),
    V: (time) => pad(isoWeek(time).week, 2),
    w: ({ weekday }) => String(weekday),
    W: ({ yearday, weekday }) => pad(Math.floor((yearday + 7 - ((weekday + 6) % 7)) / 7), 2),
    y: ({ year }) => pad(yearOfCentury(year), 2),
    Y: ({ year }) => String(year),
    z: () => '+0000',
    Z: () => 'UTC',
    '%': () => '%',
  }),
);

function shortMonth({ month }: Time): string {
  return (MONTHS[month] ?? '').slice(0, 3);
}

function hour12(hours: number): number {
  return hours % 12 === 0 ? 12 : hours % 12;
}

function yearOfCentury(year: number): number {
  return ((year % 100) + 100) % 100;
}
