/** `strftime` of C in the C locale, in UTC. */
import { checkString } from '../runtime.ts';
import { daysFromCivil, toEpoch, type Time } from './civil.ts';

export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
export const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'] as const;

function pad(n: number, width: number, fill = '0'): string {
  return n < 0 ? `-${String(-n).padStart(width - 1, fill)}` : String(n).padStart(width, fill);
}

/** ISO 8601 week and the year that it belongs to. */
export function isoWeek(time: Time): { year: number; week: number } {
  const monday = (time.weekday + 6) % 7;
  const thursday = time.yearday - monday + 3;
  if (thursday < 0) return isoWeek({ ...time, year: time.year - 1, month: 11, day: 31, yearday: time.yearday + length(time.year - 1) });
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
  const { year, month, day, hours, minutes, weekday, yearday } = time;
  const seconds = Math.trunc(time.seconds);
  const hour12 = hours % 12 === 0 ? 12 : hours % 12;
  switch (letter) {
    case 'a': return (weekdays[weekday] ?? '').slice(0, 3);
    case 'A': return weekdays[weekday] ?? '';
    case 'b':
    case 'h': return (months[month] ?? '').slice(0, 3);
    case 'B': return months[month] ?? '';
    case 'c': return format(time, '%a %b %e %H:%M:%S %Y');
    case 'C': return pad(Math.floor(year / 100), 2);
    case 'd': return pad(day, 2);
    case 'D':
    case 'x': return format(time, '%m/%d/%y');
    case 'e': return pad(day, 2, ' ');
    case 'F': return format(time, '%Y-%m-%d');
    case 'g': return pad(((isoWeek(time).year % 100) + 100) % 100, 2);
    case 'G': return String(isoWeek(time).year);
    case 'H': return pad(hours, 2);
    case 'I': return pad(hour12, 2);
    case 'j': return pad(yearday + 1, 3);
    case 'k': return pad(hours, 2, ' ');
    case 'l': return pad(hour12, 2, ' ');
    case 'm': return pad(month + 1, 2);
    case 'M': return pad(minutes, 2);
    case 'n': return '\n';
    case 'p': return hours < 12 ? 'AM' : 'PM';
    case 'P': return hours < 12 ? 'am' : 'pm';
    case 'r': return format(time, '%I:%M:%S %p');
    case 'R': return format(time, '%H:%M');
    case 's': return String(toEpoch(time));
    case 'S': return pad(seconds, 2);
    case 't': return '\t';
    case 'T':
    case 'X': return format(time, '%H:%M:%S');
    case 'u': return String(weekday === 0 ? 7 : weekday);
    case 'U': return pad(Math.floor((yearday + 7 - weekday) / 7), 2);
    case 'V': return pad(isoWeek(time).week, 2);
    case 'w': return String(weekday);
    case 'W': return pad(Math.floor((yearday + 7 - ((weekday + 6) % 7)) / 7), 2);
    case 'y': return pad(((year % 100) + 100) % 100, 2);
    case 'Y': return String(year);
    case 'z': return '+0000';
    case 'Z': return 'UTC';
    case '%': return '%';
    default: return `%${letter}`;
  }
}
