/**
 * Short calls are local activities (docs/adr/0030). Nothing that clients have seen in the log may disappear,
 * and only the last call may be repeated, with its key, whatever happens to the worker.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createOrm } from '../../db/orm.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { startCallScene, testsOfCalls, type CallScene } from '../support/call-scene.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog, type RunEvent } from '../support/run-log.ts';

const CALLS = 60;
/** The product's limits are in seconds; a busy machine needs more before a command takes effect. */
const PATIENCE_MS = 30_000;

/** The chain: each call sends the answer of the one before. @returns the run */
async function startChain({ builder, agentId }: CallScene, count = CALLS): Promise<string> {
  const run = await startRun(builder, {
    do: Array.from({ length: count }, (_unused, i) => ({
      [`step${i}`]: {
        call: 'agent',
        with: { agent: agentId, input: { i, before: '${ . }' }, timeout: { seconds: 60 } },
      },
    })),
  });
  return run['id'];
}

const becomes = ({ builder }: CallScene, id: string, status: string): Promise<RunRecord> =>
  until(
    async () => (await builder.get(`/runs/${id}`)).body,
    (run) => run.status === status,
    PATIENCE_MS,
  );

const started = 'io.serverlessworkflow.task.started.v1';
const completed = 'io.serverlessworkflow.task.completed.v1';
const outputs = (log: RunEvent[]): unknown[] =>
  log.filter(({ type }) => type === completed).map(({ data }) => data['output']);

/** The steps of the log, in order and without gaps: each starts once and completes once. */
function expectOrdered(log: RunEvent[]): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_entry, i) => i + 1));
  const steps = log.filter(({ type }) => type === started || type === completed);
  const expected = Array.from({ length: CALLS }, (_unused, i) => `/do/${i}/step${i}`);
  expect(steps.map(({ type, task }) => [type, task])).toEqual(
    expected.flatMap((task) => [
      [started, task],
      [completed, task],
    ]),
  );
}

/** Every call of the run once, in order, and at most so many of them again, right after the first time. */
function expectRepeated({ keys }: CallScene, runId: string, most: number): void {
  const ofRun = keys.filter((key) => key.startsWith(runId));
  const unique = [...new Set(ofRun)];
  expect(unique).toHaveLength(CALLS);
  expect(ofRun.length - unique.length).toBeLessThanOrEqual(most);
  expect(ofRun.filter((key, i) => key !== ofRun[i - 1])).toEqual(unique);
}

/** The input of each step is the output that the log tells of the step before. */
function expectCoherent(run: RunRecord, log: RunEvent[]): void {
  const told = outputs(log);
  expect(run['output']).toEqual(told.at(-1));
  const inputs = log.filter(({ type }) => type === started).map(({ data }) => data['input']);
  if (inputs.every((input) => input !== undefined)) expect(inputs.slice(1)).toEqual(told.slice(0, -1));
}

/**
 * Checks the log and the calls of a run, of which at most so many may be repeated.
 * @returns its last status
 */
async function checkedEnd(scene: CallScene, id: string, repeated: number): Promise<unknown> {
  const run = await endOf(scene.builder, { id, status: 'running' });
  const log = await readLog(scene.builder, id);
  expectOrdered(log);
  expectRepeated(scene, id, repeated);
  expectCoherent(run, log);
  return run['status'];
}

describe('with a worker that nothing happens to', () => {
  let platform: TestPlatform;
  let worker: Program;
  let scene: CallScene;
  beforeAll(async () => {
    platform = await startTestPlatform({ worker: false });
    worker = await startProgram('worker', platform);
  });
  beforeEach(async () => void (scene = await startCallScene(platform)));
  afterEach(() => scene.close());
  afterAll(async () => {
    await worker.kill();
    await platform.close();
  });

  test('a chain calls once a step and stores every outcome', async () => {
    const id = await startChain(scene);
    expect(await checkedEnd(scene, id, 0)).toBe('completed');
    const [row] = await platform.orm.em
      .fork()
      .execute<{ stored: number }[]>(
        `select count(*)::int as stored from invocation where run_id = ? and result is not null`,
        [id],
      );
    expect(row?.stored).toBe(CALLS);
    // All were local activities, which are markers, but for an ordinary call after each 250 ms.
    const temporal = createTemporalClient(platform.temporal);
    const { events } = await temporal.workflow.getHandle(runWorkflowId(id)).fetchHistory();
    await temporal.connection.close();
    const markers = events?.filter((event) => event.markerRecordedEventAttributes);
    const tasks = events?.filter((event) => event.workflowTaskCompletedEventAttributes);
    expect(markers?.length).toBeGreaterThan(10);
    expect(tasks?.length).toBeLessThan(CALLS);
    const { started_at: begun, finished_at: over } = (await scene.builder.get(`/runs/${id}`)).body;
    const ordinary = events?.filter((event) =>
      /^(?:invokeAgent|followCall)$/.test(
        event.activityTaskScheduledEventAttributes?.activityType?.name ?? '',
      ),
    );
    expect(ordinary?.length).toBeLessThanOrEqual((Date.parse(over) - Date.parse(begun)) / 250);
  });

  test('a cancel ends the chain between two calls', async () => {
    scene.takes = 30;
    const id = await startChain(scene);
    await scene.calledTimes(8);
    await scene.builder.post(`/runs/${id}/cancel`);
    const run = await becomes(scene, id, 'cancelled');
    const called = scene.keys.length;
    expect(called).toBeLessThan(CALLS);
    await sleep(500);
    expect(scene.keys).toHaveLength(called);
    expect(run['logs'].at(-1).type).toBe('io.serverlessworkflow.workflow.cancelled.v1');
    expect(new Set(scene.keys).size).toBe(called);
  });

  test('a cancel ends a short call that hangs', async () => {
    const release = scene.hold();
    const id = await startChain(scene, 3);
    await scene.calledTimes(1);
    await scene.builder.post(`/runs/${id}/cancel`);
    await becomes(scene, id, 'cancelled');
    expect(scene.keys).toHaveLength(1);
    release();
  });

  test('a suspended chain rests between two calls, and goes on where it was', async () => {
    scene.takes = 30;
    const id = await startChain(scene);
    await scene.calledTimes(8);
    await scene.builder.post(`/runs/${id}/suspend`);
    await becomes(scene, id, 'suspended');
    // The call that was under way may still end.
    await until(
      async () => outputs(await readLog(scene.builder, id)).length,
      (ended) => ended >= scene.keys.length - 1,
      PATIENCE_MS,
    );
    const called = scene.keys.length;
    expect(called).toBeLessThan(CALLS);
    await sleep(500);
    expect(scene.keys).toHaveLength(called);
    scene.takes = 0;
    await scene.builder.post(`/runs/${id}/resume`);
    const run = await endOf(scene.builder, { id, status: 'running' });
    expect(run['status']).toBe('completed');
    expectRepeated(scene, id, 0);
    expect(outputs(await readLog(scene.builder, id))).toHaveLength(CALLS);
  });
});

/** Beside the others, as Temporal misses a worker after 10 s only. */
const testFault = testsOfCalls();

testFault(
  'kill -9 of the worker in three chains, three times, repeats only the last calls',
  async (scene) => {
    const program = await scene.worker();
    const runs = await Promise.all([startChain(scene), startChain(scene), startChain(scene)]);
    const logs = (): Promise<RunEvent[][]> => Promise.all(runs.map((id) => readLog(scene.builder, id)));
    for (let kill = 1; kill <= 3; kill++) {
      // In the middle of a call, between two, and while a call's outcome is on its way.
      scene.takes = kill === 2 ? 20 : 0;
      await scene.calledTimes(scene.keys.length + 24);
      await sleep(kill * 3);
      const seen = await logs();
      await program.kill();
      const after = await logs();
      // What clients have seen is still there.
      expect(after.map((log, i) => log.slice(0, seen[i]?.length))).toEqual(seen);
      await program.start();
    }
    for (const id of runs) expect(await checkedEnd(scene, id, 3)).toBe('completed');
  },
);

testFault('a chain goes on with another worker when its own dies', async (scene) => {
  const first = await scene.worker();
  scene.takes = 10;
  const id = await startChain(scene);
  await scene.calledTimes(5);
  // While only the first is there, the chain is on it.
  await scene.worker();
  await scene.calledTimes(scene.keys.length + 5);
  await first.kill();
  expect(await checkedEnd(scene, id, 1)).toBe('completed');
});

/** A run whose worker is killed within its first call, unknown to Temporal, and which is then suspended. */
async function suspendedAsLost(scene: CallScene, id: string, worker: Program): Promise<void> {
  await scene.calledTimes(1);
  await worker.kill();
  expect((await scene.builder.get(`/runs/${id}`)).body.status).toBe('running');
  expect((await scene.builder.post(`/runs/${id}/suspend`)).status).toBe(200);
  await scene.worker();
  await becomes(scene, id, 'suspended');
  await sleep(500);
  expect(scene.keys).toHaveLength(1);
  expect((await scene.builder.get(`/runs/${id}`)).body.status).toBe('suspended');
}

async function goesOn(scene: CallScene, id: string, release: () => void): Promise<void> {
  release();
  expect((await scene.builder.post(`/runs/${id}/resume`)).status).toBe(200);
  expect(await checkedEnd(scene, id, 1)).toBe('completed');
}

testFault('a run that is suspended while its worker is lost says so, and goes on', async (scene) => {
  const release = scene.hold();
  const worker = await scene.worker();
  const id = await startChain(scene);
  await suspendedAsLost(scene, id, worker);
  await goesOn(scene, id, release);
});

testFault('so does one that was resumed in the workflow task that is lost', async (scene) => {
  const release = scene.hold();
  const id = await startChain(scene);
  expect((await scene.builder.post(`/runs/${id}/suspend`)).status).toBe(200);
  const worker = await scene.worker();
  await becomes(scene, id, 'suspended');
  expect((await scene.builder.post(`/runs/${id}/resume`)).status).toBe(200);
  await suspendedAsLost(scene, id, worker);
  await goesOn(scene, id, release);
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

testFault('a worker that loses its connection to Temporal loses no step', async (scene) => {
  const proxy = await startProxy(scene.platform.temporal.address);
  try {
    await scene.worker({ TEMPORAL_ADDRESS: proxy.address });
    scene.takes = 10;
    const id = await startChain(scene);
    await scene.calledTimes(10);
    proxy.cut();
    // The worker still ends its row of short calls, which Temporal does not learn.
    await sleep(1_500);
    proxy.restore();
    expect(await checkedEnd(scene, id, 1)).toBe('completed');
  } finally {
    await proxy.close();
  }
});

testFault('a chain waits for a database that is away for some seconds', async (scene) => {
  const url = new URL(scene.platform.databaseUrl);
  const proxy = await startProxy(url.host);
  url.host = proxy.address;
  try {
    await scene.worker({ DATABASE_URL: url.href });
    scene.takes = 10;
    const id = await startChain(scene);
    await scene.calledTimes(10);
    proxy.cut();
    await sleep(2_000);
    proxy.restore();
    expect(await checkedEnd(scene, id, 1)).toBe('completed');
  } finally {
    await proxy.close();
  }
});

/** The events of the run's execution on Temporal that have this attribute. */
async function countEvents(
  { platform }: CallScene,
  runId: string,
  attributes: 'workflowTaskCompletedEventAttributes' | 'activityTaskScheduledEventAttributes',
): Promise<number> {
  const temporal = createTemporalClient(platform.temporal);
  try {
    const { events } = await temporal.workflow.getHandle(runWorkflowId(runId)).fetchHistory();
    return events?.filter((event) => event[attributes]).length ?? 0;
  } finally {
    await temporal.connection.close();
  }
}

/** Until a worker has started, and 8 s more. */
const PROLONGED_MS = 120_000;

// The SDK prolongs a workflow task after 8 s. A replay takes prolonged tasks for one, which begins with the
// last of them.
testFault(
  'a run goes on with another worker after a call that took longer than a workflow task',
  async (scene) => {
    const call = { call: 'agent', with: { agent: scene.agentId, input: {} } };
    const { id } = await startRun(scene.builder, { do: [{ one: call }, { two: call }] });
    const orm = createOrm({ url: scene.platform.databaseUrl });
    const lock = orm.em.fork();
    await lock.begin();
    await lock.execute('select 1 from run where id = ? for no key update', [id]);
    const first = await scene.worker();
    await until(
      () => countEvents(scene, id, 'workflowTaskCompletedEventAttributes'),
      (count) => count > 0,
      PROLONGED_MS,
    );
    const begun = scene.calledTimes(1);
    // The statement that begins the first call gets the lock.
    await lock.commit();
    await begun;
    const release = scene.hold();
    await scene.calledTimes(2);
    await until(
      () => countEvents(scene, id, 'activityTaskScheduledEventAttributes'),
      (count) => count === 1,
      PROLONGED_MS,
    );
    await first.kill();
    release();
    await scene.worker();
    const run = await endOf(scene.builder, { id, status: 'running' });
    expect(run['status']).toBe('completed');
    expect(new Set(scene.keys).size).toBe(2);
    await orm.close(true);
  },
);
