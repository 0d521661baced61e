/**
 * Checks at the start of api and worker that the schema is that of this release, that the keys with which the
 * database is encrypted are configured, and that file store and Temporal belong to it. A new release
 * may start before its `migrate` has run, as under Kubernetes: its workers wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EncryptionKey } from '../../config/env-types.ts';
import type { ServerEnv } from '../../config/env.ts';
import type { Logger } from '../../config/logger.ts';
import { isMigrated, readMigrationState } from '../../db/migration-state.ts';
import { isMissingDatabase } from '../../db/missing-database.ts';
import type { EntityManager } from '../../db/orm.ts';
import { FileStoreUnavailable, type FileStore } from '../files/ports.ts';
import { claimKeys, WrongKeys } from '../secrets/key-check.ts';
import { MissingKeys, noteKeyInUse } from '../secrets/key-use.ts';
import { claimFileStore, WrongFileStore } from '../files/store-identity.ts';
import { TemporalUnavailable } from '../ports.ts';
import { WrongTemporal } from './temporal-identity.ts';
import type { VerifiedTemporal } from './verified-temporal.ts';

export interface SettleOptions {
  fork: () => EntityManager;
  /** ENCRYPTION_KEYS, the current one first. */
  keys: readonly EncryptionKey[];
  files: FileStore;
  /** FILES_LARGE_VALUES: without it each host may have its own store, and stores are not compared. */
  shared: boolean;
  verifyTemporal: VerifiedTemporal['verify'];
  logger: Logger;
  /** Ends the process: it must not continue with the wrong store or Temporal, or without the right keys. */
  refuse: (error: Error) => void;
}

/** For a whole process, which ends if its database and its settings never fit together. */
export function settleProcess(
  given: Pick<SettleOptions, 'fork' | 'files' | 'verifyTemporal' | 'logger'>,
  env: Pick<ServerEnv, 'ENCRYPTION_KEYS' | 'FILES_LARGE_VALUES'>,
): Promise<void> {
  return settleStart({
    ...given,
    keys: env.ENCRYPTION_KEYS,
    shared: env.FILES_LARGE_VALUES,
    refuse(error) {
      given.logger.fatal(error.message);
      process.exit(1);
    },
  });
}

const REFUSED = [WrongFileStore, WrongTemporal, MissingKeys, WrongKeys];
const PAUSE_MS = 1_000;
/** What waits for this start waits no longer for a Temporal that is away or slow. */
const TEMPORAL_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Waits for the database and its schema. Returns once keys, store and Temporal are verified, or when one of
 * the last two is unavailable; in that case they are verified later, in the background.
 */
async function settleStart(options: SettleOptions): Promise<void> {
  const { fork, files, shared, verifyTemporal, logger, refuse } = options;
  if (!(await files.ping()))
    logger.error(
      { store: files.place },
      'the file store cannot be written to: uploads, files and large values of runs fail until it can',
    );
  /** Each is said once. */
  const reported = new Set<string>();
  const report = (what: string, say: () => void): false => {
    if (!reported.has(what)) say();
    reported.add(what);
    return false;
  };
  /** What is not asked again while something else is away. */
  const verified = { database: false, store: !shared };
  const refuseIfFinal = (error: unknown): boolean => {
    if (!(error instanceof Error && REFUSED.some((kind) => error instanceof kind))) return false;
    refuse(error);
    return true;
  };
  const attempt = async (): Promise<boolean> => {
    try {
      if (!verified.database) {
        if (!(await verifyDatabase(options)))
          return report('schema', () =>
            logger.warn('the schema is not that of this release yet: waiting for npm run migrate'),
          );
        verified.database = true;
      }
      if (!verified.store) await claimFileStore(fork(), files);
      verified.store = true;
      // Whether it can be reached is said elsewhere.
      const temporal = verifyTemporal().then(() => true, unlessUnavailable);
      const isVerified = await Promise.race([temporal, sleep(TEMPORAL_MS, null, { ref: false })]);
      if (isVerified === true) return true;
      // A slow one may still turn out to be the wrong one.
      temporal.catch(refuseIfFinal);
      void verifyLater();
      return true;
    } catch (error) {
      if (refuseIfFinal(error)) return true;
      if (error instanceof FileStoreUnavailable) {
        void verifyLater();
        return true;
      }
      const what = isMissingDatabase(error) ? 'missing' : 'unavailable';
      return report(what, () => sayUnavailable(logger, error));
    }
  };
  const verifyLater = async (): Promise<void> => {
    await sleep(LONGEST_PAUSE_MS, undefined, { ref: false });
    await untilSettled();
  };
  const untilSettled = async (): Promise<void> => {
    for (let pauseMs = PAUSE_MS; !(await attempt()); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
      await sleep(pauseMs);
  };
  await untilSettled();
}

function unlessUnavailable(error: unknown): false {
  if (error instanceof TemporalUnavailable) return false;
  throw error;
}

/** @returns false if the schema is not that of this release @throws MissingKeys, WrongKeys */
async function verifyDatabase({ fork, keys }: SettleOptions): Promise<boolean> {
  if (!isMigrated(await readMigrationState((sql) => fork().execute(sql)))) return false;
  await claimKeys(fork(), keys);
  const [current] = keys;
  if (current !== undefined) await noteKeyInUse(fork(), current.id);
  return true;
}

function sayUnavailable(logger: Logger, error: unknown): void {
  if (isMissingDatabase(error))
    logger.error(
      'the database that DATABASE_URL names does not exist: create it and migrate (npm run migrate)',
    );
  else
    logger.warn(
      { err: error },
      'the database is unavailable: its keys and its file store cannot be verified yet',
    );
}
