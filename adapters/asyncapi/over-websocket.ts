/** Messages over a WebSocket, whose address is that of the server and the channel. */
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Agent, WebSocket } from 'undici';
import { Fault, fault } from '../../contracts/fault.ts';
import { connectionFault } from '../egress/connection-fault.ts';
import { openPinnedSocket } from '../egress/open-pinned-socket.ts';
import { withoutBrackets } from '../egress/web-url.ts';
import { MAX_MESSAGE_BYTES, type MessageQueue } from './message-queue.ts';
import type { Connecting, Protocol } from './protocol.ts';

const CLOSE_MS = 2_000;
/** Between two looks at what is still to be sent. */
const SENDING_MS = 10;

export const overWebSocket: Protocol = {
  async send(connecting, { payload, headers }) {
    if (Object.keys(headers).length > 0)
      throw fault('configuration', 'Messages over WebSocket have no headers: put them into the payload');
    const { socket, close } = await open(connecting);
    try {
      socket.send(payload);
      await sent(socket, connecting);
    } finally {
      await close();
    }
    return null;
  },

  async subscribe(connecting, queue) {
    const { close } = await open(connecting, queue);
    return close;
  },
};

/** Waits until the system has taken everything. */
async function sent(socket: WebSocket, { guard, target }: Connecting): Promise<void> {
  while (socket.bufferedAmount > 0) {
    guard.signal.throwIfAborted();
    if (socket.readyState !== WebSocket.OPEN)
      throw fault('communication', `${target.host} closed the connection before it had the message`, {
        status: 502,
      });
    await setTimeout(SENDING_MS);
  }
}

async function open(
  { egress, guard, target, credentials }: Connecting,
  queue?: MessageQueue,
): Promise<{ socket: WebSocket; close: () => Promise<void> }> {
  const { secure, host, path, address } = target;
  const url = new URL(`${secure ? 'wss' : 'ws'}://${host}${path}/${address.replace(/^\/+/, '')}`);
  const pinned = await egress.pin(`${secure ? 'https' : 'http'}://${host}`);
  let refusal: unknown = null;
  const connections: Socket[] = [];
  const agent = new Agent({
    webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES },
    connect: (_options, callback) => {
      openPinnedSocket(pinned, withoutBrackets(url.hostname), guard.signal).then(
        (opened) => {
          connections.push(opened);
          callback(null, opened);
        },
        (error: unknown) => {
          refusal = error;
          callback(error instanceof Error ? error : new Error('no connection'), null);
        },
      );
    },
  });
  const socket = webSocket(url, agent, credentials);
  socket.binaryType = 'arraybuffer';
  const closed = new Promise<void>((resolve) =>
    socket.addEventListener('close', () => resolve(), { once: true }),
  );
  const close = async (): Promise<void> => {
    socket.close();
    // The agent no longer knows a connection that has become a WebSocket.
    await Promise.race([closed, setTimeout(CLOSE_MS, null, { ref: false })]);
    for (const connection of connections) connection.destroy();
    await agent.destroy();
  };
  socket.addEventListener('message', ({ data }: { data: unknown }) =>
    queue?.push({ payload: bytesOf(data), headers: {} }),
  );
  socket.addEventListener('close', () => queue?.end());
  const abort = (): void => void agent.destroy();
  guard.signal.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('error', ({ error }) => reject(error), { once: true });
      void closed.then(() => reject(new Error('closed')));
    });
  } catch (error) {
    await agent.destroy();
    if (guard.signal.aborted) throw guard.signal.reason;
    if (refusal instanceof Fault) throw refusal;
    throw connectionFault({ url: `http://${host}` }, error);
  }
  return { socket, close };
}

function webSocket(url: URL, dispatcher: Agent, headers: Record<string, string>): WebSocket {
  try {
    return new WebSocket(url, { dispatcher, headers });
  } catch (error) {
    throw fault('configuration', 'The address or the credentials are not for a WebSocket', { cause: error });
  }
}

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return Buffer.from(typeof data === 'string' ? data : '');
}
