/** Applies signals to a run. Each arrives at least once; a repeated one is only acknowledged again. */
import { LOG_TEXT } from '../contracts/log-texts.ts';
import { EVENT } from '../contracts/run-events.ts';
import type { RunSignal } from '../contracts/temporal.ts';
import type { Execution } from './interpreter/execution.ts';
import { openTasks } from './interpreter/state.ts';
import { receiveEvents } from './interpreter/taken-events.ts';

/** Repeats arrive within minutes, so more ids than this need not be remembered. */
const MAX_REMEMBERED = 1_000;

/** Every kind of signal, and whether it is a command of a person. */
const IS_COMMAND: Readonly<Record<RunSignal['kind'], boolean>> = {
  'hitl.decision': false,
  'child.done': false,
  'child.waiting': false,
  events: false,
  'call.done': false,
  renew: false,
  cancel: true,
  suspend: true,
  resume: true,
};

type Decision = Extract<RunSignal, { kind: 'hitl.decision' }>;
type ChildDone = Extract<RunSignal, { kind: 'child.done' }>;
type ChildWaiting = Extract<RunSignal, { kind: 'child.waiting' }>;
type Command = Extract<RunSignal, { by: string | null }>;

/** @returns false for anything but a signal to this run; it is ignored */
export function receive(execution: Execution, received: unknown, cancel: () => void): boolean {
  if (!isSignalOf(execution.start.run_id, received)) return false;
  execution.journal.ack(received.id);
  if (!isRepeated(execution, received)) apply(execution, received, cancel);
  return true;
}

/** Remembers the signal, too. */
function isRepeated({ state }: Execution, { id, kind }: RunSignal): boolean {
  if (state.seen.includes(id) || state.commands?.includes(id)) return true;
  // Remembered separately, so that many decisions cannot push out the id of a suspend, which a repeat would
  // then apply again.
  const remembered = IS_COMMAND[kind] ? (state.commands ??= []) : state.seen;
  remembered.push(id);
  if (remembered.length > MAX_REMEMBERED) remembered.shift();
  return false;
}

function apply(execution: Execution, signal: RunSignal, cancel: () => void): void {
  switch (signal.kind) {
    case 'hitl.decision':
      return applyDecision(execution, signal);
    case 'child.done':
      return applyChildDone(execution, signal);
    case 'child.waiting':
      return applyChildWaiting(execution, signal);
    case 'events': {
      const listen = execution.listening.get(signal.listener_id);
      if (listen) receiveEvents(listen, signal.taken);
      return;
    }
    case 'call.done': {
      const awaited = execution.awaited.get(signal.key);
      if (awaited) awaited.done = true;
      else {
        if (awaited === null) execution.early.add(signal.key);
        execution.noteWake(signal.key);
      }
      return;
    }
    case 'renew':
      return execution.renew();
    case 'cancel':
      logCancelRequest(execution, signal);
      return cancel();
    case 'suspend':
      return suspend(execution, signal);
    case 'resume':
      return resume(execution, signal);
  }
}

function applyDecision(execution: Execution, signal: Decision): void {
  const { id, kind: _kind, run_id: _run, ...decision } = signal;
  if (execution.asked.has(decision.task_id)) execution.state.decisions[decision.task_id] = decision;
  else execution.noteUnasked(decision);
  execution.journal.add(
    execution.event(EVENT.decisionReceived, `decision:${id}`, LOG_TEXT.decisionReceived(decision.decision), {
      data: {
        hitl_task_id: decision.task_id,
        decision_id: decision.decision_id,
        decision: decision.decision,
      },
    }),
  );
}

function applyChildDone(execution: Execution, signal: ChildDone): void {
  const { id: _id, kind: _kind, run_id: _run, ...done } = signal;
  // No task waits for a child that was started with `await: false`.
  if (execution.children.has(done.child_run_id)) execution.state.children[done.child_run_id] = done;
  execution.journal.add(
    execution.event(
      EVENT.childDone,
      `child:${done.child_run_id}`,
      LOG_TEXT.childDone(done.child_run_id, done.status),
      {
        level: done.status === 'completed' ? 'info' : 'warn',
        data: { child_run_id: done.child_run_id, status: done.status },
      },
    ),
  );
}

/** The counter drops a report that a newer one has overtaken. */
function applyChildWaiting(execution: Execution, { child_run_id, counter, waiting_on }: ChildWaiting): void {
  const child = execution.children.get(child_run_id);
  if (!child || counter <= child.waiting_counter) return;
  child.waiting_counter = counter;
  child.waiting_on.splice(0, child.waiting_on.length, ...waiting_on);
}

function logCancelRequest(execution: Execution, { id, by, reason }: Command): void {
  execution.journal.add(
    execution.event(EVENT.cancelRequested, `cancel:${id}`, LOG_TEXT.cancelRequested.byUser(reason), {
      level: 'warn',
      data: { by },
    }),
  );
}

function suspend(execution: Execution, { id, by, at }: Command): void {
  const { state, qualifiedName: name } = execution;
  if (state.suspended || isOvertaken(execution, id)) return;
  state.suspended = true;
  execution.journal.add(
    execution.event(EVENT.runSuspended, `suspend:${id}`, LOG_TEXT.runSuspended(), {
      data: { name, suspendedAt: at, by, tasks: openTasks(state.root) },
    }),
  );
}

/**
 * Ids of commands grow with time. An older one that comes late, or again after more commands than are
 * remembered, does not undo a newer one.
 */
function isOvertaken({ state }: Execution, id: string): boolean {
  return state.commands?.some((other) => other > id) ?? false;
}

function resume(execution: Execution, { id, by, at }: Command): void {
  const { state, qualifiedName: name } = execution;
  if (!state.suspended || isOvertaken(execution, id)) return;
  state.suspended = false;
  execution.journal.add(
    execution.event(EVENT.runResumed, `resume:${id}`, LOG_TEXT.runResumed(), {
      data: { name, resumedAt: at, by, tasks: openTasks(state.root) },
    }),
  );
}

/** The content is trusted: only the holder of a key can have encrypted it (temporal/payload-codec.ts). */
function isSignalOf(runId: string, received: unknown): received is RunSignal {
  if (typeof received !== 'object' || received === null) return false;
  const { id, run_id: addressee, kind } = received as Partial<RunSignal>;
  return (
    typeof id === 'string' &&
    addressee === runId &&
    typeof kind === 'string' &&
    Object.hasOwn(IS_COMMAND, kind)
  );
}
