import type { Counts } from './columns.ts';

const parts = ({ started, completed, faulted, cancelled }: Counts): [number, string][] => [
  [started, 'started'],
  [completed, 'completed'],
  [faulted, 'faulted'],
  [cancelled, 'cancelled'],
];

export const words = {
  last: { hour: 'Last 24 hours', day: 'Last 14 days' },
  none: 'no run',
  /** `12 started, 9 completed, 1 faulted`; without what did not happen. */
  counts: (counts: Counts): string => {
    const named = parts(counts).filter(([count]) => count > 0);
    if (named.length === 0) return 'no run';
    return named.map(([count, name]) => `${count.toLocaleString()} ${name}`).join(', ');
  },
  column: (time: string, counts: string) => `${time}: ${counts}`,
  strip: (range: string, counts: string, columns: readonly string[]) =>
    `${range}: ${counts}.${columns.length === 0 ? '' : ` ${columns.join('; ')}.`}`,
  mean: (length: string) => `mean ${length}`,
  slowest: (length: string) => `slowest ${length}`,
};
