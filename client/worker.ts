/** An external worker: pulls jobs of agents, keeps them while they are worked on, and ends them. */
import type { Answer, Client } from './client.ts';
import type { JobUsage } from './operations.ts';
import { ApiError, isRefusal } from './problem.ts';

export type Job = Answer<'pollJobs'>[number];

export interface JobContext {
  /** Aborted when nobody waits for the job any more, or when it is another worker's. */
  signal: AbortSignal;
  /** Tells those who follow the run: a text, or percent. */
  progress(said: string | number): void;
  /** States what the job uses, for budgets and usage, even if it fails. The last statement counts. */
  used(usage: JobUsage): void;
}

export interface WorkerOptions {
  /** With a token of the worker, or of somebody who may change the agents. */
  client: Client;
  /** Ids of the agents. */
  agents: readonly string[];
  /** Returns the output. An error hands the job out again, unless it is a `JobError` that says otherwise. */
  handler: (job: Job, context: JobContext) => unknown;
  /** Jobs of each agent at once. Default: 1. */
  concurrency?: number;
  /** Only jobs of this queue. */
  queue?: string;
  /** Name of this worker, for people. */
  name?: string;
  /** Told of what is tried again: the server cannot be reached, a job was lost. */
  onProblem?: (problem: unknown, job?: Job) => void;
  /** Told of each job that the server has taken back. */
  onEnd?: (end: JobEnd) => void;
}

export interface JobEnd {
  job: Job;
  tookMs: number;
  /** Why it failed; absent if it was completed. */
  error?: unknown;
}

export interface Worker {
  /** Takes no more jobs; resolves when those under way have ended. */
  stop(): Promise<void>;
  /** Resolves when the worker has stopped; rejects if the server refuses it, such as with a revoked token. */
  done: Promise<void>;
}

/** Fails a job with an error of its own. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly failure: { type?: string; title?: string; status?: number; retry?: boolean };

  constructor(
    detail: string,
    failure: { type?: string; title?: string; status?: number; retry?: boolean } = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.failure = failure;
  }
}

/** The most jobs that the server hands out at once. */
const MAX_POLLED = 10;
const WAIT_SECONDS = 30;
/** A request without an answer by then is tried again: its connection may be dead. */
const POLL_TIMEOUT_MS = (WAIT_SECONDS + 30) * 1_000;
const BEAT_TIMEOUT_MS = 15_000;
const END_TIMEOUT_MS = 120_000;
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 30_000;
const SHORTEST_BEAT_MS = 1_000;
const LONGEST_BEAT_MS = 10_000;
const MAX_DETAIL = 2_000;

export function createWorker(options: WorkerOptions): Worker {
  const stopping = new AbortController();
  const loops = options.agents.map((agent) => serve(options, agent, stopping.signal));
  const done = Promise.all(loops)
    .then(() => {})
    .finally(() => stopping.abort());
  return {
    done,
    async stop() {
      stopping.abort();
      await Promise.allSettled(loops);
    },
  };
}

/** Pulls the jobs of one agent until `stopped` is aborted; ends with the last of them. */
async function serve(options: WorkerOptions, agent: string, stopped: AbortSignal): Promise<void> {
  const { client, concurrency = 1, queue, name } = options;
  const underWay = new Set<Promise<void>>();
  let pauseMs = FIRST_PAUSE_MS;
  try {
    while (!stopped.aborted) {
      if (underWay.size >= concurrency) {
        await unlessAborted(stopped, Promise.race(underWay));
        continue;
      }
      const body = {
        max: Math.min(MAX_POLLED, concurrency - underWay.size),
        wait_seconds: WAIT_SECONDS,
        ...(queue === undefined ? {} : { queue }),
        ...(name === undefined ? {} : { worker: name }),
      };
      try {
        const jobs = await within(POLL_TIMEOUT_MS, stopped, (signal) =>
          client.call('pollJobs', { path: { id: agent }, body, signal }),
        );
        pauseMs = FIRST_PAUSE_MS;
        for (const job of jobs) {
          const work = workOn(options, job).finally(() => underWay.delete(work));
          underWay.add(work);
        }
      } catch (error) {
        if (stopped.aborted) break;
        if (isRefusal(error)) throw error;
        options.onProblem?.(error);
        await pause(pauseMs, stopped);
        pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2);
      }
    }
  } finally {
    await Promise.all(underWay);
  }
}

async function workOn(options: WorkerOptions, job: Job): Promise<void> {
  const { client, handler, onProblem } = options;
  const startMs = Date.now();
  const ended = new AbortController();
  const keeping = keep(client, job, ended, onProblem);
  const said: { usage?: JobUsage } = {};
  const used = (usage: JobUsage): void => void (said.usage = usage);
  const context = { signal: ended.signal, progress: keeping.progress, used };
  const work = async (): Promise<Ending> => {
    try {
      return { output: (await handler(job, context)) ?? null };
    } catch (error) {
      return { error };
    }
  };
  try {
    const ending = await work();
    const taken = await end(options, job, ended.signal, { ...ending, ...said });
    if (taken === null) return;
    const failure = 'error' in taken ? { error: taken.error } : {};
    options.onEnd?.({ job, tookMs: Date.now() - startMs, ...failure });
  } finally {
    keeping.stop();
  }
}

/** Sends heartbeats. Aborts `ended` if the job is lost or cancelled. */
function keep(
  client: Client,
  job: Job,
  ended: AbortController,
  onProblem: WorkerOptions['onProblem'],
): { progress: (said: string | number) => void; stop: () => void } {
  // Not by `lease_expires_at`: the clock of this machine may be wrong.
  const leaseMs = job.lease_seconds * 1_000;
  const everyMs = Math.max(SHORTEST_BEAT_MS, Math.min(LONGEST_BEAT_MS, leaseMs / 3));
  let said: string | number | undefined;
  let beating: Promise<void> | null = null;
  const beat = async (): Promise<void> => {
    const progress = said;
    said = undefined;
    const body = { attempt: job.attempt, ...(progress === undefined ? {} : { progress }) };
    try {
      const signal = AbortSignal.timeout(BEAT_TIMEOUT_MS);
      const { cancelled } = await client.call('heartbeatJob', { path: { id: job.id }, body, signal });
      if (cancelled) ended.abort(new Error('nobody waits for the job any more'));
    } catch (error) {
      onProblem?.(error, job);
      if (isRefusal(error)) ended.abort(error);
    }
  };
  const next = (): void => {
    beating ??= beat().finally(() => {
      beating = null;
    });
  };
  let lastSaidMs = 0;
  const timer = setInterval(next, everyMs);
  return {
    progress(now) {
      said = now;
      if (Date.now() - lastSaidMs < SHORTEST_BEAT_MS) return;
      lastSaidMs = Date.now();
      next();
    },
    stop: () => clearInterval(timer),
  };
}

type Ending = ({ output: unknown } | { error: unknown }) & { usage?: JobUsage };

/** Tries until the server says that it is too late, or has taken it. @returns what it has taken, or null */
async function end(
  options: Pick<WorkerOptions, 'client' | 'onProblem'>,
  job: Job,
  ended: AbortSignal,
  ending: Ending,
): Promise<Ending | null> {
  const { client, onProblem } = options;
  const path = { id: job.id };
  const { attempt } = job;
  const more = { attempt, ...(ending.usage === undefined ? {} : { usage: ending.usage }) };
  for (let pauseMs = FIRST_PAUSE_MS; !ended.aborted; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
    try {
      const signal = AbortSignal.timeout(END_TIMEOUT_MS);
      if ('output' in ending)
        await client.call('completeJob', { path, body: { output: ending.output, ...more }, signal });
      else await client.call('failJob', { path, body: { ...failureOf(ending.error), ...more }, signal });
      return ending;
    } catch (error) {
      onProblem?.(error, job);
      const instead = error instanceof ApiError ? afterRefusal(ending, error) : null;
      if (instead !== null) return end(options, job, ended, instead);
      if (isRefusal(error)) return null;
      await pause(pauseMs, ended);
    }
  }
  return null;
}

/** What fits no better the next time: an output that is none for the agent's schema, usage that is none. */
function afterRefusal(ending: Ending, refusal: ApiError): Ending | null {
  const { usage } = ending;
  const { status, detail } = refusal;
  if ('output' in ending && [413, 422].includes(status))
    return {
      error: new JobError(detail, { type: 'validation', retry: false }, { cause: refusal }),
      ...(usage === undefined ? {} : { usage }),
    };
  return 'error' in ending && usage !== undefined && status === 422 ? { error: ending.error } : null;
}

function failureOf(error: unknown): { detail: string; retry?: boolean } {
  const said = error instanceof Error ? error.message : String(error);
  // The server takes neither NUL nor half a character.
  const detail = said.replaceAll('\0', '').slice(0, MAX_DETAIL).toWellFormed();
  return { detail, ...(error instanceof JobError ? error.failure : {}) };
}

/** Resolves after this time, or when `signal` is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await unlessAborted(signal, promise);
  clearTimeout(timer);
}

/** Waits for the work, at most until `signal` is aborted; leaves nothing at the signal, which lives long. */
async function unlessAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  signal.addEventListener('abort', end, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Makes a request that ends after this time, and when `stopped` is aborted. */
async function within<T>(
  ms: number,
  stopped: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const end = (): void => ending.abort(stopped.reason);
  const timer = setTimeout(() => ending.abort(new Error(`no answer within ${ms / 1_000} s`)), ms);
  stopped.addEventListener('abort', end, { once: true });
  try {
    return await request(ending.signal);
  } finally {
    clearTimeout(timer);
    stopped.removeEventListener('abort', end);
  }
}
