/**
 * Calls whose outcome comes from outside (docs/external-workers.md): the call ends with `awaits`, and then
 * the workflow waits for the signal `call.done`, or for the call's timeout. The outcome is kept beside the
 * invocation's key, once, so a signal that comes late, early or twice does no harm.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import type { AwaitedOutcome, Invoked, TakenOutcome } from '../../../contracts/activities.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { writing } from '../activities.ts';
import type { Execution, Task } from '../execution.ts';
import { DslFault, fault, RunClosed } from '../fault.ts';
import type { AwaitedFrame } from '../state.ts';
import { tellNotNeeded } from './tell-not-needed.ts';

export interface AwaitedCall {
  /** Idempotency key of the invocation. */
  key: string;
  /** Tells the agent that nobody waits any more. */
  withdraw(given: Record<string, unknown>): Promise<void>;
}

/** Makes the call, and waits for its outcome if that comes from outside. */
export async function awaitingOutcome(
  execution: Execution,
  task: Task,
  call: AwaitedCall,
  make: () => Promise<Invoked>,
): Promise<Invoked> {
  const { awaited } = task.frame;
  if (awaited) return outcome(execution, task, awaited, call);
  // The signal may come before the call has ended.
  execution.awaited.set(call.key, null);
  try {
    const invoked = await make();
    if (!invoked.awaits) return invoked;
    const frame = (task.frame.awaited = frameOf(invoked.awaits, execution.early.has(call.key)));
    execution.awaited.set(frame.key, frame);
    invoked.warnings?.forEach((warning, i) => execution.warn(task, warning, i));
    logAwaited(execution, task, frame);
    return await outcome(execution, task, frame, call);
  } finally {
    execution.early.delete(call.key);
    execution.awaited.delete(call.key);
  }
}

function frameOf({ key, until, withdraw }: AwaitedOutcome, done: boolean): AwaitedFrame {
  return {
    key,
    until: Date.parse(until),
    ...(done ? { done } : {}),
    ...(withdraw === undefined ? {} : { withdraw }),
  };
}

async function outcome(
  execution: Execution,
  task: Task,
  frame: AwaitedFrame,
  call: AwaitedCall,
): Promise<Invoked> {
  try {
    return await settled(execution, task, frame);
  } catch (error) {
    if (isCancellation(error)) {
      await CancellationScope.nonCancellable(async () => {
        await take(execution, task, frame, 'cancelled');
        await withdraw(execution, task, frame, call);
      });
    } else if (error instanceof TimedOut) await withdraw(execution, task, frame, call);
    throw error;
  } finally {
    execution.awaited.delete(frame.key);
  }
}

/** Nobody has stored an outcome in time. */
class TimedOut extends DslFault {}

async function settled(execution: Execution, task: Task, frame: AwaitedFrame): Promise<Invoked> {
  const ready = (): boolean => !execution.state.suspended && frame.done === true;
  for (;;) {
    const left = frame.until - Date.now();
    const inTime = left > 0 ? await execution.until(ready, left) : ready();
    const { result, error, spent } = await take(execution, task, frame, inTime ? undefined : 'timeout');
    execution.recorded(task);
    if (result) return result;
    const failure = error && { ...error, instance: task.ref };
    if (failure) throw inTime ? new DslFault(failure, spent) : new TimedOut(failure, spent);
    if (!inTime) throw fault('runtime', 'The outcome of the call is gone', task.ref);
    delete frame.done;
  }
}

async function take(
  execution: Execution,
  task: Task,
  { key }: AwaitedFrame,
  end?: 'timeout' | 'cancelled',
): Promise<Pick<TakenOutcome, 'result' | 'error' | 'spent'>> {
  const request = { run_id: execution.start.run_id, key, ...(end === undefined ? {} : { end }) };
  const { closed, ...taken } = await execution.journal.carry({ strand: task.env.strand }, (batch) =>
    writing((activities) => activities.takeOutcome({ ...request, batch })),
  );
  if (closed) throw new RunClosed();
  return taken;
}

async function withdraw(
  execution: Execution,
  task: Task,
  frame: AwaitedFrame,
  call: AwaitedCall,
): Promise<void> {
  const { withdraw: what } = frame;
  if (what) await tellNotNeeded(execution, task, () => call.withdraw(what));
}

function logAwaited(execution: Execution, task: Task, { until }: AwaitedFrame): void {
  execution.journal.add(
    execution.taskEvent(task, EVENT.jobCreated, 'job-created', LOG_TEXT.jobCreated(task.name), {
      data: { until: new Date(until).toISOString() },
    }),
  );
}
