/** Times in answers: RFC 3339 in UTC, to the millisecond. */

/** As PostgreSQL writes a time, alone or in JSON; its connections are in UTC. */
const OF_DATABASE = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00(?::00)?$/;

/** Texts are rewritten: to parse one as a date takes many times as long. */
export function time(value: Date | string): string {
  const [, day, clock, fraction = ''] = (typeof value === 'string' && OF_DATABASE.exec(value)) || [];
  if (day === undefined || clock === undefined) return new Date(value).toISOString();
  return `${day}T${clock}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
}

export function optionalTime(value: Date | string | null | undefined): string | null {
  return value === null || value === undefined ? null : time(value);
}
