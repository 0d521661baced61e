/**
 * Statements that PostgreSQL plans once for each connection. To plan the small statements of every request
 * takes three to nine times as long as to run them, and the ORM sends each as a new text.
 */
import type { EntityManager } from '@mikro-orm/postgresql';

import { PreparedQuery, type ParserOf, type QueryResult, type Value } from './prepared-query.ts';

export type { Value } from './prepared-query.ts';

/** What the driver's client has, as far as it is needed here. */
interface DriverClient {
  query(...args: unknown[]): unknown;
  getTypeParser(typeId: number): (text: string) => unknown;
}

/** By the text that the layers between hand on. */
const statements = new Map<string, { name: string; text: string; commits: boolean }>();

/** Tells the statement that commits from the same one that does not. */
const AND_COMMIT = ' -- and commit';

/** A statement with `?` for its values. Call it once for each text, when a module is loaded. */
export class Prepared {
  readonly #sql: string;

  constructor(sql: string) {
    let count = 0;
    const text = sql.replaceAll('?', () => `$${++count}`);
    const name = `cadenza_${statements.size}`;
    this.#sql = text;
    statements.set(text, { name, text, commits: false });
    statements.set(text + AND_COMMIT, { name, text, commits: true });
  }

  /** In the entity manager's transaction, if it has one. Arrays are given as `arrayLiteral`. */
  async execute<Row extends object>(em: EntityManager, values: readonly Value[]): Promise<Row[]> {
    return em.isInTransaction() ? inTransaction(em, this.#sql, values) : this.#alone(em, values);
  }

  /**
   * As the last statement of a transaction that cannot fail any more: commits it too, in the same message.
   * What the entity manager has changed is written before. Not within a nested transaction.
   */
  async executeAndCommit<Row extends object>(em: EntityManager, values: readonly Value[]): Promise<Row[]> {
    const transaction = em.getTransactionContext();
    if (transaction === undefined) return this.#alone(em, values);
    if (Reflect.has(transaction, 'savepointName')) throw new Error('A nested transaction cannot commit.');
    await em.flush();
    return inTransaction(em, this.#sql + AND_COMMIT, values);
  }

  /** Without the layers of ORM and query builder, which take more time than the driver. */
  async #alone<Row extends object>(em: EntityManager, values: readonly Value[]): Promise<Row[]> {
    const client = await (await em.getConnection().getNativeClient()).connect();
    try {
      const { rows } = await client.query<Row>(this.#sql, [...values]);
      return rows;
    } finally {
      client.release();
    }
  }
}

/** A statement with `:name` for its values, for those with many. A name may stand in it more than once. */
export class PreparedByName {
  readonly #names: string[] = [];
  readonly #statement: Prepared;

  constructor(sql: string) {
    // Not the second colon of a cast.
    const text = sql.replaceAll(/(?<![:\w]):([a-z]\w*)/g, (_, name: string) => {
      this.#names.push(name);
      return '?';
    });
    this.#statement = new Prepared(text);
  }

  /** As `Prepared`. */
  execute<Row extends object>(em: EntityManager, values: Readonly<Record<string, Value>>): Promise<Row[]> {
    const given = this.#names.map((name) => {
      const value = values[name];
      if (value === undefined) throw new Error(`The statement needs a value of ${name}`);
      return value;
    });
    return this.#statement.execute<Row>(em, given);
  }
}

async function inTransaction<Row extends object>(
  em: EntityManager,
  sql: string,
  values: readonly Value[],
): Promise<Row[]> {
  const { rows } = await em.getKysely().executeQuery<Row>({
    sql,
    parameters: values,
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: sql },
  });
  return rows;
}

/**
 * Makes a client of the pool send prepared statements under their names. A transaction begins with its first
 * statement: `begin` is sent together with it, and one without statements is not sent.
 */
export function namePrepared(client: DriverClient): void {
  const query = client.query.bind(client);
  const parserOf: ParserOf = (typeId) => client.getTypeParser(typeId);
  /** Of the transaction that the layers above believe to have: what of it the server does not know. */
  let state: 'open' | 'to begin' | 'committed' = 'open';
  client.query = (...args) => {
    const [text, values] = args;
    if (text === 'begin') {
      state = 'to begin';
      return Promise.resolve(EMPTY);
    }
    if (text === 'commit' || text === 'rollback') {
      const isOpen = state === 'open';
      state = 'open';
      return isOpen ? query(...args) : Promise.resolve(EMPTY);
    }
    if (state === 'committed') throw new Error('The transaction has been committed by its last statement.');
    const begins = state === 'to begin';
    const found = typeof text === 'string' ? statements.get(text) : undefined;
    if (found === undefined) {
      // It fails only with the connection, and so does what follows.
      if (begins) Promise.resolve(query('begin')).catch(() => {});
      state = 'open';
      return query(...args);
    }
    return new Promise<QueryResult>((resolve, reject) => {
      // Only `Prepared` sends these texts.
      const statement = { ...found, values: values as readonly Value[], begins };
      const prepared = new PreparedQuery(statement, parserOf, (error, result) => {
        if (found.commits && result !== undefined) state = 'committed';
        if (result === undefined || error !== null) reject(error);
        else resolve(result);
      });
      state = 'open';
      query(prepared);
    });
  };
}

const EMPTY: QueryResult = { command: '', rowCount: 0, rows: [] };
