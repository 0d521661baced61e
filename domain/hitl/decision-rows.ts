/** What a decision or a vote writes: its row, and what the log, the audit of human tasks and the run get. */
import { v7 as uuidv7 } from 'uuid';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import type { HumanAnswer } from '../../contracts/hitl.ts';
import type { OpenSignal } from '../runs/signals.ts';
import { storable } from '../storable.ts';
import type { Decision } from './human-task.ts';
import { recordOf, type Caller, type LockedTask, type Written } from './locked-task.ts';
import { standsFor } from './policy.ts';
import type { CheckedSubmission } from './submission.ts';

/** Who acts on which task; the state does not matter here. */
export type Acting = Pick<LockedTask, 'task' | 'asAdmin' | 'as'>;

/** @param decides whether it ends the task; a vote may leave it open */
export function newDecision(given: CheckedSubmission, by: string, at: string, decides: boolean): Decision {
  return { id: uuidv7(), ...given, decided_by: by, decided_at: at, delivered: decides ? false : null };
}

/** The row of a decision or a vote, for the SQL functions. */
export function decisionRow(
  { via }: Caller,
  { task, asAdmin, as }: Acting,
  { delivered: _delivered, ...decision }: Decision,
  traceparent: string | null = null,
): string {
  const inPlaceOf = as.id === decision.decided_by ? null : as.id;
  return JSON.stringify({
    ...decision,
    task_id: task.id,
    via,
    as_admin: asAdmin,
    in_place_of: inPlaceOf,
    traceparent,
  });
}

/** For the log and the audit, as JSON. */
export function decisionRecord(
  caller: Caller,
  acting: Acting,
  decision: Decision,
): { audit: string; events: string } {
  const { task } = acting;
  return recordOf(caller, acting, {
    action: 'decided',
    type: EVENT.hitlDecided,
    discriminator: decision.id,
    message: LOG_TEXT.hitlDecided(task.task_name, caller.actor.username, decision.decision),
    data: { decision_id: decision.id, decision: decision.decision, ...inPlaceOf(acting) },
  });
}

/** A vote that leaves the task open. */
export function voteChange({ actor }: Caller, acting: Acting, vote: Decision): Written {
  return {
    action: 'voted',
    type: EVENT.hitlVoted,
    discriminator: vote.id,
    message: LOG_TEXT.hitlVoted(acting.task.task_name, actor.username, vote.decision),
    data: { vote_id: vote.id, decision: vote.decision, ...inPlaceOf(acting) },
  };
}

function inPlaceOf({ task, as }: Acting): { in_place_of?: string[] } {
  const people = standsFor(as.id, task);
  return people.length === 0 ? {} : { in_place_of: people };
}

/** The signal, and its row as JSON. It has the decision's id. `votes`: with a quorum, oldest first. */
export function decisionSignal(
  { task }: Acting,
  { id, delivered: _delivered, ...fields }: Decision,
  votes: HumanAnswer[] | null,
): { notice: string; signal: OpenSignal } {
  const kind = 'hitl.decision';
  const payload = storable({
    ...fields,
    task_id: task.id,
    decision_id: id,
    ...(votes === null ? {} : { votes }),
  });
  return {
    notice: JSON.stringify({ kind, payload }),
    signal: { run_id: task.run_id, signal: { id, run_id: task.run_id, kind, ...payload } },
  };
}
