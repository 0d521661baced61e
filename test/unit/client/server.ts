/** An HTTP server that gives prepared answers in turn. */
import type { ServerResponse } from 'node:http';

import { startServer, type TestServer } from '../../support/http-server.ts';

interface Prepared {
  status: number;
  json?: unknown;
  type?: string;
  body?: string;
  headers?: Record<string, string>;
}
type Handler = (response: ServerResponse) => void;

export interface PreparedServer extends TestServer {
  /** Prepares the answer of the next request that has none yet. */
  answer(next: Prepared | Handler): void;
}

export async function startPreparedServer(): Promise<PreparedServer> {
  const prepared: (Prepared | Handler)[] = [];
  const server = await startServer((_request, response) => {
    const next = prepared.shift() ?? { status: 500, body: 'no answer is prepared' };
    if (typeof next === 'function') next(response);
    else send(response, next);
  });
  return { ...server, answer: (next) => void prepared.push(next) };
}

function send(response: ServerResponse, { status, json, type, body, headers = {} }: Prepared): void {
  const media = json === undefined ? type : 'application/json';
  response.writeHead(status, { ...(media ? { 'content-type': media } : {}), ...headers });
  response.end(json === undefined ? body : JSON.stringify(json));
}
