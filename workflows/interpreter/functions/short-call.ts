/**
 * Makes a call as a local activity, if the rules of short calls allow it (docs/adr/0030). One that takes
 * longer is handed over: an ordinary activity waits for it.
 */
import { ActivityFailure, TemporalFailure } from '@temporalio/common';
import { CancellationScope, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import { FAILURE, type InvocationRef, type Invoked, type ShortCall } from '../../../contracts/activities.ts';
import type { EventBatch } from '../../../contracts/run-events.ts';
import { resolveCallee } from '../../../language/definition/call-function.ts';
import type {
  AgentArguments,
  HttpArguments,
  Task as TaskDefinition,
} from '../../../language/definition/model.ts';
import { callingShortly, following } from '../activities.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { failureOfActivity, faultOfActivity, handedOverTo, isRunClosed } from '../fault.ts';
import { timeoutMs, withTaskDeadline } from '../run-task.ts';
import { sizeOf } from '../size.ts';
import { agentRequest, agentTimeoutMs } from './agent.ts';
import { HTTP_TIMEOUT_MS, httpRequest } from './http.ts';
import { outcomeOf } from './invoke.ts';

const MAX_INPUT = 64 * 1024;
/** How long an interrupted call waits for the command that interrupted it. */
const COMMAND_MS = 10_000;

interface Call {
  request: InvocationRef & { run_id: string; timeout_ms: number };
  summary: string;
  run: (batch: EventBatch, short: ShortCall, limitMs: number) => Promise<Invoked>;
}

/**
 * Null if it has to be an ordinary call, or to become one: the worker was too busy, or something of ours
 * failed.
 */
export function shortCall(
  execution: Execution,
  definition: TaskDefinition,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome | null> | null {
  if (!('call' in definition) || !execution.mayCallShortly(task)) return null;
  const callee = resolveCallee(definition.call, execution.definition.use?.functions);
  if (callee?.kind !== 'builtin') return null;
  // Validation has checked the shape of `with` for this function.
  const args = definition.with ?? {};
  const ownMs = definition.timeout === undefined ? null : timeoutMs(execution, definition.timeout, at);
  const { shortCalls } = execution;
  const fits = (callMs: number): boolean => shortCalls.fits(Math.min(callMs, ownMs ?? callMs));
  let call: Call | null = null;
  if (callee.name === 'http' && fits(HTTP_TIMEOUT_MS)) {
    call = httpCall(execution, args as unknown as HttpArguments, task, input, at);
  } else if (callee.name === 'agent') {
    const agentArgs = args as unknown as AgentArguments;
    if (shortCalls.knows(agentArgs.agent, agentArgs.version) && fits(agentTimeoutMs(agentArgs, input, at)))
      call = agentCall(execution, agentArgs, task, input, at);
  }
  // The expressions of the call may have read the clock.
  if (!call || !execution.mayCallShortly(task) || sizeOf(call.request) > MAX_INPUT) return null;
  return callNow(execution, task, call, ownMs);
}

function httpCall(execution: Execution, args: HttpArguments, task: Task, input: unknown, at: At): Call {
  const request = httpRequest(execution, args, task, input, at);
  const summary = `${task.name}: http`;
  return {
    request,
    summary,
    run: (batch, short, limitMs) => callingShortly(limitMs, summary).callHttp({ ...request, batch, short }),
  };
}

function agentCall(execution: Execution, args: AgentArguments, task: Task, input: unknown, at: At): Call {
  const request = agentRequest(execution, args, task, input, at);
  const summary = `${task.name}: agent`;
  return {
    request,
    summary,
    run: (batch, short, limitMs) =>
      callingShortly(limitMs, summary).invokeAgent({ ...request, batch, short }),
  };
}

async function callNow(
  execution: Execution,
  task: Task,
  call: Call,
  ownMs: number | null,
): Promise<Outcome | null> {
  const { timeout_ms: callMs } = call.request;
  // Of an earlier execution: how much of it is left depends on the clock.
  if (task.frame.deadline !== undefined && !execution.shortCalls.usesClock) return null;
  const short = shortOf(execution, task, ownMs);
  const limitMs = Math.min(callMs, short.deadline?.left_ms ?? callMs);
  if (limitMs <= 0) return null;
  execution.shortCalls.began();
  try {
    const carried = { strand: task.env.strand, call: true, input: call.request };
    const result = await execution.journal.carry(carried, (batch) => call.run(batch, short, limitMs));
    execution.shortCalls.took(result.took_ms);
    return finalOutcome(execution, task, result);
  } catch (error) {
    execution.shortCalls.took(undefined);
    const queue = handedOverTo(error);
    if (queue !== null) return follow(execution, task, call, queue);
    await rethrowKnown(error, task);
    return null;
  }
}

/**
 * Null if more has to follow, such as a question about a budget: the ordinary call finds the same result, and
 * goes on with it.
 */
function finalOutcome(execution: Execution, task: Task, result: Invoked): Outcome | null {
  const { ask, awaits, child, loop, process } = result;
  return (ask ?? awaits ?? child ?? loop ?? process) ? null : outcomeOf(execution, task, result);
}

/** The activity watches the task's own timeout, with the words of an ordinary call. */
function shortOf({ shortCalls }: Execution, { frame }: Task, ownMs: number | null): ShortCall {
  const { historyLength, unsafe } = workflowInfo();
  const { handOverMs } = shortCalls;
  const short: ShortCall = {
    // Inputs of local activities are not recorded, so they may tell of a replay.
    workflow_task: { started_ms: shortCalls.taskStartedMs(historyLength), replayed: unsafe.isReplaying },
    ...(handOverMs === undefined ? {} : { hand_over_ms: handOverMs }),
  };
  if (ownMs === null) return short;
  frame.deadline ??= Date.now() + ownMs;
  const { deadline } = frame;
  short.deadline = { at: new Date(deadline).toISOString(), left_ms: deadline - Date.now() };
  return short;
}

/** Waits for the call where it goes on. */
async function follow(
  execution: Execution,
  task: Task,
  { request, summary }: Call,
  queue: string,
): Promise<Outcome | null> {
  const { run_id, task: ref, name, visit, attempt, timeout_ms: timeoutMs } = request;
  const { followCall } = following(queue, timeoutMs, summary);
  const wait = (): Promise<Invoked> =>
    execution.journal.carry({ strand: task.env.strand, call: true }, (batch) =>
      followCall({ run_id, task: ref, name, visit, attempt, batch }),
    );
  const { deadline } = task.frame;
  try {
    const result = await (deadline === undefined ? wait() : withTaskDeadline(task, deadline, wait));
    execution.recorded(task);
    return finalOutcome(execution, task, result);
  } catch (error) {
    execution.recorded(task);
    if (isCancellation(error)) throw error;
    const known = faultOfActivity(error, task.ref);
    if (known) throw known;
    if (isRunClosed(error) || !(error instanceof ActivityFailure)) throw error;
    // The process was lost, or it stops: an ordinary call follows, which finds the outcome or repeats the
    // call.
    return null;
  }
}

/** Returns if an ordinary call has to follow. */
async function rethrowKnown(error: unknown, task: Task): Promise<void> {
  // A worker that stops cancels its local activities, although nobody has cancelled the run.
  if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
  if (isRunClosed(error)) throw error;
  const known = faultOfActivity(error, task.ref);
  if (known) throw known;
  // Any other error fails the workflow task. Its repetition finds the stored outcome.
  if (isOtherOutcome(error)) throw new Error('Another worker has stored another outcome of an earlier call');
  if (!(error instanceof TemporalFailure)) throw error;
  // The command is a row that is sent until this run has it. It cancels this scope.
  if (failureOfActivity(error)?.type === FAILURE.interrupted) await sleep(COMMAND_MS);
}

export function isOtherOutcome(error: unknown): boolean {
  return failureOfActivity(error)?.type === FAILURE.conflict;
}
