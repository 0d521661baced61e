/**
 * Several decisions in one request: each in a transaction of its own, with a result of its own. With an `Idempotency-Key` each
 * keeps its answer for itself, so that a batch that was cut off half-way can be sent again.
 */
import type * as z from 'zod';

import { AppError } from '../../../domain/errors.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../app.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { problemOf } from '../../middleware/errors.ts';
import { claimKey, idempotencyScope, storeAnswer, type IdempotencyScope } from '../../middleware/idempotency.ts';
import { inTransaction } from '../../transaction.ts';
import { presentDecided, type batchRecord } from './presenter.ts';

export interface BatchItem extends Submission {
  task_id: string;
}

type Result = z.input<typeof batchRecord>['results'][number];

export async function decideBatch(deps: AppDeps, c: EndpointContext, items: BatchItem[]): Promise<Result[]> {
  const decided: (Decided | AppError)[] = [];
  for (const [index, item] of items.entries()) {
    decided.push(await decideOne(deps, c, item, scopeOf(deps, c, item, index)));
  }
  const delivered = await deliver(deps, c, decided);
  return decided.map((result, index): Result => {
    const task_id = items[index]?.task_id ?? '';
    if (result instanceof AppError) {
      const problem = problemOf(c.ctx, result);
      return { task_id, status: problem.status, problem };
    }
    const { task, decision, signal } = result;
    return { task_id, status: 200, ...presentDecided(task, decision, signal === null ? null : delivered.has(signal.signal.id)) };
  });
}

function scopeOf(deps: AppDeps, c: EndpointContext, item: BatchItem, index: number): IdempotencyScope | null {
  const scope = idempotencyScope(c.ctx, c.actor, Buffer.from(JSON.stringify(item)), (text) => deps.encryption.fingerprint(text));
  return scope && { ...scope, path: `${scope.path}#${index}` };
}

async function decideOne(deps: AppDeps, c: EndpointContext, item: BatchItem, scope: IdempotencyScope | null): Promise<Decided | AppError> {
  const { task_id: taskId, ...submission } = item;
  try {
    return await inTransaction(() => deps.orm.em.fork(), async (em) => {
      const first = scope && (await claimKey(em, scope));
      // What was stored under this scope was a result of this function.
      if (first) return first.body as Decided;
      const decided = await decide(em, c.actor, { taskId, submission: () => submission, via: 'batch' });
      if (scope) await storeAnswer(em, scope, { status: 200, body: decided });
      return decided;
    });
  } catch (error) {
    // The whole request is refused by what is no answer for one task.
    if (error instanceof AppError && error.kind !== 'unavailable' && error.code !== 'idempotency_in_progress') {
      return error;
    }
    throw error;
  }
}

/** What cannot be delivered now is repeated by the reconciler. */
async function deliver(deps: AppDeps, c: EndpointContext, decided: (Decided | AppError)[]): Promise<Set<string>> {
  const ids = decided.flatMap((result) => (result instanceof AppError || result.signal === null ? [] : [result.signal.signal.id]));
  try {
    return new Set(await deliverSignals(deps, ids));
  } catch (error) {
    deps.logger.error({ err: error, request_id: c.requestId }, 'decisions were not delivered yet');
    return new Set();
  }
}
