/**
 * One gRPC call of any kind, on the wire: messages out, messages in, a status. Unary calls are streams of
 * one message.
 */
import type { Client, ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import { fault } from '../../contracts/fault.ts';
import { reserveAnswer, SMALL_ANSWER_BYTES } from '../egress/answer-memory.ts';

/** In each direction. */
export const MAX_MESSAGES = 10_000;
/** Of all messages of one direction together. */
export const MAX_BYTES = 8 * 1024 * 1024;

export interface MethodCall {
  /** `/package.Service/Method` */
  path: string;
  requests: Iterable<Uint8Array>;
  metadata: Metadata;
  deadline: Date;
  /** Cancels the call, which the server is told. */
  signal: AbortSignal;
}

/** Sends all requests and reads all responses. Throws the library's error for every status but OK. */
export async function exchangeMessages(client: Client, call: MethodCall): Promise<Buffer[]> {
  const stream = client.makeBidiStreamRequest(
    call.path,
    (message: Uint8Array) => Buffer.from(message),
    (message: Buffer) => message,
    call.metadata,
    { deadline: call.deadline },
  );
  const cancel = (): void => stream.cancel();
  call.signal.addEventListener('abort', cancel, { once: true });
  if (call.signal.aborted) cancel();
  const sending = sendAll(stream, call.requests);
  const responses: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      // The deserializer above returns buffers.
      const message = chunk as Buffer;
      const before = bytes;
      bytes += message.length;
      if (bytes > MAX_BYTES) throw tooMuch(`${MAX_BYTES} bytes`);
      if (responses.length >= MAX_MESSAGES) throw tooMuch(`${MAX_MESSAGES} messages`);
      if (before <= SMALL_ANSWER_BYTES && bytes > SMALL_ANSWER_BYTES)
        await reserveAnswer(MAX_BYTES, call.signal);
      responses.push(message);
    }
    return responses;
  } finally {
    call.signal.removeEventListener('abort', cancel);
    // A cancelled call emits one more error.
    stream.on('error', () => undefined);
    stream.cancel();
    await sending;
  }
}

function tooMuch(what: string): Error {
  return fault('communication', `The server answered with more than ${what}`, { status: 502 });
}

type RequestStream = ClientDuplexStream<Uint8Array, Buffer>;

/** Waits for room before each message. Never throws: reading the responses says why sending failed. */
async function sendAll(stream: RequestStream, requests: Iterable<Uint8Array>): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.once('error', () => resolve());
    stream.once('end', resolve);
    stream.once('status', () => resolve());
  });
  for (const request of requests) {
    if (stream.destroyed || stream.writableEnded) return;
    if (stream.write(request)) continue;
    const drained = new Promise<void>((resolve) => {
      stream.once('drain', resolve);
    });
    await Promise.race([drained, ended]);
  }
  stream.end();
}
