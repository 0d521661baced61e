import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { reconcileDeliveries } from '../domain/delivery/reconcile.ts';
import { reportEvaluations } from '../domain/evaluations/report.ts';
import { returnTasks } from '../domain/hitl/return-tasks.ts';
import { failLostJobs } from '../domain/jobs/finish.ts';
import { deliverSignals } from '../domain/runs/dispatch.ts';
import { foldRunChanges } from '../domain/runs/hours.ts';
import { reconcileNotifications } from '../domain/notifications/reconcile.ts';
import { reconcile, type Reconciled } from '../domain/runs/reconcile.ts';
import { reconcileSchedules } from '../domain/schedules/reconcile.ts';
import { wakeLeftCalls } from '../domain/spending/questions.ts';
import { foldUsage } from '../domain/spending/usage.ts';
import { continueMoves } from '../domain/teams/move-history.ts';
import type { ActivityDeps } from './deps.ts';

/** Of a pass. */
const MOVE_MS = 5_000;
const RETURN_MS = 5_000;

/** Each returns how much it has done. */
type Steps = Record<string, () => Promise<number>>;

/** One that fails keeps none of the others from being done, unless the database is gone. */
export function reconcileActivity(deps: ActivityDeps): RunActivities['reconcile'] {
  return async () => {
    const heartbeat = () => Context.current().heartbeat();
    const { orm, logger } = deps;
    const result: Reconciled = { started: 0, signalled: 0, closed: 0, stuck: [], recovered: [] };
    const steps: Steps = {
      runs: async () => {
        Object.assign(result, await reconcile(deps, { now: await timeOf(deps), heartbeat }));
        return result.started + result.signalled + result.closed;
      },
      counts: () => foldRunChanges(orm.em.fork(), heartbeat).then(() => 0),
      jobs: () => failLostJobs(deps),
      questions: async () => (await deliverSignals(deps, await wakeLeftCalls(orm.em.fork()))).length,
      usage: () => foldUsage(orm.em.fork(), heartbeat).then(() => 0),
      evaluations: () => reportEvaluations(deps, heartbeat),
      returns: () => returnHumanTasks(deps, heartbeat),
      schedules: async () => {
        const { started, told } = await reconcileSchedules(deps, { heartbeat });
        return started + told;
      },
      deliveries: () => reconcileDeliveries({ ...deps, kinds: deps.deliveries.kinds }, { heartbeat }),
      notifications: () =>
        reconcileNotifications({ expand: deps.notifications.expand, temporal: deps.temporal }, { heartbeat }),
      moves: () => moveRuns(deps, heartbeat),
    };
    const done: Record<string, number> = {};
    const errors: unknown[] = [];
    for (const [step, run] of Object.entries(steps)) {
      heartbeat();
      try {
        done[step] = await run();
      } catch (error) {
        errors.push(error);
        logger.error({ err: error, step }, 'a step of the reconciler failed, the others go on');
        await orm.em.fork().execute('select 1');
      }
    }
    if (Object.values(done).some((count) => count > 0)) logger.info({ ...result, done }, 'reconciled');
    if (result.stuck.length > 0)
      logger.warn({ run_ids: result.stuck }, 'runs are stuck: their workflow tasks fail repeatedly');
    if (result.recovered.length > 0) logger.info({ run_ids: result.recovered }, 'runs have recovered');
    if (errors.length > 0)
      throw new AggregateError(errors, `steps of the reconciler failed: ${errors.length}`);
    return result;
  };
}

/** Of workflows that have moved to another team. Last: a tree of runs may be too large for one statement. */
async function moveRuns({ orm }: ActivityDeps, heartbeat: () => void): Promise<number> {
  const until = performance.now() + MOVE_MS;
  const inTime = (): boolean => {
    heartbeat();
    return performance.now() < until;
  };
  return continueMoves(() => orm.em.fork(), inTime);
}

/** Of people whose accounts have ended. */
async function returnHumanTasks({ orm }: ActivityDeps, heartbeat: () => void): Promise<number> {
  const until = performance.now() + RETURN_MS;
  return returnTasks(
    () => orm.em.fork(),
    () => {
      heartbeat();
      return performance.now() < until;
    },
  );
}

/** By the database's clock: that of this machine may be wrong. */
async function timeOf({ orm }: ActivityDeps): Promise<Date> {
  const [row] = await orm.em.fork().execute<{ now: Date }[]>('select clock_timestamp() as now');
  return new Date(row?.now ?? Date.now());
}
