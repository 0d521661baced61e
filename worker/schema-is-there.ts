/**
 * Workers of a new release may start before its `migrate` has run, as under Kubernetes. What they do would
 * fail on the schema of the release before, so they wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Logger } from '../config/logger.ts';
import { isMigrated, readMigrationState } from '../db/migration-state.ts';
import type { EntityManager } from '../db/orm.ts';
import { persistently } from './connect.ts';

const PAUSE_MS = 1_000;

/** Resolves once the schema is that of this release, or of a newer one. */
export async function schemaIsThere(fork: () => EntityManager, logger: Logger): Promise<void> {
  for (let hasSaid = false; ; hasSaid = true) {
    const state = await persistently(logger, () => readMigrationState((sql) => fork().execute(sql)));
    if (isMigrated(state)) return;
    if (!hasSaid) logger.warn('the schema is not that of this release yet: waiting for npm run migrate');
    await sleep(PAUSE_MS);
  }
}
