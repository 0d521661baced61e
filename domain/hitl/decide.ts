/**
 * Deciding a human task (interface-decisions §6, architecture §4): one transaction writes decision, audit row, event and the
 * signal's row, whose id is the decision's; the caller delivers it after the commit. The row decides, the signal only carries.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { Actor } from '../auth/actor.ts';
import { enqueueSignal } from '../runs/signals.ts';
import { readDecisionPayload } from './decision-payload.ts';
import { findTask, withDetails } from './human-task.ts';
import type { Decision, HumanTask, HumanTaskView } from './human-task.ts';
import { checkState, loadForChange, lockTask, record } from './locked-task.ts';
import type { Caller, LockedTask } from './locked-task.ts';
import { notFound } from '../errors.ts';
import { step } from './state-machine.ts';
import { checkSubmission, later } from './submission.ts';
import type { CheckedSubmission, Submission } from './submission.ts';
import type { Via } from './audit.ts';

export interface DecideArgs {
  taskId: string;
  /** Read after the task was found: what cannot be read is told in its turn. */
  submission: () => Submission;
  via: Via;
}

export interface Decided {
  task: HumanTaskView;
  /** `delivered` is false as of the commit, null for a vote that leaves the task open. */
  decision: Decision;
  /** To be delivered after the commit; null for a vote. */
  signalId: string | null;
}

export async function decide(em: EntityManager, actor: Actor, { taskId, submission, via }: DecideArgs): Promise<Decided> {
  const seen = await loadForChange(em, { actor, via }, taskId);
  // The form does not change, so a slow one is checked before others have to wait for the locks.
  const checked = later(() => checkSubmission(seen, submission()));
  const locked = await lockTask(em, actor, seen);
  // Which word it is matters to no refusal.
  const command = { kind: 'decide', by: actor.id, decision: '', late: locked.late } as const;
  await checkState(em, locked, command);
  const given = checked();
  const result = step(locked.state, { ...command, decision: given.decision });
  const decides = 'change' in result && result.change === 'decided';
  const decision: Decision = { id: uuidv7(), ...given, decided_by: actor.id, decided_at: locked.now, delivered: decides ? false : null };
  const caller = { actor, via };
  if (locked.task.quorum) await writeVote(em, caller, locked, decision);
  const signalId = decides ? await writeDecision(em, caller, locked, decision) : null;
  if (!decides) await noteVote(em, caller, locked, decision);
  return { task: await view(em, taskId), decision, signalId };
}

async function writeVote(em: EntityManager, { via }: Caller, { task, asAdmin }: LockedTask, vote: Decision): Promise<void> {
  await em.execute(
    `insert into hitl_vote (id, task_id, decision, payload, comment, voted_by, voted_at, via, as_admin) values (?, ?, ?, ?::json, ?, ?, ?, ?, ?)`,
    [vote.id, task.id, vote.decision, json(vote.payload), vote.comment, vote.decided_by, vote.decided_at, via, asAdmin],
  );
}

async function noteVote(em: EntityManager, caller: Caller, locked: LockedTask, vote: Decision): Promise<void> {
  await em.execute(`update hitl_task set updated_at = clock_timestamp() where id = ?`, [locked.task.id]);
  await record(em, caller, locked, {
    action: 'voted',
    type: EVENT.hitlVoted,
    discriminator: vote.id,
    message: `${caller.actor.username} voted ${vote.decision}`,
    data: { vote_id: vote.id, decision: vote.decision },
  });
}

/** @returns the signal's id, which is the decision's. */
async function writeDecision(em: EntityManager, caller: Caller, locked: LockedTask, decision: CheckedSubmission & Decision): Promise<string> {
  const { task, asAdmin } = locked;
  await em.execute(
    `insert into hitl_decision (id, task_id, decision, payload, comment, decided_by, decided_at, via, as_admin) values (?, ?, ?, ?::json, ?, ?, ?, ?, ?)`,
    [decision.id, task.id, decision.decision, json(decision.payload), decision.comment, decision.decided_by, decision.decided_at, caller.via, asAdmin],
  );
  await em.execute(`update hitl_task set status = 'decided', updated_at = clock_timestamp() where id = ?`, [task.id]);
  await record(em, caller, locked, {
    action: 'decided',
    type: EVENT.hitlDecided,
    discriminator: decision.id,
    message: `${caller.actor.username} decided ${decision.decision}`,
    data: { decision_id: decision.id, decision: decision.decision },
  });
  const { id: decision_id, delivered: _, ...said } = decision;
  const payload = task.quorum ? await readDecisionPayload(em, task.id) : { task_id: task.id, decision_id, ...said };
  await enqueueSignal(em, task.run_id, { kind: 'hitl.decision', ...payload }, { id: decision_id, by: caller.actor.id });
  return decision.id;
}

/** The task with all that hangs on it, as it is now in this transaction. */
export async function view(em: EntityManager, taskId: string): Promise<HumanTaskView> {
  const task: HumanTask | null = await findTask(em, taskId);
  const [found] = await withDetails(em, task ? [task] : []);
  if (!found) throw notFound('human task');
  return found;
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
