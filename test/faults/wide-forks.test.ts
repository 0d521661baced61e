/**
 * Forks that are wide, fat or deep: the work in flight is bounded, and the log has each event once, in the
 * order of its branch.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { readLog, type RunEvent } from '../support/run-log.ts';
import type { Client } from '../support/app.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import {
  runToEnd,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { httpTask, humanTask } from '../support/definitions.ts';

const ANSWER = randomBytes(3_750).toString('base64');
let platform: TestPlatform;
let builder: Client;
let service: TestServer;
let inFlight = 0;
let mostInFlight = 0;
beforeAll(async () => {
  service = await startServer(async (request, response) => {
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    if (request.path === '/slow') await new Promise((resolve) => setTimeout(resolve, 500));
    inFlight--;
    sendJson(response, request.path === '/answer' ? { text: ANSWER } : { received: request.body.length });
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await service.close();
});

const call = (path: string, more: Record<string, unknown> = {}) =>
  httpTask(`${service.url}${path}`, { method: 'post', ...more });
const fork = (count: number, branch: unknown) => ({
  fork: { branches: Array.from({ length: count }, (_, i) => ({ [`b${i}`]: branch })) },
});

/**
 * The log has no gap, all events of each task in order, the tasks of each list in order, and nothing after
 * the end.
 */
function expectInOrder(log: RunEvent[]): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1));
  expect(log.at(-1)?.type).toMatch(/workflow\.(completed|faulted|cancelled)\.v1$/);
  const open = new Set<string>();
  const lastOfList = new Map<string, number>();
  for (const { type, task, data } of log) {
    if (task === null) continue;
    const name = `${task}#${String(data['visit'])}`;
    const [, list, index] = /^(.*\/do)\/(\d+)\/[^/]+$/.exec(task) ?? [];
    // A task starts after the one before it in its list.
    if (type.endsWith('task.started.v1')) {
      open.add(name);
      if (list !== undefined && index !== undefined) {
        expect([task, Number(index)]).toEqual([
          task,
          Math.max(Number(index), (lastOfList.get(list) ?? -1) + 1),
        ]);
      }
    } else if (/task\.(completed|faulted|cancelled)\.v1$/.test(type)) {
      expect([name, type, open.delete(name)]).toEqual([name, type, true]);
      if (list !== undefined && index !== undefined) lastOfList.set(list, Number(index));
    }
  }
  expect([...open]).toEqual([]);
}

/**
 * The number of events that were given to activities of the run, including events given to several of them.
 */
async function carriedEvents(runId: string): Promise<number> {
  const client = createTemporalClient(platform.temporal, platform.dataConverter);
  try {
    const history = await client.workflow.getHandle(runWorkflowId(runId)).fetchHistory();
    const codec = platform.dataConverter.payloadCodecs?.[0];
    let events = 0;
    for (const { activityTaskScheduledEventAttributes: scheduled } of history.events ?? []) {
      const [payload] = await (codec?.decode(scheduled?.input?.payloads ?? []) ?? []);
      if (payload?.data)
        events += (JSON.parse(Buffer.from(payload.data).toString()) as { batch: { events: unknown[] } }).batch
          .events.length;
    }
    return events;
  } finally {
    await client.connection.close();
  }
}

test('a hundred branches of two calls that answer with 5 KB complete', async () => {
  const run = await runToEnd(builder, {
    do: [{ all: fork(100, { do: [{ one: call('/answer') }, { two: call('/answer') }] }) }],
  });
  expect(run).toMatchObject({
    status: 'completed',
    output: Array.from({ length: 100 }, () => ({ text: ANSWER })),
  });
  const log = await readLog(builder, run['id']);
  expectInOrder(log);
  // Some events go twice, where an activity starts while another of its branch carries them. There are far
  // fewer than one for each branch.
  expect(await carriedEvents(run['id'])).toBeLessThan(log.length * 1.5);
});

test('thirty branches that send the same 180 KB complete', async () => {
  const definition = { do: [{ all: fork(30, call('/received', { body: { text: '${ .text }' } })) }] };
  const text = randomBytes(135_000).toString('base64');
  const run = await runToEnd(builder, definition, { text });
  expect(run['status']).toBe('completed');
  expect(run['output'].map(({ received }: { received: number }) => received > 180_000)).toEqual(
    Array.from({ length: 30 }, () => true),
  );
  expectInOrder(await readLog(builder, run['id']));
});

test('nested forks complete with more calls than Temporal allows pending at once', async () => {
  mostInFlight = 0;
  const definition = {
    use: { functions: { wide: fork(47, call('/received')) } },
    do: [{ all: fork(47, { call: 'wide' }) }],
  };
  const run = await runToEnd(builder, definition);
  expect(run['status']).toBe('completed');
  expect(run['output'].flat()).toHaveLength(47 * 47);
  expect(mostInFlight).toBeLessThanOrEqual(48);
  expectInOrder(await readLog(builder, run['id']));
});

test('nested forks whose input is too large for their number fault, without a checkpoint', async () => {
  const definition = {
    use: { functions: { wide: fork(47, call('/received')) } },
    do: [{ all: fork(47, { call: 'wide' }) }],
  };
  const run = await runToEnd(builder, definition, { text: 'x'.repeat(300_000) });
  expect(run).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringContaining('characters of JSON at once') },
  });
  expect(run['can']).not.toContain('retry');
  expect(await builder.post(`/runs/${run['id']}/retry`)).toMatchObject({
    status: 409,
    body: { code: 'no_checkpoint' },
  });
  expectInOrder(await readLog(builder, run['id']));
});

test('a branch with one call does not wait for the three hundred calls of its neighbour', async () => {
  const branches = [
    { many: fork(300, call('/slow')) },
    { one: { do: [{ first: call('/slow') }, { second: call('/slow') }] } },
  ];
  const run = await runToEnd(builder, { do: [{ all: { fork: { branches } } }] });
  const log = await readLog(builder, run['id']);
  const done = log.findIndex(
    ({ type, task }) => task === '/do/0/all/fork/branches/1/one' && type.endsWith('task.completed.v1'),
  );
  const ofMany = log.filter(
    ({ type, task }, i) =>
      i < done && task?.includes('/branches/0/many/') === true && type.endsWith('task.completed.v1'),
  );
  expect(ofMany.length).toBeLessThan(300);
});

test('a fork of five hundred branches completes', async () => {
  const run = await runToEnd(builder, {
    do: [{ all: fork(500, { do: [{ note: { set: { n: 1 } } }, { one: call('/received') }] }) }],
  });
  expect(run['status']).toBe('completed');
  expect(run['output']).toHaveLength(500);
  const log = await readLog(builder, run['id']);
  expectInOrder(log);
  expect(await carriedEvents(run['id'])).toBeLessThan(log.length * 1.5);
});

test('three hundred human tasks are all counted, and the first hundred are named', async () => {
  const { id } = await startRun(builder, {
    do: [{ all: fork(300, humanTask('Well?')) }],
  });
  const read = async (): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
  const waiting = await until(
    read,
    ({ status, waiting_count }) => status === 'waiting' && waiting_count === 300,
  );
  expect(waiting['waiting_on']).toHaveLength(100);
  const [first] = waiting['waiting_on'];
  expect((await builder.post(`/hitl/tasks/${first.id}/decision`, { decision: 'approve' })).status).toBe(200);
  const then = await until(read, ({ waiting_count }) => waiting_count === 299);
  expect(then['waiting_on']).toHaveLength(100);
  expect(then['waiting_on'].map((wait: { id: string }) => wait.id)).not.toContain(first.id);
  await builder.post(`/runs/${id}/cancel`);
  const run = await until(read, ({ status }) => status === 'cancelled');
  expect(run).toMatchObject({ waiting_on: [], waiting_count: 0 });
  expect((await builder.get(`/hitl/tasks?run_id=${id}`)).body).toEqual([]);
  expectInOrder(await readLog(builder, id));
});
