/** Follows a run to its end: its stream while it lasts, then its status. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '@langchain/langgraph-sdk';
import { cutTo } from '../../../contracts/cut-text.ts';
import { Fault } from '../../../contracts/fault.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import type { PartialSink } from '../../../domain/ports.ts';
import { textOf, type GraphCall } from './graph-call.ts';

/** While its run goes on, a server may be away for so long. */
const AWAY_MS = 120_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** All events of a stream that can be resumed. */
const FROM_BEGINNING = '-1';
/** Messages that are told apart in the growing output. */
const MAX_MESSAGES = 1_000;
const MAX_PROGRESS_LENGTH = 500;

export interface Followed {
  run: Run;
  /** What the server said about the failure. */
  failure: string | null;
}

/** Throws what `failureOf` makes of a failure that lasts, and of one that is no outage. */
export async function followRun(
  { client, call, guard, threadId }: GraphCall,
  runId: string,
  failureOf: (error: unknown) => unknown,
): Promise<Followed> {
  const { signal } = guard;
  const events = createEvents(call.partial);
  let pauseMs = FIRST_PAUSE_MS;
  let awaySince: number | null = null;
  // Its failures matter only if the status of the run cannot be read either.
  const showStream = async (): Promise<void> => {
    const stream = client.runs.joinStream(threadId, runId, {
      signal,
      lastEventId: events.lastId ?? FROM_BEGINNING,
      streamMode: ['messages-tuple', 'custom'],
    });
    for await (const event of stream) events.take(event);
  };
  // An earlier attempt may have shown a part.
  if (call.progress?.repeated === true) call.partial?.restart();
  for (;;) {
    await showStream().catch(() => undefined);
    signal.throwIfAborted();
    try {
      const run = await client.runs.get(threadId, runId, { signal });
      if (run.status !== 'pending' && run.status !== 'running') return { run, failure: events.failure };
      awaySince = null;
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error);
      awaySince ??= Date.now();
      if (!isOutage(failure) || Date.now() - awaySince > AWAY_MS) throw failure;
    }
    await sleep(pauseMs, undefined, { signal });
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

function isOutage(failure: unknown): boolean {
  return failure instanceof Fault && [502, 503, 504].includes(failure.error.status);
}

interface Events {
  lastId: string | null;
  failure: string | null;
  take(event: { id?: string | undefined; event: string; data: unknown }): void;
}

/** Shows the words of the graph's models, and what its nodes say that they do. */
function createEvents(partial: PartialSink | undefined): Events {
  const whole = new Set<string>();
  let current: string | null = null;
  const message = (chunk: Record<string, unknown>): void => {
    const { id, type, content } = chunk;
    const key = typeof id === 'string' ? id : '';
    if (type !== 'AIMessageChunk' && type !== 'ai') return;
    // A message that came in pieces comes once more as a whole.
    if (type === 'ai' && whole.has(key)) return;
    if (whole.size < MAX_MESSAGES) whole.add(key);
    const text = textOf(content);
    if (text === '') return;
    partial?.output(current !== null && current !== key ? `\n\n${text}` : text);
    current = key;
  };
  const events: Events = {
    lastId: null,
    failure: null,
    take({ id, event, data }) {
      if (id !== undefined && id !== '') events.lastId = id;
      const [kind] = event.split('|');
      if (kind === 'messages' && Array.isArray(data) && isRecord(data[0])) message(data[0]);
      else if (kind === 'custom') {
        const text = progressOf(data);
        if (text !== null) partial?.progress(cutTo(text, MAX_PROGRESS_LENGTH));
      } else if (kind === 'error') events.failure = failureIn(data);
    },
  };
  return events;
}

function progressOf(data: unknown): string | null {
  if (typeof data === 'string') return data;
  if (!isRecord(data)) return null;
  const said = data['progress'] ?? data['message'] ?? data['status'];
  return typeof said === 'string' || typeof said === 'number' ? String(said) : null;
}

function failureIn(data: unknown): string {
  if (!isRecord(data)) return typeof data === 'string' ? data : '';
  return [data['error'], data['message']].filter((part) => typeof part === 'string').join(': ');
}
