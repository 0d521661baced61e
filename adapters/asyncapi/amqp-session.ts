/** A connection to a broker of AMQP 0-9-1, at a checked address, with bounds that the library lacks. */
import type { Duplex } from 'node:stream';
import type { ChannelModel } from 'amqplib';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { codeOf } from '../egress/error-code.ts';
import { fieldsOf, type Fields } from '../openapi/document.ts';
import {
  bindingText,
  checkedAddress,
  closedByBroker,
  createBreak,
  lostConnection,
  refusal,
  type BrokerAddress,
} from './broker.ts';
import type { Connecting } from './protocol.ts';

const HEARTBEAT_SECONDS = 30;
const CONNECT_MS = 10_000;
const CLOSE_MS = 2_000;
const FRAME_BYTES = 128 * 1024;

export interface AmqpSession {
  model: ChannelModel;
  stream: Duplex;
  fail(error: Error): void;
  within<T>(work: Promise<T>): Promise<T>;
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
  const address = await checkedAddress(connecting, target.host, target.secure);
  const broken = createBreak(guard.signal);
  const model = await broken.within(open(connecting, address)).catch((error: unknown) => {
    throw failureOf(connecting, error);
  });
  // The library gives the socket to nobody, and buffers what a broker sends without a limit.
  const { stream } = model.connection as unknown as { stream: Duplex };
  // Its timers end with an error of the socket, not with its end alone.
  const destroy = (): void => void stream.on('error', () => undefined).destroy(new Error('left'));
  let isClosed = false;
  const fail = (error: Error): void => {
    if (isClosed || broken.reason !== null) return;
    broken.fail(error);
    ended(error);
    destroy();
  };
  model.on('error', (error) => fail(failureOf(connecting, error)));
  model.on('close', () => fail(closedByBroker(target.host)));
  return {
    model,
    stream,
    fail,
    within: (work) => broken.within(work),
    async close() {
      isClosed = true;
      if (broken.reason === null && !guard.signal.aborted) await settled(model.close());
      destroy();
    },
  };
}

/** The first of the checked addresses that answers. */
async function open(connecting: Connecting, { pinned, hostname }: BrokerAddress): Promise<ChannelModel> {
  const { connect } = await import('amqplib');
  const { guard, account } = connecting;
  let failure: unknown = null;
  for (const ip of pinned.addresses) {
    guard.signal.throwIfAborted();
    const opening = connect(
      {
        protocol: pinned.secure ? 'amqps' : 'amqp',
        hostname: ip,
        port: pinned.port,
        ...account,
        vhost: vhostOf(connecting),
        heartbeat: HEARTBEAT_SECONDS,
        frameMax: FRAME_BYTES,
        maxFrameSize: FRAME_BYTES,
      },
      { servername: hostname, timeout: Math.min(guard.leftMs(), CONNECT_MS), noDelay: true },
    );
    try {
      return await abandonable(opening, guard.signal);
    } catch (error) {
      failure = error;
      if (!isUnreachable(error)) break;
    }
  }
  throw failure;
}

/** Closes a connection that comes after the call is over. */
async function abandonable(opening: Promise<ChannelModel>, signal: AbortSignal): Promise<ChannelModel> {
  const model = await opening;
  if (!signal.aborted) return model;
  model.on('error', () => undefined);
  await settled(model.close());
  throw signal.reason;
}

/** As the library takes it: percent-encoded. */
function vhostOf({ target }: Connecting): string {
  if (target.path.length > 1) return target.path.slice(1);
  const named = ['exchange', 'queue'].map((key) => bindingText(fieldsOf(target.bindings, key), 'vhost'));
  return encodeURIComponent(named.find((name) => name !== undefined) ?? '/');
}

function isUnreachable(error: unknown): boolean {
  return codeOf(error) !== '' || /ETIMEDOUT/.test(String(error));
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
  if (error instanceof TypeError || error instanceof RangeError)
    return fault('validation', 'The message has a property that AMQP cannot send', { cause: error });
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
  if (/ETIMEDOUT/.test(text))
    return lostConnection(target.host, Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' }));
  if (Number.isFinite(code)) return refusal(connecting, 'communication', text, error);
  return lostConnection(target.host, error);
}

/** What a broker does not answer in time is left. */
export async function settled(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_MS);
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
