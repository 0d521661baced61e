/**
 * The way every change by a person goes: seen (404), allowed (403), readable (400, 413, 415), then the locks — run row, then
 * task row — and the same questions again, since the answer may have changed while waiting; then the state (409), last the
 * content (422). Must run inside the caller's transaction.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { isTerminal } from '../../contracts/run-events.ts';
import type { NewRunEvent, RunStatus } from '../../contracts/run-events.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, notFound } from '../errors.ts';
import { appendEvents, serviceEvent } from '../runs/events.ts';
import { auditRows, writeAudit } from './audit.ts';
import type { AuditAction, Via } from './audit.ts';
import { findTask } from './human-task.ts';
import type { HumanTask } from './human-task.ts';
import { checkMayAct, checkSees } from './policy.ts';
import { refused } from './refusals.ts';
import { storable } from '../storable.ts';
import { refusal, step } from './state-machine.ts';
import type { PersonCommand, TaskState } from './state-machine.ts';
import { expiredEvent } from './task-events.ts';

export interface Caller {
  actor: Actor;
  via: Via;
  /** Throws for a request that cannot be read at all: asked once the task was found, before its state is told. */
  readable?: () => void;
}

export interface LockedTask {
  task: HumanTask;
  state: TaskState;
  asAdmin: boolean;
  /** The database's time, after the locks. RFC 3339. */
  now: string;
  late: boolean;
}

/** db/migrations/0018: run row, then task row, then the time. */
interface Lock {
  run_status: RunStatus | null;
  version: string | null;
  now: string;
  late: boolean;
}

/** The task as the caller sees it before any lock: nobody can hold up a run whose task they may not touch. */
export async function loadForChange(em: EntityManager, { actor, readable }: Caller, taskId: string): Promise<HumanTask> {
  const task = await findTask(em, taskId);
  checkSees(actor, task);
  checkMayAct(actor, task);
  readable?.();
  return task;
}

export async function lockTask(em: EntityManager, actor: Actor, seen: HumanTask): Promise<LockedTask> {
  const { id } = seen;
  const [lock] = await em.execute<Lock[]>(`select * from lock_human_task(?::uuid, ?::uuid)`, [seen.run_id, id]);
  // A row that is still the one that was read before the wait needs no second look.
  const task = lock?.version === seen.row_version ? seen : await findTask(em, id);
  if (!lock?.run_status || !task) throw notFound('human task');
  checkSees(actor, task);
  const { asAdmin } = checkMayAct(actor, task);
  const votes = task.quorum
    ? await em.execute<{ by: string; decision: string }[]>(`select voted_by as by, decision from hitl_vote where task_id = ?`, [id])
    : [];
  const { status, claimed_by, quorum } = task;
  if (isTerminal(lock.run_status) && (status === 'open' || status === 'claimed')) throw conflict('run_finished', 'The run has ended.', { decision: null });
  return { task, state: { status, claimed_by, quorum, votes }, asAdmin, now: lock.now, late: lock.late };
}

/** Throws the 409 that the command meets. Who comes too late leaves the task expired. */
export async function checkState(em: EntityManager, locked: LockedTask, command: PersonCommand): Promise<void> {
  const reason = refusal(locked.state, command);
  if (reason === null) return;
  const { task } = locked;
  const expires = step(locked.state, command).state.status === 'expired' && task.status !== 'expired';
  if (expires) await expire(em, task);
  throw await refused(em, task, reason, expires);
}

export interface Written {
  action: AuditAction;
  type: string;
  /** Tells apart what can happen to a task more than once; an id. */
  discriminator: string;
  message: string;
  data: Record<string, unknown>;
}

/** The audit row and the run's event of one change. */
export async function record(em: EntityManager, caller: Caller, locked: Pick<LockedTask, 'task' | 'asAdmin'>, change: Written): Promise<void> {
  const { audit, events } = recordOf(caller, locked, change);
  await em.execute(`select audit_and_append(?::uuid, ?::json, ?::json, ?::uuid)`, [locked.task.run_id, audit, events, uuidv7()]);
}

/** As JSON: what the functions of db/migrations/0018 take. */
export function recordOf({ actor, via }: Caller, { task, asAdmin }: Pick<LockedTask, 'task' | 'asAdmin'>, change: Written): { audit: string; events: string } {
  const { action, type, discriminator, message, data } = change;
  const event: NewRunEvent = serviceEvent({
    key: `hitl:${task.id}:${action}:${discriminator}`,
    type,
    task: task.task,
    message: `${task.task_name}: ${message}`,
    data: { hitl_task_id: task.id, ...data, by: actor.id, as_admin: asAdmin, via },
  });
  const audit = auditRows([{ task_id: task.id, run_id: task.run_id, action, via, actor, as_admin: asAdmin, data }]);
  return { audit: JSON.stringify(audit), events: JSON.stringify(storable([event])) };
}

async function expire(em: EntityManager, task: HumanTask): Promise<void> {
  await em.execute(`update hitl_task set status = 'expired', updated_at = clock_timestamp() where id = ?`, [task.id]);
  await writeAudit(em, [{ task_id: task.id, run_id: task.run_id, action: 'expired', via: 'workflow', actor: null }]);
  await appendEvents(em, task.run_id, { events: [expiredEvent(task)], projection: null, acks: [] });
}
