/** A process refuses work before it runs out of memory, and nobody takes all of it for themselves. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as z from 'zod';

import { endpoint } from '../../api/endpoint.ts';
import { createHttpServer } from '../../api/http-server.ts';
import { createClient, startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { openStream } from '../support/sse-client.ts';

const MEBIBYTE = 1024 * 1024;
const LIMIT = 3;
let app: TestApp;
let small: Program | undefined;
const sockets: Socket[] = [];
/** Held requests go on with this. */
const goOn: (() => void)[] = [];

beforeAll(async () => {
  app = await startTestApp({
    env: { REQUESTS_PER_USER: String(LIMIT) },
    endpoints: () => [
      endpoint({
        method: 'GET',
        path: '/held',
        operationId: 'getHeld',
        summary: 'Wait',
        tags: ['test'],
        role: 'viewer',
        responses: { 200: z.object({ done: z.boolean() }) },
        handler: async () => {
          await new Promise<void>((resolve) => goOn.push(resolve));
          return { status: 200, body: { done: true } };
        },
      }),
    ],
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await small?.kill();
  await app.close();
});

test('requests of a user at the same time are limited, also after the client has left', async () => {
  const [user, other] = [await app.createUser(), await app.createUser()];
  const client = await app.as(user);
  const left = new AbortController();
  const headers = { authorization: `Bearer ${user.token}` };
  const gone = fetch(`${app.url}/held`, { headers, signal: left.signal }).catch(() => 'gone');
  const held = [client.get('/held'), client.get('/held')];
  await until(
    async () => goOn.length,
    (count) => count === LIMIT,
  );
  left.abort();
  expect(await gone).toBe('gone');
  const refused = await client.get('/users/me');
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'too_many_at_once',
    '1',
  ]);
  expect((await (await app.as(other)).get('/users/me')).status).toBe(200);
  for (const resume of goOn.splice(0)) resume();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  expect(
    await until(
      async () => (await client.get('/users/me')).status,
      (status) => status === 200,
    ),
  ).toBe(200);
  // Streams have a limit of their own.
  const streams = await Promise.all(
    Array.from({ length: LIMIT + 1 }, () => openStream(`${app.url}/events`, { headers })),
  );
  expect((await client.get('/users/me')).status).toBe(200);
  for (const stream of streams) stream.drop();
});

test('who does not read an answer is cut off, or sends no more requests, and who waits is not', async () => {
  const server = createHttpServer(undefined, { unreadMs: 300, idleMs: 300 });
  const closed: string[] = [];
  server.on('request', (request, response) => {
    response.on('close', () => closed.push(request.url ?? ''));
    if (request.url === '/large') response.end(Buffer.alloc(64 * MEBIBYTE));
    else if (request.url === '/small') response.end('small');
    else goOn.push(() => response.end('at last'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const waiting = fetch(`http://127.0.0.1:${port}/waits`);
  await until(
    async () => goOn.length,
    (count) => count === 1,
  );
  const unread = connect(port, '127.0.0.1').on('error', () => {});
  unread.pause();
  unread.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
  await until(
    async () => closed,
    (urls) => urls.length > 0,
  );
  expect(closed).toEqual(['/large']);
  const idle = connect(port, '127.0.0.1').on('error', () => {});
  idle.write('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(idle.resume(), 'close');
  goOn.splice(0).forEach((resume) => resume());
  expect(await (await waiting).text()).toBe('at last');
  unread.destroy();
  server.close();
  await once(server, 'close');
});

/** A body that lacks its last byte, so that it stays in memory. @returns the response, once it comes */
function unfinished(url: string, token: string, mebibytes: number): () => string {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (data) => (answer += String(data))).on('error', () => {});
  socket.write(
    `POST /workflows HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: ` +
      `Bearer ${token}\r\ncontent-length: ${mebibytes * MEBIBYTE + 1}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(mebibytes * MEBIBYTE, ' '));
  sockets.push(socket);
  return () => answer;
}

test('a process with little memory ends streams, answers 503 before it is full, and recovers', async () => {
  const temporal = { address: '127.0.0.1:1', namespace: 'none', taskQueue: 'none' };
  small = await startProgram('api', { ...app, temporal }, { API_MEMORY_MIB: '300', LOG_LEVEL: 'fatal' });
  const { url } = small;
  const first = small.pid();
  const user = await app.createUser();
  const client = createClient(url, user.token);
  const stream = await openStream(`${url}/events`, { headers: { authorization: `Bearer ${user.token}` } });
  const answers: (() => string)[] = [];
  for (let person = 0; person < 5; person++) {
    const { token } = await app.createUser({ roles: ['builder'] });
    for (let body = 0; body < 50; body++) answers.push(unfinished(url, token, 1));
  }
  await stream.ended;
  const refused = await until(
    async () => answers.map((answer) => answer()).filter((answer) => answer.startsWith('HTTP/1.1 503')),
    (found) => found.length > 0,
  );
  expect(refused[0]).toMatch(/^retry-after: 5\r$/im);
  expect(refused[0]).toContain('"code":"overloaded"');
  const [health, another] = await Promise.all([
    client.get('/healthz'),
    client.get('/events', { headers: { accept: 'text/event-stream' } }),
  ]);
  expect([health.status, another.status, another.body.code]).toEqual([200, 503, 'overloaded']);
  for (const socket of sockets) socket.destroy();
  expect(
    await until(
      async () => (await client.post('/workflows', { name: 'x', definition: {} })).status,
      (status) => status === 201,
    ),
  ).toBe(201);
  expect(small.pid()).toBe(first);
});
