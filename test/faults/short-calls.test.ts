/**
 * Short calls are local activities (docs/adr/0030). Nothing that clients have seen in the log may disappear,
 * and only the last call may be repeated, with its key, whatever happens to the worker.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client } from '../support/app.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';

const CALLS = 60;
/** The product's limits are in seconds; a busy machine needs more before a command takes effect. */
const PATIENCE_MS = 30_000;

let platform: TestPlatform;
let builder: Client;
let temporal: TemporalClient;
let counterpart: TestServer;
let agentId: string;
let workers: Program[] = [];
/** How long the counterpart takes, and what happens when it is called. */
let takes = 0;
let onCall: (count: number) => void = () => {};
/** The idempotency keys in the order of their calls. */
let keys: string[] = [];

beforeAll(async () => {
  counterpart = await startServer(async (request, response) => {
    keys.push(String(request.headers['idempotency-key']));
    onCall(keys.length);
    if (takes > 0) await sleep(takes);
    // Every answer differs: a repeated call that was not recalled would show.
    sendJson(response, { n: keys.length });
  });
  platform = await startTestPlatform({ worker: false });
  temporal = createTemporalClient(platform.temporal);
  builder = await platform.as('builder');
  const { body } = await builder.post('/agents', {
    name: 'counter',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: counterpart.url },
  });
  agentId = body.id;
});
beforeEach(() => {
  takes = 0;
  onCall = () => {};
  keys = [];
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  workers = [];
});
afterAll(async () => {
  await counterpart.close();
  await temporal.connection.close();
  await platform.close();
});

/** The chain: each call sends the answer of the one before. */
const chain = (count = CALLS) => ({
  do: Array.from({ length: count }, (_unused, i) => ({
    [`step${i}`]: {
      call: 'agent',
      with: { agent: agentId, input: { i, before: '${ . }' }, timeout: { seconds: 5 } },
    },
  })),
});
const worker = async (more: Record<string, string> = {}): Promise<Program> => {
  const program = await startProgram('worker', platform, more);
  workers.push(program);
  return program;
};
const read = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const logOf = async (id: string): Promise<RunRecord[]> => {
  const entries: RunRecord[] = [];
  for (let after = 0; ;) {
    const { body } = await builder.get(`/runs/${id}/logs?limit=200&after=${after}`);
    entries.push(...body);
    if (body.length === 0) return entries;
    after = body.at(-1).seq;
  }
};
const started = 'io.serverlessworkflow.task.started.v1';
const completed = 'io.serverlessworkflow.task.completed.v1';
const outputs = (log: RunRecord[]): unknown[] =>
  log.filter(({ type }) => type === completed).map(({ data }) => data.output);

/** The steps of the log, in order and without gaps: each starts once and completes once. */
function expectOrdered(log: RunRecord[], count = CALLS): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_entry, i) => i + 1));
  const steps = log.filter(({ type }) => type === started || type === completed);
  const expected = Array.from({ length: count }, (_unused, i) => `/do/${i}/step${i}`);
  expect(steps.map(({ type, task }) => [type, task])).toEqual(
    expected.flatMap((task) => [
      [started, task],
      [completed, task],
    ]),
  );
}

/** Every call of the run once, in order, and at most so many of them again, right after the first time. */
function expectRepeated(most: number, runId: string): void {
  const ofRun = keys.filter((key) => key.startsWith(runId));
  const unique = [...new Set(ofRun)];
  expect(unique).toHaveLength(CALLS);
  expect(ofRun.length - unique.length).toBeLessThanOrEqual(most);
  expect(ofRun.filter((key, i) => key !== ofRun[i - 1])).toEqual(unique);
}

/** The input of each step is the output that the log tells of the step before. */
function expectCoherent(run: RunRecord, log: RunRecord[]): void {
  const told = outputs(log);
  expect(run['output']).toEqual(told.at(-1));
  const inputs = log.filter(({ type }) => type === started).map(({ data }) => data.input);
  if (inputs.every((input) => input !== undefined)) expect(inputs.slice(1)).toEqual(told.slice(0, -1));
}

/**
 * Checks the log and the calls of a run, of which at most so many may be repeated.
 * @returns its last status
 */
async function checkedEnd(id: string, repeated: number): Promise<unknown> {
  const run = await endOf(builder, { id, status: 'running' });
  const log = await logOf(id);
  expectOrdered(log);
  expectRepeated(repeated, id);
  expectCoherent(run, log);
  return run['status'];
}

const calledTimes = (count: number): Promise<void> =>
  new Promise((resolve) => {
    onCall = (now) => now >= count && resolve();
  });

test('kill -9 of the worker in three chains, three times, repeats only the last call of each', async () => {
  const program = await worker();
  const starts = [startRun(builder, chain()), startRun(builder, chain()), startRun(builder, chain())];
  const runs = (await Promise.all(starts)).map(({ id }) => id as string);
  for (let kill = 1; kill <= 3; kill++) {
    // In the middle of a call, between two, and while a call's outcome is on its way.
    takes = kill === 2 ? 20 : 0;
    await calledTimes(keys.length + 24);
    await sleep(kill * 3);
    const seen = await Promise.all(runs.map(logOf));
    await program.kill();
    const after = await Promise.all(runs.map(logOf));
    // What clients have seen is still there.
    expect(after.map((log, i) => log.slice(0, seen[i]?.length))).toEqual(seen);
    await program.start();
  }
  for (const id of runs) {
    expect(await checkedEnd(id, 3)).toBe('completed');
  }
});

/** The outcomes that the database has of the run's calls. */
async function storedOutcomes(runId: string): Promise<number> {
  const [row] = await platform.orm.em
    .fork()
    .execute<{ stored: number }[]>(
      `select count(*)::int as stored from invocation where run_id = ? and result is not null`,
      [runId],
    );
  return row?.stored ?? 0;
}

const eventsOf = async (runId: string) => {
  const { events } = await temporal.workflow.getHandle(runWorkflowId(runId)).fetchHistory();
  return events ?? [];
};

test('a chain that nothing disturbs calls once a step and stores every outcome', async () => {
  await worker();
  const { id } = await startRun(builder, chain());
  expect(await checkedEnd(id, 0)).toBe('completed');
  expect(await storedOutcomes(id)).toBe(CALLS);
  // Most were local activities, which are markers, with an ordinary call from time to time.
  const events = await eventsOf(id);
  expect(events.filter((event) => event.markerRecordedEventAttributes).length).toBeGreaterThan(CALLS / 2);
  expect(events.filter((event) => event.workflowTaskCompletedEventAttributes).length).toBeLessThan(CALLS / 2);
});

test('a cancel ends the chain between two calls', async () => {
  await worker();
  takes = 30;
  const { id } = await startRun(builder, chain());
  await calledTimes(8);
  await builder.post(`/runs/${id}/cancel`);
  const run = await until(
    () => read(id),
    ({ status }) => status === 'cancelled',
    PATIENCE_MS,
  );
  const called = keys.length;
  expect(called).toBeLessThan(CALLS);
  await sleep(500);
  expect(keys).toHaveLength(called);
  expect(run['logs'].at(-1).type).toBe('io.serverlessworkflow.workflow.cancelled.v1');
  expect(new Set(keys).size).toBe(called);
});

test('a cancel ends a short call that hangs', async () => {
  await worker();
  takes = 4_500;
  const { id } = await startRun(builder, chain(3));
  await calledTimes(1);
  const asked = Date.now();
  await builder.post(`/runs/${id}/cancel`);
  await until(
    () => read(id),
    ({ status }) => status === 'cancelled',
    PATIENCE_MS,
  );
  // Long before the call would have ended and another one would have begun.
  expect(keys).toHaveLength(1);
  process.stdout.write(`cancel of a hanging call: ${Date.now() - asked} ms\n`);
});

test('a suspended chain rests between two calls, and goes on where it was', async () => {
  await worker();
  takes = 30;
  const { id } = await startRun(builder, chain());
  await calledTimes(8);
  await builder.post(`/runs/${id}/suspend`);
  await until(
    () => read(id),
    ({ status }) => status === 'suspended',
    PATIENCE_MS,
  );
  // The call that was under way may still end.
  await until(
    async () => outputs(await logOf(id)).length,
    (ended) => ended >= keys.length - 1,
    PATIENCE_MS,
  );
  const called = keys.length;
  expect(called).toBeLessThan(CALLS);
  await sleep(500);
  expect(keys).toHaveLength(called);
  takes = 0;
  await builder.post(`/runs/${id}/resume`);
  const run = await endOf(builder, { id, status: 'running' });
  expect(run['status']).toBe('completed');
  expectRepeated(0, id);
  expect(outputs(await logOf(id))).toHaveLength(CALLS);
});

test('a chain goes on with another worker when its own dies', async () => {
  const [first] = [await worker(), await worker()];
  takes = 10;
  const { id } = await startRun(builder, chain());
  await calledTimes(10);
  await first.kill();
  expect(await checkedEnd(id, 1)).toBe('completed');
});

/** Passes connections on until they are cut. */
async function startProxy(address: string) {
  const [host = '', port] = address.split(':');
  const sockets = new Set<Socket>();
  let open = true;
  const server = createServer((client) => {
    if (!open) return client.destroy();
    const target = connect(Number(port), host);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => (sockets.delete(from), to.destroy()));
    }
    return client;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      open = false;
      for (const socket of sockets) socket.destroy();
    },
    restore: () => void (open = true),
    close() {
      this.cut();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

test('a worker that loses its connection to Temporal loses no step', async () => {
  const proxy = await startProxy(platform.temporal.address);
  try {
    await worker({ TEMPORAL_ADDRESS: proxy.address });
    takes = 10;
    const { id } = await startRun(builder, chain());
    await calledTimes(10);
    proxy.cut();
    // The worker still ends its row of short calls, which Temporal does not learn.
    await sleep(1_500);
    proxy.restore();
    expect(await checkedEnd(id, 1)).toBe('completed');
  } finally {
    await proxy.close();
  }
});

test('a chain waits for a database that is away for some seconds', async () => {
  const url = new URL(platform.databaseUrl);
  const proxy = await startProxy(url.host);
  url.host = proxy.address;
  try {
    await worker({ DATABASE_URL: url.href });
    takes = 10;
    const { id } = await startRun(builder, chain());
    await calledTimes(10);
    proxy.cut();
    await sleep(2_000);
    proxy.restore();
    expect(await checkedEnd(id, 1)).toBe('completed');
  } finally {
    await proxy.close();
  }
});
