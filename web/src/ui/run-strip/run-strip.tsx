/** Counts of runs as a strip: a column for each hour or day, from the oldest to now. */
import type { RunStats } from '../../../../client/index.ts';
import { lengthText } from '../time.ts';
import { columnsOf, highestOf, partsOf, sumsOf, type Bucket, type Column } from './columns.ts';
import css from './run-strip.module.css';
import { words } from './words.ts';

type Range = Pick<RunStats, 'by' | 'from' | 'to'>;

const WIDTH = 8;
const GAP = 2;

interface Props {
  range: Range;
  buckets: readonly Bucket[];
  /** Px. */
  height: number;
}

/** The picture, with the counts of each hour or day as its text. */
export function RunStrip({ range, buckets, height }: Props) {
  const columns = columnsOf(range, buckets);
  const highest = highestOf(columns);
  const width = columns.length * (WIDTH + GAP) - GAP;
  const told = columns
    .filter((column) => column.started + column.completed + column.faulted + column.cancelled > 0)
    .map((column) => columnText(column, range.by));
  return (
    <svg
      class={css['strip']}
      role="img"
      aria-label={words.strip(words.last[range.by], words.counts(sumsOf(buckets)), told)}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
    >
      {columns.map((column, index) => (
        <g key={column.atMs} transform={`translate(${index * (WIDTH + GAP)} 0)`}>
          <title>{columnText(column, range.by)}</title>
          <Bars column={column} highest={highest} height={height} />
        </g>
      ))}
    </svg>
  );
}

function Bars({ column, highest, height }: { column: Column; highest: number; height: number }) {
  const started = highest === 0 ? 0 : (column.started / highest) * height;
  return (
    <>
      {/* The whole column is there to point at. */}
      <rect class={css['ground']} width={WIDTH} height={height} />
      {started > 0 && <rect class={css['started']} y={height - started} width={WIDTH} height={started} />}
      {partsOf(column, highest, 2 / height).map(({ status, from, size }) => (
        <rect
          key={status}
          class={`status-${status} ${css['part']}`}
          y={(1 - from - size) * height}
          width={WIDTH}
          height={size * height}
        />
      ))}
    </>
  );
}

function columnText(column: Column, by: RunStats['by']): string {
  const at = new Date(column.atMs);
  const time =
    by === 'hour'
      ? at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
      : at.toLocaleDateString(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return words.column(time, words.counts(column));
}

/** The sums in words, with how long completed runs took. */
export function RunSums({ range, buckets }: Omit<Props, 'height'>) {
  const sums = sumsOf(buckets);
  return (
    <p class={css['sums']}>
      <span>{words.last[range.by]}</span>
      <span>{words.counts(sums)}</span>
      {sums.meanMs !== null && <span>{words.mean(lengthText(sums.meanMs))}</span>}
      {sums.slowestMs !== null && <span>{words.slowest(lengthText(sums.slowestMs))}</span>}
    </p>
  );
}
