/** Starts runs for requests of other standards, and cancels them. */
import type { EntityManager } from '../../db/orm.ts';
import { writeAudit, type AuditOrigin } from '../../domain/audit/write.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError } from '../../domain/errors.ts';
import { noteDoorCall, type DoorCall } from '../../domain/runs/door-calls.ts';
import { deliverSignals, startRun } from '../../domain/runs/dispatch.ts';
import { commandRun } from '../../domain/runs/service.ts';
import type { AppDeps } from '../deps.ts';
import { inTransaction } from '../transaction.ts';

type Deps = Pick<AppDeps, 'orm' | 'temporal' | 'logger'>;

/**
 * Creates the run with `create` and notes which door it came by, in one transaction, then starts it. If the
 * start fails, the reconciler repeats it.
 */
export async function startByDoor(
  deps: Deps,
  origin: AuditOrigin,
  call: Omit<DoorCall, 'run_id'>,
  create: (em: EntityManager) => Promise<string>,
): Promise<string> {
  const runId = await inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      const id = await create(em);
      await noteDoorCall(em, { ...call, run_id: id });
      await writeAudit(em, origin, { action: 'start_run', objectType: 'run', objectId: id });
      return id;
    },
  );
  await afterCommit(deps, () => startRun(deps, runId));
  return runId;
}

/** Asks the run to end; harmless if it has ended. @throws not_found for another user's run */
export async function cancelByDoor(
  deps: Deps,
  { actor, origin }: { actor: Actor; origin: AuditOrigin },
  runId: string,
): Promise<void> {
  const signals = await inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      await writeAudit(em, origin, { action: 'cancelRun', objectType: 'run', objectId: runId });
      return commandRun(em, actor, runId, 'cancel');
    },
  ).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'run_finished') return [];
    throw error;
  });
  await afterCommit(deps, () => deliverSignals(deps, signals));
}

/** The change is committed, so a failure is only logged: the reconciler repeats the work. */
async function afterCommit({ logger }: Deps, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    logger.error({ err: error }, 'post-commit work failed');
  }
}
