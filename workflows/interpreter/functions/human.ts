/**
 * `call: human` (interface-decisions §5, architecture §4): an activity inserts the task, then the workflow waits for
 * the signal of its decision, or for its own next moment: due, reminder, escalation, expiry.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import type { Candidates, HumanArguments } from '../../../contracts/definition/model.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import type { WaitingOn } from '../../../contracts/run-events.ts';
import type { DecisionPayload } from '../../../contracts/temporal.ts';
import { writing } from '../activities.ts';
import { resolve } from '../data-flow.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { fault, RunClosed } from '../fault.ts';
import { workflowUuid } from '../ids.ts';
import { toMs } from '../run-task.ts';

type Mark = { at: number } & (
  | { kind: 'due' | 'expire' }
  | { kind: 'remind'; number: number }
  | { kind: 'escalate'; level: number; to: NewHumanTask['candidates'] }
);

export async function callHuman(x: Execution, args: HumanArguments, task: Task, input: unknown, at: At): Promise<Outcome> {
  const human = (task.frame.human ??= { id: workflowUuid(), created_at: Date.now(), marks: 0, created: false });
  const marks = schedule(args, human.created_at, at, input);
  const on: WaitingOn = { kind: 'human', task: task.ref, id: human.id, ...expiryOf(marks) };
  try {
    if (!human.created) {
      await create(x, newTask(x, args, task, human, marks, input, at), task, on);
      human.created = true;
    }
    const decision = await x.waiting(task, [on], () => decided(x, args, task, human, marks));
    return outcome(x, task, decision);
  } catch (error) {
    // The row closes before the branch counts as cancelled; closing the run closes the rest.
    if (isCancellation(error) && human.created) await close(x, human.id);
    throw error;
  }
}

async function create(x: Execution, human: NewHumanTask, task: Task, on: WaitingOn): Promise<void> {
  const event = x.taskEvent(task, EVENT.hitlCreated, 'hitl-created', `${task.name} waits for a person: ${human.title}`, {
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

/** Waits through the task's moments until it is decided; a decision that came early is taken at once. */
async function decided(x: Execution, args: HumanArguments, task: Task, human: { id: string; marks: number }, marks: Mark[]): Promise<DecisionPayload> {
  const ready = (): boolean => !x.state.suspended && Object.hasOwn(x.state.decisions, human.id);
  for (;;) {
    const next = marks[human.marks];
    if (next === undefined) await x.until(ready);
    else if (!(await readyBefore(x, ready, next.at))) {
      const early = await pass(x, args, task, human, next);
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
async function pass(x: Execution, args: HumanArguments, task: Task, human: { id: string; marks: number }, mark: Mark): Promise<DecisionPayload | null> {
  const data = { hitl_task_id: human.id };
  switch (mark.kind) {
    case 'due':
      x.journal.add(x.taskEvent(task, EVENT.hitlOverdue, 'overdue', `${task.name} is overdue`, { level: 'warn', data }));
      return null;
    case 'remind':
      x.journal.add(x.taskEvent(task, EVENT.hitlReminder, `reminder:${mark.number}`, `${task.name}: reminder ${mark.number}`, { data }));
      return null;
    case 'escalate': {
      const event = x.taskEvent(task, EVENT.hitlEscalated, `escalated:${mark.level}`, `${task.name} escalated to level ${mark.level}`, {
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
      return expire(x, args, task, human.id);
  }
}

async function expire(x: Execution, args: HumanArguments, task: Task, id: string): Promise<DecisionPayload | null> {
  const at = new Date().toISOString();
  const result = await x.journal.carry((batch) =>
    writing((activities) =>
      activities.expireHumanTask({ run_id: x.start.run_id, batch, task_id: id, event_key: `${task.ref}#${task.visit}:expired`, at }),
    ),
  );
  if (result.closed) throw new RunClosed();
  // A decision that was accepted in time: its signal is on the way and is dropped as seen when it comes.
  if (result.outcome === 'decided') return result.decision;
  const { on_expiry: onExpiry = 'fault' } = args;
  if (onExpiry === 'fault') throw fault('timeout', `Nobody decided ${task.name} in time`, task.ref);
  return { task_id: id, decision_id: '', decision: onExpiry.decision, payload: null, comment: null, decided_by: null, decided_at: at };
}

function outcome(x: Execution, task: Task, decision: DecisionPayload): Outcome {
  const { payload, comment, decided_by, decided_at } = decision;
  if (decision.decision_id !== '') {
    x.journal.add(
      x.taskEvent(task, EVENT.decisionApplied, `applied:${decision.decision_id}`, `${task.name}: ${decision.decision}`, {
        data: { hitl_task_id: decision.task_id, decision_id: decision.decision_id, decision: decision.decision, decided_by },
      }),
    );
  }
  const output = { decision: decision.decision, payload, comment, decided_by, decided_at };
  return {
    output: decision.votes === undefined ? output : { ...output, votes: decision.votes },
    data: { hitl_task_id: decision.task_id, decision: decision.decision },
  };
}

function schedule(args: HumanArguments, from: number, at: At, input: unknown): Mark[] {
  const after = (duration: unknown): number => from + toMs(duration, at, input);
  const marks: Mark[] = [
    ...(args.due === undefined ? [] : [{ kind: 'due' as const, at: after(args.due) }]),
    ...(args.remind ?? []).map((duration, i) => ({ kind: 'remind' as const, at: after(duration), number: i + 1 })),
    ...(args.escalate ?? []).map((step, i) => ({
      kind: 'escalate' as const,
      at: after(step.after),
      level: i + 1,
      to: candidates(step.to, input, at),
    })),
    ...(args.expires === undefined ? [] : [{ kind: 'expire' as const, at: after(args.expires) }]),
  ];
  // Stable: at the same moment they come in the order above; nothing comes after the expiry.
  marks.sort((a, b) => a.at - b.at);
  const end = marks.findIndex((mark) => mark.kind === 'expire');
  return end < 0 ? marks : marks.slice(0, end + 1);
}

function expiryOf(marks: Mark[]): { until?: string } {
  const expiry = marks.find((mark) => mark.kind === 'expire');
  return expiry ? { until: new Date(expiry.at).toISOString() } : {};
}

function newTask(x: Execution, args: HumanArguments, task: Task, human: { id: string }, marks: Mark[], input: unknown, at: At): NewHumanTask {
  const moment = (kind: Mark['kind']): string | null => {
    const mark = marks.find((candidate) => candidate.kind === kind);
    return mark ? new Date(mark.at).toISOString() : null;
  };
  const needsComment = new Set(args.require_comment ?? []);
  const decisions = (args.decisions ?? ['approve', 'reject']).map((decision) => (typeof decision === 'string' ? { id: decision } : decision));
  const priority = Number(resolve(args.priority ?? 50, input, at));
  if (!Number.isInteger(priority) || priority < 0 || priority > 100) throw fault('configuration', 'with.priority must be a whole number from 0 to 100', task.ref);
  const form = args.form === undefined || args.form === true ? null : args.form === false ? { not: {} } : args.form;
  const assignee = args.assignee === undefined ? null : resolve(args.assignee, input, at);
  return {
    id: human.id,
    run_id: x.start.run_id,
    task: task.ref,
    task_name: task.name,
    title: text(resolve(args.title, input, at)),
    description: args.description === undefined ? null : text(resolve(args.description, input, at)),
    subject: args.subject === undefined ? null : resolve(args.subject, input, at),
    form_schema: form,
    decisions: decisions.map(({ id, label }) => ({ id, label: label ?? id, requires_comment: needsComment.has(id) })),
    assignee: assignee === null ? null : text(assignee),
    candidates: candidates(args.candidates, input, at),
    priority,
    due_at: moment('due'),
    expires_at: moment('expire'),
    quorum: args.quorum
      ? { approvals: args.quorum.approvals ?? 1, rejections: args.quorum.rejections ?? 1, exclude_initiator: args.quorum.exclude_initiator ?? false }
      : null,
  };
}

function candidates(spec: Candidates | undefined, input: unknown, at: At): NewHumanTask['candidates'] {
  const list = (names: unknown): string[] => {
    const value = resolve(names ?? [], input, at);
    return (Array.isArray(value) ? value : [value]).filter((name) => name !== null && name !== undefined).map(text);
  };
  return { users: list(spec?.users), roles: list(spec?.roles), groups: list(spec?.groups) };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
