/** Decides several tasks in one request. */
import type * as z from 'zod';

import type { AuditNote } from '../../../domain/audit/write.ts';
import { withAbsentPeople } from '../../../domain/auth/absences.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { AppError } from '../../../domain/errors.ts';
import { decideAtOnce } from '../../../domain/hitl/decide-at-once.ts';
import { decide, type Decided } from '../../../domain/hitl/decide.ts';
import { loadForChange } from '../../../domain/hitl/locked-task.ts';
import type { Submission } from '../../../domain/hitl/submission.ts';
import { deliverSignals, sendUnmarked } from '../../../domain/runs/dispatch.ts';
import { markDelivered } from '../../../domain/runs/signals.ts';
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
  const sending: Promise<string[]>[] = [];
  const repeated: string[] = [];
  const actor = await withAbsentPeople(c.em, c.actor);
  for (const [index, item] of items.entries()) {
    const { result, isFresh } = await decideItem(deps, c, actor, item, String(index));
    decided.push(result);
    const signal = result instanceof AppError ? null : result.signal;
    if (signal === null) continue;
    // A run goes on while the other tasks are decided.
    if (isFresh) sending.push(delivering(deps, c, () => sendUnmarked(deps, [signal])));
    else repeated.push(signal.signal.id);
  }
  const delivered = new Set([
    ...(await delivering(deps, c, async () => {
      const ids = (await Promise.all(sending)).flat();
      await markDelivered(deps.orm.em.fork(), ids);
      return ids;
    })),
    // Those that the runs have not received are sent again.
    ...(await delivering(deps, c, () => deliverSignals(deps, repeated))),
  ]);
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

/** Not fresh: the result is that of an earlier request with the same key. */
async function decideItem(
  deps: AppDeps,
  c: EndpointContext,
  actor: Actor,
  item: BatchItem,
  name: string,
): Promise<{ result: Decided | AppError; isFresh: boolean }> {
  const { task_id: taskId, ...submission } = item;
  const audited = auditedOf(item);
  let isFresh = false;
  const result = await actOnOne<Decided>(
    deps,
    c,
    { name, content: item, audited },
    async (em) => {
      isFresh = true;
      const seen = await loadForChange(em, actor, taskId);
      return decide(em, { actor, via: 'batch' }, seen, { value: submission });
    },
    async (em, keep) => {
      const decided = await decideAtOnce(
        em,
        { actor: c.actor, via: 'batch' },
        {
          taskId,
          submission: () => ({ value: submission }),
          entry: () => c.audit.row(audited),
          keep: keep && (({ task, decision, signal }) => keep({ task, decision, signal })),
        },
      );
      isFresh ||= decided !== null;
      return decided;
    },
  );
  return { result, isFresh };
}

function auditedOf({ task_id: objectId, decision }: BatchItem): Partial<AuditNote> {
  return { objectId, data: { changes: { decision: { new: decision } } } };
}

/** The ids that arrived. The reconciler repeats those that did not. */
async function delivering(
  { logger }: Pick<AppDeps, 'logger'>,
  { requestId }: EndpointContext,
  send: () => Promise<string[]>,
): Promise<string[]> {
  try {
    return await send();
  } catch (error) {
    logger.error(
      { err: error, request_id: requestId },
      'could not deliver decisions yet; the reconciler will repeat it',
    );
    return [];
  }
}
