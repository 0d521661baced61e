/** Starts runs for requests of other standards, and cancels them. */
import { createHash } from 'node:crypto';

import type { EntityManager } from '../../db/orm.ts';
import { writeAudit, type AuditOrigin } from '../../domain/audit/write.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { AppError, conflict } from '../../domain/errors.ts';
import { deliverCommands, startRun } from '../../domain/runs/dispatch.ts';
import {
  findRepeatedRun,
  isLastCall,
  noteCancellation,
  noteProtocolCall,
  wasCancelled,
  type ClientRequest,
  type ProtocolCall,
} from '../../domain/runs/protocol-calls.ts';
import { commandRun } from '../../domain/runs/service.ts';
import type { AppDeps } from '../deps.ts';
import { inTransaction } from '../transaction.ts';

type Deps = Pick<AppDeps, 'orm' | 'temporal' | 'logger'>;

interface Caller {
  actor: Actor;
  origin: AuditOrigin;
}

/**
 * Creates the run with `create` and notes the call that it came by, in one transaction, then starts it. If
 * the start fails, the reconciler repeats it. A call that repeats another one by its key gets that one's run,
 * and creates none. @throws 409 if the client has cancelled the call meanwhile
 */
export async function startProtocolCall(
  deps: Deps,
  origin: AuditOrigin,
  call: Omit<ProtocolCall, 'run_id'>,
  create: (em: EntityManager) => Promise<string>,
): Promise<string> {
  const { runId, isNew } = await inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      const earlier = await findRepeatedRun(em, call);
      // After the lock of the key, so that a cancellation either sees this call or is seen here.
      if (await wasCancelled(em, call))
        throw conflict('request_cancelled', 'The client has cancelled this request.');
      const id = earlier ?? (await create(em));
      await noteProtocolCall(em, { ...call, run_id: id });
      if (earlier === null)
        await writeAudit(em, origin, { action: 'start_run', objectType: 'run', objectId: id });
      return { runId: id, isNew: earlier === null };
    },
  );
  if (isNew) await afterCommit(deps, () => startRun(deps, runId));
  return runId;
}

/** Of the content of a request, to tell whether a key was used for another one. */
export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Cancels the call that answers the request, or the one that will. */
export async function cancelRequest(deps: Deps, caller: Caller, request: ClientRequest): Promise<void> {
  const begun = await inTransaction(
    () => deps.orm.em.fork(),
    (em) => noteCancellation(em, caller.actor.id, request),
  );
  if (begun !== null) await cancelCalledRun(deps, caller, begun.run_id);
}

/** Cancels the run of a client that has left, unless the client has repeated its call meanwhile. */
export async function cancelLeftRun(
  deps: Deps,
  caller: Caller,
  call: { id: string; run_id: string },
): Promise<void> {
  if (await isLastCall(deps.orm.em.fork(), call)) await cancelCalledRun(deps, caller, call.run_id);
}

/** Asks the run to end; harmless if it has ended. @throws not_found for another user's run */
export async function cancelCalledRun(deps: Deps, { actor, origin }: Caller, runId: string): Promise<void> {
  const commanded = await inTransaction(
    () => deps.orm.em.fork(),
    async (em) => {
      await writeAudit(em, origin, { action: 'cancelRun', objectType: 'run', objectId: runId });
      return commandRun(em, actor, runId, 'cancel');
    },
  ).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'run_finished') return null;
    throw error;
  });
  if (commanded !== null) await afterCommit(deps, () => deliverCommands(deps, [commanded]));
}

/** The change is committed, so a failure is only logged: the reconciler repeats the work. */
async function afterCommit({ logger }: Deps, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    logger.error({ err: error }, 'post-commit work failed');
  }
}
