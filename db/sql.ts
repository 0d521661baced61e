/** Helpers for hand-written SQL: literals, patterns, conditions and cursors of keyset paging. */

/**
 * The PostgreSQL literal of an array of texts or UUIDs, for a parameter `?::text[]` or `?::uuid[]`; values
 * may contain any characters. JSON's escapes would lose some: PostgreSQL reads `\n` as `n`.
 */
export function arrayLiteral(values: Iterable<string>): string {
  const quoted = Array.from(values, (value) => `"${isPlain(value) ? value : escaped(value)}"`);
  return `{${quoted.join(',')}}`;
}

/** Most values are ids; to look for two characters is several times faster than to replace them. */
function isPlain(value: string): boolean {
  return !value.includes('"') && !value.includes('\\');
}

function escaped(value: string): string {
  return value.replaceAll(/["\\]/g, String.raw`\$&`);
}

/** Escapes a text for a `like` or `ilike` pattern, so that it matches literally. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

/** The `like` or `ilike` pattern for values that contain a text. */
export function containsPattern(text: string): string {
  return `%${escapeLike(text)}%`;
}

/**
 * The condition that a column has one of these values. They are constants of the code and become literals,
 * because PostgreSQL uses a partial index only for literals.
 */
export function isOneOf(column: string, values: readonly string[]): string {
  return `${column} in (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** The opposite of `isOneOf`. */
export function isNoneOf(column: string, values: readonly string[]): string {
  return isOneOf(`${column} not`, values);
}

/**
 * SQL: inserts one row, given as JSON in its only `?`. `types` has the type of each column, so a column that
 * `Row` does not know, or that is missing, is an error of the compiler.
 */
export function insertRow<Row>(table: string, types: Readonly<Record<keyof Row & string, string>>): string {
  const columns: [string, string][] = Object.entries(types);
  const names = columns.map(([name]) => name).join(', ');
  return `insert into ${table} (${names}) select ${names} from json_to_record(?::json)
    as r (${columns.map((column) => column.join(' ')).join(', ')})`;
}

/** The conditions of a `where`, each with the values of its `?`. */
export class Conditions {
  readonly #conditions: string[] = [];
  readonly #values: unknown[] = [];

  add(condition: string, ...values: readonly unknown[]): this {
    this.#conditions.push(condition);
    this.#values.push(...values);
    return this;
  }

  /** All conditions joined by `and`; `true` without one. */
  get sql(): string {
    return this.#conditions.length === 0 ? 'true' : this.#conditions.join(' and ');
  }

  /** In the order of the `?` in `sql`. */
  get values(): unknown[] {
    return [...this.#values];
  }
}

/**
 * A page of a keyset-paged list: at most `limit` rows that follow `after`, the sort key of the previous
 * page's last row. Without `after`: the first page.
 */
export interface KeysetPage<Key = string> {
  after?: Key | undefined;
  limit: number;
}

/** An opaque cursor from the sort key of a page's last row. */
export function encodeCursor(key: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/**
 * The sort key in a cursor; the caller checks its shape.
 * @throws SyntaxError if the text is not a cursor
 */
export function decodeCursor(cursor: string): unknown {
  return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
}
