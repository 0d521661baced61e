/**
 * Lists omit large fields, so that no stored object can make a list too large to build. The database checks a
 * value's size before it reads the value.
 */

/** `summary` is for screens that show a line of each record. */
export const LIST_VIEWS = ['full', 'summary'] as const;
export type ListView = (typeof LIST_VIEWS)[number];

/** The largest size of a field in a list, in bytes of JSON. */
export const VIEW_FIELD_BYTES: Readonly<Record<ListView, number>> = { full: 16 * 1024, summary: 1024 };
export const LISTED_FIELD_BYTES = VIEW_FIELD_BYTES.full;

export interface ListedColumn {
  /** Name of the field in the record. */
  name: string;
  /** SQL of the column, such as `a.tags`. */
  column: string;
  /** SQL that selects the field, if it is not the column itself. */
  select?: string;
  /** Other fields are computed from it, so a summary reads it up to the size of the full view. */
  isSource?: true;
  /** Lists omit it, however small it is. */
  isNeverListed?: true;
}

/**
 * A page of the run log ends with the entry that brings its messages and data to this size, so it has at
 * least one entry, however large.
 */
export const LOG_PAGE_BYTES = 4 * 1024 * 1024;
/** The same for streams: each of many holds a page for as long as its client reads. */
export const STREAM_PAGE_BYTES = 1024 * 1024;

interface ListedColumnsOptions {
  /** Default: full. */
  view?: ListView | undefined;
  alsoOmitted?: Readonly<Record<string, string>>;
}

/**
 * SQL: the columns of a list, each null if it is large, and `omitted` with the names of the large ones.
 * `alsoOmitted`: further fields that are omitted with a column, because they are derived from it.
 */
export function listedColumns(
  columns: readonly ListedColumn[],
  { view = 'full', alsoOmitted = {} }: ListedColumnsOptions = {},
): string {
  const isOmitted = ({ column, isSource, isNeverListed }: ListedColumn): string =>
    isNeverListed ? `${column} is not null` : isLarge(column, VIEW_FIELD_BYTES[isSource ? 'full' : view]);
  const selected = columns.map(
    (listed) =>
      `case when ${isOmitted(listed)} then null else ${listed.select ?? listed.column} end
         as "${listed.name}"`,
  );
  const omitted = columns.flatMap((listed) =>
    [listed.name, ...Object.keys(alsoOmitted).filter((derived) => alsoOmitted[derived] === listed.name)].map(
      (field) => `case when ${isOmitted(listed)} then '${field}' end`,
    ),
  );
  return `${selected.join(',\n  ')},
  to_json(array_remove(array[${omitted.join(', ')}]::text[], null)) as omitted`;
}

/** SQL: an aggregate, whether the values of these columns are large together. */
export function areLarge(columns: readonly string[]): string {
  const sum = (size: (column: string) => string): string =>
    `sum(${columns.map((column) => `coalesce(${size(column)}, 0)`).join(' + ')})`;
  return `(case when ${sum((column) => `pg_column_size(${column})`)} > ${LISTED_FIELD_BYTES} then true
    else coalesce(${sum((column) => `octet_length(${column}::text)`)} > ${LISTED_FIELD_BYTES}, false) end)`;
}

/** Characters of the texts of an error in a list, and in the log. */
const ERROR_DETAIL = 8 * 1024;
const ERROR_TEXT = 2 * 1024;

/** SQL: an error of the definition language, of which the texts are cut if it is large. */
export function shortError(column: string): string {
  const text = (name: string, length: number): string =>
    `'${name}', left(${column} ->> '${name}', ${length})`;
  return `(case when ${isLarge(column)} then json_strip_nulls(json_build_object(
    ${text('type', ERROR_TEXT)}, 'status', ${column} -> 'status', ${text('title', ERROR_TEXT)},
    ${text('detail', ERROR_DETAIL)}, ${text('instance', ERROR_TEXT)})) else ${column} end)`;
}

/**
 * SQL: whether a value is large. The stored size is known without reading the value; it may be compressed, so
 * small values are measured in full.
 */
export function isLarge(column: string, bytes = LISTED_FIELD_BYTES): string {
  return `(case when pg_column_size(${column}) > ${bytes} then true
    else coalesce(octet_length(${column}::text) > ${bytes}, false) end)`;
}
