/** How many messages a subscription takes (dsl-reference.md "AsyncAPI Subscription Lifetime"). */
import { setTimeout as sleep } from 'node:timers/promises';
import { fault } from '../../contracts/fault.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from '../egress/answer-memory.ts';
import {
  MAX_MESSAGE_BYTES,
  MAX_MESSAGES,
  sizeOf,
  tooMuch,
  type InboundMessage,
  type MessageQueue,
} from './message-queue.ts';
import { valueAt } from './operation.ts';

/** So long messages are looked at in one go. */
const BREATH_MS = 10;
const MAX_REST_MS = 500;

/** A timer for longer ends at once. A call ends before. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A message as the DSL has it. */
export interface ConsumedMessage {
  payload: unknown;
  headers: Record<string, unknown>;
  correlationId?: string;
}

export interface Consumption {
  /** Of a message: whether it counts. */
  filter: ((message: unknown) => boolean) | null;
  amount: number | null;
  /** Of the list of messages so far: whether to go on; asked after each message. */
  while: ((messages: unknown) => boolean) | null;
  /** Of the list of messages so far: whether it is enough; asked before each message. */
  until: ((messages: unknown) => boolean) | null;
  forMs: number | null;
  /** See `AsyncOperation`. */
  correlation: string | null;
  signal: AbortSignal;
}

/** Throws `Fault` if the messages end before there are enough. */
export async function consume(source: MessageQueue, policy: Consumption): Promise<ConsumedMessage[]> {
  const { signal, forMs, amount } = policy;
  const consumed: ConsumedMessage[] = [];
  const messages = source[Symbol.asyncIterator]();
  const abort = (): void =>
    source.stop({ error: signal.reason instanceof Error ? signal.reason : new Error('aborted') });
  signal.addEventListener('abort', abort, { once: true });
  let isLate = false;
  const endTime = (): void => {
    isLate = true;
    source.stop({ error: null });
  };
  const timer = forMs === null ? undefined : setTimeout(endTime, Math.min(forMs, MAX_TIMER_MS));
  let bytes = 0;
  const pace = createPace();
  try {
    signal.throwIfAborted();
    for (;;) {
      if (policy.until?.(consumed) === true || (amount !== null && consumed.length >= amount))
        return consumed;
      await pace.rest();
      const next = await messages.next();
      pace.work();
      if (isLate) return consumed;
      if (next.done === true)
        throw fault('communication', `The subscription ended after ${consumed.length} messages`, {
          status: 502,
        });
      const message = readable(next.value, policy.correlation);
      const isWanted = policy.filter?.(message) !== false;
      next.value.settle?.(isWanted);
      if (!isWanted) continue;
      const before = bytes;
      bytes += sizeOf(next.value);
      if (bytes > MAX_MESSAGE_BYTES) throw tooMuch(`${MAX_MESSAGE_BYTES} bytes`);
      if (consumed.length >= MAX_MESSAGES) throw tooMuch(`${MAX_MESSAGES} messages`);
      if (before <= SMALL_ANSWER_BYTES && bytes > SMALL_ANSWER_BYTES)
        await reserveAnswer(MAX_MESSAGE_BYTES, signal);
      consumed.push(message);
      if (policy.while?.(consumed) === false) return consumed;
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/**
 * A full queue with costly conditions must not keep the process from anything else: they take half of its
 * time at most.
 */
function createPace(): { rest(): Promise<void>; work(): void } {
  let begun = performance.now();
  let busyMs = 0;
  return {
    work: () => void (begun = performance.now()),
    async rest() {
      busyMs += performance.now() - begun;
      if (busyMs < BREATH_MS) return;
      const restMs = Math.min(busyMs, MAX_REST_MS);
      busyMs = 0;
      await sleep(restMs);
    },
  };
}

/** JSON, else text, else base64. */
function readable(
  { payload, headers, correlationId }: InboundMessage,
  location: string | null,
): ConsumedMessage {
  const message = { payload: contentOf(payload), headers };
  const found = location === null ? undefined : valueAt(location, message);
  const id = typeof found === 'string' || typeof found === 'number' ? String(found) : correlationId;
  return id === undefined ? message : { ...message, correlationId: id };
}

function contentOf(payload: Uint8Array): unknown {
  if (payload.length === 0) return null;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(payload);
  } catch {
    return Buffer.from(payload).toString('base64');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
