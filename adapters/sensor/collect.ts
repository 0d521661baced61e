/** The readings of one call, from the messages that a subscription delivers. */
import { setImmediate as breath } from 'node:timers/promises';
import { fault } from '../../contracts/fault.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from '../egress/answer-memory.ts';
import {
  MAX_MESSAGE_BYTES,
  MAX_MESSAGES,
  sizeOf,
  tooMuch,
  type InboundMessage,
  type MessageQueue,
} from '../asyncapi/message-queue.ts';
import type { AgentResult } from '../../domain/ports.ts';
import type { createReader, Message } from './reading.ts';

/** So many messages are taken in one go. */
const BREATH = 100;

type Read = ReturnType<typeof createReader>;

/** The first message that counts. Throws what ends the queue. */
export async function firstOf(
  queue: MessageQueue,
  counts: (message: InboundMessage) => boolean = () => true,
): Promise<Message> {
  let taken = 0;
  for await (const message of queue) {
    if (counts(message)) return messageOf(message);
    if (++taken % BREATH === 0) await breath();
  }
  throw new Error('the readings ended without a reason');
}

/** All readings until the queue ends. `made`: jq has made them. Throws `Fault` at the limits. */
export async function readingsOf(
  queue: MessageQueue,
  read: Read,
  { made, signal }: { made: boolean; signal: AbortSignal },
): Promise<AgentResult> {
  const readings: { at: string; topic: string; value: unknown }[] = [];
  let bytes = 0;
  let length = 0;
  for await (const inbound of queue) {
    const before = bytes;
    bytes += sizeOf(inbound);
    if (bytes > MAX_MESSAGE_BYTES) throw tooMuch(`${MAX_MESSAGE_BYTES} bytes`);
    if (readings.length >= MAX_MESSAGES) throw tooMuch(`${MAX_MESSAGES} messages`);
    if (before <= SMALL_ANSWER_BYTES && bytes > SMALL_ANSWER_BYTES)
      await reserveAnswer(MAX_MESSAGE_BYTES, signal);
    const message = messageOf(inbound);
    const value = await read(message);
    // jq can make much of a little, and nothing that is nested too deeply for this.
    if (made) length += JSON.stringify(value).length;
    if (length > MAX_MESSAGE_BYTES)
      throw fault('communication', `The readings have more than ${MAX_MESSAGE_BYTES} characters`, {
        status: 502,
      });
    readings.push({ at: message.at.toISOString(), topic: message.topic, value });
    if (readings.length % BREATH === 0) await breath();
  }
  return { output: { count: readings.length, readings } };
}

/** Figures of all readings that are numbers, of any number of them. */
export async function aggregateOf(queue: MessageQueue, read: Read): Promise<AgentResult> {
  let [count, sum, left] = [0, 0, 0];
  let [min, max]: (number | null)[] = [null, null];
  for await (const inbound of queue) {
    const value = await read(messageOf(inbound));
    if ((count + left) % BREATH === 0) await breath();
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      left += 1;
      continue;
    }
    count += 1;
    sum += value;
    min = Math.min(min ?? value, value);
    max = Math.max(max ?? value, value);
  }
  return {
    output: { count, min, max, avg: count === 0 ? null : sum / count },
    ...(left === 0 ? {} : { warnings: [`${left} readings are no numbers and were left out`] }),
  };
}

/** Back from what the queue holds; see `toInbound`. */
function messageOf({ payload, headers }: InboundMessage): Message {
  const { topic, at, content_type: contentType } = headers;
  return {
    payload,
    topic: String(topic),
    at: new Date(Number(at)),
    contentType: typeof contentType === 'string' ? contentType : undefined,
  };
}

export function toInbound(
  { topic, payload, contentType, at }: Message,
  correlationId?: string,
): InboundMessage {
  return {
    payload,
    headers: { topic, at: at.getTime(), ...(contentType === undefined ? {} : { content_type: contentType }) },
    ...(correlationId === undefined ? {} : { correlationId }),
  };
}
