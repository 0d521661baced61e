import type { Server } from 'node:http';
import { within } from '../config/orderly-stop.ts';
import type { Logger } from '../config/logger.ts';

/** Requests that still run after this are aborted. */
const DRAIN_MS = 10_000;
const SWEEP_MS = 100;

interface Drained {
  server: Server;
  grpc: { stop(graceMs: number): Promise<unknown> } | null;
  logger: Logger;
}

/** Accepts no connections any more, and lets open requests end, for a limited time. */
export async function drain({ server, grpc, logger }: Drained): Promise<void> {
  const closed = Promise.all([new Promise((resolve) => server.close(resolve)), grpc?.stop(DRAIN_MS)]);
  // A client that sends one request after another is never idle.
  server.prependListener('request', (_request, response) => (response.shouldKeepAlive = false));
  // Closes keep-alive connections as soon as their last response is sent.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const isDrained = await within(DRAIN_MS, closed);
  clearInterval(sweep);
  if (isDrained) return;
  const connections = await connectionsOf(server);
  logger.warn({ connections, seconds: DRAIN_MS / 1_000 }, 'requests did not end in time and are cut off');
  server.closeAllConnections();
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
