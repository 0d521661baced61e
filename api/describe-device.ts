/** First match wins: browsers name those that they resemble too. */
const PROGRAMS: readonly [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ .*Safari\//, 'Safari'],
];

const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/**
 * A short name for a `User-Agent`, such as `Firefox on Linux`; for other programs the name that they give.
 * Null without one.
 */
export function describeDevice(userAgent: string | null): string | null {
  if (!userAgent) return null;
  const nameIn = (names: typeof PROGRAMS): string | undefined =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const program = nameIn(PROGRAMS) ?? /^[\w.-]{1,60}/.exec(userAgent)?.[0];
  const system = nameIn(SYSTEMS);
  return [program ?? 'Unknown', ...(system === undefined ? [] : [system])].join(' on ');
}
