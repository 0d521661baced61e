/**
 * The row of a workflow's schedule. Each change grows its generation and makes it due, so that Temporal is
 * told (`reconcile.ts`). `em` is in the caller's transaction.
 */
import type { ScheduleTimes } from '../../contracts/schedules.ts';
import type { EntityManager } from '../../db/orm.ts';
import { listenFor } from './listener.ts';

/** How late a run may still start, after an outage. */
const DEFAULT_CATCH_UP_SECONDS = 3_600;

/**
 * After a save with problems: what the definition says may be incomplete, so the settings stay until the next
 * correct one. Nothing starts meanwhile.
 */
export async function touchSchedule(em: EntityManager, workflowId: string): Promise<void> {
  await em.execute(
    `update workflow_schedule set generation = generation + 1, due_at = clock_timestamp()
      where workflow_id = ?`,
    [workflowId],
  );
}

/**
 * Keeps the row in step with the workflow's current definition.
 * @param paused why a new schedule begins paused; null: it begins at once
 */
export async function noteSchedule(
  em: EntityManager,
  workflowId: string,
  times: ScheduleTimes | null,
  paused: string | null = null,
): Promise<void> {
  await listenFor(em, workflowId, times);
  if (times === null) {
    await em.execute(
      `update workflow_schedule
          set kind = null, after_ms = null, buffered_at = null, generation = generation + 1,
              due_at = clock_timestamp()
        where workflow_id = ? and kind is not null`,
      [workflowId],
    );
    return;
  }
  await em.execute(
    `insert into workflow_schedule as s
       (workflow_id, kind, after_ms, catch_up_seconds, overlap, paused_at, note)
     values (?, ?, ?, ?, ?, case when ?::text is null then null else clock_timestamp() end, ?)
     on conflict (workflow_id) do update
        set kind = excluded.kind, after_ms = excluded.after_ms, generation = s.generation + 1,
            overlap = case when (coalesce(s.kind, '') = 'on') <> (excluded.kind = 'on')
                           then excluded.overlap else s.overlap end,
            due_at = clock_timestamp()`,
    [
      workflowId,
      times.kind,
      times.kind === 'after' ? times.ms : null,
      DEFAULT_CATCH_UP_SECONDS,
      // Each event counts, unless its owner says otherwise.
      times.kind === 'on' ? 'allow' : 'skip',
      paused,
      paused,
    ],
  );
}

/** Makes the schedules of a user due, whose status or workflows have changed. */
export async function touchSchedulesOf(em: EntityManager, ownerId: string): Promise<void> {
  await em.execute(
    `update workflow_schedule set generation = generation + 1, due_at = clock_timestamp()
      where workflow_id in (select id from workflow where owner_id = ?)`,
    [ownerId],
  );
}
