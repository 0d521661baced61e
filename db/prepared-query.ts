/**
 * A prepared statement, as the driver's queue of a connection takes it. The driver's own query asks for the
 * description of the columns each time; of a wide row, that is a third of the work with it. These cannot
 * change: PostgreSQL refuses a plan whose columns have changed.
 */

/** What a connection of the driver has, as far as it is needed here. */
interface Connection {
  stream: { cork(): void; uncork(): void };
  /** Texts of prepared statements by name; the driver adds to it. */
  parsedStatements: Record<string, string | undefined>;
  parse(statement: { name: string; text: string }): void;
  bind(values: { statement: string; values: readonly (string | null)[] }): void;
  describe(portal: { type: 'P'; name: string }): void;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** The columns of a result. */
interface Columns {
  names: readonly string[];
  parsers: readonly ((text: string) => unknown)[];
  /** A row of nulls: to copy it is faster than to add its names one by one. */
  empty: Readonly<Record<string, null>>;
}

/** Finds what makes values of a type's texts, by the type's id. */
export type ParserOf = (typeId: number) => (text: string) => unknown;

export type Value = string | number | boolean | Date | null;

export interface QueryResult {
  /** The first word of the statement, such as `SELECT`. */
  command: string;
  rowCount: number;
  rows: unknown[];
}

export interface NamedStatement {
  name: string;
  text: string;
  values: readonly Value[];
}

const known = new WeakMap<Connection, Map<string, Columns>>();

/** The driver calls its methods by their names, and may replace `callback`. */
export class PreparedQuery {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | null)[];
  callback: (error: Error | null, result?: QueryResult) => void;
  readonly #parserOf: ParserOf;
  readonly #result: QueryResult = { command: '', rowCount: 0, rows: [] };
  #columns: Columns | undefined;
  /** Of a value that cannot be parsed: the statement goes on. */
  #failure: Error | null = null;

  constructor(
    { name, text, values }: NamedStatement,
    parserOf: ParserOf,
    callback: PreparedQuery['callback'],
  ) {
    this.name = name;
    this.text = text;
    this.values = values.map(textOf);
    this.#parserOf = parserOf;
    this.callback = callback;
  }

  submit(connection: Connection): null {
    const isParsed = connection.parsedStatements[this.name] !== undefined;
    this.#columns = isParsed ? known.get(connection)?.get(this.name) : undefined;
    // One write for all messages.
    connection.stream.cork();
    try {
      if (!isParsed) connection.parse({ name: this.name, text: this.text });
      connection.bind({ statement: this.name, values: this.values });
      if (this.#columns === undefined) connection.describe({ type: 'P', name: '' });
      connection.execute({ portal: '' });
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const names = fields.map(({ name }) => name);
    this.#columns = {
      names,
      parsers: fields.map(({ dataTypeID }) => this.#parserOf(dataTypeID)),
      empty: Object.fromEntries(names.map((name) => [name, null])),
    };
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    try {
      this.#result.rows.push(rowOf(this.#columns ?? NO_COLUMNS, fields));
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Such as `INSERT 0 1` or `SELECT 5`. */
  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    const words = text.split(' ');
    this.#result.command = words[0] ?? '';
    this.#result.rowCount = Number(words.at(-1));
    let ofConnection = known.get(connection);
    if (ofConnection === undefined) known.set(connection, (ofConnection = new Map()));
    // A statement without a result has no description.
    ofConnection.set(this.name, this.#columns ?? NO_COLUMNS);
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#result);
  }
}

const NO_COLUMNS: Columns = { names: [], parsers: [], empty: {} };

function rowOf({ names, parsers, empty }: Columns, texts: readonly (string | null)[]): object {
  const row: Record<string, unknown> = { ...empty };
  for (let index = 0; index < names.length; index += 1) {
    const [name, text, parse] = [names[index], texts[index], parsers[index]];
    if (name !== undefined && typeof text === 'string') row[name] = parse?.(text);
  }
  return row;
}

function textOf(value: Value): string | null {
  if (value === null || typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : String(value);
}
