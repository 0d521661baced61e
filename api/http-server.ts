/** The HTTP server in front of the app, the same in production and in tests. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type Koa from 'koa';

/** Allows percent-encoded query filters of 4,096 characters. */
const MAX_HEADER_BYTES = 64 * 1024;

/** How long a client may leave what it is sent unread: answers and streams wait in this process's memory. */
const UNREAD_MS = 60_000;
/**
 * Longer than load balancers keep idle connections, so that they close first and never send into a closed
 * one.
 */
const IDLE_MS = 65_000;

const MAX_WAITING_LAYERS = 20;

/**
 * Creates a server that does not listen yet. If the app needs the server's address, attach it later with
 * `serve(server, koa)`.
 */
export function createHttpServer(app?: Koa, { unreadMs = UNREAD_MS, idleMs = IDLE_MS } = {}): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: idleMs,
    headersTimeout: 66_000,
    requestTimeout: 300_000,
    // Node.js would refuse without a word.
    requireHostHeader: false,
  });
  const isWaiting = trackRequests(server);
  // Fires while nothing is read or written, and after `keepAliveTimeout`: a listener has to close connections
  // itself. Who waits for an answer may; who does not read one, or wants none, is cut off.
  server.setTimeout(unreadMs, (socket) => {
    if (socket.writableLength > 0 || !isWaiting(socket)) socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable) {
      socket.end(rawResponse(malformedRequest(error.code ?? '')));
    }
  });
  if (app) {
    serve(server, app);
  }
  return server;
}

/** @returns whether a request of this connection has no complete answer yet */
function trackRequests(server: Server): (socket: Socket) => boolean {
  const open = new WeakMap<Socket, number>();
  server.on('request', ({ socket }, response) => {
    const add = (more: number): unknown => open.set(socket, (open.get(socket) ?? 0) + more);
    add(1);
    // All layers of the app that count or measure requests wait for this; Node.js would suspect a leak.
    response.setMaxListeners(MAX_WAITING_LAYERS);
    response.once('close', () => add(-1));
  });
  return (socket) => (open.get(socket) ?? 0) > 0;
}

export function serve(server: Server, app: Koa): void {
  const answer = app.callback();
  server.on('request', (request, response) => {
    if (toOriginForm(request) && hasHost(request)) return void answer(request, response);
    const { status, headers, body } = malformedRequest('');
    return response.writeHead(status, headers).end(body);
  });
}

/**
 * Turns a request for a whole address, as proxies get them, into one for its path, with the host of the
 * address (RFC 9112 section 3.2.2). Koa throws at some addresses, also when the request has ended already.
 * @returns false if the target is neither a path nor an address of HTTP
 */
function toOriginForm(request: IncomingMessage): boolean {
  const { url = '/' } = request;
  if (url.startsWith('/') || url === '*') return true;
  if (!URL.canParse(url)) return false;
  const { protocol, host, pathname, search } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  request.url = pathname + search;
  request.headers.host = host;
  return true;
}

/** HTTP/1.0 has no such duty. */
function hasHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion !== '1.1' || headers.host !== undefined;
}

interface Response {
  status: number;
  title: string;
  headers: Record<string, string | number>;
  body: string;
}

/** Response to requests that are not valid HTTP, too large or too slow. */
function malformedRequest(code: string): Response {
  const [status, title] =
    code === 'HPE_HEADER_OVERFLOW'
      ? ([431, 'Request Header Fields Too Large'] as const)
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ([408, 'Request Timeout'] as const)
        : ([400, 'Bad Request'] as const);
  const body = JSON.stringify({
    type: 'about:blank',
    title,
    status,
    detail: 'The request could not be read.',
    code: 'malformed_request',
  });
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  return { status, title, headers, body };
}

function rawResponse({ status, title, headers, body }: Response): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${title}`, ...lines, '', body].join('\r\n');
}
