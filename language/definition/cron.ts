/**
 * Checks cron expressions of `schedule.cron` as Temporal's schedules take them: five fields (minute, hour,
 * day of month, month, day of week), optionally after `CRON_TZ=<time zone>`, or a name such as `@daily`.
 */
const MACROS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const MAX_LENGTH = 200;
/** More entries than minutes in an hour say nothing new. */
const MAX_ENTRIES = 60;

interface Field {
  name: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: DAYS },
];

/** What is wrong with a cron expression, as the end of a sentence; null if nothing is. */
export function cronProblem(text: string): string | null {
  if (text.length > MAX_LENGTH) return `may have at most ${MAX_LENGTH} characters`;
  const parts = text.trim().split(/\s+/);
  const zone = /^(?:CRON_)?TZ=(.*)$/.exec(parts[0] ?? '')?.[1];
  if (zone !== undefined) {
    if (!isTimeZone(zone)) return `names the unknown time zone "${zone}"`;
    parts.shift();
  }
  const [first = ''] = parts;
  if (first.startsWith('@'))
    return parts.length === 1 && MACROS.includes(first) ? null : `may be ${MACROS.join(', ')} or five fields`;
  if (parts.length !== FIELDS.length)
    return 'must have five fields, such as 0 9 * * 1-5: minute, hour, day of month, month, day of week';
  for (const [index, field] of FIELDS.entries()) {
    const problem = fieldProblem(parts[index] ?? '', field);
    if (problem !== null) return problem;
  }
  return null;
}

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a valid cron expression names only days that its months do not have, such as February 31. */
export function neverComes(text: string): boolean {
  const parts = text.trim().split(/\s+/).slice(-FIELDS.length);
  const [, , days = '*', months = '*', weekdays = '*'] = parts;
  // Which days are meant where both are named depends on who reads it.
  if (parts.length !== FIELDS.length || weekdays !== '*') return false;
  const [, , day, month] = FIELDS;
  if (!day || !month) return false;
  const first = Math.min(...days.split(',').flatMap((entry) => valuesOf(entry, day)));
  return months
    .split(',')
    .flatMap((entry) => valuesOf(entry, month))
    .every((number) => first > (LONGEST_MONTHS[number - 1] ?? 0));
}

/** The numbers that an entry of a field means. */
function valuesOf(entry: string, field: Field): number[] {
  const [range = '', step] = entry.split('/');
  const [from, to] =
    range === '*' ? [field.min, field.max] : range.split('-').map((value) => numberOf(value, field));
  const first = from ?? field.min;
  const last = to ?? (step === undefined ? first : field.max);
  const width = step === undefined ? 1 : Number(step);
  return Array.from({ length: Math.floor((last - first) / width) + 1 }, (_, index) => first + index * width);
}

function isTimeZone(name: string): boolean {
  // Offsets such as +02:00 are time zones of JavaScript, but not of Temporal.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // Temporal tells upper from lower case. Of an alias, such as US/Eastern, the right case is unknown here.
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

function fieldProblem(text: string, field: Field): string | null {
  const entries = text.split(',');
  if (entries.length > MAX_ENTRIES) return `has more than ${MAX_ENTRIES} entries for the ${field.name}`;
  const wrong = entries.find((entry) => !isEntry(entry, field));
  return wrong === undefined
    ? null
    : `has "${wrong}" as ${field.name}, which is ${field.min}-${field.max}, *, a range or a step`;
}

/** `*`, `*` with `/5`, `3`, `3-9`, `3-9/2` or `3/2`. */
function isEntry(entry: string, field: Field): boolean {
  const [range = '', step, ...rest] = entry.split('/');
  if (rest.length > 0 || (step !== undefined && !isStep(step, field))) return false;
  if (range === '*') return true;
  const [from, to, ...more] = range.split('-').map((value) => numberOf(value, field));
  if (more.length > 0 || from === undefined || from === null || to === null) return false;
  return to === undefined || from <= to;
}

function isStep(text: string, { max }: Field): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= max;
}

function numberOf(text: string, { min, max, names = [] }: Field): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return named + min;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : null;
}
