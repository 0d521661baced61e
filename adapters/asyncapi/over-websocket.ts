/** Messages over a WebSocket, whose address is that of the server and the channel. */
import { Agent, WebSocket } from 'undici';
import { Fault, fault } from '../../contracts/fault.ts';
import { connectionFault } from '../egress/connection-fault.ts';
import { openPinnedSocket } from '../egress/open-pinned-socket.ts';
import { withoutBrackets } from '../egress/web-url.ts';
import { MAX_MESSAGE_BYTES, type MessageQueue } from './message-queue.ts';
import type { Connecting, Protocol } from './protocol.ts';

const CLOSE_MS = 2_000;

export const overWebSocket: Protocol = {
  async send(connecting, { payload, headers }) {
    if (Object.keys(headers).length > 0)
      throw fault('configuration', 'Messages over WebSocket have no headers: put them into the payload');
    const { socket, close } = await open(connecting);
    socket.send(payload);
    // Closing waits until everything is sent.
    await close();
    return null;
  },

  async subscribe(connecting, queue) {
    const { close } = await open(connecting, queue);
    return close;
  },
};

async function open(
  { egress, guard, target, credentials }: Connecting,
  queue?: MessageQueue,
): Promise<{ socket: WebSocket; close: () => Promise<void> }> {
  const { secure, host, path, address } = target;
  const url = new URL(`${secure ? 'wss' : 'ws'}://${host}${path}/${address.replace(/^\/+/, '')}`);
  const pinned = await egress.pin(`${secure ? 'https' : 'http'}://${host}`);
  let refusal: unknown = null;
  const agent = new Agent({
    webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES },
    connect: (_options, callback) => {
      openPinnedSocket(pinned, withoutBrackets(url.hostname), guard.signal).then(
        (socket) => callback(null, socket),
        (error: unknown) => {
          refusal = error;
          callback(error instanceof Error ? error : new Error('no connection'), null);
        },
      );
    },
  });
  const socket = new WebSocket(url, { dispatcher: agent, headers: credentials });
  socket.binaryType = 'arraybuffer';
  const closed = new Promise<void>((resolve) =>
    socket.addEventListener('close', () => resolve(), { once: true }),
  );
  const close = async (): Promise<void> => {
    socket.close();
    const timer = setTimeout(() => void agent.destroy(), CLOSE_MS);
    await closed;
    clearTimeout(timer);
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

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return Buffer.from(typeof data === 'string' ? data : '');
}
