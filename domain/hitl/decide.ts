/**
 * Deciding a human task (interface-decisions §6, architecture §4): one transaction writes decision, audit row, event and the
 * signal's row, whose id is the decision's; the caller delivers it after the commit. The row decides, the signal only carries.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { Actor } from '../auth/actor.ts';
import { fileIdsIn, linkFiles } from '../files/run-files.ts';
import type { OpenSignal } from '../runs/signals.ts';
import { storable } from '../storable.ts';
import { readVotes } from './decision-payload.ts';
import { findTask, withDetails } from './human-task.ts';
import type { Decision, HumanTask, HumanTaskView } from './human-task.ts';
import { checkState, loadForChange, lockTask, record, recordOf } from './locked-task.ts';
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
  /** To be sent after the commit; null for a vote that leaves the task open. */
  signal: OpenSignal | null;
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
  // A file in the answer is meant for the run: it may read it from now on, although it is not its owner's.
  await linkFiles(em, { id: locked.task.run_id, owner_id: actor.id }, fileIdsIn(given.payload));
  const result = step(locked.state, { ...command, decision: given.decision });
  const decides = 'change' in result && result.change === 'decided';
  const decision: Decision = { id: uuidv7(), ...given, decided_by: actor.id, decided_at: locked.now, delivered: decides ? false : null };
  const caller = { actor, via };
  if (locked.task.quorum) await writeVote(em, caller, locked, decision);
  if (decides) return { decision, ...(await writeDecision(em, caller, locked, decision)) };
  await noteVote(em, caller, locked, decision);
  return { task: await view(em, taskId), decision, signal: null };
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

/** Decision, audit row, event and the signal's row, whose id is the decision's, in one statement. */
async function writeDecision(em: EntityManager, caller: Caller, locked: LockedTask, decision: CheckedSubmission & Decision): Promise<Pick<Decided, 'task' | 'signal'>> {
  const { task, asAdmin } = locked;
  const { id, delivered: _, ...said } = decision;
  const { audit, events } = recordOf(caller, locked, {
    action: 'decided',
    type: EVENT.hitlDecided,
    discriminator: id,
    message: `${caller.actor.username} decided ${decision.decision}`,
    data: { decision_id: id, decision: decision.decision },
  });
  // With a quorum the run is told of all votes, this one included.
  const notice = storable(task.quorum ? { ...said, task_id: task.id, decision_id: id, votes: await readVotes(em, task.id) } : { ...said, task_id: task.id, decision_id: id });
  const row = { ...said, id, task_id: task.id, via: caller.via, as_admin: asAdmin };
  const [written] = await em.execute<{ updated_at: string }[]>(
    `select decide_human_task(?::uuid, ?::json, ?::json, ?::json, ?::uuid, ?::json) as updated_at`,
    [task.run_id, JSON.stringify(row), audit, events, uuidv7(), JSON.stringify(notice)],
  );
  if (!written) throw new Error('The decision was not written');
  const [shown] = await withDetails(em, [task]);
  if (!shown) throw new Error('A task that was read has no view');
  return {
    task: { ...shown, status: 'decided', updated_at: written.updated_at, decision },
    signal: { run_id: task.run_id, signal: { id, kind: 'hitl.decision', ...notice } },
  };
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
