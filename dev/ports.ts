/** Finds ports for the embedded servers. */
import { createServer } from 'node:net';

/**
 * Chooses a port. `wanted` is used if given, and 0 means any free port. Without it, `usual` is used if free,
 * else any free port.
 * @throws Error that names the wanted port if it is taken
 */
export async function choosePort(options: {
  what: string;
  wanted?: number | undefined;
  usual?: number;
  host?: string;
}): Promise<number> {
  const { what, wanted, usual, host = '127.0.0.1' } = options;
  if (wanted) {
    if (await listenOnce(wanted, host)) return wanted;
    throw new Error(
      `Port ${wanted} for ${what} is in use by another program; choose another one, or 0 for any free port.`,
    );
  }
  const port = (wanted === undefined && usual && (await listenOnce(usual, host))) || (await anyPort(host));
  if (!port) throw new Error(`No free port for ${what} on ${host}.`);
  return port;
}

const ANY_FROM = 10_000;
const ANY_COUNT = 10_000;
const ANY_TRIES = 20;

/**
 * One that systems do not hand out by themselves, to connections and to servers that take any port: it is
 * still free when a program that takes seconds to start listens on it.
 */
async function anyPort(host: string): Promise<number | undefined> {
  for (let tries = 0; tries < ANY_TRIES; tries++) {
    const port = await listenOnce(ANY_FROM + Math.floor(Math.random() * ANY_COUNT), host);
    if (port !== undefined) return port;
  }
  return listenOnce(0, host);
}

const STARTS = 3;

/**
 * Starts a server. If another program has taken one of its ports between their choice and the start, `start`
 * is called again, and chooses others.
 */
export async function startOnFreePorts<T>(start: () => Promise<T>): Promise<T> {
  for (let starts = 1; ; starts++) {
    try {
      return await start();
    } catch (error) {
      const isTaken = error instanceof Error && /address already in use/i.test(error.message);
      if (!isTaken || starts === STARTS) throw error;
    }
  }
}

/** Listens on a port briefly. @returns the port, or undefined if it is taken */
async function listenOnce(port: number, host: string): Promise<number | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}
