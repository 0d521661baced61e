/** Ends a tree of runs that has exceeded its limits. No `catch` in the tree can handle this. */
import type { EntityManager } from '../../db/orm.ts';
import { isNoneOf } from '../../db/sql.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT, TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import { TemporalUnavailable } from '../ports.ts';
import { deliverSignals, type DispatchDeps } from './dispatch.ts';
import { appendEvents, serviceEvent } from './events.ts';
import { runName } from './run-name.ts';
import { enqueueSignal } from './signals.ts';
import { treeFault, type RunLimits, type TreeCount } from './limits.ts';

/**
 * Faults the root run, unless it has ended, with an error that names the limit, and cancels its descendants,
 * including detached ones, which may outlive it. Called after the append's commit. If a crash interrupts
 * this, the next append that counts a step repeats it.
 */
export async function endTreeOverLimits(
  deps: DispatchDeps & { limits: RunLimits },
  tree: TreeCount | null | undefined,
): Promise<void> {
  const error = tree ? treeFault(tree, deps.limits) : null;
  if (!tree || error === null) return;
  const { closed, signals } = await deps.orm.em.fork().transactional(async (em) => {
    const event = serviceEvent({
      key: 'run:ended',
      type: EVENT.runFaulted,
      level: 'error',
      message: LOG_TEXT.runFaulted.byLimit(error),
      data: { ...(await runName(em, tree.root_run_id)), error },
    });
    const ended = await appendEvents(
      em,
      tree.root_run_id,
      { events: [event], projection: null, acks: [] },
      { end: { status: 'faulted', error } },
    );
    return {
      closed: ended.closed,
      signals: [...ended.signals, ...(await cancelDescendants(em, tree.root_run_id, error.detail ?? ''))],
    };
  });
  await deliverSignals(deps, signals);
  if (closed) return;
  try {
    await deps.temporal.terminate(tree.root_run_id, error.detail ?? '');
  } catch (unavailable) {
    if (!(unavailable instanceof TemporalUnavailable)) throw unavailable;
  }
}

/**
 * Sends a cancel command to each live descendant without one; the root's end has already sent commands to its
 * own children. At most as many as a tree may have.
 */
async function cancelDescendants(em: EntityManager, rootRunId: string, reason: string): Promise<string[]> {
  const descendants = await em.execute<{ id: string }[]>(
    `with recursive below as (
       select id, status from run where parent_run_id = ?
       union all select r.id, r.status from run r join below on r.parent_run_id = below.id)
     select id from below where ${isNoneOf('status', TERMINAL_STATUSES)}
        and not exists (select from run_signal s where s.run_id = below.id and s.kind = 'cancel')`,
    [rootRunId],
  );
  const signals: string[] = [];
  for (const { id } of descendants) {
    const signal = await enqueueSignal(em, id, {
      kind: 'cancel',
      by: null,
      at: new Date().toISOString(),
      reason,
    });
    if (signal !== null) signals.push(signal);
  }
  return signals;
}
