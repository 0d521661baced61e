/** Times of schedules that wait for a quota of runs; the reconciler starts them, the oldest first. */
import type { EntityManager } from '../../db/orm.ts';

/** Of one schedule. */
const MAX_WAITS = 1_000;

/** The schedule is locked. @returns false if too many wait */
export async function addWait(em: EntityManager, workflowId: string, at: Date): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `insert into schedule_wait (workflow_id, scheduled_at)
     select ?::uuid, ?::timestamptz
      where (select count(*) from schedule_wait where workflow_id = ?) < ${MAX_WAITS}
     returning 1`,
    [workflowId, at, workflowId],
  );
  return rows.length > 0;
}

/** Whether this time of the schedule waits; without one, whether any does. */
export async function hasWait(em: EntityManager, workflowId: string, at?: Date): Promise<boolean> {
  const rows = await em.execute<object[]>(
    `select from schedule_wait
      where workflow_id = ? and (?::timestamptz is null or scheduled_at = ?::timestamptz) limit 1`,
    [workflowId, at ?? null, at ?? null],
  );
  return rows.length > 0;
}

/** The oldest time that waits, which waits no more; null if there is none. The schedule is locked. */
export async function takeWait(em: EntityManager, workflowId: string): Promise<Date | null> {
  const [row] = await em.execute<{ scheduled_at: Date }[]>(
    `delete from schedule_wait where workflow_id = ? and scheduled_at = (
       select min(scheduled_at) from schedule_wait where workflow_id = ?) returning scheduled_at`,
    [workflowId, workflowId],
  );
  return row === undefined ? null : new Date(row.scheduled_at);
}

/** Schedules whose times wait, in no order: those at a quota must not keep others from their turn. */
export async function schedulesThatWait(em: EntityManager, limit: number): Promise<string[]> {
  const rows = await em.execute<{ workflow_id: string }[]>(
    `select workflow_id from (select distinct workflow_id from schedule_wait) waiting
      order by random() limit ?`,
    [limit],
  );
  return rows.map(({ workflow_id: id }) => id);
}
