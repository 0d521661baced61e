/**
 * A time from outside in UTC, to the microsecond, as PostgreSQL and every client read it alike. Null for what
 * is no time in the years 1 to 9999: PostgreSQL has no year 0, and RFC 3339 no year 10000.
 */
export function utcTime(text: string): string | null {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return null;
  const utc = new Date(ms).toISOString();
  if (!/^\d{4}-/.test(utc) || utc.startsWith('0000')) return null;
  const fraction = /\.\d{1,6}/.exec(text)?.[0] ?? '';
  return `${utc.slice(0, 19)}${fraction}Z`;
}
