import type { Budget } from '../../contracts/budgets.ts';
import type { Overlap, ScheduleTimes } from '../../contracts/schedules.ts';
import { isOneOf } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { LIVE_STATUSES } from '../../contracts/run-events.ts';
import { timesOf } from '../../language/definition/schedule.ts';

/** A workflow's schedule with what decides whether it starts runs. */
export interface ScheduleRow {
  workflow_id: string;
  workflow_name: string;
  owner_id: string;
  team_id: string | null;
  paused_at: Date | null;
  paused_by: string | null;
  note: string | null;
  overlap: Overlap;
  catch_up_seconds: number;
  jitter_seconds: number;
  /** Of each run that it starts. */
  budget: Budget | null;
  buffered_at: Date | null;
  generation: string;
  /** Why Temporal refused it. */
  refusal: string | null;
  archived: boolean;
  runnable: boolean;
  owner_active: boolean;
  /** By the database's clock, after the locks. */
  read_at: Date;
  /** Null if the workflow is archived, or has no schedule by the clock. */
  times: ScheduleTimes | null;
}

type Row = Omit<ScheduleRow, 'times'> & { schedule: unknown };

/**
 * @param lock keeps others from starting runs of the schedule, and owner and workflow as they are, until the
 * transaction ends
 */
export async function readSchedule(
  em: EntityManager,
  workflowId: string,
  { lock = false } = {},
): Promise<ScheduleRow | null> {
  if (lock) await lockSchedule(em, workflowId);
  const [row] = await em.execute<Row[]>(
    `select s.workflow_id, w.name as workflow_name, w.owner_id, w.team_id, s.paused_at, s.paused_by, s.note,
            s.overlap, s.catch_up_seconds, s.jitter_seconds, s.budget,
            s.buffered_at, s.generation::text as generation, s.refusal, w.runnable,
            clock_timestamp() as read_at,
            u.status = 'active' or w.team_id is not null as owner_active,
            w.archived_at is not null as archived,
            v.definition -> 'schedule' as schedule
       from workflow_schedule s join workflow w on w.id = s.workflow_id
            join user_account u on u.id = w.owner_id
            join workflow_revision v on v.workflow_id = w.id and v.revision = w.revision
      where s.workflow_id = ?`,
    [workflowId],
  );
  if (!row) return null;
  const { schedule, ...rest } = row;
  return { ...rest, times: rest.archived ? null : timesOf({ schedule }) };
}

/** The owner, the workflow, the schedule: in the order of those who change them. Read only afterwards. */
async function lockSchedule(em: EntityManager, workflowId: string): Promise<void> {
  await em.execute(
    `select from user_account u join workflow w on w.owner_id = u.id where w.id = ? for key share of u`,
    [workflowId],
  );
  await em.execute(`select from workflow where id = ? for key share`, [workflowId]);
  await em.execute(`select from workflow_schedule where workflow_id = ? for no key update`, [workflowId]);
}

/** Whether a run that the schedule has started has not ended yet. */
export async function hasLiveRun(em: EntityManager, workflowId: string): Promise<boolean> {
  const [row] = await em.execute<{ live: boolean }[]>(
    `select exists (select from run where workflow_id = ? and scheduled_at is not null
                       and ${isOneOf('status', LIVE_STATUSES)}) as live`,
    [workflowId],
  );
  return row?.live ?? false;
}
