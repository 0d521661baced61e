/** Tables, and records as lines of `name  value`. */
import { oneLine, shorten, styleOf, type Paint } from './text.ts';

export interface View<T> {
  columns: readonly (readonly [title: string, cell: (row: T) => unknown])[];
  /** What `-o name` prints. */
  name: (row: T) => string;
  /** Lines of a single record; default: the columns. */
  lines?: (record: T, paint: Paint) => string[];
  /** Instead of a table: a line for each row, however long. */
  line?: (row: T, paint: Paint) => string;
  /** The last column has sentences: it continues on the next line, and is not cut. */
  wraps?: boolean;
  /** Said instead of an empty table. */
  none?: string;
}

const GAP = 2;
/** No column but the last is wider. */
const WIDEST = 60;

/** A column that wraps is at least as wide, even if the terminal is not. */
const NARROWEST_WRAPPED = 24;

/** @param width of the terminal, 0 if unknown: the last column is cut or wrapped to fit */
export function tableLines<T>(rows: readonly T[], view: View<T>, width: number, paint: Paint): string[] {
  const { columns } = view;
  if (view.line) return rows.map((row) => view.line?.(row, paint) ?? '');
  const cells = rows.map((row) => columns.map(([, cell]) => textOf(cell(row))));
  const widths = columns.map(([title], index) =>
    Math.min(WIDEST, Math.max(title.length, ...cells.map((row) => lengthOf(row[index] ?? '')))),
  );
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + GAP, 0);
  const last = width === 0 ? Infinity : Math.max(width - before, view.wraps ? NARROWEST_WRAPPED : 10);
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
  const wrapped = (row: readonly string[]): string[] => {
    const [first = '', ...more] = wrap(row.at(-1) ?? '', last);
    return [line([...row.slice(0, -1), first], colored), ...more.map((text) => ' '.repeat(before) + text)];
  };
  return [
    line(titles, (text) => paint('dim', text)),
    ...cells.flatMap((row) => (view.wraps ? wrapped(row) : [line(row, colored)])),
  ];
}

/** Breaks a text between words, and a longer word where the line ends. */
function wrap(text: string, width: number): string[] {
  if (lengthOf(text) <= width) return [text];
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    const joined = current === '' ? word : `${current} ${word}`;
    if (lengthOf(joined) <= width) {
      current = joined;
      continue;
    }
    if (current !== '') lines.push(current);
    const characters = [...word];
    while (characters.length > width) lines.push(characters.splice(0, width).join(''));
    current = characters.join('');
  }
  return current === '' ? lines : [...lines, current];
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
