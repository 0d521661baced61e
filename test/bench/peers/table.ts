/** The figures of peers as one table of Markdown. */
import { percentile } from '../beside/in-turns.ts';
import type { Column, Figures } from './measure.ts';

export interface MeasuredPeer {
  name: string;
  figures: Record<Column, Figures>;
}

const HEADINGS: Record<keyof Figures, string> = {
  step: 'time per step',
  ten: '10 steps',
  runsPerSecond: 'runs/s',
  decision: 'decision → next step',
  list: 'list of 1,000',
};
const NAMES = Object.keys(HEADINGS) as (keyof Figures)[];

/**
 * Ratios say how many times as long as Cadenza it took, in the same turns; for runs/s the inverse of the
 * rates, so that less than 1 is always faster than Cadenza.
 */
export function tableOf(peers: readonly MeasuredPeer[]): string {
  const shared = (column: Column): Figures =>
    Object.fromEntries(
      NAMES.flatMap((name) => {
        const values = peers
          .map(({ figures }) => figures[column][name])
          .filter((value) => value !== undefined);
        return values.length === 0 ? [] : [[name, percentile(values, 0.5)]];
      }),
    );
  const ours = shared('Cadenza');
  const rows = [
    rowOf('Cadenza', ours, undefined),
    rowOf('Cadenza, short calls', shared('short'), ours),
    rowOf('Temporal, hand-written', shared('hand'), ours),
    ...peers.map(({ name, figures }) => rowOf(name, figures.peer, figures.Cadenza)),
  ];
  const head = ['', ...NAMES.map((name) => HEADINGS[name])];
  return [lineOf(head), lineOf(head.map((_unused, i) => (i === 0 ? '---' : '---:'))), ...rows].join('\n');
}

function rowOf(name: string, figures: Figures, ours: Figures | undefined): string {
  const cells = NAMES.map((column) => {
    const [value, own] = [figures[column], ours?.[column]];
    if (value === undefined) return '';
    const text =
      column === 'runsPerSecond' ? `${value.toFixed(1)} /s` : `${value.toFixed(value < 100 ? 1 : 0)} ms`;
    if (own === undefined) return text;
    const ratio = column === 'runsPerSecond' ? own / value : value / own;
    return `${text} (${ratio.toFixed(2)})`;
  });
  return lineOf([name, ...cells]);
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
