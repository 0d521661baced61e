/**
 * Migrates the schema. `npm run migrate` reads DATABASE_URL; several processes may start it at once. With
 * `--grant-to <role>` it also gives that role what api and worker need.
 */
import { parseArgs } from 'node:util';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import pg from 'pg';

import { databaseFailure } from './database-failure.ts';
import { divideLog } from './divide-log.ts';
import { grantAgain, grantApplication } from './grant-application.ts';
import { applyFunctions, changedFunctions, functionsAreCurrent } from './apply-functions.ts';
import { ranAllFormer } from './former-migrations.ts';
import { MIGRATION_TABLE, readMigrationState, type MigrationState } from './migration-state.ts';
import { migrationNames, migrations } from './migrations/index.ts';

/** The names of the applied migrations and functions. */
export type Migrated = { migrations: string[]; functions: string[] };

/** An arbitrary number that nothing else in this database locks. */
const LOCK_KEY = 7_240_931;

export interface MigrateOptions {
  /**
   * Run only these migrations, for data that was written with the schema that they make. Functions are
   * applied once no other migration is left.
   */
  only?: readonly string[];
}

/**
 * Runs all pending migrations in one transaction, and then makes the partitions that are missing and gives
 * the roles of api and worker their rights on what is new. Waits while another process migrates.
 */
export async function migrate(url: string, { only }: MigrateOptions = {}): Promise<Migrated> {
  const lock = new pg.Client({ connectionString: url, application_name: 'cadenza-migrate' });
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    const state = await readMigrationState(
      async <Row extends object>(sql: string) => (await lock.query<Row>(sql)).rows,
    );
    const pending = pendingOf(state, only);
    const isPart = pendingOf(state).length > pending.length;
    const isCurrent = pending.length === 0 && (isPart || functionsAreCurrent(state.functions));
    const done = isCurrent
      ? { migrations: [], functions: [] }
      : await bringUpToDate(url, state, { pending, isPart });
    if (!isPart) await divideLog(async (sql) => (await lock.query(sql)).rows);
    if (!isPart && !isCurrent) await grantAgain((sql, values) => lock.query(sql, values));
    return done;
  } finally {
    await lock.end();
  }
}

/** What `migrate` would do, which changes nothing. @throws MigrationRefused */
export async function pendingMigrations(url: string): Promise<Migrated> {
  const client = new pg.Client({ connectionString: url, application_name: 'cadenza-migrate' });
  await client.connect();
  try {
    const state = await readMigrationState(
      async <Row extends object>(sql: string) => (await client.query<Row>(sql)).rows,
    );
    return { migrations: pendingOf(state), functions: changedFunctions(state.functions) };
  } finally {
    await client.end();
  }
}

function pendingOf({ migrations: ran }: MigrationState, only: readonly string[] = migrationNames): string[] {
  return migrationNames.filter((name) => only.includes(name) && !ran.includes(name));
}

async function bringUpToDate(
  url: string,
  before: MigrationState,
  { pending, isPart }: { pending: readonly string[]; isPart: boolean },
): Promise<Migrated> {
  const adopted = ranAllFormer(before.migrations) ? migrationNames.slice(0, 1) : [];
  const orm = new MikroORM({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: url,
    driverOptions: { connectionString: url },
    extensions: [Migrator],
    migrations: {
      tableName: MIGRATION_TABLE,
      migrationsList: migrations,
      snapshot: false,
      allOrNothing: true,
      silent: true,
    },
  });
  const connection = orm.em.getConnection();
  try {
    return await connection.transactional(async (transaction) => {
      const execute = <Row extends object>(sql: string, values?: unknown[]) =>
        connection.execute<Row[]>(sql, values, 'all', transaction);
      for (const name of adopted) await execute(`insert into ${MIGRATION_TABLE} (name) values (?)`, [name]);
      const names = pending.filter((name) => !adopted.includes(name));
      const done = names.length === 0 ? [] : await orm.migrator.up({ transaction, migrations: names });
      // A migration may have dropped functions.
      const { functions } = await readMigrationState(execute);
      return {
        migrations: [...adopted, ...done.map(({ name }) => name)],
        functions: isPart ? [] : await applyFunctions(functions, execute),
      };
    });
  } finally {
    await orm.close(true);
  }
}

if (import.meta.main) {
  // Only the program needs the settings; as a module this file receives the URL.
  const { loadEnv } = await import('../config/env.ts');
  const { DATABASE_URL: url } = loadEnv();
  if (!url) {
    process.stderr.write('DATABASE_URL is not set: set it to the database to migrate\n');
    process.exit(2);
  }
  const { 'dry-run': isDry, 'grant-to': role } = parseArgs({
    options: { 'dry-run': { type: 'boolean', default: false }, 'grant-to': { type: 'string' } },
  }).values;
  const work = async (): Promise<Migrated> => {
    const migrated = await (isDry ? pendingMigrations(url) : migrate(url));
    if (role !== undefined && !isDry) await grantApplication(url, role);
    return migrated;
  };
  const done = await work().catch((error: unknown) => {
    process.stderr.write(`${databaseFailure('migrate', url, error)}\n`);
    process.exit(1);
  });
  const lines = [
    ...(done.migrations.length > 0
      ? [`${isDry ? 'would migrate' : 'migrated'}: ${done.migrations.join(', ')}`]
      : []),
    ...(done.functions.length > 0
      ? [`functions${isDry ? ' to apply' : ''}: ${done.functions.join(', ')}`]
      : []),
  ];
  const granted = role === undefined || isDry ? [] : [`granted to: ${role}`];
  const changes = lines.length > 0 ? lines : ['the schema is up to date'];
  process.stdout.write(`${[...changes, ...granted].join('\n')}\n`);
}
