/** Decides several tasks in one request. */
import type * as z from 'zod';

import type { AuditNote } from '../../../domain/audit/write.ts';
import { withAbsentPeople } from '../../../domain/auth/absences.ts';
import { AppError } from '../../../domain/errors.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import { loadForChange } from '../../../domain/hitl/locked-task.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import { actOnOne } from '../../batch.ts';
import type { AppDeps } from '../../deps.ts';
import type { EndpointContext } from '../../endpoint.ts';
import { problemOf } from '../../middleware/errors.ts';
import { presentDecided, type batchRecord } from './presenter.ts';

interface BatchItem extends Submission {
  task_id: string;
}

type Result = z.input<typeof batchRecord>['results'][number];

export async function decideBatch(deps: AppDeps, c: EndpointContext, items: BatchItem[]): Promise<Result[]> {
  const decided: (Decided | AppError)[] = [];
  const actor = await withAbsentPeople(c.em, c.actor);
  for (const [index, item] of items.entries()) {
    const { task_id: taskId, ...submission } = item;
    decided.push(
      await actOnOne(
        deps,
        c,
        { name: String(index), content: item, audited: auditedOf(item) },
        async (em) => {
          const seen = await loadForChange(em, actor, taskId);
          return decide(em, { actor, via: 'batch' }, seen, { value: submission });
        },
      ),
    );
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
      ...presentDecided(actor, task, decision, signal === null ? null : delivered.has(signal.signal.id)),
    };
  });
}

function auditedOf({ task_id: objectId, decision }: BatchItem): Partial<AuditNote> {
  return { objectId, data: { changes: { decision: { new: decision } } } };
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
