import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { tellOfEndingCredentials } from '../domain/auth/ending-credentials.ts';
import { removeRestingSessions } from '../domain/conversations/sessions.ts';
import { removeExpiredFiles } from '../domain/files/start-files.ts';
import { beginSweep, dropEmptyPartitions, makeComingPartitions, sweep } from '../domain/retention/log.ts';
import { removeOldRows } from '../domain/retention/old-rows.ts';
import { removeEndedRuns, removeOldPayloads } from '../domain/retention/remove.ts';
import type { ActivityDeps } from './deps.ts';

const BUDGET_MS = 60_000;

export function removeExpiredActivity({
  orm,
  files: store,
  retentionDays,
  eventDays,
  notifications,
  logger,
}: ActivityDeps): RunActivities['removeExpired'] {
  return async () => {
    const removed = { runs: 0, payloads: 0, files: 0, sessions: 0 };
    const rows: Record<string, number> = {};
    const deadline = Date.now() + BUDGET_MS;
    if (notifications.expand.hasMail) await tellOfEndingCredentials(orm.em.fork());
    const made = await makeComingPartitions(orm.em.fork());
    let more = true;
    while (more && Date.now() < deadline) {
      Context.current().heartbeat();
      const { runs, files } = await removeEndedRuns(orm.em.fork(), retentionDays);
      const { payloads, files: contents } = await removeOldPayloads(orm.em.fork(), retentionDays);
      const sessions = await removeRestingSessions(orm.em.fork(), retentionDays);
      const old = await removeOldRows(orm.em.fork(), eventDays);
      const expired = await removeExpiredFiles(orm.em.fork());
      // After a crash here, the sweep removes these files, since no row names them any more.
      for (const id of [...files, ...contents, ...expired]) await store.remove(id);
      removed.runs += runs;
      removed.files += files.length + expired.length;
      removed.payloads += payloads;
      removed.sessions += sessions;
      for (const [kind, count] of Object.entries(old)) rows[kind] = (rows[kind] ?? 0) + count;
      more = runs + payloads + sessions + expired.length + sumOf(old) > 0;
    }
    if (removed.runs + removed.payloads + removed.files + removed.sessions > 0)
      logger.info(removed, 'removed expired runs, payloads, files and conversations');
    if (sumOf(rows) > 0) logger.info(rows, 'removed old deliveries, events and counts');
    const dropped = await dropEmptyPartitions(orm.em.fork(), retentionDays);
    if (made.length + dropped.length > 0) logger.info({ made, dropped }, 'changed partitions of the log');
    const isSwept = await sweepLog({ orm, retentionDays, deadline, logger });
    return { runs: removed.runs, payloads: removed.payloads, more: more || !isSwept };
  };
}

const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** @returns whether nothing is left */
async function sweepLog({
  orm,
  retentionDays,
  deadline,
  logger,
}: Pick<ActivityDeps, 'orm' | 'retentionDays' | 'logger'> & { deadline: number }): Promise<boolean> {
  let removed = 0;
  let position = await beginSweep(orm.em.fork(), retentionDays);
  while (position.left.length > 0 && Date.now() < deadline) {
    Context.current().heartbeat();
    const { next, events } = await sweep(orm.em.fork(), position);
    position = next;
    removed += events;
  }
  if (removed > 0) logger.info({ events: removed }, 'removed events of removed runs');
  return position.left.length === 0;
}
