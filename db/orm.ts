import { MikroORM } from '@mikro-orm/postgresql';

import { entities } from './entities/index.ts';

export { LockMode, raw, sql, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
export type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';

export type Orm = MikroORM;

/** Live numbers of a pool of connections. */
export interface PoolState {
  readonly totalCount: number;
  readonly idleCount: number;
  /** Who waits for a connection. */
  readonly waitingCount: number;
}

export interface OrmOptions {
  /** `postgres://…` */
  url: string;
  /** Called with warnings of the ORM, such as a connection that the server dropped. */
  logger?: { warn(message: string): void };
  /** Connections at most; default 10. */
  poolSize?: number;
  /** Called when the pool is made: at the first query. */
  onPool?: (pool: PoolState) => void;
  /** After which PostgreSQL ends a statement; default 30 s. */
  statementTimeoutMs?: number;
}

/**
 * The ORM over PostgreSQL. Does not connect: the first query does, so that a process can start while PostgreSQL is away.
 * Fork `orm.em` for each unit of work; close with `orm.close(true)`.
 */
export function createOrm(options: OrmOptions): Orm {
  const { statementTimeoutMs = 30_000 } = options;
  const orm = new MikroORM({
    entities,
    clientUrl: options.url,
    // An unfinished unit of work must never leak into another request.
    allowGlobalContext: false,
    forceUtcTimezone: true,
    pool: { min: 0, max: options.poolSize ?? 10, idleTimeoutMillis: 30_000 },
    driverOptions: {
      application_name: 'cadenza',
      connectionTimeoutMillis: 5_000,
      statement_timeout: statementTimeoutMs,
      // A server that is frozen or cut off does not end a statement itself.
      query_timeout: statementTimeoutMs + 2_000,
      idle_in_transaction_session_timeout: 60_000,
      keepAlive: true,
      onPoolCreated: (pool: PoolState) => options.onPool?.(pool),
    },
    logger: (message) => options.logger?.warn(message),
    colors: false,
  });
  // The ORM's own leaves `null` and blanks unquoted, which are then no texts, and escapes as JSON does, which is not PostgreSQL's way.
  orm.em.getPlatform().marshallArray = textArray;
  return orm;
}

/** PostgreSQL's literal of an array of texts, whatever they hold. */
export function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`;
}
