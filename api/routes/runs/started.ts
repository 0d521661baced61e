/** The answer of a request that made a run: as of the commit, or after a bounded wait. */
import { endOf } from '../../../db/run-event-watcher.ts';
import { isTerminal } from '../../../contracts/run-events.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { startRun } from '../../../domain/runs/dispatch.ts';
import { getRun } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../app.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { presentRun } from './presenter.ts';
import type { RunPresenter } from './presenter.ts';

export function presenterOf({ env }: AppDeps): RunPresenter {
  return { baseUrl: env.BASE_URL, temporalUiUrl: env.TEMPORAL_UI_URL ?? null, namespace: env.TEMPORAL_NAMESPACE };
}

/** 201 with the run; its workflow starts after the commit, now or by the reconciler. */
export async function respondStarted(deps: AppDeps, c: EndpointContext, runId: string): Promise<EndpointResponse> {
  const run = await getRun(c.em, c.actor, runId);
  const seconds = preferredWaitSeconds(c.ctx);
  c.afterCommit(async () => {
    if (seconds === null) return void (await startRun(deps, runId));
    const body = await waitForEnd(deps, c.actor, runId, seconds, () => startRun(deps, runId));
    return { status: 201, body, headers: { 'Preference-Applied': `wait=${seconds}` } };
  });
  return { status: 201, body: await presentRun(c.em, presenterOf(deps), run), headers: { Location: `/runs/${runId}` } };
}

/** The run's record at its end, or after `seconds`. Holds no connection of the database meanwhile. `start`: the run has not ended before it. */
export async function waitForEnd(deps: AppDeps, actor: Actor, runId: string, seconds: number, start?: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const until = Date.now() + seconds * 1000;
  const watch = deps.runEvents.watch(endOf(runId));
  try {
    if (start) {
      await start();
      await watch.next(until - Date.now());
    }
    for (;;) {
      const em = deps.orm.em.fork();
      const run = await getRun(em, actor, runId);
      const left = until - Date.now();
      if (isTerminal(run.status) || left <= 0 || deps.isStopping()) return await presentRun(em, presenterOf(deps), run);
      await watch.next(left);
    }
  } finally {
    watch.close();
  }
}
