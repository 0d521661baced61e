/**
 * Calls that were begun while Temporal recorded the workflow task that schedules them (docs/adr/0075). The
 * activity takes what the statement said, if it starts in the same process, as eager activities do.
 */
import type { Begun } from '../domain/runs/invocations.ts';

export interface CallAhead {
  /** Of the call's input. */
  digest: string;
  /** The workflow task: when it was started, as `ahead_ms` of the call. */
  aheadMs: number;
  /** By the clock of `performance.now()`. */
  beganAt: number;
  begun: Promise<Begun>;
}

/** As many as activities run at once. */
const MAX_WAITING = 200;
/** Temporal gives up a workflow task after this time; then no activity follows. */
const KEEP_MS = 10_000;
/** After so many calls in a row that this process did not get, for so long none is begun ahead. */
const MISSES = 8;
const REST_MS = 60_000;

export class CallsAhead {
  readonly #waiting = new Map<string, { call: CallAhead; timer: NodeJS.Timeout }>();
  #missed = 0;
  #restsUntil = 0;

  /** Whether it is worth while to begin another one. */
  get isOpen(): boolean {
    return this.#waiting.size < MAX_WAITING && performance.now() >= this.#restsUntil;
  }

  add(key: string, call: CallAhead): void {
    // Whoever makes the call begins it again, and fails with the same error.
    call.begun.catch(() => {});
    this.#remove(key);
    this.#waiting.set(key, { call, timer: setTimeout(() => this.#miss(key), KEEP_MS).unref() });
  }

  /** For the first attempt of the activity that this workflow task has scheduled. */
  take(key: string, digest: string, aheadMs: number): CallAhead | null {
    const call = this.#remove(key);
    if (call?.digest !== digest || call.aheadMs !== aheadMs) return null;
    this.#missed = 0;
    return call;
  }

  #remove(key: string): CallAhead | undefined {
    const waiting = this.#waiting.get(key);
    clearTimeout(waiting?.timer);
    this.#waiting.delete(key);
    return waiting?.call;
  }

  #miss(key: string): void {
    this.#remove(key);
    if (++this.#missed < MISSES) return;
    this.#missed = 0;
    this.#restsUntil = performance.now() + REST_MS;
  }
}
