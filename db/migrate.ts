/** Brings the schema up to date. `npm run migrate` reads DATABASE_URL; several copies may start at once. */
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import pg from 'pg';

import { migrationTable } from './migration-table.ts';
import { migrationNames, migrations } from './migrations/index.ts';

/** Any number, as long as nothing else in this database locks it. */
const lockKey = 7_240_931;

/** Runs what has not run yet, all of it or nothing. Returns the names. Waits while another process migrates. */
export async function migrate(url: string): Promise<string[]> {
  const lock = new pg.Client({ connectionString: url, application_name: 'cadenza-migrate' });
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [lockKey]);
    if (await isMigrated(lock)) {
      return [];
    }
    const orm = new MikroORM({
      entities: [],
      discovery: { warnWhenNoEntities: false },
      clientUrl: url,
      extensions: [Migrator],
      migrations: {
        tableName: migrationTable,
        migrationsList: migrations,
        snapshot: false,
        allOrNothing: true,
        silent: true,
      },
    });
    try {
      const done = await orm.migrator.up();
      return done.map((migration) => migration.name);
    } finally {
      await orm.close(true);
    }
  } finally {
    await lock.end();
  }
}

async function isMigrated(client: pg.Client): Promise<boolean> {
  const table = await client.query('select to_regclass($1) as name', [migrationTable]);
  if (table.rows[0].name === null) {
    return false;
  }
  const done = await client.query(`select 1 from ${migrationTable} where name = any($1)`, [migrationNames]);
  return done.rowCount === migrationNames.length;
}

/** Where there is no connection the stack says nothing more. */
function reasonOf(error: unknown): string {
  // One for each address of the name.
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return 'syscall' in error || /^(28|3D|57P)/.test(code) ? error.message : (error.stack ?? error.message);
}

if (import.meta.main) {
  // Only as a program does this file need the settings; as a module it takes the address.
  const { loadEnv } = await import('../config/env.ts');
  const { DATABASE_URL: url } = loadEnv();
  if (!url) {
    process.stderr.write('DATABASE_URL is not set: which database shall be migrated?\n');
    process.exit(2);
  }
  const done = await migrate(url).catch((error: unknown) => {
    const { host, pathname } = new URL(url);
    process.stderr.write(`Cannot migrate the database ${JSON.stringify(pathname.slice(1))} on ${host}: ${reasonOf(error)}\n`);
    process.exit(1);
  });
  process.stdout.write(`${done.length === 0 ? 'the schema is up to date' : `migrated: ${done.join(', ')}`}\n`);
}
