/**
 * What the run does to its human tasks. Each is called in a transaction in which the run's row is locked (architecture §3:
 * run row, then task rows by id), by activities that write the event in the same transaction. Repeating each is harmless.
 */
import { textArray, type EntityManager } from '../../db/orm.ts';
import type { NewHumanTask } from '../../contracts/activities.ts';
import type { DecisionPayload } from '../../contracts/temporal.ts';
import { storable } from '../storable.ts';
import { writeAudit } from './audit.ts';
import type { AuditAction } from './audit.ts';
import { readDecisionPayload } from './decision-payload.ts';
import { candidateKeys, union, userKeys } from './principals.ts';
import type { Candidates } from './principals.ts';
import type { TaskStatus } from './state-machine.ts';
import type { TaskReference } from './task-events.ts';

/** Inserts the task unless it is there. Where nobody is named, the run's owner is the assignee. */
export async function createHumanTask(em: EntityManager, given: NewHumanTask): Promise<void> {
  const task = storable(given);
  const { candidates } = task;
  const named = task.assignee !== null || candidates.users.length + candidates.roles.length + candidates.groups.length > 0;
  const [run] = await em.execute<{ owner_id: string; initiator_id: string; workflow_id: string | null; workflow_name: string }[]>(
    `select r.owner_id, coalesce(root.owner_id, r.owner_id) as initiator_id, r.workflow_id, r.workflow_name
       from run r left join run root on root.id = r.root_run_id where r.id = ?`,
    [task.run_id],
  );
  if (!run) throw new Error(`There is no run ${task.run_id} to create a human task for`);
  const assignee = named ? task.assignee : run.owner_id;
  const assigneeKey = assignee === null ? null : (await userKeys(em, [assignee])).get(assignee);
  const rows = await em.execute<{ id: string }[]>(
    `insert into hitl_task (id, run_id, workflow_id, workflow_name, owner_id, initiator_id, task, task_name, title, description, subject,
                            form_schema, decisions, priority, assignee, assignee_key, candidates, candidate_keys, due_at, expires_at, quorum)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::json, ?::json, ?::jsonb, ?, ?, ?, ?::jsonb, ?::text[], ?, ?, ?::jsonb)
     on conflict (id) do nothing returning id`,
    [
      task.id, task.run_id, run.workflow_id, run.workflow_name, run.owner_id, run.initiator_id, task.task, task.task_name,
      task.title, task.description, json(task.subject), json(task.form_schema), json(task.decisions), task.priority,
      assignee, assigneeKey ?? null, json(candidates), textArray(await candidateKeys(em, candidates)),
      task.due_at, task.expires_at, json(task.quorum),
    ],
  );
  if (rows.length > 0) {
    await writeAudit(em, [{ task_id: task.id, run_id: task.run_id, action: 'created', via: 'workflow', actor: null, data: { assignee, candidates } }]);
  }
}

/** `fresh`: it was this call that expired it, so its event is still to be written. */
export type ExpiredTask = { outcome: 'expired'; fresh: boolean } | { outcome: 'decided'; decision: DecisionPayload };

/** Expires an undecided task without a look at the clock; a decision that was accepted before is given back instead. */
export async function expireHumanTask(em: EntityManager, { task_id }: { task_id: string }): Promise<ExpiredTask> {
  const [task] = await em.execute<{ run_id: string; status: TaskStatus }[]>(`select run_id, status from hitl_task where id = ? for update`, [task_id]);
  if (task?.status === 'decided') return { outcome: 'decided', decision: await readDecisionPayload(em, task_id) };
  if (task?.status !== 'open' && task?.status !== 'claimed') return { outcome: 'expired', fresh: false };
  await em.execute(`update hitl_task set status = 'expired', updated_at = clock_timestamp() where id = ?`, [task_id]);
  await writeAudit(em, [{ task_id, run_id: task.run_id, action: 'expired', via: 'workflow', actor: null }]);
  return { outcome: 'expired', fresh: true };
}

/** Cancels the run's undecided tasks, or those named of them. @returns those that it cancelled: their events are the caller's to write. */
export async function cancelHumanTasks(em: EntityManager, runId: string, taskIds?: string[]): Promise<TaskReference[]> {
  // Locked by id first: an update alone takes its rows in any order.
  const rows = await em.execute<TaskReference[]>(
    `with undecided as (
       select id from hitl_task where run_id = ? and status in ('open', 'claimed')${taskIds ? ' and id = any(?::uuid[])' : ''}
        order by id for update)
     update hitl_task t set status = 'cancelled', updated_at = clock_timestamp() from undecided u where t.id = u.id
     returning t.id, t.task, t.task_name`,
    taskIds ? [runId, textArray(taskIds)] : [runId],
  );
  await audit(em, runId, 'cancelled', rows.map((row) => row.id));
  return rows;
}

/** Adds people to the candidates of an undecided task. Levels are taken once each, in whatever order their times come. */
export async function escalateHumanTask(em: EntityManager, given: { task_id: string; level: number; to: Candidates }): Promise<void> {
  const { task_id, level, to } = storable(given);
  const [task] = await em.execute<{ run_id: string; candidates: Candidates }[]>(
    `select run_id, candidates from hitl_task where id = ? and status in ('open', 'claimed') for update`,
    [task_id],
  );
  if (!task) return;
  const taken = await em.execute(`select 1 from hitl_audit where task_id = ? and action = 'escalated' and (data->>'level')::int = ?`, [task_id, level]);
  if (taken.length > 0) return;
  const candidates = union(task.candidates, to);
  await em.execute(
    `update hitl_task set candidates = ?::jsonb, escalation_level = greatest(escalation_level, ?), updated_at = clock_timestamp(),
            candidate_keys = array(select distinct unnest(candidate_keys || ?::text[]))
      where id = ?`,
    [JSON.stringify(candidates), level, textArray(await candidateKeys(em, to)), task_id],
  );
  await audit(em, task.run_id, 'escalated', [task_id], { level, to });
}

async function audit(em: EntityManager, runId: string, action: AuditAction, taskIds: string[], data: Record<string, unknown> = {}): Promise<void> {
  await writeAudit(em, taskIds.map((id) => ({ task_id: id, run_id: runId, action, via: 'workflow', actor: null, data })));
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
