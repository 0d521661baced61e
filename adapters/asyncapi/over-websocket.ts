/** Messages over a WebSocket, whose address is that of the server and the channel. */
import { setTimeout } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { fault } from '../../contracts/fault.ts';
import { openWebSocket } from '../egress/open-web-socket.ts';
import { MAX_MESSAGE_BYTES, type MessageQueue } from './message-queue.ts';
import type { Connecting, Protocol } from './protocol.ts';

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

function open(
  { egress, guard, target, credentials }: Connecting,
  queue?: MessageQueue,
): ReturnType<typeof openWebSocket> {
  const { secure, host, path, address } = target;
  return openWebSocket({
    egress,
    signal: guard.signal,
    url: new URL(`${secure ? 'wss' : 'ws'}://${host}${path}/${address.replace(/^\/+/, '')}`),
    headers: credentials,
    maxPayloadBytes: MAX_MESSAGE_BYTES,
    received: (payload) => queue?.push({ payload, headers: {} }),
    ended: () => queue?.end(),
  });
}
