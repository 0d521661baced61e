import type { ComponentChildren } from 'preact';

import css from './table.module.css';

export interface Column<T> {
  title: string;
  cell: (record: T) => ComponentChildren;
  /**
   * `minor` columns are left out on a phone; `end` aligns numbers and times to the right; `text` is
   * sentences, which take as many lines as they need; `long` is addresses and ids, which break anywhere;
   * `wrap` is a few words, which take a line each where there is no room; `acts` is the buttons of the row,
   * which stay in sight when the table scrolls.
   */
  minor?: boolean;
  end?: boolean;
  text?: boolean;
  long?: boolean;
  wrap?: boolean;
  acts?: boolean;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  records: readonly T[];
  keyOf: (record: T) => string;
}

const CLASSES = [
  ['minor', 'extra'],
  ['end', 'right'],
  ['text', 'text'],
  ['long', 'long'],
  ['wrap', 'wrap'],
  ['acts', 'acts'],
] as const;

/** A table of records, which scrolls sideways in itself where it is too wide. */
export function Table<T>({ label, columns, records, keyOf }: Props<T>) {
  const classes = (column: Column<T>) =>
    CLASSES.flatMap(([kind, name]) => (column[kind] === true ? [css[name]] : [])).join(' ') || undefined;
  return (
    <div class={css['scroll']} role="region" aria-label={label} tabIndex={0}>
      <table class={css['table']}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classes(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody data-records>
          {records.map((record) => (
            <tr key={keyOf(record)}>
              {columns.map((column) => (
                <td key={column.title} class={classes(column)}>
                  {column.acts === true ? (
                    <div class={css['buttons']}>{column.cell(record)}</div>
                  ) : (
                    column.cell(record)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
