/** A connection to one Kafka broker: requests with their answers, in frames. */
import type { Socket } from 'node:net';
import { fault } from '../../../contracts/fault.ts';
import { checkedAddress, closedByBroker, createBreak, lostConnection, openBrokerSocket } from '../broker.ts';
import { ByteQueue } from '../byte-queue.ts';
import { MAX_MESSAGE_BYTES } from '../message-queue.ts';
import type { Connecting } from '../protocol.ts';
import type { Api } from './apis.ts';
import { malformed, Reader, Writer } from './wire.ts';

/** A broker answers with at least one batch, whatever was asked for. */
const MAX_FRAME_BYTES = MAX_MESSAGE_BYTES + 1024 * 1024;
const REQUEST_MS = 30_000;

export interface BrokerConnection {
  readonly host: string;
  readonly isOpen: boolean;
  /** Throws `Fault`. `waitMs`: how long the broker may take on purpose. */
  request<In, Out>(api: Api<In, Out>, input: In, waitMs?: number): Promise<Out>;
  close(): void;
}

/** `host:port`. The address is checked, whoever names it. */
export async function connectBroker(
  connecting: Connecting,
  host: string,
  clientId: string,
): Promise<BrokerConnection> {
  const { guard, target } = connecting;
  const address = await checkedAddress(connecting, host, target.secure);
  const socket = await openBrokerSocket(address, guard.signal);
  return new Frames(socket, { host, clientId, signal: guard.signal });
}

interface Waiting {
  resolve(answer: Reader): void;
  timer: NodeJS.Timeout;
}

class Frames implements BrokerConnection {
  readonly host: string;
  readonly #clientId: string;
  readonly #socket: Socket;
  readonly #break: ReturnType<typeof createBreak>;
  readonly #bytes = new ByteQueue();
  readonly #waiting = new Map<number, Waiting>();
  #frame: number | null = null;
  #last = 0;

  constructor(
    socket: Socket,
    { host, clientId, signal }: { host: string; clientId: string; signal: AbortSignal },
  ) {
    this.host = host;
    this.#clientId = clientId;
    this.#socket = socket;
    this.#break = createBreak(signal);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(lostConnection(host, error)));
    socket.on('close', () => this.#fail(closedByBroker(host)));
  }

  get isOpen(): boolean {
    return this.#break.reason === null;
  }

  async request<In, Out>({ key, version, write, read }: Api<In, Out>, input: In, waitMs = 0): Promise<Out> {
    const id = (this.#last = (this.#last + 1) % 2 ** 31);
    const request = new Writer().int16(key).int16(version).int32(id).string(this.#clientId);
    write(request, input);
    const frame = request.buffer();
    const { promise, resolve } = Promise.withResolvers<Reader>();
    const timer = setTimeout(
      () => this.#fail(lostConnection(this.host, Object.assign(new Error('late'), { code: 'ETIMEDOUT' }))),
      REQUEST_MS + waitMs,
    );
    this.#waiting.set(id, { resolve, timer });
    this.#socket.write(new Writer().int32(frame.length).raw(frame).buffer());
    try {
      return read(await this.#break.within(promise));
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  close(): void {
    this.#fail(closedByBroker(this.host));
  }

  #fail(error: Error): void {
    if (!this.isOpen) return;
    this.#break.fail(error);
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#bytes.push(chunk);
    try {
      for (let more = true; more && this.isOpen;) more = this.#step();
    } catch (error) {
      this.#fail(lostConnection(this.host, error));
    }
  }

  #step(): boolean {
    if (this.#frame === null) {
      const size = this.#bytes.take(4)?.readInt32BE();
      if (size === undefined) return false;
      if (size > MAX_FRAME_BYTES)
        throw fault('communication', `${this.host} sent more than ${MAX_FRAME_BYTES} bytes at once`, {
          status: 502,
        });
      if (size < 4) throw malformed();
      this.#frame = size;
    }
    const frame = this.#bytes.take(this.#frame);
    if (frame === null) return false;
    this.#frame = null;
    const answer = new Reader(frame);
    const waiting = this.#waiting.get(answer.int32());
    if (waiting === undefined) throw malformed();
    waiting.resolve(answer);
    return true;
  }
}
