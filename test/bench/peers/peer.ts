/** What `bench:peers` asks of a system: the same work as Cadenza's, durable, by the system's own API. */
import type { startBroker } from '../../support/brokers/broker-process.ts';
import type { Steps } from '../beside/world.ts';

export interface Peer {
  /** With its version. */
  name: string;
  /** One run with so many calls of the agent in a row, from the request to its end. */
  run(steps: Steps): Promise<unknown>;
  /** Starts a run that waits for a person, after which it calls the agent. @returns what decides */
  ask(): Promise<() => Promise<unknown>>;
  /** Makes runs to list. */
  fill(count: number): Promise<void>;
  /** Reads this number of runs, in pages as large as the API allows. @returns how many it got */
  list(count: number): Promise<number>;
}

type ProcessOptions = Parameters<typeof startBroker>[2];

export interface PeerSurroundings {
  /** For its data; on a disk. */
  folder: string;
  agentUrl: string;
  /** Another database on the PostgreSQL that Cadenza uses. */
  createDatabase(name: string): Promise<URL>;
  /** Resolves when it listens on the ports. It is ended after the measurements. */
  start(program: string, args: string[], options: ProcessOptions): Promise<unknown>;
}

export type StartPeer = (surroundings: PeerSurroundings) => Promise<Peer>;

/** A call with JSON. @throws on any other status than 2xx */
export async function callJson<T>(url: string, body?: unknown, accept = '*/*'): Promise<T> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', accept },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} of ${url}: ${text.slice(0, 300)}`);
  // Conductor's ids come as plain text.
  return (/^[[{"]/.test(text) ? JSON.parse(text) : text) as T;
}

/** Until `ready`; every 20 ms. @throws after 60 s */
export async function waitFor(what: string, ready: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    if (await ready().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error(`${what} took more than 60 s`);
  }
}

/** `work` so many times, eight at once. */
export async function repeat(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (left-- > 0) await work();
    }),
  );
}
