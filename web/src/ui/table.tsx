import type { ComponentChildren } from 'preact';

import css from './table.module.css';

export interface Column<T> {
  title: string;
  cell: (record: T) => ComponentChildren;
  /**
   * `minor` columns are left out on a phone; `end` aligns numbers, times and buttons to the right; `text` is
   * sentences, which take as many lines as they need.
   */
  minor?: boolean;
  end?: boolean;
  text?: boolean;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  records: readonly T[];
  keyOf: (record: T) => string;
}

/** A table of records, which scrolls sideways in itself where it is too wide. */
export function Table<T>({ label, columns, records, keyOf }: Props<T>) {
  const classes = ({ minor, end, text }: Column<T>) =>
    [minor && css['extra'], end && css['right'], text && css['text']].filter(Boolean).join(' ') || undefined;
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
                  {column.cell(record)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
