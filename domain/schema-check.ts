/**
 * Checks values from requests against users' schemas. Slow checks run in a worker thread, so they do not
 * block the event loop. A process checks one value at a time; the queue and the steps of each check are
 * bounded.
 */
import { Worker } from 'node:worker_threads';

import {
  tooManySteps,
  violationsWithin,
  type JsonSchema,
  type Violation,
} from '../language/schema/validate-json.ts';
import { WaitingPlaces } from './waiting-places.ts';

/** A few milliseconds: enough for nearly every check. */
const INLINE_STEPS = 50_000;
/** One or two seconds. A body of 2 MiB of numbers needs half of it. */
const THREAD_STEPS = 5_000_000;
const places = new WaitingPlaces('Too many large values are being checked right now.');

export interface ThreadRequest {
  id: number;
  schema: JsonSchema;
  value: unknown;
  steps: number;
}

export interface ThreadReply {
  id: number;
  found: Violation[];
  complete: boolean;
}

interface Waiting {
  resolve: (reply: ThreadReply) => void;
  reject: (error: unknown) => void;
}

const waiting = new Map<number, Waiting>();
let thread: Worker | null = null;
let lastId = 0;

/**
 * The violations of `value`, 20 at most; empty if it is valid. `userId` is the caller, who may have only a
 * few slow checks waiting. @throws 503 if too many slow checks are queued, in total or of this user
 */
export async function schemaViolations(
  userId: string,
  schema: JsonSchema,
  value: unknown,
): Promise<Violation[]> {
  const inline = violationsWithin(schema, value, INLINE_STEPS);
  if (inline.complete) return inline.found;
  const leave = places.take(userId);
  try {
    const { found, complete } = await inThread(schema, value);
    return complete ? found : [...found, tooManySteps];
  } finally {
    leave();
  }
}

function inThread(schema: JsonSchema, value: unknown): Promise<ThreadReply> {
  lastId += 1;
  const request: ThreadRequest = { id: lastId, schema, value, steps: THREAD_STEPS };
  return new Promise((resolve, reject) => {
    waiting.set(request.id, { resolve, reject });
    thread ??= startThread();
    thread.ref();
    thread.postMessage(request);
  });
}

/** Lives as long as the process; keeps the process alive only while a check runs. */
function startThread(): Worker {
  const started = new Worker(new URL('schema-check-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  started.on('message', (reply: ThreadReply) => {
    const request = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) started.unref();
    request?.resolve(reply);
  });
  const failed = (error: unknown): void => {
    if (thread !== started) return;
    thread = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  started.on('error', failed);
  started.on('exit', (code) => failed(new Error(`the schema check thread exited with code ${code}`)));
  return started;
}
