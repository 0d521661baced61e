import { MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';

import { AnswerWatch } from './answer-watch.ts';
import { entities } from './entities/index.ts';
import { ChangeKeeper } from './entity-changes.ts';
import { releaseWhenLost } from './lost-connections.ts';
import { namePrepared } from './prepared.ts';
import { arrayLiteral } from './sql.ts';

export { LockMode, raw } from '@mikro-orm/postgresql';
export type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';

export type Orm = MikroORM;

/** Live numbers of a connection pool. */
export interface PoolState {
  readonly totalCount: number;
  readonly idleCount: number;
  /** Queries that wait for a connection. */
  readonly waitingCount: number;
}

export interface OrmOptions {
  /** `postgres://…` */
  url: string;
  /** Receives warnings of the ORM, such as a connection that the server closed. */
  logger?: { warn(message: string): void };
  /** The most connections; default 10. */
  poolSize?: number;
  /** By which the server's administrators know the connections; default cadenza. */
  applicationName?: string;
  /** Called when the pool is created, at the first query. */
  onPool?: (pool: PoolState) => void;
  /** PostgreSQL cancels a statement after this time; default 30 s. */
  statementTimeoutMs?: number;
  /** How long a query waits for a connection; default 5 s. */
  connectionTimeoutMs?: number;
  /** Fail all statements soon, and at once from then on, while the server does not answer. Default: false. */
  watchesAnswers?: boolean;
}

/**
 * The ORM over PostgreSQL. It connects at the first query, so a process can start while PostgreSQL is down.
 * Fork `orm.em` for each unit of work; close with `orm.close(true)`.
 */
export function createOrm(options: OrmOptions): Orm {
  const { statementTimeoutMs = 30_000 } = options;
  let pool: Pool | undefined;
  const answers =
    options.watchesAnswers === true ? new AnswerWatch({ url: options.url, logger: options.logger }) : null;
  const orm = new MikroORM({
    entities,
    subscribers: [new ChangeKeeper()],
    clientUrl: options.url,
    // A mistyped URL must be an error instead of creating an empty database.
    ensureDatabase: false,
    // An unfinished unit of work must never leak into another request.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    pool: { min: 0, max: options.poolSize ?? 10, idleTimeoutMillis: 30_000 },
    driverOptions: {
      // The ORM takes only host, port, user, password and database from the URL: the driver has to read the
      // rest, such as `sslmode`.
      connectionString: options.url,
      application_name: options.applicationName ?? 'cadenza',
      connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
      statement_timeout: statementTimeoutMs,
      // Covers a frozen or unreachable server, which does not cancel a statement itself.
      query_timeout: statementTimeoutMs + 2_000,
      idle_in_transaction_session_timeout: 60_000,
      keepAlive: true,
      onPoolCreated: (created: Pool) => {
        pool = created;
        pool.on('connect', (client) => {
          namePrepared(client);
          releaseWhenLost(client);
          answers?.watchClient(client);
        });
        if (answers !== null) failWhileSilent(pool, answers);
        options.onPool?.(pool);
      },
    },
    logger: (message) => options.logger?.warn(message),
    colors: false,
  });
  // The ORM's own function leaves `null` and blanks unquoted, so they are not texts, and escapes as in JSON
  // instead of as PostgreSQL does.
  orm.em.getPlatform().marshallArray = arrayLiteral;
  const close = orm.close.bind(orm);
  orm.close = async (force) => {
    await close(force);
    // The ORM's query builder ends the pool only if it has used it itself. What only sent prepared statements
    // would keep its connections, and its process, until they have been idle for long enough.
    answers?.stop();
    if (pool && !pool.ending) await pool.end();
  };
  return orm;
}

/** Nobody waits for a connection that cannot be made. */
function failWhileSilent(pool: Pool, answers: AnswerWatch): void {
  const connect = pool.connect.bind(pool);
  pool.connect = ((...[callback]: [ConnectCallback?]) => {
    const client = answers.connecting(
      () => connect(),
      (late) => late.release(),
    );
    if (callback === undefined) return client;
    client.then(
      (found) => callback(undefined, found, (destroy) => found.release(destroy)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
    // The driver's type has one signature for both ways to call it.
  }) as typeof pool.connect;
}

type ConnectCallback = Parameters<Pool['connect']>[0];
