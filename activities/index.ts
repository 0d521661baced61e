/** Every side effect of a run. Composition: one file each. */
import type { RunActivities } from '../contracts/activities.ts';
import type { ActivityDeps } from './deps.ts';
import { callHttpActivity } from './call-http.ts';
import { childRunActivities } from './child-runs.ts';
import { humanTaskActivities } from './human-tasks.ts';
import { invokeAgentActivity } from './invoke-agent.ts';
import { reconcileActivity } from './reconcile.ts';
import { runLogActivities } from './run-log.ts';

export type { ActivityDeps } from './deps.ts';

export function createActivities(deps: ActivityDeps): RunActivities {
  return {
    ...runLogActivities(deps),
    ...humanTaskActivities(deps),
    ...childRunActivities(deps),
    invokeAgent: invokeAgentActivity(deps),
    callHttp: callHttpActivity(deps),
    reconcile: reconcileActivity(deps),
  };
}
