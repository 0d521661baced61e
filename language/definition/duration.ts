const UNIT_MS = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  milliseconds: 1,
} as const;

/**
 * P[n]W or P[n]DT[n]H[n]M[n]S. Years and months are matched only to reject them, as their length is not
 * fixed.
 */
const ISO_8601 = new RegExp(
  [
    String.raw`^P(?!$)(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)W)?`,
    String.raw`(?:(\d+(?:\.\d+)?)D)?(?:T(?=\d)(?:(\d+(?:\.\d+)?)H)?`,
    String.raw`(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$`,
  ].join(''),
);

/** One hundred years. Longer timers would overflow, and no workflow intends such a wait. */
const MAX_DURATION_MS = 36_525 * UNIT_MS.days;

class DurationError extends Error {
  override name = 'DurationError';
}

/**
 * Converts a DSL duration to milliseconds: inline `{days, hours, minutes, seconds, milliseconds}` or ISO 8601
 * (weeks allowed, fractions rounded to whole milliseconds). The caller evaluates `${ … }` first, so the
 * argument may be anything.
 * @throws DurationError for invalid durations, years and months, and more than 100 years
 */
export function durationToMs(duration: unknown): number {
  const ms = Math.round(typeof duration === 'string' ? isoToMs(duration) : inlineToMs(duration));
  if (!(ms <= MAX_DURATION_MS)) throw new DurationError('a duration may be at most 100 years');
  return ms;
}

function isoToMs(text: string): number {
  const match = text.length > 100 ? null : ISO_8601.exec(text);
  if (match === null)
    throw new DurationError(`"${text.slice(0, 100)}" is not an ISO 8601 duration such as PT30S or P1DT2H`);
  const [, years, months, weeks, days, hours, minutes, seconds] = match;
  if (years !== undefined || months !== undefined) {
    throw new DurationError('years and months have no fixed length: use weeks, days or hours (P30D, P365D)');
  }
  return (
    Number(weeks ?? 0) * 7 * UNIT_MS.days +
    Number(days ?? 0) * UNIT_MS.days +
    Number(hours ?? 0) * UNIT_MS.hours +
    Number(minutes ?? 0) * UNIT_MS.minutes +
    Number(seconds ?? 0) * UNIT_MS.seconds
  );
}

function inlineToMs(inline: unknown): number {
  const units =
    typeof inline === 'object' && inline !== null && !Array.isArray(inline) ? Object.entries(inline) : [];
  if (units.length === 0)
    throw new DurationError(
      'a duration is an ISO 8601 text such as PT30S or an object such as {"seconds": 30}',
    );
  let ms = 0;
  for (const [unit, value] of units) {
    if (!isUnit(unit))
      throw new DurationError(
        `"${unit}" is not a unit of duration: days, hours, minutes, seconds, milliseconds`,
      );
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      throw new DurationError(`"${unit}" must be a number of 0 or more`);
    ms += value * UNIT_MS[unit];
  }
  return ms;
}

function isUnit(name: string): name is keyof typeof UNIT_MS {
  return Object.hasOwn(UNIT_MS, name);
}
