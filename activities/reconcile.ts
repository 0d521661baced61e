import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { removeOldDeliveries } from '../domain/delivery/outbox.ts';
import { reconcileDeliveries } from '../domain/delivery/reconcile.ts';
import { removeOldInboundEvents } from '../domain/events/inbound.ts';
import { reportEvaluations } from '../domain/evaluations/report.ts';
import { failLostJobs } from '../domain/jobs/finish.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { foldRunChanges, removeOldRunHours } from '../domain/runs/hours.ts';
import { removeOldDecisionLinks } from '../domain/hitl/decision-links.ts';
import { removeOldNotifications } from '../domain/notifications/inbox.ts';
import { reconcileNotifications } from '../domain/notifications/reconcile.ts';
import { reconcile } from '../domain/runs/reconcile.ts';
import { reconcileSchedules } from '../domain/schedules/reconcile.ts';
import { wakeLeftCalls } from '../domain/spending/questions.ts';
import { foldUsage } from '../domain/spending/usage.ts';
import { continueMoves } from '../domain/teams/move-history.ts';
import type { ActivityDeps } from './deps.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** Of a pass. */
const MOVE_MS = 5_000;

export function reconcileActivity(deps: ActivityDeps): RunActivities['reconcile'] {
  let sweptAtMs = 0;
  return async () => {
    const heartbeat = () => Context.current().heartbeat();
    const result = await reconcile(deps, { now: await timeOf(deps), heartbeat });
    await foldRunChanges(deps.orm.em.fork(), heartbeat);
    const lost = await failLostJobs(deps);
    await deliverSignals(deps, await wakeLeftCalls(deps.orm.em.fork()));
    await foldUsage(deps.orm.em.fork(), heartbeat);
    await reportEvaluations(deps, heartbeat);
    const schedules = await reconcileSchedules(deps, { heartbeat });
    const woken = await reconcileDeliveries({ ...deps, kinds: deps.deliveries.kinds }, { heartbeat });
    const told = await reconcileNotifications(
      { expand: deps.notifications.expand, temporal: deps.temporal },
      { heartbeat },
    );
    if (
      result.started +
        result.signalled +
        result.closed +
        woken +
        told +
        schedules.started +
        schedules.told +
        lost >
      0
    )
      deps.logger.info({ ...result, woken, told, schedules, lost }, 'reconciled');
    if (result.stuck.length > 0)
      deps.logger.warn({ run_ids: result.stuck }, 'runs are stuck: their workflow tasks fail repeatedly');
    if (result.recovered.length > 0) deps.logger.info({ run_ids: result.recovered }, 'runs have recovered');
    if (Date.now() - sweptAtMs >= SWEEP_EVERY_MS) {
      sweptAtMs = Date.now();
      await sweep(deps);
    }
    await moveRuns(deps, heartbeat);
    return result;
  };
}

/**
 * Of workflows that have moved to another team. Last, and without an error: a tree of runs that is too large
 * for one statement keeps nothing else from being done.
 */
async function moveRuns({ orm, logger }: ActivityDeps, heartbeat: () => void): Promise<void> {
  const until = performance.now() + MOVE_MS;
  const inTime = (): boolean => {
    heartbeat();
    return performance.now() < until;
  };
  await continueMoves(() => orm.em.fork(), inTime).catch((error: unknown) =>
    logger.warn({ err: error }, 'cannot move runs to the team of their workflow, the next pass will'),
  );
}

/** By the database's clock: that of this machine may be wrong. */
async function timeOf({ orm }: ActivityDeps): Promise<Date> {
  const [row] = await orm.em.fork().execute<{ now: Date }[]>('select clock_timestamp() as now');
  return new Date(row?.now ?? Date.now());
}

/** Deletes old rows that nothing needs: once an hour, and after each start of a worker. */
async function sweep({ orm, logger, eventDays }: ActivityDeps): Promise<void> {
  const removedDeliveries = await removeOldDeliveries(orm.em.fork(), eventDays);
  const removedEvents = await removeOldInboundEvents(orm.em.fork(), eventDays);
  await removeOldRunHours(orm.em.fork());
  await removeOldDecisionLinks(orm.em.fork());
  await removeOldNotifications(orm.em.fork(), eventDays);
  if (removedDeliveries + removedEvents > 0)
    logger.info(
      { deliveries: removedDeliveries, events: removedEvents },
      'removed old deliveries and events',
    );
}
