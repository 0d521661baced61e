import { fault } from '../../contracts/fault.ts';

/** A message as it arrives. */
export interface InboundMessage {
  payload: Uint8Array;
  headers: Record<string, unknown>;
  correlationId?: string;
  /** Called once the call has looked at the message: whether it has taken it, or its filter leaves it out. */
  settle?: (taken: boolean) => void;
}

/** Of the messages of one call together, waiting or consumed. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
export const MAX_MESSAGES = 10_000;
/** Of the messages that a broker gives to the filter of one call. */
export const MAX_RECEIVED_BYTES = 4 * MAX_MESSAGE_BYTES;

/** Bytes. */
export function sizeOf({ payload, headers, correlationId = '' }: InboundMessage): number {
  return payload.length + correlationId.length + Buffer.byteLength(JSON.stringify(headers));
}

interface End {
  /** What reading throws; null for an ordinary end. */
  error: Error | null;
}

/** Messages that a connection pushes, first in, first out. What waits is bounded: more is an error. */
export class MessageQueue implements AsyncIterable<InboundMessage> {
  readonly #waiting: InboundMessage[] = [];
  readonly #maxReceivedBytes: number;
  #bytes = 0;
  #received = 0;
  #end: End | null = null;
  #wake: (() => void) | null = null;
  #room: (() => void) | null = null;

  /** @param maxReceivedBytes of all messages, also of those that do not wait any more */
  constructor(maxReceivedBytes = Infinity) {
    this.#maxReceivedBytes = maxReceivedBytes;
  }

  push(message: InboundMessage): void {
    if (this.#end !== null) return;
    const size = sizeOf(message);
    this.#bytes += size;
    this.#received += size;
    if (this.#received > this.#maxReceivedBytes) return this.fail(tooMuch(`${this.#maxReceivedBytes} bytes`));
    if (this.#bytes > MAX_MESSAGE_BYTES) return this.fail(tooMuch(`${MAX_MESSAGE_BYTES} bytes`));
    if (this.#waiting.length >= MAX_MESSAGES) return this.fail(tooMuch(`${MAX_MESSAGES} messages`));
    this.#waiting.push(message);
    this.#wake?.();
  }

  /** Ends the messages; those that wait are still delivered. */
  end(): void {
    this.fail(null);
  }

  fail(error: Error | null): void {
    this.#end ??= { error };
    this.#wake?.();
    this.#room?.();
  }

  /** Ends the messages at once, also those that wait. */
  stop(end: End): void {
    this.#waiting.length = 0;
    this.#end = end;
    this.#wake?.();
    this.#room?.();
  }

  get ended(): boolean {
    return this.#end !== null;
  }

  /** For whoever can ask for messages: resolves when none waits, or the queue has ended. */
  async drained(): Promise<void> {
    while (this.#waiting.length > 0 && this.#end === null)
      await new Promise<void>((resolve) => (this.#room = resolve));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<InboundMessage> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#bytes -= sizeOf(next);
        yield next;
      } else if (this.#end !== null) {
        if (this.#end.error !== null) throw this.#end.error;
        return;
      } else {
        this.#room?.();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

export function tooMuch(what: string): Error {
  return fault('communication', `The subscription received more than ${what}`, { status: 502 });
}
