/**
 * A prepared statement, as the driver's queue of a connection takes it. The driver's own query asks for the
 * description of the columns each time; of a wide row, that is a third of the work with it. These cannot
 * change: PostgreSQL refuses a plan whose columns have changed.
 */

/** What a connection of the driver has, as far as it is needed here. */
interface Connection {
  stream: { cork(): void; uncork(): void };
  close(statement: { type: 'S'; name: string }): void;
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
  /** Begins the transaction too, in the same message. */
  begins: boolean;
  /** Commits the transaction too. If that fails, so does the statement. */
  commits: boolean;
}

/** The columns of each statement that has succeeded on a connection, by its name. */
const known = new WeakMap<Connection, Map<string, Columns>>();

interface Sent {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | null)[];
}

const BEGIN: Sent = { name: 'cadenza_begin', text: 'begin', values: [] };
const COMMIT: Sent = { name: 'cadenza_commit', text: 'commit', values: [] };

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
  /** The statements that have not completed yet, in their order. */
  readonly #open: Sent[];

  constructor(
    { name, text, values, begins, commits }: NamedStatement,
    parserOf: ParserOf,
    callback: PreparedQuery['callback'],
  ) {
    this.name = name;
    this.text = text;
    this.values = values.map(textOf);
    this.#open = [...(begins ? [BEGIN] : []), this, ...(commits ? [COMMIT] : [])];
    this.#parserOf = parserOf;
    this.callback = callback;
  }

  submit(connection: Connection): null {
    this.#columns = known.get(connection)?.get(this.name);
    // One write for all messages. After a failure PostgreSQL passes over the rest of them.
    connection.stream.cork();
    try {
      for (const sent of this.#open) this.#send(connection, sent);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  #send(connection: Connection, { name, text, values }: Sent): void {
    const isKnown = known.get(connection)?.has(name) ?? false;
    if (!isKnown) {
      // Of one that has failed at its first use, PostgreSQL may have the plan. To close none is no error.
      connection.close({ type: 'S', name });
      connection.parse({ name, text });
    }
    connection.bind({ statement: name, values });
    if (!isKnown && name === this.name) connection.describe({ type: 'P', name: '' });
    connection.execute({ portal: '' });
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
    const { name } = this.#open.shift() ?? this;
    if (name === this.name) {
      const words = text.split(' ');
      this.#result.command = words[0] ?? '';
      this.#result.rowCount = Number(words.at(-1));
    }
    let ofConnection = known.get(connection);
    if (ofConnection === undefined) known.set(connection, (ofConnection = new Map()));
    // A statement without a result has no description.
    ofConnection.set(name, name === this.name ? (this.#columns ?? NO_COLUMNS) : NO_COLUMNS);
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
