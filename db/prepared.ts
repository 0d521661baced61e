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

/** By the text that is sent. */
const names = new Map<string, string>();

/** A statement with `?` for its values. Call it once for each text, when a module is loaded. */
export class Prepared {
  readonly #sql: string;
  readonly #name: string;

  constructor(sql: string) {
    let count = 0;
    this.#sql = sql.replaceAll('?', () => `$${++count}`);
    this.#name = `cadenza_${names.size}`;
    names.set(this.#sql, this.#name);
  }

  /** In the entity manager's transaction, if it has one. Arrays are given as `arrayLiteral`. */
  async execute<Row extends object>(em: EntityManager, values: readonly Value[]): Promise<Row[]> {
    return em.isInTransaction() ? this.#inTransaction(em, values) : this.#alone(em, values);
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

  async #inTransaction<Row extends object>(em: EntityManager, values: readonly Value[]): Promise<Row[]> {
    const { rows } = await em.getKysely().executeQuery<Row>({
      sql: this.#sql,
      parameters: values,
      query: { kind: 'RawNode', sqlFragments: [this.#sql], parameters: [] },
      queryId: { queryId: this.#sql },
    });
    return rows;
  }
}

/** Makes a client of the pool send prepared statements under their names. */
export function namePrepared(client: DriverClient): void {
  const query = client.query.bind(client);
  const parserOf: ParserOf = (typeId) => client.getTypeParser(typeId);
  client.query = (...args) => {
    const [text, values] = args;
    const name = typeof text === 'string' ? names.get(text) : undefined;
    if (name === undefined) return query(...args);
    // Only `Prepared` sends these texts.
    const statement = { name, text: text as string, values: values as readonly Value[] };
    return new Promise<QueryResult>((resolve, reject) => {
      query(
        new PreparedQuery(statement, parserOf, (error, result) => {
          if (result === undefined || error !== null) reject(error);
          else resolve(result);
        }),
      );
    });
  };
}
