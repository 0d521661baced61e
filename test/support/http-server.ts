import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

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

/**
 * For every HTTP server of a test: it never closes an idle connection. By default it does after five seconds,
 * and a busy client may just then send its next request into the closed connection.
 */
export const keepIdle = { keepAliveTimeout: 0 };

/**
 * A real HTTP server, on a free port unless one is named, that records its requests. The handler gets the
 * request after its body has been read.
 */
export async function startServer(
  handler: (request: SeenRequest, response: ServerResponse, raw: IncomingMessage) => void | Promise<void>,
  port = 0,
): Promise<TestServer> {
  const seen: SeenRequest[] = [];
  const server = createServer(keepIdle, async (raw, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of raw) chunks.push(chunk);
    const request = {
      method: raw.method ?? '',
      path: raw.url ?? '',
      headers: raw.headers,
      body: Buffer.concat(chunks).toString(),
    };
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

/** Responds with JSON. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
