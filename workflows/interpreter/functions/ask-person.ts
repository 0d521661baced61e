/**
 * A question to a person (architecture §4): an activity inserts the task, then the workflow waits for the signal of its
 * decision, or for its own next moment: due, reminder, escalation, expiry.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import type { WaitingOn } from '../../../contracts/run-events.ts';
import type { DecisionPayload } from '../../../contracts/temporal.ts';
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
  /** In the order of time, nothing after the expiry. */
  marks: Mark[];
  onExpiry: 'fault' | { decision: string };
  /** Told apart from other questions of the same visit. */
  round?: number;
}

export function humanFrame(): HumanFrame {
  return { id: workflowUuid(), created_at: Date.now(), marks: 0, created: false };
}

export async function askPerson(x: Execution, task: Task, human: HumanFrame, question: Question): Promise<DecisionPayload> {
  const on: WaitingOn = { kind: 'human', task: task.ref, id: human.id, ...expiryOf(question.marks) };
  x.asked.add(human.id);
  try {
    if (!human.created) {
      await create(x, question.task(human), task, on, question);
      human.created = true;
    }
    return await x.waiting(task, [on], () => decided(x, question, task, human));
  } catch (error) {
    // The row closes before the branch counts as cancelled; closing the run closes the rest.
    if (isCancellation(error) && human.created) await close(x, human.id);
    throw error;
  } finally {
    x.asked.delete(human.id);
    delete x.state.decisions[human.id];
  }
}

/** The decision is the task's own now: told to the log. One that an expiry made has nobody to be told of. */
export function applied(x: Execution, task: Task, decision: DecisionPayload): void {
  if (decision.decision_id === '') return;
  x.journal.add(
    x.taskEvent(task, EVENT.decisionApplied, `applied:${decision.decision_id}`, `${task.name}: ${decision.decision}`, {
      data: { hitl_task_id: decision.task_id, decision_id: decision.decision_id, decision: decision.decision, decided_by: decision.decided_by },
    }),
  );
}

async function create(x: Execution, human: NewHumanTask, task: Task, on: WaitingOn, question: Question): Promise<void> {
  const event = x.taskEvent(task, EVENT.hitlCreated, kind('hitl-created', question), `${task.name} waits for a person: ${human.title}`, {
    data: { hitl_task_id: human.id, title: human.title, due_at: human.due_at, expires_at: human.expires_at },
  });
  const { closed } = await x.journal.carry(
    (batch) => writing((activities) => activities.createHumanTask({ run_id: x.start.run_id, batch, human })),
    [event],
    on,
  );
  if (closed) throw new RunClosed();
}

async function close(x: Execution, id: string): Promise<void> {
  await CancellationScope.nonCancellable(() =>
    x.journal.carry((batch) => writing((activities) => activities.cancelHumanTask({ run_id: x.start.run_id, batch, task_id: id }))),
  );
}

/** Waits through the task's moments until it is decided, or its expiry decides; a decision that came early is taken at once. */
async function decided(x: Execution, question: Question, task: Task, human: HumanFrame): Promise<DecisionPayload> {
  const ready = (): boolean => !x.state.suspended && Object.hasOwn(x.state.decisions, human.id);
  for (;;) {
    const next = question.marks[human.marks];
    if (next === undefined) await x.until(ready);
    else if (!(await readyBefore(x, ready, next.at))) {
      const early = await pass(x, question, task, human, next);
      human.marks++;
      if (early) return early;
      continue;
    }
    const decision = x.state.decisions[human.id];
    if (!decision) continue;
    delete x.state.decisions[human.id];
    return decision;
  }
}

async function readyBefore(x: Execution, ready: () => boolean, at: number): Promise<boolean> {
  const left = at - Date.now();
  return left <= 0 ? ready() : x.until(ready, left);
}

/** One of the task's moments. Expiry may find a decision that was accepted before it. */
async function pass(x: Execution, question: Question, task: Task, human: HumanFrame, mark: Mark): Promise<DecisionPayload | null> {
  const data = { hitl_task_id: human.id };
  switch (mark.kind) {
    case 'due':
      x.journal.add(x.taskEvent(task, EVENT.hitlOverdue, kind('overdue', question), `${task.name} is overdue`, { level: 'warn', data }));
      return null;
    case 'remind':
      x.journal.add(x.taskEvent(task, EVENT.hitlReminder, kind(`reminder:${mark.number}`, question), `${task.name}: reminder ${mark.number}`, { data }));
      return null;
    case 'escalate': {
      const event = x.taskEvent(task, EVENT.hitlEscalated, kind(`escalated:${mark.level}`, question), `${task.name} escalated to level ${mark.level}`, {
        level: 'warn',
        data: { ...data, level: mark.level, to: mark.to },
      });
      await x.journal.carry(
        (batch) =>
          writing((activities) => activities.escalateHumanTask({ run_id: x.start.run_id, batch, task_id: human.id, level: mark.level, to: mark.to })),
        [event],
      );
      return null;
    }
    case 'expire':
      return expire(x, question, task, human.id);
  }
}

async function expire(x: Execution, question: Question, task: Task, id: string): Promise<DecisionPayload | null> {
  const at = new Date().toISOString();
  const result = await x.journal.carry((batch) =>
    writing((activities) =>
      activities.expireHumanTask({ run_id: x.start.run_id, batch, task_id: id, event_key: `${task.ref}#${task.visit}:${kind('expired', question)}`, at }),
    ),
  );
  if (result.closed) throw new RunClosed();
  // Accepted in time, its signal may still be on the way: taken as if it had come, so while suspended not before the resume.
  if (result.outcome === 'decided') {
    x.state.decisions[id] = result.decision;
    return null;
  }
  const { onExpiry } = question;
  if (onExpiry === 'fault') throw fault('timeout', `Nobody decided ${task.name} in time`, task.ref);
  return { task_id: id, decision_id: '', decision: onExpiry.decision, payload: null, comment: null, decided_by: null, decided_at: at };
}

function expiryOf(marks: Mark[]): { until?: string } {
  const expiry = marks.find((mark) => mark.kind === 'expire');
  return expiry ? { until: new Date(expiry.at).toISOString() } : {};
}

function kind(name: string, { round }: Question): string {
  return round === undefined ? name : `${name}:${round}`;
}
