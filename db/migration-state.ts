/** The state of a database: its applied migrations, and the functions that `migrate` has applied. */
import { functionsVersion } from './functions/version.ts';
import { migrationNames } from './migrations/index.ts';

/** The table with the names of the applied migrations. */
export const MIGRATION_TABLE = 'schema_migration';

/** The table with the applied function files, and the version of their set. */
export const FUNCTION_TABLE = 'schema_function';

export type AppliedFunction = { name: string; hash: string; version: number; exists: boolean };

export type MigrationState = {
  /** Names in the order of application. */
  migrations: string[];
  functions: AppliedFunction[];
};

type Query = <Row extends object>(sql: string) => Promise<Row[]>;

export async function readMigrationState(query: Query): Promise<MigrationState> {
  const [has] = await query<{ migrations: boolean; functions: boolean }>(
    `select to_regclass('${MIGRATION_TABLE}') is not null as migrations,
            to_regclass('${FUNCTION_TABLE}') is not null as functions`,
  );
  const migrations = has?.migrations
    ? await query<{ name: string }>(`select name from ${MIGRATION_TABLE} order by id`)
    : [];
  const functions = has?.functions
    ? await query<AppliedFunction>(
        `select name, hash, version::float8 as version,
                exists (select from pg_proc p
                         where p.proname = f.name
                           and p.pronamespace = current_schema()::regnamespace) as exists
           from ${FUNCTION_TABLE} f`,
      )
    : [];
  return { migrations: migrations.map(({ name }) => name), functions };
}

/** Whether this build can work with the database, which a newer build may have migrated further. */
export function isMigrated(state: MigrationState): boolean {
  return (
    migrationNames.every((name) => state.migrations.includes(name)) &&
    state.functions.some(({ version }) => version >= functionsVersion)
  );
}
