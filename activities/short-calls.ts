/**
 * Short calls are local activities: they run within a workflow task, so they bound themselves what Temporal
 * bounds for others (docs/adr/0030).
 */
import { FAILURE, type InvocationRef } from '../contracts/activities.ts';
import { fault } from '../contracts/fault.ts';
import { timeoutText } from '../contracts/timeout-text.ts';
import {
  createHandedOverCalls,
  currentHandOver,
  failure,
  type HandedOverCalls,
} from './handed-over-calls.ts';

/** Each holds the workflow task of its run. */
const MAX_AT_ONCE = 32;
/** How often a call that takes longer looks whether its run is to be cancelled. */
const LOOK_MS = 200;

/** The short calls of this process. */
export interface ShortCalls {
  readonly count: number;
  /** @throws ApplicationFailure (`busy`) at the limit; the run then makes an ordinary call */
  begin(): void;
  end(): void;
  readonly handedOver: HandedOverCalls;
  /** Called whenever `count` grows. */
  onBegin: (() => void) | null;
}

/** `taskQueue`: of the worker that also follows calls which were handed over; null: they are not. */
export function createShortCalls(taskQueue: string | null = null): ShortCalls {
  const handedOver = createHandedOverCalls(taskQueue);
  let count = 0;
  return {
    handedOver,
    onBegin: null,
    get count() {
      return count;
    },
    begin() {
      if (count >= MAX_AT_ONCE || handedOver.isFull)
        throw failure(FAILURE.busy, 'This worker makes too many short calls at once');
      count++;
      this.onBegin?.();
    },
    end() {
      count--;
    },
  };
}

/**
 * Makes a short call; any other just runs. Ends it at the task's deadline, which no timer of the workflow
 * watches, and when the run is to be cancelled, which the workflow learns only after its task.
 * `isToBeCancelled` is asked now and then, until the call is handed over.
 */
export async function bounded<T>(
  { short, name }: Pick<InvocationRef, 'short' | 'name'>,
  signal: AbortSignal,
  { isToBeCancelled, onHandOver }: { isToBeCancelled: () => Promise<boolean>; onHandOver: () => void },
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!short) return call(signal);
  const ending = new AbortController();
  let why: Error | null = null;
  const end = (reason: Error): void => {
    why ??= reason;
    ending.abort(reason);
  };
  const { deadline } = short;
  const timer =
    deadline &&
    setTimeout(() => end(fault('timeout', timeoutText(name, deadline.at))), Math.max(1, deadline.left_ms));
  const look = setInterval(() => {
    // Without an answer the call just goes on.
    void isToBeCancelled().then(
      (cancel) => cancel && end(failure(FAILURE.interrupted, 'The run is to be cancelled')),
      () => {},
    );
  }, LOOK_MS);
  const handOver = currentHandOver();
  handOver?.begin(() => {
    clearInterval(look);
    onHandOver();
  });
  try {
    return await call(AbortSignal.any([signal, ending.signal]));
  } catch (error) {
    throw why ?? error;
  } finally {
    handOver?.end();
    clearTimeout(timer);
    clearInterval(look);
  }
}
