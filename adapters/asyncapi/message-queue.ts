import { fault } from '../../contracts/fault.ts';

/** A message as it arrives. */
export interface InboundMessage {
  payload: Uint8Array;
  headers: Record<string, unknown>;
  correlationId?: string;
}

/** Of the messages of one call together, waiting or consumed. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
export const MAX_MESSAGES = 10_000;

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
  #bytes = 0;
  #end: End | null = null;
  #wake: (() => void) | null = null;

  push(message: InboundMessage): void {
    if (this.#end !== null) return;
    this.#bytes += sizeOf(message);
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
  }

  /** Ends the messages at once, also those that wait. */
  stop(end: End): void {
    this.#waiting.length = 0;
    this.#end = end;
    this.#wake?.();
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
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

export function tooMuch(what: string): Error {
  return fault('communication', `The subscription received more than ${what}`, { status: 502 });
}
