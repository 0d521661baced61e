/**
 * The live runs of a user, which change their owner together with the workflows: no more than a quota allows.
 */
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { holdLiveRuns } from '../quotas/check.ts';

const isLive = (run: string): string => isOneOf(`${run}.status`, LIVE_STATUSES);

/** Until the transaction ends no run of the new owner starts. @returns how many were handed over */
export async function handOverLiveRuns(
  em: EntityManager,
  { from, to }: { from: string; to: string },
): Promise<number> {
  // Before what starts of the new owner take under it: `forget_run_room` deletes their room.
  await holdLiveRuns(em, to);
  await freeRunKeys(em, from, to);
  const moved = await em.execute<{ id: string }[]>(
    `update run r set owner_id = ? where r.owner_id = ? and ${isLive('r')} returning r.id`,
    [to, from],
  );
  const ids = moved.map(({ id }) => id);
  await handOverTasksOf(em, ids, { from, to });
  return moved.length;
}

/** Of runs that were handed over: their human tasks, and the tasks of A2A that they are. */
export async function handOverTasksOf(
  em: EntityManager,
  runs: readonly string[],
  { from, to }: { from: string; to: string },
): Promise<void> {
  if (runs.length === 0) return;
  const values = [to, arrayLiteral(runs), from];
  await em.execute(
    'update hitl_task set owner_id = ? where run_id = any(?::uuid[]) and owner_id = ?',
    values,
  );
  await em.execute('update a2a_task set owner_id = ? where id = any(?::uuid[]) and owner_id = ?', values);
}

/** A live run loses its key where the new owner has a live run of the workflow with that key. */
async function freeRunKeys(em: EntityManager, from: string, to: string): Promise<void> {
  await em.execute(
    `update run r set key = null
       from run o
      where r.owner_id = ? and r.key is not null and ${isLive('r')}
        and o.owner_id = ? and o.workflow_id = r.workflow_id and o.key = r.key and ${isLive('o')}`,
    [from, to],
  );
}
