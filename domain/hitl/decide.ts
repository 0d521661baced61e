/**
 * Decides a human task (docs/architecture.md#human-decisions). This is the slow path: `decide-at-once.ts` is
 * tried first, and comes here if it wrote nothing (docs/adr/0068). One transaction writes the decision, its
 * audit row, its event and the row of the signal, which has the decision's id; the caller delivers the signal
 * after the commit. The row is authoritative; the signal only notifies the run.
 */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { TaskStatus } from '../../contracts/hitl.ts';
import type { Actor } from '../auth/actor.ts';
import { fileIdsIn, linkFiles } from '../files/run-files.ts';
import type { OpenSignal } from '../runs/signals.ts';
import { readVotes } from './decision-payload.ts';
import { findTask, withDetails, type Decision, type HumanTask, type HumanTaskView } from './human-task.ts';
import { decisionRecord, decisionRow, decisionSignal, newDecision, voteChange } from './decision-rows.ts';
import { checkState, lockTask, record, type Caller, type LockedTask } from './locked-task.ts';
import { accepted, notFound, type Checked } from '../errors.ts';
import { step } from './state-machine.ts';
import { takeOver } from './take-over.ts';
import { traceOfDecision } from '../runs/traces.ts';
import { checkSubmission, type Submission } from './submission.ts';

export interface Decided {
  task: HumanTaskView;
  /** `delivered` is false at the commit, null for a vote that leaves the task open. */
  decision: Decision;
  /** The caller sends it after the commit; null for a vote that leaves the task open. */
  signal: OpenSignal | null;
}

export const DECIDED: TaskStatus = 'decided';

/** `seen` comes from `loadForChange`. */
export async function decide(
  em: EntityManager,
  caller: Caller,
  seen: HumanTask,
  submission: Checked<Submission>,
): Promise<Decided> {
  const { actor } = caller;
  // The form never changes, so check it before taking locks, to keep a slow check from blocking others.
  const checked = await checkSubmission(actor.id, seen, submission);
  const found = await lockTask(em, actor, seen);
  // The decision's value does not affect these checks.
  const command = {
    kind: 'decide',
    by: found.as.id,
    self: actor.id,
    decision: '',
    late: found.late,
  } as const;
  await checkState(em, found, command);
  const given = accepted(checked);
  const locked = await takeOver(em, caller, found);
  // The answer's files are meant for the run, so it may read them although its owner does not own them.
  await linkFiles(em, { id: locked.task.run_id, owner_id: actor.id }, fileIdsIn(given.payload));
  const result = step(locked.state, { ...command, decision: given.decision });
  const decides = 'change' in result && result.change === 'decided';
  const decision = newDecision(given, actor.id, locked.now, decides);
  if (locked.task.quorum) await writeVote(em, caller, locked, decision);
  if (decides) return { decision, ...(await writeDecision(em, caller, locked, decision)) };
  await em.execute(`update hitl_task set updated_at = clock_timestamp() where id = ?`, [seen.id]);
  await record(em, caller, locked, voteChange(caller, locked, decision));
  return { task: await view(em, actor, seen.id), decision, signal: null };
}

async function writeVote(
  em: EntityManager,
  { via }: Caller,
  { task, asAdmin, as }: LockedTask,
  vote: Decision,
): Promise<void> {
  await em.execute(
    `insert into hitl_vote (id, task_id, decision, payload, comment, voted_by, voted_at, via, as_admin,
       in_place_of)
     values (?, ?, ?, ?::json, ?, ?, ?, ?, ?, ?)`,
    [
      vote.id,
      task.id,
      vote.decision,
      json(vote.payload),
      vote.comment,
      vote.decided_by,
      vote.decided_at,
      via,
      asAdmin,
      as.id === vote.decided_by ? null : as.id,
    ],
  );
}

const DECIDE = new Prepared(
  'select decide_human_task(?::uuid, ?::json, ?::text, ?::json, ?::json, ?::json) as updated_at',
);

/**
 * Writes decision, audit row, event and the row of the signal, which has the decision's id, in one statement.
 */
async function writeDecision(
  em: EntityManager,
  caller: Caller,
  locked: LockedTask,
  decision: Decision,
): Promise<Pick<Decided, 'task' | 'signal'>> {
  const { task } = locked;
  const { audit, events } = decisionRecord(caller, locked, decision);
  // With a quorum the run receives all votes, including this one.
  const votes = task.quorum ? await readVotes(em, task.id) : null;
  const { notice, signal } = decisionSignal(locked, decision, votes);
  const row = decisionRow(caller, locked, decision, await traceOfDecision(em, task.run_id));
  const values = [task.run_id, row, DECIDED, audit, events, notice];
  const [written] = await DECIDE.execute<{ updated_at: string }>(em, values);
  if (!written) throw new Error('The decision was not written');
  const [shown] = await withDetails(em, caller.actor, [task]);
  if (!shown) throw new Error('A task that was read has no view');
  return { task: { ...shown, status: DECIDED, updated_at: written.updated_at, decision }, signal };
}

/** The task with its details, as the viewer sees it now in this transaction. */
export async function view(em: EntityManager, viewer: Actor, taskId: string): Promise<HumanTaskView> {
  const task: HumanTask | null = await findTask(em, taskId);
  const [found] = await withDetails(em, viewer, task ? [task] : []);
  if (!found) throw notFound('human task');
  return found;
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
