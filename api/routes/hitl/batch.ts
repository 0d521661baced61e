/**
 * Decides several tasks in one request, each in its own transaction and with its own result. With an
 * `Idempotency-Key` each result is stored separately, so that an interrupted batch can be repeated.
 */
import type * as z from 'zod';

import { AppError } from '../../../domain/errors.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import { loadForChange } from '../../../domain/hitl/locked-task.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { problemOf } from '../../middleware/errors.ts';
import {
  claimKey,
  idempotencyScope,
  storeAnswer,
  type IdempotencyScope,
} from '../../middleware/idempotency.ts';
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
    return {
      task_id,
      status: 200,
      ...presentDecided(c.actor, task, decision, signal === null ? null : delivered.has(signal.signal.id)),
    };
  });
}

function scopeOf(deps: AppDeps, c: EndpointContext, item: BatchItem, index: number): IdempotencyScope | null {
  const scope = idempotencyScope(c.ctx, c.actor, Buffer.from(JSON.stringify(item)), (text) =>
    deps.encryption.fingerprint(text),
  );
  return scope && { ...scope, path: `${scope.path}#${index}` };
}

async function decideOne(
  deps: AppDeps,
  c: EndpointContext,
  item: BatchItem,
  scope: IdempotencyScope | null,
): Promise<Decided | AppError> {
  const { task_id: taskId, ...submission } = item;
  try {
    return await inTransaction(
      () => deps.orm.em.fork(),
      async (em) => {
        const first = scope && (await claimKey(em, scope));
        // Only this function stores responses under this scope.
        if (first) return first.body as Decided;
        const seen = await loadForChange(em, c.actor, taskId);
        const decided = await decide(em, { actor: c.actor, via: 'batch' }, seen, { value: submission });
        if (scope) await storeAnswer(em, scope, { status: 200, body: decided });
        return decided;
      },
    );
  } catch (error) {
    // Errors that do not concern one task fail the whole request.
    if (
      error instanceof AppError &&
      error.kind !== 'unavailable' &&
      error.code !== 'idempotency_in_progress'
    ) {
      return error;
    }
    throw error;
  }
}

/** Sends the signals. The reconciler repeats those that fail. */
async function deliver(
  deps: AppDeps,
  c: EndpointContext,
  decided: (Decided | AppError)[],
): Promise<Set<string>> {
  const ids = decided.flatMap((result) =>
    result instanceof AppError || result.signal === null ? [] : [result.signal.signal.id],
  );
  try {
    return new Set(await deliverSignals(deps, ids));
  } catch (error) {
    deps.logger.error(
      { err: error, request_id: c.requestId },
      'could not deliver decisions yet; the reconciler will repeat it',
    );
    return new Set();
  }
}
