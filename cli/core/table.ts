/** Tables, and records as lines of `name  value`. */
import { oneLine, shorten, styleOf, type Paint } from './text.ts';

export interface View<T> {
  columns: readonly (readonly [title: string, cell: (row: T) => unknown])[];
  /** What `-o name` prints. */
  name: (row: T) => string;
  /** Lines of a single record; default: the columns. */
  lines?: (record: T, paint: Paint) => string[];
  /** Said instead of an empty table. */
  none?: string;
}

const GAP = 2;
/** No column but the last is wider. */
const WIDEST = 60;

/** @param width of the terminal, 0 if unknown: the last column is cut to fit */
export function tableLines<T>(
  rows: readonly T[],
  { columns }: View<T>,
  width: number,
  paint: Paint,
): string[] {
  const cells = rows.map((row) => columns.map(([, cell]) => textOf(cell(row))));
  const widths = columns.map(([title], index) =>
    Math.min(WIDEST, Math.max(title.length, ...cells.map((row) => lengthOf(row[index] ?? '')))),
  );
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + GAP, 0);
  const last = width === 0 ? Infinity : Math.max(width - before, 10);
  const line = (row: readonly string[], style: (text: string, plain: string) => string): string =>
    row
      .map((cell, index) => {
        const isLast = index === row.length - 1;
        const plain = shorten(cell, isLast ? last : WIDEST);
        const gap = isLast ? '' : ' '.repeat((widths[index] ?? 0) - lengthOf(plain) + GAP);
        return style(plain, cell) + gap;
      })
      .join('')
      .trimEnd();
  const colored = (text: string, cell: string): string => {
    const style = styleOf(cell);
    return style === undefined ? text : paint(style, text);
  };
  const titles = columns.map(([title]) => title.toUpperCase());
  return [line(titles, (text) => paint('dim', text)), ...cells.map((row) => line(row, colored))];
}

export function detailLines<T>(record: T, { columns }: Pick<View<T>, 'columns'>, paint: Paint): string[] {
  const widest = Math.max(...columns.map(([title]) => title.length));
  return columns.flatMap(([title, cell]) => {
    const text = textOf(cell(record));
    const style = styleOf(text);
    if (text === '') return [];
    const shown = style === undefined ? text : paint(style, text);
    return [`${paint('dim', title.padEnd(widest + GAP))}${shown}`];
  });
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return oneLine(value.map((one) => textOf(one)).join(', '));
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

const lengthOf = (text: string): number => [...text].length;
