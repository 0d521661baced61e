/** A connection to a broker of AMQP 0-9-1, at a checked address, with bounds that the library lacks. */
import { createRequire } from 'node:module';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { unescape } from 'node:querystring';
import type { ChannelModel } from 'amqplib';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { fieldsOf, type Fields } from '../openapi/document.ts';
import {
  bindingText,
  checkedAddress,
  closedByBroker,
  createBreak,
  lostConnection,
  openBrokerSocket,
  refusal,
  settled,
} from './broker.ts';
import { MAX_MESSAGE_BYTES, tooMuch } from './message-queue.ts';
import type { Connecting } from './protocol.ts';

const HEARTBEAT_SECONDS = 30;
const FRAME_BYTES = 128 * 1024;
/** With its frames. */
const MAX_CONTENT_BYTES = MAX_MESSAGE_BYTES + 1024 * 1024;
/** AMQP 0-9-1 "basic.ack", and RabbitMQ's "basic.nack". */
const CONFIRMS: ReadonlySet<unknown> = new Set([(60 << 16) + 80, (60 << 16) + 120]);

export interface AmqpSession {
  model: ChannelModel;
  fail(error: Error): void;
  within<T>(work: Promise<T>): Promise<T>;
  /** A message is complete: what the broker may send for one is counted anew. */
  delivered(): void;
  close(): Promise<void>;
}

/** Resolves when the broker has accepted the connection. Throws `Fault`. */
export async function connectAmqp(
  connecting: Connecting,
  ended: (error: Error) => void,
): Promise<AmqpSession> {
  const { guard, target, account, credentials } = connecting;
  if (account === null && credentials['authorization'] !== undefined)
    throw fault('configuration', 'AMQP knows the authentication "basic" only');
  const { Connection, ChannelModel: Model } = library();
  const address = await checkedAddress(connecting, target.host, target.secure);
  const broken = createBreak(guard.signal);
  const socket = await openBrokerSocket(address, guard.signal);
  const connection = new Connection(socket);
  // The library's timers end with an error of the socket, not with its end alone.
  const destroy = (): void => void socket.on('error', () => undefined).destroy(new Error('left'));
  let isClosed = false;
  const fail = (error: Error): void => {
    if (isClosed || broken.reason !== null) return;
    broken.fail(error);
    ended(error);
    destroy();
  };
  // An error that nobody listens to would end the process, and it may come with the end of the handshake.
  connection.on('error', (error: unknown) => fail(failureOf(connecting, error)));
  connection.on('close', () => fail(closedByBroker(target.host)));
  const delivered = countBytes(socket, fail);
  try {
    await broken.within(opened(connection, connecting));
    if (broken.reason !== null) throw broken.reason;
  } catch (error) {
    isClosed = true;
    destroy();
    throw failureOf(connecting, error);
  }
  refuseConfirms(connection, () => fail(closedByBroker(target.host)));
  const model = new Model(connection);
  model.on('error', () => undefined);
  return {
    model,
    fail,
    within: (work) => broken.within(work),
    delivered,
    async close() {
      isClosed = true;
      if (broken.reason === null && !guard.signal.aborted) await settled(model.close());
      destroy();
    },
  };
}

/** The library buffers what a broker sends for one message without a limit. Returns what counts anew. */
function countBytes(socket: Socket, fail: (error: Error) => void): () => void {
  let before = 0;
  socket.on('readable', () => {
    if (socket.bytesRead - before > MAX_CONTENT_BYTES)
      fail(tooMuch(`${MAX_MESSAGE_BYTES} bytes in a message`));
  });
  return () => void (before = socket.bytesRead);
}

interface LibraryConnection extends EventEmitter {
  open(fields: object, done: (error: Error | null) => void): void;
  accept(frame: { id?: unknown; fields?: { deliveryTag?: unknown } }): unknown;
}

interface Library {
  Connection: new (socket: Socket) => LibraryConnection;
  ChannelModel: new (connection: LibraryConnection) => ChannelModel;
}

/** Its own entry opens sockets itself, and nobody can listen to errors in time. Loaded by the first call. */
function library(): Library {
  const load = createRequire(import.meta.url);
  const folder = join(dirname(load.resolve('amqplib')), 'lib');
  const modules: unknown = {
    ...load(join(folder, 'connection.js')),
    ...load(join(folder, 'channel_model.js')),
  };
  // Its version is pinned, and it has no types for these.
  return modules as Library;
}

function opened(connection: LibraryConnection, connecting: Connecting): Promise<void> {
  const { username, password } = connecting.account ?? { username: 'guest', password: 'guest' };
  const fields = {
    clientProperties: {
      product: 'Cadenza',
      capabilities: {
        publisher_confirms: true,
        'basic.nack': true,
        consumer_cancel_notify: true,
        'connection.blocked': true,
        authentication_failure_close: true,
      },
    },
    mechanism: 'PLAIN',
    response: Buffer.from(`\0${username}\0${password}`),
    locale: 'en_US',
    channelMax: 0,
    frameMax: FRAME_BYTES,
    heartbeat: HEARTBEAT_SECONDS,
    maxFrameSize: FRAME_BYTES,
    virtualHost: vhostOf(connecting),
    capabilities: '',
    insist: 0,
  };
  return new Promise((resolve, reject) => {
    connection.open(fields, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** A connection sends one message at most: for a higher number, the library would make a list as long. */
function refuseConfirms(connection: LibraryConnection, refuse: () => void): void {
  const accept = connection.accept.bind(connection);
  connection.accept = (frame) =>
    CONFIRMS.has(frame.id) && Number(frame.fields?.deliveryTag) > 1 ? refuse() : accept(frame);
}

function vhostOf({ target }: Connecting): string {
  const named = ['exchange', 'queue'].map((key) => bindingText(fieldsOf(target.bindings, key), 'vhost'));
  const vhost = target.path.length > 1 ? unescape(target.path.slice(1)) : (named.find(Boolean) ?? '/');
  if (Buffer.byteLength(vhost) > 255)
    throw fault('configuration', 'The virtual host has more than 255 bytes');
  return vhost;
}

/** AMQP 0-9-1 "Reply codes". */
const REFUSALS: Readonly<Record<number, 'authorization' | 'configuration'>> = {
  403: 'authorization',
  404: 'configuration',
  405: 'authorization',
  406: 'configuration',
  530: 'authorization',
};

export function failureOf(connecting: Connecting, error: unknown): Error {
  const { guard, target } = connecting;
  if (error instanceof Fault || guard.signal.aborted)
    return error instanceof Error ? error : new Error('aborted');
  const fields: Fields = isRecord(error) ? error : {};
  const text = error instanceof Error ? error.message : '';
  // The library has only words for what happens while a connection is opened.
  if (text.startsWith('Handshake terminated by server: 403'))
    return refusal(connecting, 'authentication', text, error);
  if (text.startsWith('Expected ConnectionOpenOk; got'))
    return refusal(connecting, 'authorization', 'it does not open this virtual host', error);
  const code =
    typeof fields['code'] === 'number' ? fields['code'] : Number(/\b(403|404|530) \(/.exec(text)?.[1]);
  const name = REFUSALS[code];
  if (name !== undefined) return refusal(connecting, name, text, error);
  if (Number.isFinite(code)) return refusal(connecting, 'communication', text, error);
  return lostConnection(target.host, error);
}
