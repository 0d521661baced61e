/** Clients that send requests and read no answers hold a bounded part of a process's memory. */
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import * as z from 'zod';

import { endpoint } from '../../api/endpoint.ts';
import { createHttpServer, serve } from '../../api/http-server.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { endRun } from '../support/human-tasks.ts';
import { until } from '../support/platform.ts';
import { workflowAgentPath } from '../support/workflow-agent.ts';

const MEBIBYTE = 1024 * 1024;
const ANSWER_BYTES = 8 * MEBIBYTE;
/** Of clients; what they are sent is three times as much as may wait. */
const COUNT = 24;
const PER_USER_BYTES = 64 * MEBIBYTE;
const AT_ONCE_BYTES = 256 * MEBIBYTE;
/** What the system takes of each answer, and answers that are not counted. */
const ALLOWANCE_BYTES = 24 * MEBIBYTE;

let app: TestApp;
let user: TestUser;
let client: Client;
let base: string;
let run: string;
let file: string;
const server = createHttpServer();
const responses = new Set<ServerResponse>();
const sockets: Socket[] = [];
/** Answers that were not sent to their end. */
let cut = 0;

beforeAll(async () => {
  app = await startTestApp({
    endpoints: () => [
      endpoint({
        method: 'GET',
        path: '/large',
        operationId: 'getLarge',
        summary: 'Much text',
        tags: ['test'],
        role: 'viewer',
        scope: 'none',
        responses: { 200: z.object({ text: z.string() }) },
        handler: async () => ({ status: 200, body: { text: 'x'.repeat(ANSWER_BYTES) } }),
      }),
    ],
  });
  user = await app.createUser({ roles: ['builder'] });
  client = await app.as(user);
  server.on('request', (_request, response) => {
    responses.add(response);
    response.once('close', () => {
      responses.delete(response);
      if (!response.writableFinished) cut += 1;
    });
  });
  serve(server, app.app.koa);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = await workflowAgentPath(client, { do: [{ a: { set: { text: 'x' } } }] });
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] };
  const params = { message, configuration: { returnImmediately: true } };
  const sent = await client.post(
    base,
    { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
    { headers: { 'A2A-Version': '1.0' } },
  );
  run = sent.body.result.task.id;
  await endRun(app.orm, run, { status: 'completed', output: { much: 'x'.repeat(ANSWER_BYTES) } });
  const stored = await client.post('/files?name=much', 'x'.repeat(ANSWER_BYTES), {
    headers: { 'content-type': 'text/plain' },
  });
  file = stored.body.id;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(
    async () => responses.size,
    (count) => count === 0,
  );
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await app.close();
});

/** A client that sends a request and reads nothing. */
function sendUnread(who: TestUser, method: string, path: string, body = '', headers = ''): void {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  socket.pause();
  socket.write(
    `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${who.token}\r\n${headers}` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  sockets.push(socket);
}

setFlagsFromString('--expose_gc');
// Node.js has no other way to it without a flag of the process.
const collectGarbage = runInNewContext('gc') as () => void;

/** Heap and buffers of this process, without garbage. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Seldom, because collecting garbage takes long; first when answers that nobody reads were seen as such. */
async function heldBelow(bytes: number): Promise<void> {
  let held = Infinity;
  for (let tries = 0; tries < 10 && held >= bytes; tries += 1) {
    await sleep(7_000);
    held = heldBytes();
  }
  expect(held).toBeLessThan(bytes);
}

const rpc = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const V1 = 'a2a-version: 1.0\r\n';
const MCP = 'accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n';

test.each([
  ['the REST API', () => ['GET', `/runs/${run}`] as const],
  ['A2A', () => ['POST', base, rpc('GetTask', { id: run }), V1] as const],
  ['A2A by REST', () => ['GET', `${base}/tasks/${run}`, '', V1] as const],
  [
    'A2A streams',
    () => ['POST', base, rpc('SubscribeToTask', { id: run }), `${V1}last-event-id: 0\r\n`] as const,
  ],
  ['MCP', () => ['POST', '/mcp', rpc('resources/read', { uri: `cadenza://runs/${run}` }), MCP] as const],
  ['files', () => ['GET', `/files/${file}`] as const],
])('of %s', async (_api, request) => {
  const [method, path, body, headers] = request();
  // Connections of the database keep buffers for the largest row that they have read.
  await Promise.all(Array.from({ length: COUNT }, async () => client.get(`/runs/${run}`)));
  const before = heldBytes();
  for (let index = 0; index < COUNT; index += 1) sendUnread(user, method, path, body, headers);
  await heldBelow(before + PER_USER_BYTES + ALLOWANCE_BYTES);
  // A client that reads goes on.
  expect((await client.get('/users/me')).status).toBe(200);
});

test('as many as anybody sends at once are cut off at once, but not who reads slowly', async () => {
  const slow = await app.createUser();
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let read = 0;
  reader.on('data', (chunk: Buffer) => {
    read += chunk.length;
    reader.pause();
    setTimeout(() => reader.resume(), 20);
  });
  reader.write(`GET /large HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${slow.token}\r\n\r\n`);
  const before = heldBytes();
  const cutBefore = cut;
  let most = 0;
  const look = setInterval(() => {
    const sum = [...responses].filter(({ headersSent }) => headersSent).length * ANSWER_BYTES;
    most = Math.max(most, sum);
  }, 20);
  for (let index = 0; index < 44; index += 1) sendUnread(user, 'GET', '/large');
  await until(
    async () => cut - cutBefore,
    (count) => count >= 12,
  );
  await heldBelow(before + PER_USER_BYTES + ANSWER_BYTES + ALLOWANCE_BYTES);
  clearInterval(look);
  expect(most).toBeLessThanOrEqual(AT_ONCE_BYTES + 2 * ANSWER_BYTES);
  await until(
    async () => read,
    (bytes) => bytes > ANSWER_BYTES,
  );
  reader.destroy();
});
