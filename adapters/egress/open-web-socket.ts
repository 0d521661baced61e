/** A WebSocket under the egress policy, to one of the checked addresses of its host. */
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Agent, WebSocket } from 'undici';
import { Fault, fault } from '../../contracts/fault.ts';
import { traceHeaders } from '../../tracing/context.ts';
import { connectionFault } from './connection-fault.ts';
import type { EgressPolicy } from './egress.ts';
import { openPinnedSocket } from './open-pinned-socket.ts';
import { withoutBrackets } from './web-url.ts';

/** For the farewell, which servers can do without. */
const CLOSE_MS = 2_000;

interface WebSocketOptions {
  egress: EgressPolicy;
  signal: AbortSignal;
  url: URL;
  headers: Record<string, string>;
  protocols?: string[];
  /** Of one message. */
  maxPayloadBytes: number;
  received?: (data: Uint8Array) => void;
  /** The connection has ended, by either side. */
  ended?: () => void;
}

/** Throws `Fault`, and the signal's reason. */
export async function openWebSocket({
  egress,
  signal,
  url,
  headers,
  protocols = [],
  maxPayloadBytes,
  received,
  ended,
}: WebSocketOptions): Promise<{ socket: WebSocket; close: () => Promise<void> }> {
  const pinned = await egress.pin(`${url.protocol === 'wss:' ? 'https' : 'http'}://${url.host}`);
  let refusal: unknown = null;
  const connections: Socket[] = [];
  const agent = new Agent({
    webSocket: { maxPayloadSize: maxPayloadBytes },
    connect: (_options, callback) => {
      openPinnedSocket(pinned, withoutBrackets(url.hostname), signal).then(
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
  const socket = webSocket(url, protocols, agent, { ...traceHeaders(), ...headers });
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
  socket.addEventListener('message', ({ data }: { data: unknown }) => received?.(bytesOf(data)));
  socket.addEventListener('close', () => ended?.());
  const abort = (): void => void agent.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('error', ({ error }) => reject(error), { once: true });
      void closed.then(() => reject(new Error('closed')));
    });
  } catch (error) {
    await agent.destroy();
    if (signal.aborted) throw signal.reason;
    if (refusal instanceof Fault) throw refusal;
    throw connectionFault({ url: `http://${url.host}` }, error);
  }
  return { socket, close };
}

function webSocket(
  url: URL,
  protocols: string[],
  dispatcher: Agent,
  headers: Record<string, string>,
): WebSocket {
  try {
    return new WebSocket(url, { dispatcher, headers, protocols });
  } catch (error) {
    throw fault('configuration', 'The address or the credentials are not for a WebSocket', { cause: error });
  }
}

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return Buffer.from(typeof data === 'string' ? data : '');
}
