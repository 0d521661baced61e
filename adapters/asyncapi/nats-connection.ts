/**
 * A connection to a NATS server (docs.nats.io, "Client Protocol"): a few commands, each a line of text, some
 * with a payload. Sockets and memory are in our hands, which the official client does not allow (ADR 40).
 */
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isRecord } from '../../contracts/is-record.ts';
import { fault } from '../../contracts/fault.ts';
import {
  checkedAddress,
  closedByBroker,
  createBreak,
  lostConnection,
  openBrokerSocket,
  refusal,
  settled,
  type BrokerAddress,
} from './broker.ts';
import { ByteQueue } from './byte-queue.ts';
import { MAX_MESSAGE_BYTES } from './message-queue.ts';
import type { Connecting } from './protocol.ts';

/** Also of the server's own description, which names the servers of its cluster. */
const MAX_LINE_BYTES = 256 * 1024;
const PING_MS = 30_000;
/** Pings of ours without an answer. */
const MAX_PINGS = 2;
/** Answers of ours that the server does not take. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/** `headers` is the whole header block. */
interface NatsMessage {
  headers: Buffer;
  payload: Buffer;
}

export interface NatsConnection {
  /** Resolves when the server has taken it. `headers` is null without any. */
  publish(subject: string, headers: Buffer | null, payload: Buffer): Promise<void>;
  /** Resolves when the server has it. `group`: only one of the subscribers of a group gets each message. */
  subscribe(subject: string, group: string | undefined): Promise<void>;
  close(): Promise<void>;
}

interface Handlers {
  message(message: NatsMessage): void;
  /** The connection is over, and nobody has closed it. */
  end(error: Error): void;
}

/** Resolves when the server has accepted the connection. Throws `Fault`. */
export async function connectNats(connecting: Connecting, handlers: Handlers): Promise<NatsConnection> {
  const { guard, target } = connecting;
  const address = await checkedAddress(connecting, target.host, target.secure);
  const plain = { ...address, pinned: { ...address.pinned, secure: false } };
  const socket = await openBrokerSocket(plain, guard.signal);
  const session = new Session(connecting, address, handlers, socket);
  try {
    await session.begin();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

class Session implements NatsConnection {
  readonly #connecting: Connecting;
  readonly #address: BrokerAddress;
  readonly #handlers: Handlers;
  readonly #break: ReturnType<typeof createBreak>;
  readonly #info = Promise.withResolvers<Record<string, unknown>>();
  /** One for each ping without an answer. */
  readonly #pongs: (() => void)[] = [];
  #socket: Socket;
  #bytes = new ByteQueue();
  /** Sizes of the message whose payload comes next. */
  #next: { headers: number; total: number } | null = null;
  #isSubscribed = false;
  #isClosed = false;
  #maxPayload = Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(connecting: Connecting, address: BrokerAddress, handlers: Handlers, socket: Socket) {
    this.#connecting = connecting;
    this.#address = address;
    this.#handlers = handlers;
    this.#break = createBreak(connecting.guard.signal);
    this.#socket = socket;
    this.#listen(socket);
  }

  async begin(): Promise<void> {
    const info = await this.#break.within(this.#info.promise);
    const needsTls = this.#address.pinned.secure || info['tls_required'] === true;
    if (needsTls) await this.#startTls();
    if (typeof info['max_payload'] === 'number') this.#maxPayload = info['max_payload'];
    this.#write(`CONNECT ${JSON.stringify(this.#introduction(needsTls))}\r\n`);
    await this.#taken();
    this.#timer = setInterval(() => this.#checkLife(), PING_MS);
    this.#timer.unref();
  }

  async publish(subject: string, headers: Buffer | null, payload: Buffer): Promise<void> {
    const size = (headers?.length ?? 0) + payload.length;
    if (size > this.#maxPayload)
      throw fault('validation', `${this.#address.host} takes messages of ${this.#maxPayload} bytes at most`);
    const command =
      headers === null ? `PUB ${subject} ${size}\r\n` : `HPUB ${subject} ${headers.length} ${size}\r\n`;
    this.#write(
      Buffer.concat([Buffer.from(command), headers ?? Buffer.alloc(0), payload, Buffer.from('\r\n')]),
    );
    await this.#taken();
  }

  async subscribe(subject: string, group: string | undefined): Promise<void> {
    this.#isSubscribed = true;
    this.#write(`SUB ${subject} ${group === undefined ? '' : `${group} `}1\r\n`);
    await this.#taken();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const socket = this.#socket;
    if (!socket.destroyed && socket.writable)
      await settled(new Promise<void>((resolve) => socket.end(resolve)));
    socket.destroy();
  }

  /** The server answers a ping once it has done everything before it. */
  #taken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pongs.push(resolve);
    this.#write('PING\r\n');
    return this.#break.within(promise);
  }

  #checkLife(): void {
    if (this.#pongs.length >= MAX_PINGS) return this.#fail(closedByBroker(this.#address.host));
    this.#pongs.push(() => undefined);
    this.#write('PING\r\n');
  }

  #introduction(tls: boolean): Record<string, unknown> {
    const { account, credentials, id } = this.#connecting;
    const [, token] = /^Bearer (.+)$/.exec(credentials['authorization'] ?? '') ?? [];
    return {
      verbose: false,
      pedantic: false,
      tls_required: tls,
      name: id,
      lang: 'cadenza',
      version: '1',
      protocol: 1,
      echo: true,
      headers: true,
      ...(account === null ? {} : { user: account.username, pass: account.password }),
      ...(token === undefined ? {} : { auth_token: token }),
    };
  }

  async #startTls(): Promise<void> {
    const { hostname, host } = this.#address;
    const plain = this.#socket;
    for (const event of ['data', 'error', 'close']) plain.removeAllListeners(event);
    plain.on('error', () => undefined);
    const named = isIP(hostname) === 0 ? { servername: hostname } : { host: hostname };
    const socket = connectTls({ socket: plain, ...named });
    // What came in the clear before is not of the server whose certificate is checked.
    this.#bytes = new ByteQueue();
    this.#listen(socket);
    this.#socket = socket;
    await this.#break.within(new Promise<void>((resolve) => socket.once('secureConnect', resolve)));
    if (!socket.authorized) throw lostConnection(host, socket.authorizationError);
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(lostConnection(this.#address.host, error)));
    socket.on('close', () => this.#fail(closedByBroker(this.#address.host)));
  }

  #write(data: string | Buffer): void {
    if (this.#socket.writable) this.#socket.write(data);
  }

  #fail(error: Error): void {
    if (this.#isClosed || this.#break.reason !== null) return;
    this.#break.fail(error);
    this.#socket.destroy();
    this.#handlers.end(error);
  }

  #receive(chunk: Buffer): void {
    this.#bytes.push(chunk);
    try {
      for (let more = true; more && !this.#isClosed && this.#break.reason === null;) more = this.#step();
    } catch (error) {
      this.#fail(lostConnection(this.#address.host, error));
    }
  }

  /** Whether there was enough for one more command or message. */
  #step(): boolean {
    if (this.#next === null) {
      const line = this.#bytes.takeLine(MAX_LINE_BYTES);
      if (line !== null) this.#command(line);
      return line !== null;
    }
    const { headers, total } = this.#next;
    const body = this.#bytes.take(total + 2);
    if (body === null) return false;
    this.#next = null;
    this.#handlers.message({ headers: body.subarray(0, headers), payload: body.subarray(headers, total) });
    return true;
  }

  #command(line: string): void {
    const [name = '', ...words] = line.split(/[ \t]+/);
    switch (name.toUpperCase()) {
      case 'MSG':
        this.#checkSubscribed();
        return this.#expect(0, Number(words.at(-1)));
      case 'HMSG':
        this.#checkSubscribed();
        return this.#expect(Number(words.at(-2)), Number(words.at(-1)));
      case 'PING':
        if (this.#socket.writableLength > MAX_UNSENT_BYTES)
          return this.#fail(closedByBroker(this.#address.host));
        return this.#write('PONG\r\n');
      case 'PONG':
        return this.#pongs.shift()?.();
      case 'INFO':
        return this.#info.resolve(described(line));
      case '-ERR':
        return this.#fail(this.#refused(line.slice(4).trim().replaceAll("'", '')));
      case '+OK':
        return undefined;
      default:
        throw this.#foreign();
    }
  }

  /** What comes before TLS could be of anybody, and must not be taken for a message. */
  #checkSubscribed(): void {
    if (!this.#isSubscribed) throw this.#foreign();
  }

  #foreign(): Error {
    return fault('communication', `${this.#address.host} does not speak NATS`, { status: 502 });
  }

  #expect(headers: number, total: number): void {
    const isSize = Number.isSafeInteger(total) && Number.isSafeInteger(headers);
    if (!isSize || headers < 0 || total < headers || total > MAX_MESSAGE_BYTES)
      throw fault('communication', `A message has more than ${MAX_MESSAGE_BYTES} bytes`, { status: 502 });
    this.#next = { headers, total };
  }

  #refused(reason: string): Error {
    if (/^permissions violation/i.test(reason)) return refusal(this.#connecting, 'authorization', reason);
    if (/^authorization violation|^authentication|^user authentication|^account authentication/i.test(reason))
      return refusal(this.#connecting, 'authentication', reason);
    return refusal(this.#connecting, 'communication', reason);
  }
}

/** What the server says of itself. */
function described(line: string): Record<string, unknown> {
  const value: unknown = JSON.parse(line.slice('INFO'.length));
  return isRecord(value) ? value : {};
}
