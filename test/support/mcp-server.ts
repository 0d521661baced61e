/**
 * A real MCP server made with the official SDK: over HTTP with sessions (`/mcp`), without (`/stateless`, the
 * protocol from 2026-07-28 on), and over standard streams when this file is started as a program.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { keepIdle } from './http-server.ts';

export interface McpTestServer {
  url: string;
  requests: { method: string; path: string; headers: IncomingMessage['headers'] }[];
  /** Sessions that were begun and not ended. */
  sessions: ReadonlySet<string>;
  /** Calls of the tool `wait` that have begun, and that were cancelled. */
  waiting: { begun: number; cancelled: number };
  /** Ends the calls of `wait` under way with the text `waited`. */
  release(): void;
  close(): Promise<void>;
}

type Waiting = McpTestServer['waiting'] & { held: Set<() => void> };

function mcpServer(waiting: Waiting): McpServer {
  const server = new McpServer({ name: 'tests', version: '1.2.3' }, { capabilities: { logging: {} } });
  server.registerTool(
    'add',
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool('fail', { inputSchema: z.object({}) }, () => {
    throw new Error('it broke');
  });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }, { mcpReq }) => {
    const words = [text, process.env['TOOL_TOKEN'], mcpReq._meta?.['traceparent']];
    return { content: [{ type: 'text', text: words.filter(Boolean).join(' ') }] };
  });
  server.registerTool('large', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => ({
    content: [{ type: 'text', text: 'x'.repeat(bytes) }],
  }));
  server.registerTool('wait', { inputSchema: z.object({}) }, async (_arguments, { mcpReq }) => {
    waiting.begun += 1;
    const mark = process.env['WAIT_MARK'];
    if (mark) writeFileSync(mark, String(process.pid));
    await new Promise<void>((resolve) => {
      waiting.held.add(resolve);
      mcpReq.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (!mcpReq.signal.aborted) return { content: [{ type: 'text', text: 'waited' }] };
    waiting.cancelled += 1;
    return { content: [] };
  });
  server.registerResource('readme', 'doc://readme', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, text: 'Read me' }],
  }));
  server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
  return server;
}

/** `token`: what a bearer has to present; without it nobody has to. */
export async function startMcpServer({ token }: { token?: string } = {}): Promise<McpTestServer> {
  const waiting: Waiting = { begun: 0, cancelled: 0, held: new Set() };
  const requests: McpTestServer['requests'] = [];
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  const stateless = toNodeHandler(createMcpHandler(() => mcpServer(waiting)));
  const sessions = new Set<string>();
  const http = createServer(keepIdle, async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    requests.push({ method, path, headers });
    if (token !== undefined && headers.authorization !== `Bearer ${token}`)
      return response.writeHead(401, { 'content-type': 'text/plain' }).end(`no: ${headers.authorization}`);
    if (path === '/stateless') return stateless(Object.assign(request, { method, url: path }), response);
    if (path === '/elsewhere') return response.writeHead(307, { location: '/mcp' }).end();
    if (path === '/away') return response.writeHead(307, { location: 'http://169.254.169.254/mcp' }).end();
    if (path === '/plain') return response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
    const known = transports.get(String(headers['mcp-session-id']));
    if (known) return known.handleRequest(request, response);
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        sessions.add(id);
        transports.set(id, transport);
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await mcpServer(waiting).connect(transport);
    return transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    sessions,
    waiting,
    release() {
      for (const go of waiting.held) go();
    },
    close: () =>
      new Promise((resolve) => {
        http.closeAllConnections();
        http.close(() => resolve());
      }),
  };
}

if (process.argv[2] === '--stdio') {
  process.stdout.write('a line that is no message\n');
  // Ignoring the end of its input shows that the platform ends it.
  process.stdin.on('end', () => setInterval(() => undefined, 1_000));
  await mcpServer({ begun: 0, cancelled: 0, held: new Set() }).connect(new StdioServerTransport());
}
