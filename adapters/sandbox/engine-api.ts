/**
 * The part of the Docker Engine API (1.41, which Docker 20.10 and later and Podman serve) that sandboxes
 * need, over a socket or TCP. Every answer that is not streamed is bounded.
 */
import { Readable, type Duplex } from 'node:stream';
import { Pool } from 'undici';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';

export const API_VERSION = '/v1.41';
const ANSWER_TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export interface EngineAnswer {
  status: number;
  body: unknown;
}

export interface EngineApi {
  /** The version of the engine. @throws Fault (communication) as all others, if it cannot be reached */
  version(wait?: Waiting): Promise<string>;
  call(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    wait?: Waiting,
  ): Promise<EngineAnswer>;
  /** An answer as it arrives. The caller reads it to its end or destroys it. */
  stream(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
  ): Promise<{ status: number; body: Readable }>;
  /** Sends an archive as it comes. */
  upload(path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<EngineAnswer>;
  /** A connection to the standard input of a container. */
  attach(path: string): Promise<Duplex>;
  close(): Promise<void>;
}

/** For answers that come when something has happened. */
interface Waiting {
  signal: AbortSignal;
}

/**
 * @param address `unix:///…`, `http://…` or `https://…`
 * @param token for a guard before the engine
 */
export function createEngineApi(address: string, token?: string): EngineApi {
  const socketPath = address.startsWith('unix://') ? address.slice('unix://'.length) : null;
  const pool = new Pool(socketPath === null ? address : 'http://engine', {
    connect: socketPath === null ? { timeout: 10_000 } : { socketPath, timeout: 10_000 },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const authorization: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, body: unknown, signal: AbortSignal) =>
    pool
      .request({
        method,
        path: `${API_VERSION}${path}`,
        signal,
        ...(body === undefined
          ? { headers: authorization }
          : {
              body: JSON.stringify(body),
              headers: { ...authorization, 'content-type': 'application/json' },
            }),
      })
      .catch((error: unknown) => unreachable(error, signal));

  const call: EngineApi['call'] = async (method, path, body, wait) => {
    const signal = wait?.signal ?? AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const answer = await send(method, path, body, signal);
    const text = await readText(answer.body).catch((error: unknown) => unreachable(error, signal));
    return { status: answer.statusCode, body: parsed(text) };
  };
  return {
    call,
    async version(wait) {
      const { status, body } = await call('GET', '/version', undefined, wait);
      if (status !== 200 || !isRecord(body) || typeof body['Version'] !== 'string')
        throw fault('communication', `The container engine answered ${status}`);
      return body['Version'];
    },
    async stream(method, path, signal) {
      const { statusCode, body } = await send(method, path, undefined, signal);
      return { status: statusCode, body };
    },
    upload: (path, archive, signal) => upload(pool, authorization, path, archive, signal),
    async attach(path) {
      const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
      const { socket } = await pool
        .upgrade({
          method: 'POST',
          path: `${API_VERSION}${path}`,
          protocol: 'tcp',
          signal,
          headers: authorization,
        })
        .catch((error: unknown) => unreachable(error, signal));
      return socket;
    },
    close: () => pool.destroy(),
  };
}

async function upload(
  pool: Pool,
  authorization: Record<string, string>,
  path: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  let ofArchive: Error | null = null;
  const note = (error: unknown): void => {
    ofArchive = error instanceof Error ? error : new Error(String(error));
  };
  const answer = await pool
    .request({
      method: 'PUT',
      path: `${API_VERSION}${path}`,
      signal,
      body: Readable.from(noting(archive, note), { objectMode: false }),
      headers: { ...authorization, 'content-type': 'application/x-tar' },
    })
    .catch((error: unknown) => {
      if (ofArchive !== null) throw ofArchive;
      return unreachable(error, signal);
    });
  const text = await readText(answer.body).catch((error: unknown) => unreachable(error, signal));
  return { status: answer.statusCode, body: parsed(text) };
}

/** What fails while it is read is no failure of the engine. */
async function* noting(
  source: AsyncIterable<Uint8Array>,
  note: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    note(error);
    throw error;
  }
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw fault('communication', 'The container engine answers too much');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The engine cannot be reached, or the connection broke: it may be starting anew. */
export class EngineAway extends Fault {}

function unreachable(error: unknown, signal: AbortSignal): never {
  if (signal.aborted && !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'))
    throw signal.reason;
  const why = error instanceof Error ? error.message : String(error);
  const { error: details } = fault('communication', `The container engine does not answer: ${why}`);
  throw new EngineAway(details, { cause: error });
}

/** What the engine says about a failure. */
export function messageOf({ status, body }: EngineAnswer): string {
  const message = isRecord(body) ? body['message'] : body;
  return typeof message === 'string' && message !== '' ? message.slice(0, 500) : `status ${status}`;
}
