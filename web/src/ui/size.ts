const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `512 B`, `1.5 MB` */
export function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const count = bytes / 1_000 ** power;
  return `${power === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[power] ?? ''}`;
}
