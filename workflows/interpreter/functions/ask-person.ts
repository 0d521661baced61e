/**
 * Asks a person (docs/architecture.md#human-decisions): an activity inserts the task, then the workflow
 * waits for the signal of its decision, or for its next timer: due, reminder, escalation, expiry.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import type { AskedBefore, NewHumanTask } from '../../../contracts/activities.ts';
import { EVENT, type WaitingOn } from '../../../contracts/run-events.ts';
import type { DecisionPayload } from '../../../contracts/hitl.ts';
import { writing } from '../activities.ts';
import type { Execution, Task } from '../execution.ts';
import { fault, RunClosed } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import type { HumanFrame } from '../state.ts';

export type Mark = { at: number } & (
  | { kind: 'due' | 'expire' }
  | { kind: 'remind'; number: number }
  | { kind: 'escalate'; level: number; to: NewHumanTask['candidates'] }
);

export interface Question {
  /** Called once, when the task is inserted. */
  task(human: HumanFrame): NewHumanTask;
  /** In chronological order, with nothing after the expiry. */
  marks: Mark[];
  onExpiry: 'fault' | { decision: string };
  /** Distinguishes questions of the same visit. */
  round?: number;
}

/** What ends a question: an accepted decision, or the one that the expiry names, which has no id. */
export type Answer = Omit<DecisionPayload, 'decision_id'> & { decision_id: string | null };

export function humanFrame(): HumanFrame {
  return { id: workflowUuid(), created_at: Date.now(), marks: 0, created: false };
}

export async function askPerson(
  execution: Execution,
  task: Task,
  human: HumanFrame,
  question: Question,
): Promise<Answer> {
  const on = (): WaitingOn => ({
    kind: 'human',
    task: task.ref,
    id: human.id,
    ...expiryOf(question.marks),
  });
  execution.asked.add(human.id);
  try {
    if (!human.created) {
      const { before } = await create(execution, question.task(human), task, on(), question);
      if (before) takeOver(execution, human, before);
      human.created = true;
    }
    return await execution.waiting(task, [on()], () => decided(execution, question, task, human));
  } catch (error) {
    // Close the row before the branch counts as cancelled; ending the run closes the remaining ones.
    if (isCancellation(error) && human.created) await close(execution, task, human.id);
    throw error;
  } finally {
    execution.asked.delete(human.id);
    delete execution.state.decisions[human.id];
  }
}

/** Goes on with the task that has asked the same before Temporal was restored to an earlier time. */
function takeOver(
  execution: Execution,
  human: HumanFrame,
  { task_id: id, decision }: NonNullable<AskedBefore['before']>,
): void {
  execution.asked.delete(human.id);
  human.id = id;
  execution.asked.add(id);
  const known = decision ?? execution.unasked.get(id);
  if (known) execution.state.decisions[id] = known;
}

/** Logs that the decision was applied. Expiry has no decider, so nothing is logged. */
export function applied(execution: Execution, task: Task, decision: Answer): void {
  if (decision.decision_id === null) return;
  execution.journal.add(
    execution.taskEvent(
      task,
      EVENT.decisionApplied,
      `applied:${decision.decision_id}`,
      LOG_TEXT.decisionApplied(task.name, decision.decision),
      {
        data: {
          hitl_task_id: decision.task_id,
          decision_id: decision.decision_id,
          decision: decision.decision,
          decided_by: decision.decided_by,
        },
      },
    ),
  );
}

async function create(
  execution: Execution,
  human: NewHumanTask,
  task: Task,
  on: WaitingOn,
  question: Question,
): Promise<AskedBefore> {
  const event = execution.taskEvent(
    task,
    EVENT.hitlCreated,
    kind('hitl-created', question),
    LOG_TEXT.hitlCreated(task.name, human.title),
    {
      data: {
        hitl_task_id: human.id,
        title: human.title,
        due_at: human.due_at,
        expires_at: human.expires_at,
        assignee: human.assignee,
        candidates: human.candidates,
      },
    },
  );
  const { closed, ...rest } = await execution.journal.carry(
    { strand: task.env.strand, input: human, extra: [event], asIf: on },
    (batch) =>
      writing((activities) => activities.createHumanTask({ run_id: execution.start.run_id, batch, human })),
  );
  if (closed) throw new RunClosed();
  return rest;
}

async function close(execution: Execution, task: Task, id: string): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    execution.journal.carry({ strand: task.env.strand }, (batch) =>
      writing((activities) =>
        activities.cancelHumanTask({ run_id: execution.start.run_id, batch, task_id: id }),
      ),
    ),
  );
}

/**
 * Waits through the task's timers until it is decided or expires. A decision that arrived early is taken at
 * once.
 */
async function decided(
  execution: Execution,
  question: Question,
  task: Task,
  human: HumanFrame,
): Promise<Answer> {
  const ready = (): boolean =>
    !execution.state.suspended && Object.hasOwn(execution.state.decisions, human.id);
  for (;;) {
    const next = question.marks[human.marks];
    if (next === undefined) await execution.until(ready);
    else if (!(await readyBefore(execution, ready, next.at))) {
      const early = await passMark(execution, question, task, human, next);
      human.marks++;
      if (early) return early;
      continue;
    }
    const decision = execution.state.decisions[human.id];
    if (!decision) continue;
    delete execution.state.decisions[human.id];
    return decision;
  }
}

async function readyBefore(execution: Execution, ready: () => boolean, at: number): Promise<boolean> {
  const left = at - Date.now();
  return left <= 0 ? ready() : execution.until(ready, left);
}

/** Handles one of the task's timers. The expiry may find a decision that was accepted before it. */
async function passMark(
  execution: Execution,
  question: Question,
  task: Task,
  human: HumanFrame,
  mark: Mark,
): Promise<Answer | null> {
  switch (mark.kind) {
    case 'due':
      logOverdue(execution, question, task, human.id);
      return null;
    case 'remind':
      logReminder(execution, question, task, human.id, mark.number);
      return null;
    case 'escalate':
      await escalate(execution, question, task, human.id, mark);
      return null;
    case 'expire':
      return expire(execution, question, task, human.id);
  }
}

function logOverdue(execution: Execution, question: Question, task: Task, id: string): void {
  execution.journal.add(
    execution.taskEvent(task, EVENT.hitlOverdue, kind('overdue', question), LOG_TEXT.hitlOverdue(task.name), {
      level: 'warn',
      data: { hitl_task_id: id },
    }),
  );
}

function logReminder(execution: Execution, question: Question, task: Task, id: string, number: number): void {
  execution.journal.add(
    execution.taskEvent(
      task,
      EVENT.hitlReminder,
      kind(`reminder:${number}`, question),
      LOG_TEXT.hitlReminder(task.name, number),
      { data: { hitl_task_id: id } },
    ),
  );
}

async function escalate(
  execution: Execution,
  question: Question,
  task: Task,
  id: string,
  { level, to }: Extract<Mark, { kind: 'escalate' }>,
): Promise<void> {
  const event = execution.taskEvent(
    task,
    EVENT.hitlEscalated,
    kind(`escalated:${level}`, question),
    LOG_TEXT.hitlEscalated(task.name, level),
    { level: 'warn', data: { hitl_task_id: id, level, to } },
  );
  await execution.journal.carry({ strand: task.env.strand, extra: [event] }, (batch) =>
    writing((activities) =>
      activities.escalateHumanTask({ run_id: execution.start.run_id, batch, task_id: id, level, to }),
    ),
  );
}

async function expire(
  execution: Execution,
  question: Question,
  task: Task,
  id: string,
): Promise<Answer | null> {
  const at = new Date().toISOString();
  const result = await execution.journal.carry({ strand: task.env.strand }, (batch) =>
    writing((activities) =>
      activities.expireHumanTask({
        run_id: execution.start.run_id,
        batch,
        task_id: id,
        event_key: `${task.ref}#${task.visit}:${kind('expired', question)}`,
        at,
      }),
    ),
  );
  if (result.closed) throw new RunClosed();
  // The decision was accepted in time and its signal may still be on the way. Treat it as received, so a
  // suspended run applies it after the resume.
  if (result.outcome === 'decided') {
    execution.state.decisions[id] = result.decision;
    return null;
  }
  const { onExpiry } = question;
  if (onExpiry === 'fault') throw fault('timeout', `Nobody decided ${task.name} in time`, task.ref);
  return {
    task_id: id,
    decision_id: null,
    decision: onExpiry.decision,
    payload: null,
    comment: null,
    decided_by: null,
    decided_at: at,
  };
}

function expiryOf(marks: Mark[]): { until?: string } {
  const expiry = marks.find((mark) => mark.kind === 'expire');
  return expiry ? { until: new Date(expiry.at).toISOString() } : {};
}

function kind(name: string, { round }: Question): string {
  return round === undefined ? name : `${name}:${round}`;
}
