import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { sweepFiles } from '../domain/files/service.ts';
import type { ActivityDeps } from './deps.ts';
import { heartbeating } from './under-way.ts';

const HEARTBEAT_MS = 15_000;

/**
 * Removes contents of the file store without a row: dead uploads, and contents whose removal a crash
 * prevented.
 */
export function sweepFilesActivity({ orm, files, logger }: ActivityDeps): RunActivities['sweepFiles'] {
  return async () => {
    const context = Context.current();
    const removed = await heartbeating(context, HEARTBEAT_MS, () =>
      sweepFiles(orm.em.fork(), files, { signal: context.cancellationSignal }),
    );
    if (removed > 0) logger.info({ files: removed }, 'swept the file store');
    return { removed };
  };
}
