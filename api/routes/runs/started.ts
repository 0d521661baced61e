/** Responses of requests that start a run: the run as of the commit, or after a bounded wait. */
import { endOf } from '../../../db/run-event-watcher.ts';
import { isTerminal } from '../../../contracts/run-events.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { startWith } from '../../../domain/runs/dispatch.ts';
import { getRunWithTail, getStartedRun } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../deps.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import { unauthorized } from '../../middleware/auth.ts';
import { openerOf } from '../../streams/live-sessions.ts';
import type { EndpointContext, EndpointResponse } from '../../endpoint.ts';
import { presentWithTail, TAIL_LIMITS, type RunPresenter } from './presenter.ts';

export function presenterOf({ env }: AppDeps, actor: Actor): RunPresenter {
  return {
    actor,
    baseUrl: env.BASE_URL,
    temporalUiUrl: env.TEMPORAL_UI_URL ?? null,
    traceUrl: env.TRACE_URL_TEMPLATE ?? null,
    namespace: env.TEMPORAL_NAMESPACE,
  };
}

/**
 * Responds 201 with the run, 200 if it was there before. Its workflow starts after the commit; if that fails,
 * the reconciler starts it.
 */
export async function respondStarted(
  deps: AppDeps,
  c: EndpointContext,
  runId: string,
  status: 200 | 201 = 201,
): Promise<EndpointResponse> {
  const { run, tail, start } = await getStartedRun(c.em, c.actor, runId, TAIL_LIMITS);
  const seconds = preferredWaitSeconds(c.ctx);
  c.afterCommit(async () => {
    if (seconds === null) return void (await startWith(deps, start));
    const body = await waitForEnd(deps, c, runId, seconds, () => startWith(deps, start)).catch(
      nothingIfSessionEnded,
    );
    if (body === null) return;
    return { status, body, headers: { 'Preference-Applied': `wait=${seconds}` } };
  });
  return {
    status,
    body: presentWithTail(presenterOf(deps, c.actor), run, tail),
    headers: { Location: `/runs/${runId}` },
  };
}

/** If the session ends during the wait, the response is the run as of the commit. */
function nothingIfSessionEnded(error: unknown): null {
  if (error instanceof AppError && error.kind === 'unauthorized') return null;
  throw error;
}

/** The record of the run that the path names. @throws 404 */
export async function wholeRun(
  deps: AppDeps,
  { em, actor, params }: Pick<EndpointContext<{ id: string }>, 'em' | 'actor' | 'params'>,
): Promise<Record<string, unknown>> {
  const { run, tail } = await getRunWithTail(em, actor, params.id, TAIL_LIMITS);
  return presentWithTail(presenterOf(deps, actor), run, tail);
}

/**
 * Waits for the run to end, at most `seconds`, without holding a database connection.
 * @param start starts the run; called once the watch is in place, so that the end is not missed
 * @returns the run's record at that time
 * @throws 401 if the caller's token becomes invalid
 */
export async function waitForEnd(
  deps: AppDeps,
  { ctx }: Pick<EndpointContext, 'ctx'>,
  runId: string,
  seconds: number,
  start?: () => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const until = performance.now() + seconds * 1000;
  const session = deps.sessions.openWait(openerOf(ctx));
  const watch = deps.runEvents.watch(endOf(runId));
  session.signal.addEventListener('abort', () => watch.close(), { once: true });
  try {
    if (start) {
      await start();
      await watch.next(until - performance.now());
      await session.recheck();
    }
    for (;;) {
      if (session.signal.aborted) throw unauthorized(ctx);
      const { actor } = session;
      const { run, tail } = await getRunWithTail(deps.orm.em.fork(), actor, runId, TAIL_LIMITS);
      const left = until - performance.now();
      if (isTerminal(run.status) || left <= 0 || deps.isStopping())
        return presentWithTail(presenterOf(deps, actor), run, tail);
      await watch.next(left);
      await session.recheck();
    }
  } finally {
    watch.close();
    session.close();
  }
}
