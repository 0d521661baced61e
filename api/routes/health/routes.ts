import * as z from 'zod';

import { isMigrated, readMigrationState } from '../../../db/migration-state.ts';
import { isMissingDatabase } from '../../../db/missing-database.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { hasUsers } from '../../../domain/auth/seed.ts';
import { isOwnFileStore } from '../../../domain/files/store-identity.ts';
import { countStuckRuns } from '../../../domain/runs/stuck.ts';
import { engineState } from '../../../domain/operations/process-policy.ts';
import { isOwnTemporal } from '../../../domain/operations/temporal-identity.ts';
import { readKeyState, type KeyState } from '../../../domain/secrets/key-check.ts';
import type { AppDeps } from '../../deps.ts';
import { CERTIFICATE_STATES, certificateCheck } from './certificates.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';

const check = z.enum(['ok', 'down', 'stopping']);
const databaseCheck = z.enum(['ok', 'down', 'database_missing', 'not_migrated']);
type DatabaseState = z.output<typeof databaseCheck>;
/** `wrong_store`: the file store belongs to another database (see domain/files/store-identity.ts). */
const filesCheck = z.enum(['ok', 'down', 'wrong_store']);
type FilesState = z.output<typeof filesCheck>;
/** `wrong_namespace`: it has other runs than the database (see domain/operations/temporal-identity.ts). */
const temporalCheck = z.enum(['ok', 'down', 'wrong_namespace']);
/**
 * `missing`: ENCRYPTION_KEYS lacks a key that the database needs. `wrong`: it has another key under the same
 * id. `problems` names it.
 */
const keysCheck = z.enum(['ok', 'missing', 'wrong', 'unknown']);
/** `unknown`: the database could not be queried. */
const adminCheck = z.enum(['ok', 'missing', 'unknown']);
/** `stuck`: some runs make no progress because their workflow tasks keep failing. */
const runsCheck = z.enum(['ok', 'stuck', 'unknown']);
/** Absent if definitions run no containers. */
const containersCheck = z.enum(['ok', 'down']);
/** Of the connection to Temporal; absent if it has none. */
const certificatesCheck = z.enum(CERTIFICATE_STATES);
type AdminState = z.output<typeof adminCheck>;
const readiness = z
  .object({
    status: z.enum(['ok', 'degraded', 'down']),
    checks: z.object({
      database: databaseCheck,
      temporal: temporalCheck,
      files: filesCheck,
      server: check,
      admin: adminCheck,
      runs: runsCheck,
      keys: keysCheck,
      containers: containersCheck.optional(),
      certificates: certificatesCheck.optional(),
    }),
    problems: z
      .array(z.string())
      .optional()
      .meta({ description: 'What is wrong and how an operator can fix it.' }),
  })
  .meta({ id: 'Readiness' });

const adminProblems = {
  set:
    'There is no administrator yet, so nobody can log in. The api creates one from ADMIN_USERNAME and ' +
    'ADMIN_PASSWORD; see its log if this persists.',
  unset:
    'There is no administrator, so nobody can log in: set ADMIN_PASSWORD (and ADMIN_USERNAME, unless it ' +
    'is admin), and restart the api.',
};

const WRONG_NAMESPACE =
  'The namespace of TEMPORAL_NAMESPACE, on the Temporal of TEMPORAL_ADDRESS, does not have the runs of ' +
  'this database. Restart this process with the right ones; the log of its start says more.';
const NO_ENGINE =
  "No worker has reached the container engine (SANDBOX_ENGINE) for a while. The worker's log says why.";

/** A check that takes longer counts as failed. Temporal's client blocks while it has no connection. */
const DATABASE_TIMEOUT_MS = 3_000;
const TEMPORAL_TIMEOUT_MS = 1_000;
const FILES_TIMEOUT_MS = 2_000;
/** Cached, because every request to a bucket costs money. */
const FILES_KNOWN_MS = 15_000;
/** Cached, because the check reads everything that is encrypted. */
const KEYS_KNOWN_MS = 60_000;

export function healthEndpoints(deps: AppDeps): Endpoint[] {
  let lastFilesCheck = { ms: -Infinity, state: 'ok' as FilesState };
  const checkFiles = async (em: EntityManager): Promise<FilesState> => {
    if (!(await deps.files.ping())) return 'down';
    return !deps.env.FILES_LARGE_VALUES || (await isOwnFileStore(em, deps.files)) ? 'ok' : 'wrong_store';
  };
  const filesState = async (em: EntityManager): Promise<FilesState> => {
    if (performance.now() - lastFilesCheck.ms > FILES_KNOWN_MS)
      lastFilesCheck = {
        state: await within(FILES_TIMEOUT_MS, checkFiles(em), 'down'),
        ms: performance.now(),
      };
    return lastFilesCheck.state;
  };
  let lastKeysCheck: { ms: number; state: KeyState } | null = null;
  const keysState = async (em: EntityManager): Promise<KeyState> => {
    if (lastKeysCheck === null || performance.now() - lastKeysCheck.ms > KEYS_KNOWN_MS)
      lastKeysCheck = { state: await readKeyState(em, deps.env.ENCRYPTION_KEYS), ms: performance.now() };
    return lastKeysCheck.state;
  };
  const certificatesNow = certificateCheck(deps.certificates ?? []);
  // Users are never deleted, so a positive result holds forever.
  let adminKnown = false;
  const adminState = async (em: EntityManager): Promise<AdminState> => {
    adminKnown ||= await hasUsers(em);
    return adminKnown ? 'ok' : 'missing';
  };
  return [
    endpoint({
      method: 'GET',
      path: '/healthz',
      operationId: 'getHealth',
      summary: 'Check that the process is alive',
      tags: ['operations'],
      role: 'public',
      probe: true,
      responses: { 200: z.object({ status: z.literal('ok') }) },
      handler: async () => ({
        status: 200,
        body: { status: 'ok' },
        headers: { 'Cache-Control': 'no-store' },
      }),
    }),
    endpoint({
      method: 'GET',
      path: '/readyz',
      operationId: 'getReadiness',
      summary:
        'Check that the process can serve; degraded if Temporal or the file store is down, or runs are stuck',
      description:
        'Down (503) if PostgreSQL is unavailable, the file store belongs to another database, Temporal ' +
        'does not have its runs, a required encryption key is missing or is another one, or the first ' +
        'administrator does not exist yet. ' +
        'So once this is ready, login works.',
      tags: ['operations'],
      role: 'public',
      probe: true,
      responses: { 200: readiness, 503: readiness },
      handler: async (c) => {
        const [database, reached] = await Promise.all([
          within(DATABASE_TIMEOUT_MS, databaseState(c.em), 'down'),
          within(TEMPORAL_TIMEOUT_MS, deps.temporal.ping().then(okOrDown), 'down' as const),
        ]);
        const isOwn =
          database !== 'ok' ||
          reached !== 'ok' ||
          (await within(TEMPORAL_TIMEOUT_MS, isOwnTemporal(c.em, deps.temporal), true));
        const temporal = isOwn ? reached : ('wrong_namespace' as const);
        const files =
          database === 'ok'
            ? await filesState(c.em)
            : await within(FILES_TIMEOUT_MS, deps.files.ping().then(okOrDown), 'down' as const);
        const admin =
          database === 'ok'
            ? await within(DATABASE_TIMEOUT_MS, adminState(c.em), 'unknown' as const)
            : 'unknown';
        const keyState = database === 'ok' ? await within(DATABASE_TIMEOUT_MS, keysState(c.em), null) : null;
        const keys = keyState?.state ?? 'unknown';
        const stuckRuns =
          database === 'ok'
            ? await within<number | null>(DATABASE_TIMEOUT_MS, countStuckRuns(c.em), null)
            : null;
        const runs =
          stuckRuns === null ? ('unknown' as const) : stuckRuns > 0 ? ('stuck' as const) : ('ok' as const);
        const containers =
          database === 'ok' ? await within(DATABASE_TIMEOUT_MS, engineState(c.em), null) : null;
        const certificates = certificatesNow();
        const server = deps.isStopping() ? ('stopping' as const) : ('ok' as const);
        const down =
          database !== 'ok' ||
          server !== 'ok' ||
          admin !== 'ok' ||
          files === 'wrong_store' ||
          temporal === 'wrong_namespace' ||
          keys === 'missing' ||
          keys === 'wrong';
        const status = down
          ? 'down'
          : temporal === 'ok' &&
              files === 'ok' &&
              runs !== 'stuck' &&
              containers !== 'down' &&
              certificates?.state !== 'expired'
            ? 'ok'
            : 'degraded';
        const problems = [
          ...(admin === 'missing'
            ? [adminProblems[deps.env.ADMIN_PASSWORD === undefined ? 'unset' : 'set']]
            : []),
          ...(keyState?.problems ?? []),
          ...(temporal === 'wrong_namespace' ? [WRONG_NAMESPACE] : []),
          ...(containers === 'down' ? [NO_ENGINE] : []),
          ...(certificates?.problems ?? []),
          ...(runs === 'stuck'
            ? [
                `${stuckRuns} ${stuckRuns === 1 ? 'run is' : 'runs are'} stuck: ` +
                  "workflow tasks fail repeatedly. The worker's log names the runs and the cause.",
              ]
            : []),
        ];
        return {
          status: down ? 503 : 200,
          body: {
            status,
            checks: {
              database,
              temporal,
              files,
              server,
              admin,
              runs,
              keys,
              ...(containers === null ? {} : { containers }),
              ...(certificates === null ? {} : { certificates: certificates.state }),
            },
            ...(problems.length > 0 ? { problems } : {}),
          },
          headers: { 'Cache-Control': 'no-store', ...(down ? { 'Retry-After': '5' } : {}) },
        };
      },
    }),
  ];
}

function okOrDown(ok: boolean): 'ok' | 'down' {
  return ok ? 'ok' : 'down';
}

async function databaseState(em: EntityManager): Promise<DatabaseState> {
  const state = await readMigrationState((sql) => em.execute(sql)).catch((error: unknown) => {
    if (isMissingDatabase(error)) return null;
    throw error;
  });
  if (state === null) return 'database_missing';
  return isMigrated(state) ? 'ok' : 'not_migrated';
}

/** Resolves to the fallback on failure and on timeout. */
async function within<T>(timeoutMs: number, work: Promise<T>, fallback: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, fallback);
  });
  return Promise.race([work.catch(() => fallback), timeout]).finally(() => clearTimeout(timer));
}
