/**
 * `call: map` over many items, while workers are killed and the run continues in new executions; and
 * schedules meanwhile.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client } from '../support/app.ts';
import { httpTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';
import { createTestDatabase, smallTemporal } from '../support/servers.ts';

const ITEMS = 100;
const CONCURRENCY = 10;
/** Temporal suggests a new execution long before; a history of all items would be longer. */
const MAX_HISTORY = 400;

/** Schedules of every second: `clock` starts each run, `turns` none beside another. */
const schedules = { clock: '', turns: '' };

let platform: TestPlatform;
let builder: Client;
let service: TestServer;
let worker: Program;
const calls = new Map<string, number>();
let inFlight = 0;
let mostInFlight = 0;
let onCall = (): void => {};
/** Answers that wait for the test, in the order of their calls. */
const held: (() => void)[] = [];
beforeAll(async () => {
  service = await startServer(async (request, response) => {
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    calls.set(request.path, (calls.get(request.path) ?? 0) + 1);
    onCall();
    await new Promise<void>((resolve) => {
      if (request.path.startsWith('/held/')) held.push(resolve);
      else setImmediate(resolve);
    });
    inFlight--;
    sendJson(response, { double: Number(request.path.slice(1)) * 2 });
  });
  const [database, temporal] = await Promise.all([createTestDatabase(), smallTemporal()]);
  platform = await startTestPlatform({ worker: false, servers: { database, temporal } });
  builder = await platform.as('builder');
  worker = await startProgram('worker', platform);
  for (const [name, task] of [
    ['clock', { set: { done: true } }],
    ['turns', { wait: { milliseconds: 1_500 } }],
  ] as const) {
    const definition = { schedule: { every: { seconds: 1 } }, do: [{ task }] };
    schedules[name] = (await builder.post('/workflows', { name, definition })).body.id;
  }
  await builder.patch(`/workflows/${schedules.clock}/schedule`, { overlap: 'allow' });
});
afterAll(async () => {
  await worker.kill();
  await platform.close();
  await service.close();
});

/** Locks the row until `release`, or the end of the connection. */
async function lock(table: string, column: string, id: string) {
  const holder = new pg.Client({ connectionString: platform.databaseUrl });
  const watcher = new pg.Client({ connectionString: platform.databaseUrl });
  await Promise.all([holder.connect(), watcher.connect()]);
  await holder.query('begin');
  const { rows } = await holder.query<{ pid: number }>(
    `select pg_backend_pid() as pid from ${table} where ${column} = $1 for no key update`,
    [id],
  );
  const waiting = `select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) limit 1`;
  return {
    /** Until another connection waits for it. */
    isWaitedFor: () =>
      until(
        async () => (await watcher.query(waiting, [rows[0]?.pid])).rowCount,
        (count) => count === 1,
      ),
    release: async () => {
      await Promise.all([holder.end(), watcher.end()]);
    },
  };
}

test('items keep their order and bounded histories, though the worker is killed twice', async () => {
  const reached = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onCall = () => calls.size >= count && resolve();
    });
  const quarter = reached(ITEMS / 4);
  // The first kill also comes in the middle of a scheduled start.
  const schedule = await lock('workflow_schedule', 'workflow_id', schedules.clock);
  await schedule.isWaitedFor();
  const run = await startRun(builder, {
    do: [
      {
        each: {
          call: 'map',
          with: {
            in: `[range(${ITEMS})]`,
            concurrency: CONCURRENCY,
            do: [
              { ask: httpTask(`${service.url}/n`, { endpoint: `\${ "${service.url}/\\($item)" }` }) },
              { keep: { set: { index: '${ $index }', double: '${ .double }' } } },
            ],
          },
        },
      },
    ],
  });
  await quarter;
  await worker.kill();
  await schedule.release();
  const half = reached(ITEMS / 2);
  await worker.start();
  await half;
  await worker.kill();
  await worker.start();
  const ended = await endOf(builder, run);
  expect(ended['status']).toBe('completed');
  expect(ended['output']).toEqual(
    Array.from({ length: ITEMS }, (_unused, index) => ({ index, double: index * 2 })),
  );
  expect(calls.size).toBe(ITEMS);
  expect(mostInFlight).toBeLessThanOrEqual(CONCURRENCY);
  await expectOneVisitForEachItem(run['id']);
  await expectBoundedHistories(run['id']);
}, 600_000);

test('each time of a schedule has one run, though the worker was killed twice', async () => {
  const sql = <T>(text: string, ...values: unknown[]): Promise<T[]> =>
    platform.orm.em.fork().execute<T[]>(text, values);
  const now = new Date();
  const [counts] = await until(
    () =>
      sql<{ runs: number; times: number; seconds: number }>(
        `select count(*)::int as runs, count(distinct scheduled_at)::int as times,
                (extract(epoch from date_trunc('second', ?::timestamptz) - min(scheduled_at)) + 1)::int
                  as seconds
           from run where workflow_id = ? and scheduled_at <= ? and status = 'completed'`,
        now,
        schedules.clock,
        now,
      ),
    ([found]) => (found?.times ?? 0) >= (found?.seconds ?? Infinity),
  );
  expect(counts?.seconds).toBeGreaterThan(10);
  expect(counts).toEqual({ runs: counts?.seconds, times: counts?.seconds, seconds: counts?.seconds });
  const overlaps = await sql(
    `select from run a join run b on b.workflow_id = a.workflow_id and b.id > a.id
      where a.workflow_id = ? and b.created_at < coalesce(a.finished_at, 'infinity')`,
    schedules.turns,
  );
  expect(overlaps).toEqual([]);
  for (const id of Object.values(schedules)) await builder.delete(`/workflows/${id}`);
});

test('a batch of events that is being written does not keep a run from its next execution', async () => {
  const client = createTemporalClient(platform.temporal);
  const PAIRS = 8;
  const ask = httpTask(`${service.url}/held/n`, { endpoint: `\${ "${service.url}/held/\\($item)" }` });
  const withItems = { in: `[range(${2 * PAIRS})]`, concurrency: 2, do: [{ ask }] };
  try {
    const run = await startRun(builder, { do: [{ each: { call: 'map', with: withItems } }] });
    const handle = client.workflow.getHandle(runWorkflowId(run['id']));
    const executions = new Set<string>();
    for (let pair = 0; pair < PAIRS; pair++) {
      await until(
        async () => held.length,
        (count) => count === 2,
      );
      const { runId, raw } = await handle.describe();
      executions.add(runId);
      // A batch may be under way too: it would wait for the lock.
      const calls = (raw.pendingActivities ?? [])
        .filter(({ activityType }) => activityType?.name === 'callHttp')
        .map(({ activityId }) => activityId);
      const row = await lock('run', 'id', run['id']);
      held.shift()?.();
      // What follows the first answer is about to be written while the second one comes.
      await row.isWaitedFor();
      held.shift()?.();
      await until(
        async () => (await handle.describe()).raw,
        ({ pendingActivities, pendingWorkflowTask }) =>
          !pendingWorkflowTask && !pendingActivities?.some(({ activityId }) => calls.includes(activityId)),
      );
      await row.release();
    }
    expect(await endOf(builder, run)).toMatchObject({ status: 'completed' });
    expect(executions.size).toBeGreaterThan(1);
  } finally {
    await client.connection.close();
  }
});

async function expectOneVisitForEachItem(runId: string): Promise<void> {
  const log = await readLog(builder, runId);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_entry, i) => i + 1));
  for (const name of ['0/ask', '1/keep']) {
    const items = log
      .filter(({ type, task }) => type.endsWith('task.completed.v1') && task === `/do/0/each/with/do/${name}`)
      .map(({ data }) => (data['items'] as number[])[0])
      .toSorted((left, right) => Number(left) - Number(right));
    expect(items).toEqual(Array.from({ length: ITEMS }, (_unused, i) => i));
  }
}

async function expectBoundedHistories(runId: string): Promise<void> {
  const client = createTemporalClient(platform.temporal);
  try {
    const lengths: number[] = [];
    for await (const execution of client.workflow.list({
      query: `WorkflowId = '${runWorkflowId(runId)}'`,
    }))
      lengths.push(execution.historyLength ?? 0);
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(MAX_HISTORY);
  } finally {
    await client.connection.close();
  }
}
