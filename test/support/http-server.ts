import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

export interface SeenRequest {
  method: string;
  /** Path with query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface TestServer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  port: number;
  seen: SeenRequest[];
  close(): Promise<void>;
}

/** A real HTTP server, on a free port unless one is named, that remembers what it was asked. The handler gets the request with its body read. */
export async function startServer(
  handler: (request: SeenRequest, response: ServerResponse, raw: IncomingMessage) => void | Promise<void>,
  port = 0,
): Promise<TestServer> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (raw, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of raw) chunks.push(chunk);
    const request = { method: raw.method ?? '', path: raw.url ?? '', headers: raw.headers, body: Buffer.concat(chunks).toString() };
    seen.push(request);
    await handler(request, response, raw);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
