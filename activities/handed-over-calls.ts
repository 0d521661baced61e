/**
 * Short calls that take longer than the others. Such a call goes on in this process after its local activity
 * has ended, so that the run's workflow task is free; an ordinary activity on the process's own task queue
 * waits for it (docs/adr/0030).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { FAILURE, type InvocationRef, type Invoked } from '../contracts/activities.ts';
import { invocationKey } from '../contracts/invocation-key.ts';

/** As many as a worker makes ordinary calls at once. */
export const MAX_HANDED_OVER = 200;
/** How long a call that has ended waits for its activity. Its outcome is in the database by then. */
const KEPT_MS = 60_000;

type ShortCallInput = InvocationRef & { run_id: string };

export interface HandedOverCalls {
  /** The task queue of this process; null: calls are not handed over here. */
  readonly queue: string | null;
  readonly isFull: boolean;
  /**
   * Runs a call. @throws ApplicationFailure (`handedOver`, with the queue) once the call has taken longer
   * than its `hand_over_ms`; the call goes on
   */
  run(input: ShortCallInput, work: () => Promise<Invoked>): Promise<Invoked>;
  /** Waits for a call that was handed over. @throws ApplicationFailure (`gone`) if it is not here */
  follow(key: string, context: Context): Promise<Invoked>;
  /** Calls are handed over only while activities of the queue are taken. */
  isOpen: boolean;
}

export function createHandedOverCalls(taskQueue: string | null): HandedOverCalls {
  const queue = taskQueue === null ? null : `${taskQueue}:${randomUUID()}`;
  const calls = new Map<string, HandedOver>();
  const isFull = (): boolean => calls.size >= MAX_HANDED_OVER;
  const handedOver: HandedOverCalls = {
    queue,
    isOpen: false,
    get isFull() {
      return isFull();
    },
    async run(input, work) {
      if (!input.short) return work();
      const afterMs = input.short.hand_over_ms;
      if (queue === null || afterMs === undefined) return timed(work);
      const key = invocationKey(input.run_id, input);
      const call = new HandedOver(afterMs, () => handedOver.isOpen && !isFull() && !calls.has(key));
      const outcome = current.run(call, work);
      const leaving = call.left.then(() => {
        calls.set(key, call);
        call.outcome = outcome;
        const forget = (): void => void (calls.get(key) === call && calls.delete(key));
        outcome.catch(() => {}).finally(() => setTimeout(forget, KEPT_MS).unref());
        throw failure(FAILURE.handedOver, 'The call takes longer and goes on outside of the task', queue);
      });
      return timed(() => Promise.race([outcome, leaving]));
    },
    async follow(key, context) {
      const call = calls.get(key);
      if (!call?.outcome) throw failure(FAILURE.gone, 'The call is not made in this process any more');
      call.followBy(context);
      try {
        return await call.outcome;
      } finally {
        calls.delete(key);
      }
    },
  };
  return handedOver;
}

async function timed(work: () => Promise<Invoked>): Promise<Invoked> {
  const begun = performance.now();
  const result = await work();
  return { ...result, took_ms: Math.max(1, Math.ceil(performance.now() - begun)) };
}

const current = new AsyncLocalStorage<HandedOver>();

/** The call that is being made, if it may be handed over. */
export function currentHandOver(): HandOver | undefined {
  return current.getStore();
}

/** A call that may be handed over. */
export interface HandOver {
  readonly isHandedOver: boolean;
  /** Aborted when the activity that follows the call is cancelled. */
  readonly signal: AbortSignal;
  /** Of the activity that follows the call. */
  readonly context: Context | null;
  /** The counterpart is called: from now on the call may be handed over, and then `onHandOver` is called. */
  begin(onHandOver: () => void): void;
  /** The counterpart has answered. */
  end(): void;
}

class HandedOver implements HandOver {
  readonly left: Promise<void>;
  outcome: Promise<Invoked> | null = null;
  readonly #afterMs: number;
  readonly #isAllowed: () => boolean;
  readonly #ending = new AbortController();
  #leave: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #context: Context | null = null;
  #isHandedOver = false;

  constructor(afterMs: number, isAllowed: () => boolean) {
    this.#afterMs = afterMs;
    this.#isAllowed = isAllowed;
    this.left = new Promise((resolve) => (this.#leave = resolve));
  }

  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  get context(): Context | null {
    return this.#context;
  }

  begin(onHandOver: () => void): void {
    this.#timer = setTimeout(() => {
      if (!this.#isAllowed()) return;
      this.#isHandedOver = true;
      onHandOver();
      this.#leave();
    }, this.#afterMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  followBy(context: Context): void {
    this.#context = context;
    const { cancellationSignal: signal } = context;
    const abort = (): void => this.#ending.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }
}

/** Of a short call that ends without an outcome: Temporal does not repeat it, the run goes on another way. */
export function failure(type: string, message: string, ...details: unknown[]): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message,
    details,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
}
