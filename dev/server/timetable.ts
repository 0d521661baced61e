/**
 * Takes backups by the timetable of the settings (BACKUP_EVERY), of `npm start` and of Compose's service
 * `backups`. Of several copies one takes each (domain/operations/backups.ts).
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { loadEnv } from '../../config/env.ts';
import { createLogger } from '../../config/logger.ts';
import { BackupRuns, secondsUntilDue, timetableOf, type Timetable } from '../../domain/operations/backups.ts';
import { backUpRecorded } from './backup.ts';
import { withInstallation, type Installation } from './installation.ts';
import { interruptible } from './interruption.ts';

/** Between two looks at the database, whatever it says. */
const [SHORTEST_MS, LONGEST_MS] = [5_000, 600_000];
/** If the database did not answer. */
const AWAY_MS = 30_000;
const STANDARD_KEEP = 7;

const env = loadEnv();
const logger = createLogger({ name: 'backups', level: env.LOG_LEVEL });
const timetable = timetableOf(env);
if (timetable === null) {
  logger.fatal('BACKUP_EVERY is not set, so there are no backups to take');
  process.exit(2);
}
const place = resolve(env.BACKUP_DIR ?? join(env.DATA_DIR, 'backups'));
const keeping =
  env.BACKUP_KEEP === undefined && env.BACKUP_KEEP_DAYS === undefined
    ? { keep: STANDARD_KEEP }
    : { keep: env.BACKUP_KEEP, keepDays: env.BACKUP_KEEP_DAYS };
const stopping = interruptible(() => process.exit(0));

/** @returns how long to wait for the next look */
async function look(due: Timetable): Promise<number> {
  try {
    return await withInstallation('attached', async (installation) => {
      await takeIfDue(installation, due);
      const seconds = await secondsUntilDue(installation.fork(), due);
      return Math.min(Math.max(seconds * 1_000, SHORTEST_MS), LONGEST_MS);
    });
  } catch (error) {
    logger.warn({ err: error }, 'whether a backup is due cannot be seen; trying again');
    return AWAY_MS;
  }
}

async function takeIfDue(installation: Installation, due: Timetable): Promise<void> {
  const options = { folder: place, timetable: due, signal: stopping, ...keeping };
  try {
    await mkdir(place, { recursive: true, mode: 0o700 });
    const taken = await backUpRecorded(installation, options, (line) => logger.info(line));
    if (taken !== null) logger.info(taken, 'a backup is complete');
  } catch (error) {
    if (error instanceof BackupRuns) return;
    logger.error({ err: error, place }, 'a backup failed');
  }
}

logger.info({ place, ...timetable, ...keeping }, 'taking backups by timetable');
while (!stopping.aborted) {
  const waitMs = await look(timetable);
  await sleep(waitMs, undefined, { signal: stopping }).catch(() => undefined);
}
process.exit(0);
