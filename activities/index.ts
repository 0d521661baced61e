/** Composes the activities, which perform all side effects. */
import type { DeliveryActivities, RunActivities } from '../contracts/activities.ts';
import { createPrices } from '../domain/spending/prices.ts';
import type { ActivityDeps, CallDeps, ProcessDeps } from './deps.ts';
import { createAnnounce } from './announce.ts';
import { callHttpActivity } from './call-http.ts';
import { checkContainerActivity } from './check-container.ts';
import { childRunActivities } from './child-runs.ts';
import { deliveryActivities } from './deliver-next.ts';
import { fetchFilesActivity } from './fetch-files.ts';
import { followCallActivity } from './follow-call.ts';
import { humanTaskActivities } from './human-tasks.ts';
import { invokeAgentActivity } from './invoke-agent.ts';
import { listenerActivities } from './listeners.ts';
import { reconcileActivity } from './reconcile.ts';
import { createOutcomes } from './outcomes.ts';
import { removeExpiredActivity } from './remove-expired.ts';
import { runContainerActivity } from './run-container.ts';
import { runLogActivities } from './run-log.ts';
import { startScheduledRunActivity } from './start-scheduled-run.ts';
import { runProcessActivity } from './run-process.ts';
import { takeOutcomeActivity } from './take-outcome.ts';
import { sweepFilesActivity } from './sweep-files.ts';
import { tracedActivities } from './traced.ts';

export type { ActivityDeps } from './deps.ts';

/** For workers that run processes only. */
export function createProcessActivities(
  given: Omit<ProcessDeps, 'announce' | 'outcomes' | 'prices'>,
): Pick<RunActivities, 'runProcess' | 'runContainer' | 'checkContainer'> {
  const deps = { ...given, ...processState(given) };
  const activities = {
    runProcess: runProcessActivity(deps),
    runContainer: runContainerActivity(deps),
    checkContainer: checkContainerActivity(deps),
  };
  return tracedActivities(deps, activities);
}

export function createActivities(given: ActivityDeps): RunActivities & DeliveryActivities {
  const deps = { ...given, ...processState(given) };
  const [invokeAgent, callHttp] = [invokeAgentActivity(deps), callHttpActivity(deps)];
  const activities = tracedActivities(deps, {
    ...runLogActivities(deps),
    ...humanTaskActivities(deps),
    ...childRunActivities(deps),
    ...listenerActivities(deps),
    ...deliveryActivities(deps),
    fetchFiles: fetchFilesActivity(deps),
    invokeAgent: (input) => deps.answers.share(() => invokeAgent(input)),
    callHttp: (input) => deps.answers.share(() => callHttp(input)),
    runProcess: runProcessActivity(deps),
    takeOutcome: takeOutcomeActivity(deps),
    followCall: followCallActivity(deps),
    runContainer: runContainerActivity(deps),
    checkContainer: checkContainerActivity(deps),
    reconcile: reconcileActivity(deps),
    startScheduledRun: startScheduledRunActivity(deps),
    sweepFiles: sweepFilesActivity(deps),
    removeExpired: removeExpiredActivity(deps),
  });
  const { handedOver } = deps.shortCalls;
  return {
    ...activities,
    // Around their spans, which last as long as the calls.
    invokeAgent: (input) => handedOver.run(input, () => activities.invokeAgent(input)),
    callHttp: (input) => handedOver.run(input, () => activities.callHttp(input)),
  };
}

/** What the activities of a process share. */
function processState(
  given: Pick<ActivityDeps, 'orm' | 'logger'>,
): Pick<CallDeps, 'announce' | 'outcomes' | 'prices'> {
  return {
    announce: createAnnounce(given),
    outcomes: createOutcomes(given),
    prices: createPrices(() => given.orm.em.fork()),
  };
}
