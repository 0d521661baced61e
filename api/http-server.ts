/** The HTTP server in front of the app, the same in production and in tests. */
import { createServer, type Server } from 'node:http';
import type Koa from 'koa';

/** Filters of 4,096 characters, percent-encoded, still fit. */
const maxHeaderBytes = 64 * 1024;

/** Does not listen yet. `app` may be given later, when the address has to be known first: `serve(server, koa)`. */
export function createHttpServer(app?: Koa): Server {
  // Longer than load balancers keep connections, so that they close them and not we.
  const server = createServer({ maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 65_000, headersTimeout: 66_000, requestTimeout: 300_000 });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) {
      socket.end(malformedRequest(error.code ?? ''));
    }
  });
  if (app) {
    serve(server, app);
  }
  return server;
}

export function serve(server: Server, app: Koa): void {
  const answer = app.callback();
  server.on('request', (request, response) => void answer(request, response));
}

/** The answer to what is not HTTP at all, or too much of it, or too slow. */
function malformedRequest(code: string): string {
  const [status, title] =
    code === 'HPE_HEADER_OVERFLOW' ? [431, 'Request Header Fields Too Large']
    : code === 'ERR_HTTP_REQUEST_TIMEOUT' ? [408, 'Request Timeout']
    : [400, 'Bad Request'];
  const body = JSON.stringify({ type: 'about:blank', title, status, detail: 'The request could not be read.', code: 'malformed_request' });
  return `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}
