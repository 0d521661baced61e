/**
 * Many runs with large answers or large inputs at once: the worker's memory stays bounded, and all of them
 * end. One file, so that the two never share the machine.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keepIdle, startServer, type TestServer } from '../support/http-server.ts';
import { runAtOnce } from '../support/many-runs.ts';
import { startTestPlatform, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { httpTask } from '../support/definitions.ts';

const RUNS_WITH_ANSWERS = 20;
const RUNS_THAT_SEND = 10;
const SENDS = 2;
/** Above this the worker takes only a few tasks at once. */
const MEMORY_MIB = 1024;
/**
 * What it holds then still grows. Without a bound 60 runs took 8 GiB, so 20 take more than this. Calls that
 * start with the end of a workflow task (docs/adr/0009) raised the peak from 1.9 to 2.2 GiB.
 */
const MAX_PEAK_MIB = 2.5 * MEMORY_MIB;
const ITEMS = 60_000;
const NOTE = 'x'.repeat(30);
/** About 6 MB of small objects, which take many times that size in memory. */
const answer = JSON.stringify({
  items: Array.from({ length: ITEMS }, (_, n) => ({
    id: n,
    name: `item ${n}`,
    tags: ['a', 'b'],
    price: n / 7,
    note: NOTE,
  })),
});
/** The same, made by the run itself. */
const MAKE_ITEMS =
  `\${ {items: [range(${ITEMS}) | ` +
  `{id: ., name: "item \\(.)", tags: ["a", "b"], price: (. / 7), note: "${NOTE}"}]} }`;

let platform: TestPlatform;
let worker: Program;
let answering: TestServer;
let received = 0;
/** Counts and keeps nothing: all that it gets is half a GiB. */
const receiving = createServer(keepIdle, async (request, response) => {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await new Promise((resolve) => request.once('close', resolve));
  // A busy worker may cut a call off; it calls again.
  if (!request.complete) return;
  if (bytes > 5_500_000) received++;
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
});

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  // A new connection for each request: a busy worker could reuse one that the server has just closed.
  const headers = {
    'content-type': 'application/json',
    'content-length': answer.length,
    connection: 'close',
  };
  answering = await startServer((_request, response) => void response.writeHead(200, headers).end(answer));
  await once(receiving.listen(0, '127.0.0.1'), 'listening');
  worker = await startProgram('worker', platform, { WORKER_MEMORY_MIB: String(MEMORY_MIB) });
});
afterAll(async () => {
  await worker.kill();
  await platform.close();
  await answering.close();
  receiving.closeAllConnections();
  receiving.close();
});

function expectBoundedMemory(): void {
  if (process.platform === 'linux') expect(worker.peakMemoryMib()).toBeLessThan(MAX_PEAK_MIB);
}

test(`${RUNS_WITH_ANSWERS} concurrent runs with responses of 6 MB end in bounded memory`, async () => {
  expect(answer.length).toBeGreaterThan(5_500_000);
  const builder = await platform.as('builder');
  const fetchAll = httpTask(answering.url);
  const definition = { do: [{ fetchAll }, { count: { set: { count: '${ .items | length }' } } }] };
  const ended = await runAtOnce(builder, definition, RUNS_WITH_ANSWERS, 600_000);
  expect(ended.map((run: any) => [run.status, run.output])).toEqual(
    ended.map(() => ['completed', { count: ITEMS }]),
  );
  expectBoundedMemory();
}, 660_000);

test(`${RUNS_THAT_SEND} concurrent runs that send 6 MB ${SENDS} times end in bounded memory`, async () => {
  // The token of another user: on a busy machine the first test may outlast one.
  const builder = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const endpoint = `http://127.0.0.1:${(receiving.address() as AddressInfo).port}`;
  const send = httpTask(endpoint, { method: 'post', body: '${ $context.items }' });
  const definition = {
    do: [
      { make: { set: { items: MAKE_ITEMS }, export: { as: '.' } } },
      ...Array.from({ length: SENDS }, (_, n) => ({ [`send${n}`]: send })),
    ],
  };
  const ended = await runAtOnce(builder, definition, RUNS_THAT_SEND, 600_000);
  expect(ended.map((run: any) => [run.status, run.output])).toEqual(
    ended.map(() => ['completed', { ok: true }]),
  );
  expect(received).toBeGreaterThanOrEqual(RUNS_THAT_SEND * SENDS);
  expectBoundedMemory();
}, 660_000);
