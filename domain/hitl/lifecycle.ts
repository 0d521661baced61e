/**
 * What a run does to its human tasks. The callers are activities that have locked the run's row
 * (docs/architecture.md#lock-order: run row, then task rows by id) and write the event in the same
 * transaction. Every function is idempotent.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, insertRow, isOneOf } from '../../db/sql.ts';
import type { NewHumanTask } from '../../contracts/activities.ts';
import { UNDECIDED, type Candidates, type DecisionPayload, type TaskStatus } from '../../contracts/hitl.ts';
import { storable } from '../storable.ts';
import { writeAudit, type AuditAction } from './audit.ts';
import { readDecisionPayload } from './decision-payload.ts';
import { markExpired } from './mark-expired.ts';
import { candidateKeys, union, userKeys } from './principals.ts';
import { isUndecided } from './state-machine.ts';
import type { HumanTask } from './human-task.ts';
import type { TaskReference } from './task-events.ts';

interface RunOfTask {
  owner_id: string;
  team_id: string | null;
  by_grant: boolean;
  /** The owner of the root run. */
  initiator_id: string;
  initiator_ids: string[];
  workflow_id: string | null;
  workflow_name: string;
}

/** Columns that the database sets, and what is computed at each reading. */
type SetByDatabase =
  | 'context'
  | 'status'
  | 'principals'
  | 'claimed_by'
  | 'claimed_at'
  | 'escalation_level'
  | 'delegations'
  | 'delegates'
  | 'lapsed'
  | 'is_public'
  | 'run_status'
  | 'late'
  | 'created_at'
  | 'updated_at'
  | 'row_version';

type NewTaskRow = Omit<HumanTask, SetByDatabase> & { candidate_keys: string[]; warn_at: string | null };

const NEW_TASK_TYPES = {
  id: 'uuid',
  run_id: 'uuid',
  workflow_id: 'uuid',
  workflow_name: 'text',
  owner_id: 'uuid',
  team_id: 'uuid',
  by_grant: 'boolean',
  initiator_id: 'uuid',
  initiator_ids: 'uuid[]',
  task: 'text',
  task_name: 'text',
  title: 'text',
  description: 'text',
  subject: 'json',
  form_schema: 'json',
  decisions: 'jsonb',
  priority: 'int',
  assignee: 'text',
  assignee_key: 'text',
  candidates: 'jsonb',
  candidate_keys: 'text[]',
  due_at: 'timestamptz',
  expires_at: 'timestamptz',
  quorum: 'jsonb',
  delegate: 'text',
  warn_at: 'timestamptz',
  excluded: 'text[]',
  decision_links: 'boolean',
} as const;

/**
 * Inserts the task unless it exists. If the task names nobody, the run's owner becomes the assignee.
 * @returns the assignee
 */
export async function createHumanTask(em: EntityManager, given: NewHumanTask): Promise<string | null> {
  const task = storable(given);
  const run = await runOf(em, task);
  const assignee = namesSomebody(task) ? task.assignee : run.owner_id;
  if (!(await insertTask(em, task, run, assignee))) return assignee;
  const { id, run_id, candidates } = task;
  await writeAudit(em, [
    {
      task_id: id,
      run_id,
      action: 'created',
      via: 'workflow',
      actor: null,
      data: { assignee, candidates },
    },
  ]);
  return assignee;
}

function namesSomebody({ assignee, candidates }: NewHumanTask): boolean {
  const { users, roles, groups, teams = [] } = candidates;
  return assignee !== null || users.length + roles.length + groups.length + teams.length > 0;
}

async function runOf(em: EntityManager, { run_id }: NewHumanTask): Promise<RunOfTask> {
  const [run] = await em.execute<RunOfTask[]>(
    `select r.owner_id, r.team_id, r.by_grant, coalesce(root.owner_id, r.owner_id) as initiator_id,
            to_json(r.initiator_ids || r.owner_id) as initiator_ids, r.workflow_id, r.workflow_name
       from run r left join run root on root.id = r.root_run_id where r.id = ?`,
    [run_id],
  );
  if (!run) throw new Error(`There is no run ${run_id} to create a human task for`);
  return run;
}

/** @returns false if the task exists */
async function insertTask(
  em: EntityManager,
  task: NewHumanTask,
  run: RunOfTask,
  assignee: string | null,
): Promise<boolean> {
  const assigneeKey = assignee === null ? null : (await userKeys(em, [assignee])).get(assignee);
  const row: NewTaskRow = {
    ...run,
    id: task.id,
    run_id: task.run_id,
    task: task.task,
    task_name: task.task_name,
    title: task.title,
    description: task.description,
    subject: task.subject,
    form_schema: task.form_schema,
    decisions: task.decisions,
    priority: task.priority,
    assignee,
    assignee_key: assigneeKey ?? null,
    candidates: task.candidates,
    candidate_keys: await candidateKeys(em, task.candidates),
    due_at: task.due_at,
    expires_at: task.expires_at,
    quorum: task.quorum,
    delegate: task.delegate ?? 'candidates',
    warn_at: warnTime(task),
    excluded: await excludedKeys(em, task),
    decision_links: task.quorum === null && task.decision_links === true,
  };
  const rows = await em.execute<{ id: string }[]>(
    `${insertRow<NewTaskRow>('hitl_task', NEW_TASK_TYPES)} on conflict (id) do nothing returning id`,
    [JSON.stringify(row)],
  );
  return rows.length > 0;
}

/** Principals of `quorum.exclude`. */
function excludedKeys(em: EntityManager, { quorum }: NewHumanTask): Promise<string[]> {
  const { users, groups } = quorum?.exclude ?? { users: [], groups: [] };
  return candidateKeys(em, { users, groups, roles: [] });
}

const MINUTE_MS = 60_000;

/** When people are told that the task will expire: before its last tenth, 5 minutes to a day. */
function warnTime({ expires_at: end }: NewHumanTask): string | null {
  if (end === null) return null;
  const leftMs = Date.parse(end) - Date.now();
  if (leftMs < 10 * MINUTE_MS) return null;
  const beforeMs = Math.min(Math.max(leftMs / 10, 5 * MINUTE_MS), 24 * 60 * MINUTE_MS);
  return new Date(Date.parse(end) - beforeMs).toISOString();
}

/** `fresh`: this call expired the task, so its event is still to be written. */
export type ExpiredTask =
  { outcome: 'expired'; fresh: boolean } | { outcome: 'decided'; decision: DecisionPayload };

/** Expires an undecided task, whatever the time. Returns the decision instead if one was already accepted. */
export async function expireHumanTask(
  em: EntityManager,
  { task_id }: { task_id: string },
): Promise<ExpiredTask> {
  const [task] = await em.execute<{ run_id: string; status: TaskStatus }[]>(
    `select run_id, status from hitl_task where id = ? for update`,
    [task_id],
  );
  if (task?.status === 'decided')
    return { outcome: 'decided', decision: await readDecisionPayload(em, task_id) };
  if (!task || !isUndecided(task.status)) return { outcome: 'expired', fresh: false };
  await markExpired(em, { id: task_id, run_id: task.run_id });
  return { outcome: 'expired', fresh: true };
}

/**
 * Cancels the run's undecided tasks, or those of `taskIds`. @returns the cancelled tasks; the caller writes
 * their events
 */
export async function cancelHumanTasks(
  em: EntityManager,
  runId: string,
  taskIds?: string[],
): Promise<TaskReference[]> {
  // Lock in the order of ids first: an update alone locks rows in any order.
  const rows = await em.execute<TaskReference[]>(
    `with undecided as (
       select id from hitl_task
        where run_id = ? and ${isOneOf('status', UNDECIDED)}${taskIds ? ' and id = any(?::uuid[])' : ''}
        order by id for update)
     update hitl_task t set status = 'cancelled', updated_at = clock_timestamp()
       from undecided u where t.id = u.id
     returning t.id, t.task, t.task_name`,
    taskIds ? [runId, arrayLiteral(taskIds)] : [runId],
  );
  await audit(
    em,
    runId,
    'cancelled',
    rows.map((row) => row.id),
  );
  return rows;
}

/**
 * Adds people to the candidates of an undecided task. Each level is applied once, in whatever order their
 * timers fire.
 */
export async function escalateHumanTask(
  em: EntityManager,
  given: { task_id: string; level: number; to: Candidates },
): Promise<void> {
  const { task_id, level, to } = storable(given);
  const [task] = await em.execute<{ run_id: string; candidates: Candidates }[]>(
    `select run_id, candidates from hitl_task where id = ? and ${isOneOf('status', UNDECIDED)} for update`,
    [task_id],
  );
  if (!task) return;
  const taken = await em.execute(
    `select 1 from hitl_audit where task_id = ? and action = 'escalated' and (data->>'level')::int = ?`,
    [task_id, level],
  );
  if (taken.length > 0) return;
  const candidates = union(task.candidates, to);
  const keys = arrayLiteral(await candidateKeys(em, to));
  await em.execute(
    `update hitl_task set candidates = ?::jsonb, escalation_level = greatest(escalation_level, ?),
            updated_at = clock_timestamp(),
            candidate_keys = array(select distinct unnest(candidate_keys || ?::text[])),
            delegates = delegates - array(select substr(k, 4) from unnest(?::text[]) k where k like 'id:%')
      where id = ?`,
    [JSON.stringify(candidates), level, keys, keys, task_id],
  );
  await audit(em, task.run_id, 'escalated', [task_id], { level, to });
}

async function audit(
  em: EntityManager,
  runId: string,
  action: AuditAction,
  taskIds: string[],
  data: Record<string, unknown> = {},
): Promise<void> {
  await writeAudit(
    em,
    taskIds.map((id) => ({ task_id: id, run_id: runId, action, via: 'workflow', actor: null, data })),
  );
}
