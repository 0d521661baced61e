/** A run whose workflow task fails repeatedly is reported in its log, by the metrics and at /readyz. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTemporalClient } from '../../temporal/client.ts';
import { createGateway } from '../../temporal/gateway.ts';
import { watchStuckRuns } from '../../domain/runs/stuck.ts';
import type { TemporalGateway } from '../../domain/ports.ts';
import { bundleBroken } from '../replay/broken/bundle.ts';
import type { Client } from '../support/app.ts';
import {
  startRun,
  startTestPlatform,
  TEST_BASE_URL,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { humanTask } from '../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let temporal: TemporalGateway;
let closeClient: () => Promise<void>;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  const { address, namespace, taskQueue } = platform.temporal;
  const client = createTemporalClient({ address, namespace }, platform.dataConverter);
  closeClient = () => client.connection.close();
  temporal = createGateway({ client, taskQueue, baseUrl: TEST_BASE_URL });
});
afterAll(async () => {
  await closeClient();
  await platform.close();
});

const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const warnings = async (id: string): Promise<RunRecord[]> =>
  (await builder.get(`/runs/${id}/logs`)).body.filter(({ type }: RunRecord) =>
    type.endsWith('workflow.warning.v1'),
  );
const metric = async (): Promise<number> => {
  const { body } = await (await platform.as('admin')).get('/metrics');
  return Number(/^cadenza_runs_stuck (\d+)$/m.exec(body)?.[1]);
};
/** As many passes as cover every share of the runs, an hour from now: nothing has moved for long. */
const passes = async (): Promise<void> => {
  const inAnHour = Date.now() + 3_600_000;
  for (let round = 0; round < 12; round++)
    await watchStuckRuns(
      { orm: platform.orm, temporal },
      { now: new Date(inAnHour + round * 10_000), heartbeat: () => {} },
    );
};
const decide = async (runId: string, title: string): Promise<void> => {
  const tasks = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${runId}`)).body as RunRecord[],
    (found) => found.some((task) => task['title'] === title),
  );
  const task = tasks.find((candidate) => candidate['title'] === title);
  expect((await builder.post(`/hitl/tasks/${task?.['id']}/decision`, { decision: 'approve' })).status).toBe(
    200,
  );
};

test('a stuck run is logged once, shown by metrics and /readyz, and its recovery is logged', async () => {
  const ask = (title: string) => humanTask(title);
  const waiting = await startRun(builder, { do: [{ ask: ask('Wait') }] });
  const decided = await startRun(builder, { do: [{ one: ask('First?') }, { two: ask('Second?') }] });
  const broken = await bundleBroken();
  // Long enough for the worker to stop before.
  const timed = await startRun(builder, {
    do: [{ pause: { wait: { seconds: 20 } } }, { two: ask('Then?') }],
  });
  for (const { id } of [waiting, decided, timed])
    await until(
      () => runOf(id),
      ({ status }) => status === 'waiting',
    );
  await platform.stopWorker();
  await platform.startWorker({ workflowBundle: broken });
  await decide(decided['id'], 'First?');

  // Temporal's pauses between its attempts become longer and longer.
  for (const { id } of [decided, timed])
    await until(
      async () => (await passes(), warnings(id)),
      (found) => found.length > 0,
    );
  await passes();
  for (const { id } of [decided, timed]) {
    expect(await warnings(id)).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining('The run is stuck'),
        data: { attempts: expect.any(Number) },
      }),
    ]);
  }
  expect(await warnings(waiting['id'])).toEqual([]);
  expect(await until(metric, (stuck) => stuck === 2)).toBe(2);
  const ready = await platform.anonymous.get('/readyz');
  expect(ready).toMatchObject({
    status: 200,
    body: {
      status: 'degraded',
      checks: { runs: 'stuck' },
      problems: [expect.stringContaining('2 runs are stuck')],
    },
  });

  await platform.stopWorker();
  await platform.startWorker();
  await decide(decided['id'], 'Second?');
  await until(
    () => runOf(timed['id']),
    ({ tasks }) => tasks.some((task: RunRecord) => task['name'] === 'two'),
  );
  await until(
    () => runOf(decided['id']),
    ({ status }) => status === 'completed',
  );
  await passes();
  expect((await warnings(timed['id'])).map(({ level, message }) => [level, message])).toEqual([
    ['warn', expect.any(String)],
    ['info', 'The run is making progress again'],
  ]);
  expect(await until(metric, (stuck) => stuck === 0)).toBe(0);
  expect((await platform.anonymous.get('/readyz')).body).toMatchObject({
    status: 'ok',
    checks: { runs: 'ok' },
  });
});

test('a run that is cancelled before it has started leaves no execution behind', async () => {
  await platform.stopWorker();
  const runs = await Promise.all(
    ['one', 'batch'].map(() => startRun(builder, { do: [{ ask: humanTask('Wait') }] })),
  );
  const [one, other] = runs.map(({ id }) => String(id));
  for (const id of [one, other]) expect(await temporal.describe(id ?? '')).toBe('running');
  expect((await builder.post(`/runs/${one}/cancel`)).body.status).toBe('cancelled');
  const batch = await builder.post('/runs/actions', { action: 'cancel', ids: [other] });
  expect(JSON.stringify(batch.body)).toContain('"status":"cancelled"');
  for (const id of [one, other])
    expect(
      await until(
        () => temporal.describe(id ?? ''),
        (status) => status !== 'running',
      ),
    ).toBe('terminated');
});

test('an execution that goes on after its run has ended can be terminated', async () => {
  const { id } = await startRun(builder, { do: [{ ask: humanTask('Wait') }] });
  const admin = await platform.as('admin');
  // As if it had been cancelled, and Temporal had not answered.
  await platform.orm.em.fork().execute(
    `update run set status = 'cancelled', finished_at = clock_timestamp() - interval '1 minute'
        where id = ?`,
    [id],
  );
  expect((await admin.post(`/runs/${id}/terminate`, {})).status).toBe(200);
  expect(await temporal.describe(id)).toBe('terminated');
  const again = await admin.post(`/runs/${id}/terminate`, {});
  expect([again.status, again.body.code]).toEqual([409, 'run_finished']);
});

test('an execution that fails again and again after its run has ended is ended', async () => {
  await platform.startWorker();
  const { id } = await startRun(builder, { do: [{ ask: humanTask('Wait') }] });
  await until(
    () => runOf(id),
    ({ status }) => status === 'waiting',
  );
  await platform.stopWorker();
  await platform.startWorker({ workflowBundle: await bundleBroken() });
  await decide(id, 'Wait');
  await platform.orm.em
    .fork()
    .execute(`update run set status = 'cancelled', finished_at = clock_timestamp() where id = ?`, [id]);
  // Known to be stuck, as the servers of tests do not tell which executions have problems.
  await platform.orm.em.fork().execute('insert into run_stuck (run_id, attempts) values (?, 1)', [id]);
  expect(
    await until(
      async () => (await passes(), temporal.describe(id)),
      (status) => status !== 'running',
    ),
  ).toBe('terminated');
});
