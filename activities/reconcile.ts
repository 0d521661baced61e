import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { reconcile } from '../domain/runs/reconcile.ts';
import type { ActivityDeps } from './deps.ts';

export function reconcileActivity(deps: ActivityDeps): RunActivities['reconcile'] {
  return async () => {
    const result = await reconcile(deps, { now: new Date(), heartbeat: () => Context.current().heartbeat() });
    if (result.started + result.signalled + result.closed > 0) deps.logger.info(result, 'reconciled');
    return result;
  };
}
