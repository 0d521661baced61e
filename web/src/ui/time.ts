/** Times and lengths in words: short in lists, exact where there is room. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `84 ms`, `1.3 s`, `12 s`, `4 m 10 s`, `3 d 4 h`. */
export function lengthText(ms: number): string {
  const length = Math.max(0, ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  if (length < 9_950) return `${(length / 1_000).toFixed(1)} s`;
  // Rounded first, so that 59.9 s is one minute and not 60 s.
  let rest = Math.round(length / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** One unit: `now`, `5 m`, `3 h`, `12 d`. */
export function roundLength(ms: number): string {
  const length = Math.abs(ms);
  for (const [unit, size] of UNITS)
    if (length >= size && unit !== 's') return `${Math.floor(length / size)} ${unit}`;
  return 'now';
}

/** `5 m ago`, `in 3 h`, `now`. */
export function relativeTime(at: string, nowMs: number): string {
  const ms = Date.parse(at) - nowMs;
  const text = roundLength(ms);
  if (text === 'now') return text;
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** In the reader's language and time zone. */
export function exactTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** `01:52:00.270`, local time. */
export function clockTime(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
