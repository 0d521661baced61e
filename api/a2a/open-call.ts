/**
 * What a gRPC call holds of this process: a place among its caller's requests, and the bytes of its message.
 */
import type { ServerHttp2Stream } from 'node:http2';

import { unmeasured, type Measure } from '../../domain/measure.ts';
import type { LoadGuard } from '../load-guard.ts';
import { bodyTurns } from '../middleware/body.ts';
import { incomingBytes, type IncomingBytes } from '../middleware/incoming-bytes.ts';
import type { SessionOpener } from '../streams/live-sessions.ts';
import type { ReceivedMessage } from './grpc-definition.ts';
import { cutAfter, onClosed } from './grpc-stream.ts';

export interface OpenCallOptions {
  load: LoadGuard;
  stream: ServerHttp2Stream;
  opener: SessionOpener;
  /** Gives up the place among the caller's requests. */
  leave: () => void;
}

export class OpenCall {
  readonly opener: SessionOpener;
  /** When its caller was identified. */
  readonly admittedMs = performance.now();
  readonly #load: LoadGuard;
  readonly #stream: ServerHttp2Stream;
  readonly #incoming: IncomingBytes;
  readonly #leave: () => void;
  #measure: Measure = unmeasured;
  #received = 0;
  #working = 0;
  #isClosed = false;

  /** Counts until the stream is closed and all work is done, or until it becomes a stream of events. */
  constructor({ load, stream, opener, leave }: OpenCallOptions) {
    this.opener = { ...opener, release: () => this.#release() };
    this.#load = load;
    this.#stream = stream;
    this.#incoming = incomingBytes(opener.actor.id, false);
    this.#leave = leave;
    onClosed(stream, () => {
      this.#isClosed = true;
      if (this.#working === 0) this.#release();
    });
  }

  /** Counts the bytes of the message while they arrive. Calls `refuse` if they are too many. */
  receive(refuse: (error: unknown) => void): void {
    const count = (chunk: Uint8Array): void => {
      try {
        this.#received += chunk.length;
        this.#hold(chunk.length, this.#received);
      } catch (error) {
        this.#stream.off('data', count);
        this.#incoming.release();
        refuse(error);
      }
    };
    this.#stream.on('data', count);
  }

  /** Waits until it is the caller's turn to have the message decoded. @throws 429, 503 */
  async turnFor({ bytes }: ReceivedMessage): Promise<void> {
    // Of a compressed message less has arrived.
    this.#hold(Math.max(0, bytes.length - this.#received), bytes.length);
    const turn = await bodyTurns.take(this.opener.actor.id, bytes.length);
    this.#measure = turn.measure;
  }

  /** Does synchronous work with the message, and counts its time as the caller's. */
  measure<T>(work: () => T): T {
    return this.#measure(work);
  }

  /** Counts work until what is returned is called, also if the client leaves before. */
  begin(): () => void {
    this.#working += 1;
    return () => {
      this.#working -= 1;
      if (this.#isClosed && this.#working === 0) this.#release();
    };
  }

  /** Ends the call soon after its session, also if its client reads nothing. */
  cutAfter(signal: AbortSignal): void {
    cutAfter(this.#stream, signal);
  }

  #hold(bytes: number, size: number): void {
    if (this.#isClosed) return;
    this.#incoming.add(bytes);
    this.#load.checkBody(size);
  }

  #release(): void {
    this.#incoming.release();
    this.#leave();
  }
}
