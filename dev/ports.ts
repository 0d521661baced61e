/** Finding ports for the embedded servers. */
import { createServer } from 'node:net';

/**
 * The port to use: `wanted` if given (an error names it if it is taken), any free one for 0; if nothing is wanted the
 * usual one if it is free, else any free one.
 */
export async function choosePort(options: { what: string; wanted?: number | undefined; usual?: number; host?: string }): Promise<number> {
  const { what, wanted, usual, host = '127.0.0.1' } = options;
  if (wanted) {
    if (await listenOnce(wanted, host)) return wanted;
    throw new Error(`Port ${wanted} for ${what} is taken by another program; choose another one, or 0 for any free one.`);
  }
  const port = (wanted === undefined && usual && (await listenOnce(usual, host))) || (await listenOnce(0, host));
  if (!port) throw new Error(`There is no free port for ${what} on ${host}.`);
  return port;
}

/** The port that could be listened on, undefined if it is taken. */
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
