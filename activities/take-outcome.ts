/** Calls whose outcome comes from outside: `Invoked.awaits` (domain/jobs). */
import type { RunActivities } from '../contracts/activities.ts';
import { takeOutcome } from '../domain/jobs/finish.ts';
import { appendWith } from './append.ts';
import type { ActivityDeps } from './deps.ts';

export function takeOutcomeActivity(deps: ActivityDeps): RunActivities['takeOutcome'] {
  return async ({ run_id, batch, key, end }) => {
    const { closed, answer } = await appendWith(deps, { run_id, batch }, (em) =>
      takeOutcome(em, run_id, key, end),
    );
    return { closed, ...answer };
  };
}
