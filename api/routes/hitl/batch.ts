/** Several decisions in one request: each in a transaction of its own, with a result of its own. */
import type * as z from 'zod';

import { AppError } from '../../../domain/errors.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../app.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { problemOf } from '../../middleware/errors.ts';
import { inTransaction } from '../../transaction.ts';
import { presentDecided, type batchRecord } from './presenter.ts';

export interface BatchItem extends Submission {
  task_id: string;
}

type Result = z.input<typeof batchRecord>['results'][number];

export async function decideBatch(deps: AppDeps, c: EndpointContext, items: BatchItem[]): Promise<Result[]> {
  const decided: (Decided | AppError)[] = [];
  for (const { task_id, ...submission } of items) {
    decided.push(await decideOne(deps, c, task_id, submission));
  }
  const delivered = await deliver(deps, c, decided);
  return decided.map((result, index): Result => {
    const task_id = items[index]?.task_id ?? '';
    if (result instanceof AppError) {
      const problem = problemOf(c.ctx, result);
      return { task_id, status: problem.status, problem };
    }
    const { task, decision, signalId } = result;
    return { task_id, status: 200, ...presentDecided(task, decision, signalId === null ? null : delivered.has(signalId)) };
  });
}

async function decideOne(deps: AppDeps, c: EndpointContext, taskId: string, submission: Submission): Promise<Decided | AppError> {
  try {
    return await inTransaction(() => deps.orm.em.fork(), (em) => decide(em, c.actor, { taskId, submission: () => submission, via: 'batch' }));
  } catch (error) {
    if (error instanceof AppError && error.kind !== 'unavailable') {
      return error;
    }
    throw error;
  }
}

/** What cannot be delivered now is repeated by the reconciler. */
async function deliver(deps: AppDeps, c: EndpointContext, decided: (Decided | AppError)[]): Promise<Set<string>> {
  const ids = decided.flatMap((result) => (result instanceof AppError || result.signalId === null ? [] : [result.signalId]));
  try {
    return new Set(await deliverSignals(deps, ids));
  } catch (error) {
    deps.logger.error({ err: error, request_id: c.requestId }, 'decisions were not delivered yet');
    return new Set();
  }
}
