import { Context } from '@temporalio/activity';
import type { RunActivities } from '../contracts/activities.ts';
import { invocationKey } from '../contracts/invocation-key.ts';
import { appendOrStop } from './append.ts';
import type { InvocationDeps } from './deps.ts';
import { HEARTBEAT_MS, heartbeating } from './under-way.ts';

/** Waits for a short call of this process that was handed over; calls nobody. */
export function followCallActivity(deps: InvocationDeps): RunActivities['followCall'] {
  return async (input) => {
    const { batch } = input;
    if (batch.events.length > 0 || batch.acks.length > 0 || batch.projection) await appendOrStop(deps, input);
    const context = Context.current();
    return heartbeating(context, HEARTBEAT_MS, () =>
      deps.shortCalls.handedOver.follow(invocationKey(input.run_id, input), context),
    );
  };
}
