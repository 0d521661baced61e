/** A TCP proxy between one program and one server, which can be slow, cut or silent. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type LinkState = { kind: 'open' | 'cut' | 'silent' } | { kind: 'slow'; delayMs: number };

export interface Link {
  port: number;
  set(state: LinkState): void;
  close(): Promise<void>;
}

/** What a connection carries; the answer waits with the bytes, and with all after them. */
export type OnPassing = (passing: {
  connection: Socket;
  from: 'client' | 'server';
  bytes: Buffer;
}) => Promise<void> | undefined;

/** `target`: where the server listens now. */
export async function startLink(
  target: () => { host: string; port: number },
  onPassing: OnPassing = () => undefined,
): Promise<Link> {
  let state: LinkState = { kind: 'open' };
  let changed = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket.setNoDelay(true));
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  /** Bytes wait while nothing gets through, as in the retransmissions of a real network. */
  const passage = async (): Promise<void> => {
    if (state.kind === 'slow') await sleep(state.delayMs);
    while (state.kind === 'silent') await changed.promise;
  };
  const pump = async (from: Socket, to: Socket, client: Socket): Promise<void> => {
    try {
      for await (const chunk of from) {
        // Sockets without an encoding give these.
        const bytes = chunk as Buffer;
        await passage();
        await onPassing({ connection: client, from: from === client ? 'client' : 'server', bytes });
        if (!to.write(bytes)) await drained(to);
      }
      await passage();
      to.end();
    } catch {
      to.destroy();
    }
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client);
    if (state.kind === 'cut') {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...target(), allowHalfOpen: true });
    keep(upstream);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    void pump(client, upstream, client);
    void pump(upstream, client, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    // The address of a listening TCP server has this type.
    port: (server.address() as AddressInfo).port,
    set(next) {
      state = next;
      changed.resolve();
      changed = Promise.withResolvers();
      if (state.kind === 'cut') reset();
    },
    close: () =>
      new Promise((resolve) => {
        state = { kind: 'cut' };
        changed.resolve();
        reset();
        server.close(() => resolve());
      }),
  };
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}
