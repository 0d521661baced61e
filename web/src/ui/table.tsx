import type { ComponentChildren } from 'preact';

import css from './table.module.css';

export interface Column<T> {
  title: string;
  cell: (record: T) => ComponentChildren;
  /** `minor` columns are left out on a phone; `end` aligns numbers, times and buttons to the right. */
  minor?: boolean;
  end?: boolean;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  records: readonly T[];
  keyOf: (record: T) => string;
}

/** A table of records, which scrolls sideways in itself where it is too wide. */
export function Table<T>({ label, columns, records, keyOf }: Props<T>) {
  const classes = ({ minor, end }: Column<T>) =>
    [minor === true ? css['extra'] : '', end === true ? css['right'] : ''].join(' ').trim() || undefined;
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
        <tbody>
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

/** The keys j and k go from one record's first link or button to the next. */
export function focusRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(`.${css['table']} tbody tr`)];
  const targets = rows.flatMap((row) => row.querySelector<HTMLElement>('a, button') ?? []);
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  targets[at < 0 ? 0 : Math.min(Math.max(at + by, 0), targets.length - 1)]?.focus();
}
