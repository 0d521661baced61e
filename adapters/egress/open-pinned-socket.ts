import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { connectionFault } from './connection-fault.ts';
import type { PinnedOrigin } from './egress.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects to the first of the checked addresses that answers, with TLS if the origin has it. `hostname`
 * without brackets is what the certificate must name. Throws `Fault` (communication).
 */
export async function openPinnedSocket(
  { addresses, port, secure }: PinnedOrigin,
  hostname: string,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown = new Error('no address');
  for (const host of addresses) {
    signal.throwIfAborted();
    const socket = secure
      ? connectTls({ host, port, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) })
      : connectPlain({ host, port });
    try {
      await connected(socket, secure ? 'secureConnect' : 'connect', signal);
      return socket;
    } catch (error) {
      socket.on('error', () => undefined).destroy();
      failure = error;
    }
  }
  if (signal.aborted) throw signal.reason;
  throw connectionFault(
    { url: `http://${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}` },
    failure,
  );
}

function connected(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })),
      CONNECT_TIMEOUT_MS,
    );
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal.addEventListener('abort', abort, { once: true });
    const settle = (): void => {
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
    };
    socket.once(event, () => (settle(), resolve()));
    socket.once('error', (error) => (settle(), reject(error)));
  });
}
