/**
 * The order of checks for every change by a person: visible (404) and allowed (403), by `loadForChange`; then
 * the route reads the request (400, 413, 415). The change locks run row and task row and repeats the first
 * checks, because the answers may have changed while waiting. Then come the state (409) and the content
 * (422). All of it must run in one transaction, the caller's.
 */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import { isTerminal, type NewRunEvent, type RunStatus } from '../../contracts/run-events.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, notFound } from '../errors.ts';
import { eventRows } from '../runs/event-columns.ts';
import { appendEvents, serviceEvent } from '../runs/events.ts';
import { auditRows, type AuditAction, type Via } from './audit.ts';
import { findTask, type HumanTask } from './human-task.ts';
import { markExpired } from './mark-expired.ts';
import { heldState } from './held-state.ts';
import { checkMayAct, checkSees } from './policy.ts';
import { refused } from './refusals.ts';
import { isUndecided, refusal, step, type PersonCommand, type TaskState } from './state-machine.ts';
import { expiredEvent } from './task-events.ts';

export interface Caller {
  actor: Actor;
  via: Via;
}

export interface LockedTask {
  task: HumanTask;
  state: TaskState;
  asAdmin: boolean;
  /** The caller, or the absent person whose deputy the caller is. */
  as: Actor;
  /** The database's time after taking the locks, RFC 3339. */
  now: string;
  late: boolean;
}

/** Locks the run row, then the task row, then reads the time (SQL function `lock_human_task`). */
interface Lock {
  run_status: RunStatus | null;
  version: string | null;
  now: string;
  late: boolean;
}

/**
 * The task if the actor sees it (404) and may act on it (403). Checked before taking any lock, so nobody can
 * block a run whose task they may not change.
 */
export async function loadForChange(em: EntityManager, actor: Actor, taskId: string): Promise<HumanTask> {
  const task = await findTask(em, taskId);
  checkSees(actor, task);
  checkMayAct(actor, task);
  return task;
}

const LOCK = new Prepared('select * from lock_human_task(?::uuid, ?::uuid)');

export async function lockTask(em: EntityManager, actor: Actor, seen: HumanTask): Promise<LockedTask> {
  const { id } = seen;
  const [lock] = await LOCK.execute<Lock>(em, [seen.run_id, id]);
  // An unchanged row version means that the task read before the lock is still current.
  const task = lock?.version === seen.row_version ? seen : await findTask(em, id);
  if (!lock?.run_status || !task) throw notFound('human task');
  checkSees(actor, task);
  const { asAdmin, as } = checkMayAct(actor, task);
  const votes = task.quorum
    ? await em.execute<{ by: string; decision: string; also: string | null }[]>(
        `select voted_by as by, decision, in_place_of as also from hitl_vote where task_id = ?`,
        [id],
      )
    : [];
  if (isTerminal(lock.run_status) && isUndecided(task.status))
    throw conflict('run_finished', 'The run has ended.', { decision: null });
  return { task, state: { ...heldState(task), votes }, asAdmin, as, now: lock.now, late: lock.late };
}

/** Throws the 409 for a command that the state refuses. A command after the expiry also expires the task. */
export async function checkState(
  em: EntityManager,
  locked: LockedTask,
  command: PersonCommand,
): Promise<void> {
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
  /** Distinguishes changes that can happen more than once; an id. */
  discriminator: string;
  message: string;
  data: Record<string, unknown>;
}

export type Recorded = Pick<LockedTask, 'task' | 'asAdmin'> & { as?: Actor };

/** Writes the audit row and the run's event of one change. */
export async function record(
  em: EntityManager,
  caller: Caller,
  locked: Recorded,
  change: Written,
): Promise<void> {
  const { audit, events } = recordOf(caller, locked, change);
  await em.execute(`select audit_and_append(?::uuid, ?::json, ?::json)`, [locked.task.run_id, audit, events]);
}

/** As JSON, for the SQL functions of human tasks. */
export function recordOf(
  { actor, via }: Caller,
  { task, asAdmin, as = actor }: Recorded,
  change: Written,
): { audit: string; events: string } {
  const { action, type, discriminator, message } = change;
  const data = as.id === actor.id ? change.data : { ...change.data, deputy_for: as.id };
  const event: NewRunEvent = serviceEvent({
    key: `hitl:${task.id}:${action}:${discriminator}`,
    type,
    task: task.task,
    message,
    data: { hitl_task_id: task.id, ...data, by: actor.id, as_admin: asAdmin, via },
  });
  const audit = auditRows([
    { task_id: task.id, run_id: task.run_id, action, via, actor, as_admin: asAdmin, data },
  ]);
  return { audit: JSON.stringify(audit), events: eventRows([event]) };
}

async function expire(em: EntityManager, task: HumanTask): Promise<void> {
  await markExpired(em, task);
  await appendEvents(em, task.run_id, { events: [expiredEvent(task)], projection: null, acks: [] });
}
