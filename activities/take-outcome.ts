/** Calls whose outcome comes from outside: `Invoked.awaits` (domain/jobs). */
import type { RunActivities } from '../contracts/activities.ts';
import { takeOutcome } from '../domain/jobs/finish.ts';
import { appendAnd } from './append.ts';
import type { ActivityDeps } from './deps.ts';

export function takeOutcomeActivity(deps: ActivityDeps): RunActivities['takeOutcome'] {
  return async ({ run_id, batch, key, end }) => {
    let taken: Awaited<ReturnType<typeof takeOutcome>> = {};
    const { closed } = await appendAnd(deps, { run_id, batch }, async (em) => {
      taken = await takeOutcome(em, run_id, key, end);
    });
    return { closed, ...taken };
  };
}
