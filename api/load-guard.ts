/**
 * Back-pressure: this process refuses work before it runs out of memory, or of time. It first ends streams,
 * which their clients continue later, and takes no large bodies; then it refuses all but health checks. A
 * refused request costs next to nothing, and its client may try another copy.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Middleware } from 'koa';

import type { Logger } from '../config/logger.ts';
import { halfOfMemoryMib } from '../config/memory.ts';
import { AppError } from '../domain/errors.ts';

/** `strained`: no new streams and large bodies; `overloaded`: nothing but health checks. */
export type Load = 'ok' | 'strained' | 'overloaded';

/** Parts of the memory that the process may hold. It recovers a little below, so that it does not flutter. */
const STRAINED_FROM = 0.75;
const OVERLOADED_FROM = 0.85;
const RECOVERED_BELOW = 0.7;
const MEASURE_MS = 250;
/** Between two collections of garbage that are forced to know what is really held. */
const COLLECT_MS = 10_000;
/** Of the open streams, at each measurement. */
const ENDED_PART = 0.25;
/** Bodies from this size on wait for better times. */
const LARGE_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;
const MIB = 1024 * 1024;

const PROBES = /^(?:\/api\/v1)?\/(?:healthz|readyz|metrics)$/;

/** The code of refusals, which are not logged one by one. */
export const OVERLOADED = 'overloaded';

export interface Measured {
  /** Part of the memory that the process may hold; 1 is all. */
  memory: number;
  /** By how much a timer was late: how long requests wait for this process. */
  lateMs: number;
}

/** Judges measurements; `maxLateMs` 0 means any. Time counts only if two in a row are late. */
export class LoadMeter {
  readonly #maxLateMs: number;
  #isLate = false;
  #load: Load = 'ok';

  constructor(maxLateMs: number) {
    this.#maxLateMs = maxLateMs;
  }

  get load(): Load {
    return this.#load;
  }

  add({ memory, lateMs }: Measured): Load {
    const isLate = this.#maxLateMs > 0 && lateMs >= this.#maxLateMs;
    if (memory >= OVERLOADED_FROM || (isLate && this.#isLate)) this.#load = 'overloaded';
    else if (memory >= STRAINED_FROM) this.#load = 'strained';
    else if (memory < RECOVERED_BELOW && !isLate) this.#load = 'ok';
    // Else who refuses everything would never do so little that it recovers.
    else if (this.#load === 'overloaded' && !isLate) this.#load = 'strained';
    this.#isLate = isLate;
    return this.#load;
  }
}

export interface LoadGuard {
  readonly load: Load;
  /** @throws 503 `overloaded` with `Retry-After` */
  check(): void;
  /** The same for a body of this size so far. @throws 503 `overloaded` */
  checkBody(bytes: number): void;
  middleware: Middleware;
  stop(): void;
}

export interface LoadGuardOptions {
  logger: Logger;
  /** What heap and buffers may hold; default: half of what the machine or container has. */
  memoryMib: number | undefined;
  maxLateMs: number;
  /** Ends this part of the open streams, the oldest first. */
  endStreams: (part: number) => void;
}

/** For processes that nobody overloads, and that share their memory with others, as tests do. */
export const NO_GUARD: LoadGuard = {
  load: 'ok',
  check: () => {},
  checkBody: () => {},
  middleware: (_ctx, next) => next(),
  stop: () => {},
};

export function createLoadGuard({ logger, memoryMib, maxLateMs, endStreams }: LoadGuardOptions): LoadGuard {
  const meter = new LoadMeter(maxLateMs);
  const memory = createMemoryGauge((memoryMib ?? halfOfMemoryMib()) * MIB);
  let dueMs = performance.now() + MEASURE_MS;
  const timer = setInterval(() => {
    const before = meter.load;
    const lateMs = Math.max(0, performance.now() - dueMs);
    const measured = { memory: memory(before === 'ok' ? STRAINED_FROM : RECOVERED_BELOW), lateMs };
    dueMs = performance.now() + MEASURE_MS;
    const load = meter.add(measured);
    if (load !== before)
      logger[load === 'ok' ? 'info' : 'warn'](
        { load, memory_part: measured.memory, late_ms: lateMs },
        'load',
      );
    if (load !== 'ok' && measured.memory >= STRAINED_FROM) endStreams(ENDED_PART);
  }, MEASURE_MS);
  timer.unref();
  const checkBody = (bytes: number): void => {
    if (meter.load === 'overloaded' || (meter.load === 'strained' && bytes >= LARGE_BYTES))
      throw overloaded();
  };
  return {
    get load() {
      return meter.load;
    },
    check() {
      if (meter.load === 'overloaded') throw overloaded();
    },
    checkBody,
    middleware: (ctx, next) => {
      if (meter.load === 'ok' || PROBES.test(ctx.path)) return next();
      checkBody(ctx.get('transfer-encoding') === '' ? Number(ctx.get('content-length')) : Infinity);
      return next();
    },
    stop: () => clearInterval(timer),
  };
}

/** The refusal of work for which there is no room now. */
export function overloaded(): AppError {
  return new AppError('unavailable', OVERLOADED, 'This copy of the API has too much to do. Try again soon.', {
    headers: { 'Retry-After': String(RETRY_SECONDS) },
  });
}

/**
 * The part of the memory that is held: of the heap that V8 allows, and of all with buffers outside it. V8
 * collects garbage when it needs room, so much of a full heap may be garbage: near the limit it is collected
 * before anybody is refused, every ten seconds at most. A process that takes little makes no garbage either,
 * so it is also collected to see whether the process has recovered: the caller says from which part on.
 */
function createMemoryGauge(maxBytes: number): (collectFrom: number) => number {
  let collectedMs = -COLLECT_MS;
  return (collectFrom) => {
    const part = heldPart(maxBytes);
    if (part < collectFrom || performance.now() - collectedMs < COLLECT_MS) return part;
    collectGarbage();
    collectedMs = performance.now();
    return heldPart(maxBytes);
  };
}

function heldPart(maxBytes: number): number {
  const heap = getHeapStatistics();
  const held = heap.used_heap_size + heap.external_memory;
  return Math.max(heap.used_heap_size / heap.heap_size_limit, held / maxBytes);
}

/** V8 has the function only in contexts that are made after the flag was set. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect === 'function') collect();
}
