/** Unfinished requests of one user fill only a bounded part of the shared memory. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';

import { createReceivingSlots } from '../../api/a2a/receiving-slots.ts';
import { agentBody } from '../support/agent-body.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/platform.ts';

const MEBIBYTE = 1024 * 1024;
let app: TestApp;
const sockets: Socket[] = [];

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Announces one byte more than it sends. @returns the status of the response, or null until it arrives. */
function unfinished(
  path: string,
  token: string,
  mebibytes: number,
): { status: () => number | null; socket: Socket } {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (data) => (answer += String(data))).on('error', () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: ` +
      `Bearer ${token}\r\ncontent-length: ${mebibytes * MEBIBYTE + 1}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(mebibytes * MEBIBYTE, ' '));
  sockets.push(socket);
  return { status: () => (answer === '' ? null : Number(answer.slice(9, 12))), socket };
}

test.each([
  ['A2A', 15, 4],
  ['the API', 1, 64],
])(
  'unfinished bodies to %s hold at most 64 MiB for each user, and other users are served',
  async (target, mebibytes, fit) => {
    const [greedy, other] = [
      await app.createUser({ roles: ['builder'] }),
      await app.createUser({ roles: ['builder'] }),
    ];
    const agent = await (await app.as(other)).post('/agents', agentBody({ visibility: 'public' }));
    const path = target === 'A2A' ? `/api/v1/a2a/${agent.body.id}` : '/workflows';
    const requests = Array.from({ length: fit + 3 }, () => unfinished(path, greedy.token, mebibytes));
    const answered = () => requests.flatMap(({ status }) => status() ?? []);
    expect(
      await until(
        async () => answered(),
        (found) => found.length >= 2,
      ),
    ).toContain(429);
    expect(new Set(answered())).toEqual(new Set([429]));
    expect((await (await app.as(other)).post('/workflows', { name: 'x', definition: {} })).status).toBe(201);
    for (const { socket } of requests) socket.destroy();
    const asGreedy = await app.as(greedy);
    const statusNow = async () =>
      (await asGreedy.post('/workflows', { name: 'y', definition: { note: 'x'.repeat(MEBIBYTE) } })).status;
    expect(await until(statusNow, (status) => status === 201)).toBe(201);
  },
);

test('a body counts until its request is answered, and no longer', async () => {
  const client = await app.as(await app.createUser({ roles: ['builder'] }));
  const body = { name: 1, definition: { note: 'x'.repeat(1.5 * MEBIBYTE) } };
  const statuses: number[] = [];
  for (let request = 0; request < 50; request += 1)
    statuses.push((await client.post('/workflows', body)).status);
  expect(new Set(statuses)).toEqual(new Set([422]));
});

test('eight messages of a user are received at once, further ones wait, and other users do not', () => {
  const slots = createReceivingSlots();
  const started: number[] = [];
  const calls = Array.from({ length: 12 }, (_, at) => slots.take('ann', () => started.push(at)));
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  slots.take('bob', () => started.push(100));
  expect(started.at(-1)).toBe(100);
  // A waiting request goes away, and a received one reports its end twice.
  calls[8]?.();
  calls[0]?.();
  calls[0]?.();
  expect(started.slice(9)).toEqual([9]);
  for (const done of calls) done();
  const waiting = Array.from({ length: 4 }, (_, at) => slots.take('ann', () => started.push(200 + at)));
  for (const done of calls) done();
  const more = Array.from({ length: 8 }, (_, at) => slots.take('ann', () => started.push(300 + at)));
  expect(started.slice(-8)).toEqual([200, 201, 202, 203, 300, 301, 302, 303]);
  for (const done of [...waiting, ...more]) done();
});
