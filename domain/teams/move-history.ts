/**
 * The runs of a workflow that moves to another team, or to a person, follow it in batches, the newest first.
 * A workflow may have a million of them: the request moves some thousands, the reconciler the others.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { holdLiveRuns } from '../quotas/check.ts';

/** Runs of the workflow in one transaction, besides their children. */
const BATCH = 500;
/** Batches that the request itself moves. */
const AT_ONCE = 10;

/** The workflow is locked and has its new holder. */
export async function moveHistory(em: EntityManager, workflowId: string): Promise<void> {
  // A move before this one may still go on: it begins again, with the new team.
  await em.execute(
    `insert into team_move (workflow_id) values (?)
     on conflict (workflow_id) do update set below = null, begun_at = clock_timestamp()`,
    [workflowId],
  );
  for (let count = 0; count < AT_ONCE; count += 1) if (await moveBatch(em, workflowId)) return;
}

/** Goes on with what requests have left, each batch in a transaction of its own. @returns the batches */
export async function continueMoves(fork: () => EntityManager, inTime: () => boolean): Promise<number> {
  let batches = 0;
  for (let isLeft = true; isLeft && inTime();) {
    isLeft = await fork().transactional(async (em) => {
      const [move] = await em.execute<{ workflow_id: string }[]>(
        `select m.workflow_id from team_move m join workflow w on w.id = m.workflow_id
          order by m.begun_at limit 1 for no key update of w, m skip locked`,
      );
      if (move) await moveBatch(em, move.workflow_id);
      return move !== undefined;
    });
    if (isLeft) batches += 1;
  }
  return batches;
}

/** @returns whether it was the last one */
async function moveBatch(em: EntityManager, workflowId: string): Promise<boolean> {
  const own = await em.execute<{ id: string }[]>(
    `select r.id from team_move m join run r on r.workflow_id = m.workflow_id
      where m.workflow_id = ? and (m.below is null or r.id < m.below) order by r.id desc limit ?`,
    [workflowId, BATCH],
  );
  const last = own.at(-1)?.id;
  if (last !== undefined)
    await moveRuns(
      em,
      workflowId,
      own.map(({ id }) => id),
    );
  const isDone = own.length < BATCH;
  if (isDone) await em.execute('delete from team_move where workflow_id = ?', [workflowId]);
  else await em.execute('update team_move set below = ? where workflow_id = ?', [last ?? null, workflowId]);
  return isDone;
}

/**
 * Locks children before their parents, as all code locks a run before its root: ids of children are higher.
 * With their children: those whose own workflow has no team have that of their parent.
 */
async function moveRuns(em: EntityManager, workflowId: string, ids: readonly string[]): Promise<void> {
  const moved = await em.execute<{ id: string; team_id: string | null }[]>(
    `with recursive moved as (
       select unnest(?::uuid[]) as id
       union
       select c.id from moved m join run c on c.parent_run_id = m.id
              left join workflow w on w.id = c.workflow_id
        where w.team_id is null)
     select r.id, w.team_id from run r, workflow w
      where w.id = ? and r.id in (select id from moved) and r.team_id is distinct from w.team_id
      order by r.id desc for no key update of r`,
    [arrayLiteral(ids), workflowId],
  );
  const [first] = moved;
  if (first === undefined) return;
  // Until the commit no run of the new team starts: its count would not see these.
  if (first.team_id !== null) await holdLiveRuns(em, first.team_id);
  const runs = arrayLiteral(moved.map(({ id }) => id));
  for (const [table, run] of [
    ['run', 'id'],
    ['hitl_task', 'run_id'],
  ])
    await em.execute(
      `update ${table} h set team_id = w.team_id
         from workflow w where w.id = ? and h.${run} = any(?::uuid[])`,
      [workflowId, runs],
    );
  await listenForTeam(em, workflowId, runs);
}

/** What live runs wait for may come as an event of the new team, and none of the former team is for them. */
async function listenForTeam(em: EntityManager, workflowId: string, runs: string): Promise<void> {
  const open = `select l.id, l.owner_id from listener l
    where l.run_id = any(?::uuid[]) and l.status = 'open'`;
  await em.execute(
    `delete from listener_key k using (${open}) l
      where k.listener_id = l.id and k.sender_id in (select id from team)`,
    [runs],
  );
  await em.execute(
    `insert into listener_key (sender_id, type, shape, value, listener_id)
     select w.team_id, k.type, k.shape, k.value, k.listener_id
       from (${open}) l join listener_key k on k.listener_id = l.id and k.sender_id = l.owner_id
            join workflow w on w.id = ? and w.team_id is not null
     on conflict do nothing`,
    [runs, workflowId],
  );
}
