/** Acts on several runs in one request. */
import * as z from 'zod';

import type { EntityManager } from '../../../db/orm.ts';
import { AppError } from '../../../domain/errors.ts';
import { inParallel } from '../../../domain/in-parallel.ts';
import { deliverCommands, startRun, type Commanded } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { getListedRun } from '../../../domain/runs/queries.ts';
import { retryRun } from '../../../domain/runs/retry.ts';
import { commandRun } from '../../../domain/runs/service.ts';
import { actOnOne } from '../../batch.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint, type EndpointContext } from '../../endpoint.ts';
import { problemOf } from '../../middleware/errors.ts';
import { problemSchema, uuid } from '../../schemas.ts';
import { presentRunSummary } from './presenter.ts';
import { runSummarySchema } from './schemas.ts';
import { presenterOf } from './started.ts';

const MAX_RUNS = 100;
/** Transactions at a time: few enough to leave connections to other requests. */
const AT_ONCE = 4;

const batchBody = z.object({
  action: z.enum(['cancel', 'suspend', 'resume', 'retry']),
  ids: z.array(uuid).min(1).max(MAX_RUNS),
});

const batchRecord = z
  .object({
    results: z.array(
      z.object({
        id: uuid,
        status: z
          .int()
          .meta({ description: 'The status that a single request for this run would have returned.' }),
        run: runSummarySchema
          .optional()
          .meta({ description: 'As a list with `view=summary` has it; for `retry` the new run.' }),
        problem: problemSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'RunBatch' });

export function batchEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/runs/actions',
    operationId: 'actOnRuns',
    summary: 'Cancel, suspend, resume or retry several runs, each with its own result',
    description: 'A run that is named several times is acted on once.',
    tags: ['runs'],
    role: 'builder',
    transaction: false,
    body: batchBody,
    responses: { 200: batchRecord },
    handler: async (c) => ({ status: 200, body: { results: await actOnAll(deps, c, c.body) } }),
  });
}

type Batch = z.output<typeof batchBody>;

/** What JSON keeps of an action that was done. */
interface Done {
  status: number;
  run: Record<string, unknown>;
  /** Null for a retry. */
  commanded: Commanded | null;
  /** The run that a retry has created. */
  started: string | null;
}

async function actOnAll(
  deps: AppDeps,
  c: EndpointContext,
  { action, ids }: Batch,
): Promise<Record<string, unknown>[]> {
  const results = new Map<string, Done | AppError>();
  const failures: unknown[] = [];
  const runs = [...new Set(ids.map((id) => id.toLowerCase()))];
  await inParallel(runs, AT_ONCE, async (id) => {
    if (failures.length > 0) return;
    try {
      const data = { changes: { action: { new: action } } };
      const item = { name: id, content: { action, id }, audited: { objectId: id, data } };
      results.set(id, await actOnOne(deps, c, item, (em) => act(deps, c, em, action, id)));
    } catch (error) {
      failures.push(error);
    }
  });
  await deliver(deps, c, [...results.values()]);
  if (failures.length > 0) throw failures[0];
  return ids.map((id) => {
    const result = results.get(id.toLowerCase());
    if (result === undefined) throw new Error(`run ${id} has no result`);
    if (!(result instanceof AppError)) return { id, status: result.status, run: result.run };
    const problem = problemOf(c.ctx, result);
    return { id, status: problem.status, problem };
  });
}

async function act(
  deps: AppDeps,
  { actor }: EndpointContext,
  em: EntityManager,
  action: Batch['action'],
  id: string,
): Promise<Done> {
  const isRetry = action === 'retry';
  const started = isRetry ? await retryRun(em, actor, id, runLimits(deps.env)) : null;
  const commanded = isRetry ? null : await commandRun(em, actor, id, action);
  const run = await getListedRun(em, actor, started ?? id, 'summary');
  return {
    status: isRetry ? 201 : 200,
    run: presentRunSummary(presenterOf(deps, actor), run),
    commanded,
    started,
  };
}

/** Sends signals and starts runs. The reconciler repeats what fails. */
async function deliver(deps: AppDeps, c: EndpointContext, results: (Done | AppError)[]): Promise<void> {
  const done = results.filter((result): result is Done => !(result instanceof AppError));
  const started = done.flatMap((one) => (one.started === null ? [] : [one.started]));
  let isAway = false;
  try {
    await deliverCommands(
      deps,
      done.flatMap(({ commanded }) => commanded ?? []),
    );
    await inParallel(started, AT_ONCE, async (runId) => {
      // Each call to a server that is away takes seconds.
      if (!isAway && !(await startRun(deps, runId))) isAway = true;
    });
  } catch (error) {
    deps.logger.error(
      { err: error, request_id: c.requestId },
      'could not deliver the actions yet; the reconciler will repeat it',
    );
  }
}
