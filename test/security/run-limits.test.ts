/** The runs of one user, and the descendants of one run, are limited; other users' runs start promptly. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { registeredAgent } from '../support/agent-body.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import {
  endOf,
  runToEnd,
  startRun,
  startTestPlatform,
  until,
  type TestPlatform,
} from '../support/platform.ts';
import { readLog } from '../support/run-log.ts';
import type { Client } from '../support/app.ts';
import { httpTask } from '../support/definitions.ts';

const LIMITS = {
  RUN_MAX_DESCENDANTS: '30',
  RUN_MAX_DEPTH: '6',
  RUN_TREE_MAX_EVENTS: '400',
  RUN_TREE_MAX_TASKS: '100000',
  USER_MAX_LIVE_RUNS: '100',
};

let platform: TestPlatform;
let other: Client;
let hanging: TestServer;

beforeAll(async () => {
  platform = await startTestPlatform({ env: LIMITS });
  other = await platform.as('builder');
  hanging = await startServer(() => {});
});
afterAll(async () => {
  await platform.close();
  await hanging.close();
});

/** A separate user, so that tests do not count each other's runs. */
const newBuilder = async (name: string): Promise<Client> =>
  platform.as(await platform.createUser({ username: name, roles: ['builder'] }));

const document = (name: string) => ({ dsl: '1.0.3', namespace: 'test', name, version: '0.1.0' });
const itself = (name: string) => ({ run: { workflow: { namespace: 'test', name, version: '0.1.0' } } });
const forks = (name: string, branches: number) => ({
  document: document(name),
  do: [
    {
      all: {
        fork: { branches: Array.from({ length: branches }, (_, n) => ({ [`branch${n}`]: itself(name) })) },
      },
    },
  ],
});

async function liveRuns(client: Client): Promise<number> {
  return (await client.get('/runs?status=pending,running,waiting,suspended&limit=200')).body.length;
}

/** The innermost error of a chain of faulted children, as the root run shows it. */
const detailOf = (run: any): string => run.error.detail;

test('a workflow that starts itself three times stops at the limit, and other users are served', async () => {
  const bomber = await newBuilder('bomber');
  const bomb = await startRun(bomber, forks('bomb', 3));
  const [mine] = await Promise.all([
    runToEnd(other, { document: document('small'), do: [{ a: { set: { done: true } } }] }),
    until(
      async () => (await bomber.get(`/runs/${bomb['id']}`)).body,
      (run) => run.status === 'faulted',
    ),
  ]);
  expect(mine['output']).toEqual({ done: true });
  const { body: ended } = await bomber.get(`/runs/${bomb['id']}`);
  expect(detailOf(ended)).toMatch(
    /A run may have at most 30 descendants \(RUN_MAX_DESCENDANTS\)|nested at most 6 deep/,
  );
  expect(
    await until(
      () => liveRuns(bomber),
      (count) => count === 0,
    ),
  ).toBe(0);
  const all = (await bomber.get('/runs?limit=200')).body;
  expect(all.length).toBeLessThanOrEqual(31);
  expect(all.length).toBeGreaterThan(6);
});

test('a workflow that runs itself ends at the limit of depth, which its catch sees', async () => {
  const builder = await newBuilder('deep');
  const name = 'deep';
  const caught = {
    try: [{ child: itself(name) }],
    catch: {
      as: 'error',
      do: [{ note: { set: { refused: '${ $error.detail }', type: '${ $error.type }' } } }],
    },
  };
  const run = await runToEnd(builder, { document: document(name), do: [{ attempt: caught }] });
  expect(run['status']).toBe('completed');
  expect((await builder.get('/runs?limit=200')).body).toHaveLength(6);
  expect(JSON.stringify(run['output'])).toContain('Runs may be nested at most 6 deep (RUN_MAX_DEPTH)');
  expect(JSON.stringify(run['output'])).toContain('errors/runtime');
});

test('a tree of runs that writes too many events ends with an error that no catch takes', async () => {
  const builder = await newBuilder('chatty');
  const back = {
    back: { switch: [{ enough: { when: '.n > 1000000000', then: 'exit' } }, { more: { then: 'count' } }] },
  };
  const busy = { document: document('busy'), do: [{ count: { set: { n: '${ (.n // 0) + 1 }' } } }, back] };
  expect((await builder.post('/workflows', { name: 'busy', definition: busy })).body.problems).toEqual([]);
  const catching = { try: [{ child: itself('busy') }], catch: { do: [{ goOn: { wait: { hours: 1 } } }] } };
  const root = await startRun(builder, { document: document('catching'), do: [{ attempt: catching }] });
  const ended = await until(
    async () => (await builder.get(`/runs/${root['id']}`)).body,
    (run) => run.status === 'faulted',
  );
  expect(detailOf(ended)).toBe(
    'The run and its descendants have more than 400 events in their logs (RUN_TREE_MAX_EVENTS)',
  );
  expect(ended.logs.at(-1).message).toContain('RUN_TREE_MAX_EVENTS');
  const [child] = (await builder.get(`/runs?parent_run_id=${root['id']}`)).body;
  await until(
    async () => (await builder.get(`/runs/${child.id}`)).body.status,
    (status) => status === 'cancelled',
  );
});

test('a child without a waiting parent counts, and ends at the limit of its tree', async () => {
  const builder = await newBuilder('detacher');
  const back = {
    back: { switch: [{ enough: { when: '.n > 1000000000', then: 'exit' } }, { more: { then: 'count' } }] },
  };
  const busy = {
    document: document('busy-alone'),
    do: [{ count: { set: { n: '${ (.n // 0) + 1 }' } } }, back],
  };
  expect((await builder.post('/workflows', { name: 'busy-alone', definition: busy })).body.problems).toEqual(
    [],
  );
  const { run } = itself('busy-alone');
  const detached = { child: { run: { ...run, await: false } } };
  const [over, waiting] = await Promise.all([
    startRun(builder, { document: document('gone'), do: [detached] }),
    startRun(builder, { document: document('stays'), do: [detached, { long: { wait: { hours: 1 } } }] }),
  ]);
  const ends: [any, string][] = [
    [over, 'completed'],
    [waiting, 'faulted'],
  ];
  for (const [root, status] of ends) {
    const [child] = await until(
      async () => (await builder.get(`/runs?parent_run_id=${root.id}`)).body,
      (children) => children.length === 1,
    );
    await until(
      async () => (await builder.get(`/runs/${child.id}`)).body.status,
      (state) => state === 'cancelled',
    );
    await until(
      async () => (await builder.get(`/runs/${root.id}`)).body.status,
      (state) => state === status,
    );
  }
});

test('a user with too many live runs gets 429, and may start again when one has ended', async () => {
  const builder = await newBuilder('busybody');
  const definition = { document: document('waits'), do: [{ wait: { wait: { hours: 1 } } }] };
  const workflow = (await builder.post('/workflows', { name: 'waits', definition })).body;
  const start = () => builder.post(`/workflows/${workflow.id}/run`, {});
  // Four at a time: each request counts the runs that are committed.
  const started: string[] = [];
  for (let n = 0; n < 25; n++)
    for (const { status, body } of await Promise.all([start(), start(), start(), start()])) {
      expect(status).toBe(201);
      started.push(body.id);
    }
  const refused = await start();
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_live_runs']);
  expect(refused.body.detail).toContain('at most 100 runs that are not over (USER_MAX_LIVE_RUNS)');
  expect(refused.headers.get('retry-after')).toBe('10');
  const agent = await registeredAgent(builder, { configuration: { endpoint: hanging.url } });
  expect((await builder.post(`/agents/${agent.id}/invoke`, { input: {} })).body.code).toBe(
    'too_many_live_runs',
  );

  await builder.post(`/runs/${started[0]}/cancel`);
  await until(
    async () => (await builder.get(`/runs/${started[0]}`)).body.status,
    (status) => status === 'cancelled',
  );
  expect((await start()).status).toBe(201);
  for (const id of started) await builder.post(`/runs/${id}/cancel`);
});

test('a child run beyond the limit of its owner faults its task, with the reason', async () => {
  const builder = await newBuilder('parent');
  const waits = { document: document('long'), do: [{ wait: { wait: { hours: 1 } } }] };
  const workflow = (await builder.post('/workflows', { name: 'long', definition: waits })).body;
  const ids = [];
  for (let n = 0; n < 99; n++) ids.push((await builder.post(`/workflows/${workflow.id}/run`, {})).body.id);
  const run = await runToEnd(builder, { document: document('one-more'), do: [{ child: itself('long') }] });
  expect([run['status'], run['error'].type]).toEqual(['faulted', expect.stringContaining('errors/runtime')]);
  expect(detailOf(run)).toContain('USER_MAX_LIVE_RUNS');
  for (const id of ids) await builder.post(`/runs/${id}/cancel`);
});

test('the backlog of one owner does not delay the runs of another', async () => {
  const [greedy, modest] = [await newBuilder('greedy'), await newBuilder('modest')];
  const seen = { greedy: 0, modest: 0 };
  /** How many calls of the other had arrived at each of the modest ones. */
  const before: number[] = [];
  const slow = await startServer((request, response) => {
    const caller = request.path === '/greedy' ? 'greedy' : 'modest';
    seen[caller]++;
    if (caller === 'modest') before.push(seen.greedy);
    setTimeout(() => response.end('{}'), caller === 'greedy' ? 100 : 0);
  });
  await platform.stopWorker();
  await platform.startWorker({ maxActivities: 2 });
  const calls = (who: string) =>
    Array.from({ length: 5 }, (_, n) => ({
      [`call${n}`]: httpTask(`${slow.url}/${who}`),
    }));
  const branches = Array.from({ length: 60 }, (_, n) => ({ [`branch${n}`]: { do: calls('greedy') } }));
  const wide = await startRun(greedy, { document: document('wide'), do: [{ all: { fork: { branches } } }] });
  await until(
    async () => seen.greedy,
    (count) => count > 10,
  );

  const narrow = await runToEnd(modest, { document: document('narrow'), do: calls('modest') });
  expect([narrow['status'], seen.modest]).toEqual(['completed', 5]);
  // First come, first served: each of the five calls would wait for a call of every branch. On a busy
  // machine some wait long for other reasons, but not all.
  const passed = before.slice(1).map((count, n) => count - (before[n] ?? 0));
  expect(Math.min(...passed)).toBeLessThan(30);
  await greedy.post(`/runs/${wide['id']}/cancel`);
  await until(
    () => liveRuns(greedy),
    (count) => count === 0,
  );
  await slow.close();
});

const MEBI = 1024 * 1024;

test('an event has at most as many characters as POST /events takes; a larger one faults', async () => {
  const builder = await newBuilder('announcer');
  const emitting = (times: number) => ({
    do: [
      {
        tell: {
          emit: {
            event: { with: { type: 'com.example.told', data: Array<string>(times).fill('${ .text }') } },
          },
        },
      },
      { done: { set: { done: true } } },
    ],
  });
  const input = { text: 'x'.repeat(MEBI - 1_000) };
  const small = await startRun(builder, emitting(2), input);
  const large = await startRun(builder, emitting(3), input);
  expect((await endOf(builder, small))['output']).toEqual({ done: true });
  const { error } = await endOf(builder, large);
  expect(error).toMatchObject({
    status: 500,
    detail: `limit exceeded: the event has more than ${2 * MEBI} characters of JSON`,
    instance: '/do/0/tell',
  });
  expect(JSON.stringify(await readLog(builder, large['id'])).length).toBeLessThan(20_000);
});

test('the log has the beginning of a long error, at each level around it, and the run has all', async () => {
  const builder = await newBuilder('raiser');
  const raise = {
    raise: {
      error: { type: 'https://example.com/broken', status: 500, title: 'Broken', detail: '${ .text }' },
    },
  };
  let nested: object = { inner: raise };
  for (let depth = 0; depth < 15; depth++) nested = { [`level${depth}`]: { do: [nested] } };
  const retry = { limit: { attempt: { count: 1 } } };
  const definition = {
    do: [{ guarded: { try: [nested], catch: { retry, do: [{ go: { set: '${ . }' } }] } } }, { last: raise }],
  };
  const text = 'd'.repeat(MEBI);
  const run = await endOf(builder, await startRun(builder, definition, { text }));
  expect(run['status']).toBe('faulted');
  expect(run['error'].detail).toBe(text);
  const log = await readLog(builder, run['id']);
  const errors = log.filter(({ data }) => data['error'] !== undefined);
  // Two attempts of 16 tasks, one retry, the last task and the run.
  expect(errors).toHaveLength(2 * 16 + 1 + 1 + 1);
  for (const { message, data } of errors) {
    expect(data['error']).toMatchObject({ status: 500, detail: `${'d'.repeat(8_192)}…` });
    expect(message.length).toBeLessThan(8_300);
  }
  const single = await builder.get(`/runs/${run['id']}/tasks/${encodeURIComponent('/do/1/last')}`);
  expect(single.body.error.detail).toHaveLength(8_193);
});
