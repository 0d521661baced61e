/** Checks of PostgreSQL: version, clock, connections, schema, keys, administrators, pauses. */
import type { Env } from '../../../config/env.ts';
import {
  DEFAULT_PARTITION,
  missingPartitions,
  readLogState,
  type LogState,
} from '../../../db/log-partitions.ts';
import { isMigrated, readMigrationState } from '../../../db/migration-state.ts';
import { migrationNames } from '../../../db/migrations/index.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { backupWarning, readBackups, timetableOf } from '../../../domain/operations/backups.ts';
import { readWritePause } from '../../../domain/operations/write-pause.ts';
import { wrongTotals } from '../../../domain/quotas/file-totals.ts';
import { describeWrong } from '../../../domain/secrets/check-value.ts';
import { wrongKeys } from '../../../domain/secrets/key-check.ts';
import { missingKeys, neededKeys } from '../../../domain/secrets/key-use.ts';
import { connectionsFinding, readConnections } from './connections.ts';
import { clockFinding, error, ok, warn, type Finding } from './finding.ts';

/** With which all tests run. */
const TESTED = 18;
const OLDEST = 16;

export async function databaseFindings(em: EntityManager, env: Env): Promise<Finding[]> {
  const server = await serverFindings(em, env);
  const state = await readMigrationState((sql) => em.execute(sql));
  const schema = schemaFinding(state.migrations, isMigrated(state));
  if (schema.status === 'error') return [...server, schema];
  return [
    ...server,
    schema,
    await keysFinding(em, env),
    await adminFinding(em),
    await totalsFinding(em),
    logFinding(await readLogState((sql) => em.execute(sql))),
    await backupFinding(em, env),
    ...(await pauseFindings(em)),
  ];
}

async function serverFindings(em: EntityManager, env: Env): Promise<Finding[]> {
  const sent = Date.now();
  const [row] = await em.execute<{ version: number; now: number }[]>(
    `select current_setting('server_version_num')::int as version,
            (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const answered = Date.now();
  if (row === undefined) throw new Error('PostgreSQL gave no answer');
  const major = Math.floor(row.version / 10_000);
  const version = `version ${major}`;
  const hint = `${version}; Cadenza is tested with ${TESTED}.`;
  return [
    major < OLDEST
      ? error('postgresql', `${hint} Upgrade PostgreSQL to ${TESTED}.`)
      : major < TESTED
        ? warn('postgresql', hint)
        : ok('postgresql', version),
    clockFinding('clock of postgresql', row.now - (sent + answered) / 2, (answered - sent) / 2),
    connectionsFinding(await readConnections(em), env.DATABASE_POOL_SIZE),
  ];
}

function schemaFinding(ran: readonly string[], isCurrent: boolean): Finding {
  const pending = migrationNames.filter((name) => !ran.includes(name));
  if (pending.length > 0)
    return error(
      'schema',
      `${pending.length} changes are pending, the first is ${pending[0] ?? ''}. ` +
        'Take a backup, then: cadenza server upgrade',
    );
  if (!isCurrent) return error('schema', 'functions are out of date. Run: cadenza server upgrade');
  const newer = ran.filter((name) => !migrationNames.includes(name) && name > (migrationNames[0] ?? ''));
  return newer.some((name) => /^\d{12}-/.test(name) && !isOld(name))
    ? warn('schema', 'is of a newer release than this one. Use the same release everywhere.')
    : ok('schema', `${migrationNames.length} changes, none pending`);
}

/** Names of before the initial schema stay in the table. */
const isOld = (name: string): boolean => name < (migrationNames[0] ?? '');

async function keysFinding(em: EntityManager, env: Env): Promise<Finding> {
  const ids = env.ENCRYPTION_KEYS.map(({ id }) => id);
  const missing = await missingKeys(em, ids);
  if (missing.length > 0) {
    const named = missing.map(({ id, uses }) => `"${id}" (${uses.join(', ')})`).join(', ');
    return error('keys', `ENCRYPTION_KEYS lacks ${named}. Put what is missing back, after the first key.`);
  }
  const [current] = ids;
  if (current === undefined)
    return error('keys', 'ENCRYPTION_KEYS has no key. Set it as for api and worker.');
  const wrong = await wrongKeys(em, env.ENCRYPTION_KEYS);
  if (wrong.length > 0) return error('keys', describeWrong(wrong));
  const needed = await neededKeys(em);
  const spare = ids.slice(1).filter((id) => !needed.includes(id));
  if (spare.length > 0)
    return ok(
      'keys',
      `nothing in the database needs ${spare.join(', ')}; cadenza server rotate-keys says more`,
    );
  const others = needed.filter((id) => id !== current);
  return others.length > 0
    ? warn('keys', `${others.join(', ')} is still in use beside ${current}. Run: cadenza server rotate-keys`)
    : ok('keys', `all that is needed is there; ${current} encrypts`);
}

export function logFinding(state: LogState): Finding {
  const check = 'partitions of the log';
  if (!state.hasDefault) return warn(check, 'the log is not divided by months. Run: cadenza server upgrade');
  const missing = missingPartitions(state);
  return missing.length === 0
    ? ok(check, `of this month and the next, ${state.partitions.length} in all`)
    : warn(
        check,
        `${missing.join(' and ')} is missing. The worker makes what is missing every hour: start one, or ` +
          `see in its logs why it fails. Until then events are kept in ${DEFAULT_PARTITION}, from which ` +
          'retention removes them run by run.',
      );
}

async function adminFinding(em: EntityManager): Promise<Finding> {
  const [row] = await em.execute<{ admins: number; local: number }[]>(
    `select count(*)::int as admins, count(password_hash)::int as local
       from user_account where 'admin' = any(roles) and status = 'active'`,
  );
  const { admins = 0, local = 0 } = row ?? {};
  if (local > 0) return ok('administrator', `${admins} active, ${local} with a password`);
  return admins > 0
    ? warn(
        'administrator',
        'none has a password for the day on which no issuer answers. Give one a password.',
      )
    : error(
        'administrator',
        'there is none. Set ADMIN_PASSWORD and start the api; if one is disabled: cadenza server reset-admin',
      );
}

async function totalsFinding(em: EntityManager): Promise<Finding> {
  const wrong = await wrongTotals(em);
  return wrong.length === 0
    ? ok('totals of files', 'are those of the files')
    : error(
        'totals of files',
        `are wrong for ${wrong.length} users or teams, the first is ${wrong[0] ?? ''}. ` +
          'Run: cadenza server recount',
      );
}

async function backupFinding(em: EntityManager, env: Env): Promise<Finding> {
  const backups = await readBackups(em);
  const warning = backupWarning(backups, timetableOf(env));
  if (warning !== null) return warn('backup', warning);
  const { startedAt, place } = backups.complete ?? { startedAt: new Date(), place: '' };
  return ok('backup', `the last is of ${startedAt.toISOString()}: ${place}`);
}

async function pauseFindings(em: EntityManager): Promise<Finding[]> {
  const pause = await readWritePause(em);
  if (pause === null) return [];
  const end = pause.leftMs === null ? 'cadenza server resume ends the pause.' : 'The pause ends by itself.';
  return [warn('writes', `are paused now: ${pause.reason}. ${end}`)];
}
