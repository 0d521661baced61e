/** Runs through HTTP: docs/interface.md#runs. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTemporalClient } from '../../temporal/client.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import type { Client } from '../support/app.ts';
import { httpTask, humanTask } from '../support/definitions.ts';
import { keepIdle } from '../support/http-server.ts';

let platform: TestPlatform;
let builder: Client;
let agent: Server;
let agentUrl: string;
const calls: { path: string; key: string | undefined }[] = [];
/** Paths that wait for these before they answer. */
const gates = new Map<string, Promise<void>>();
/** Paths that answer 503 until a test changes it. */
const failing = new Set<string>();

beforeAll(async () => {
  agent = createServer(keepIdle, (request, response) => {
    const path = request.url ?? '';
    calls.push({ path, key: request.headers['idempotency-key'] as string | undefined });
    const delay = Number(/^\/slow\/(\d+)/.exec(path)?.[1] ?? 0);
    const answer = async (): Promise<void> => {
      await Promise.all([sleep(delay), gates.get(path)]);
      response
        .writeHead(failing.has(path) ? 503 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ path }));
    };
    void answer();
  });
  await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  agentUrl = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  agent.closeAllConnections();
  await new Promise((resolve) => agent.close(resolve));
});

const http = (path: string) => httpTask(`${agentUrl}${path}`);
const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const statusIs = (id: string, status: string): Promise<RunRecord> =>
  until(
    () => runOf(id),
    (run) => run['status'] === status,
  );
const waiting = () => ({
  do: [{ first: http('/first') }, { pause: { wait: { minutes: 10 } } }, { last: { set: { done: true } } }],
});
const create = async (definition: unknown): Promise<string> =>
  (await builder.post('/workflows', { name: 'test', definition })).body.id;

describe('starting a run', () => {
  test('checks token, owner and input, and gives 201 with Location', async () => {
    const id = await create({
      input: {
        schema: { document: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } } },
      },
      do: [{ a: { set: { n: '${ .n }' } } }],
    });
    expect((await platform.anonymous.post(`/workflows/${id}/run`, {})).status).toBe(401);
    const stranger = await platform.as(await platform.createUser());
    expect((await stranger.post(`/workflows/${id}/run`, {})).status).toBe(404);
    const refused = await builder.post(`/workflows/${id}/run`, { input_params: { n: 'x' } });
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0]).toMatchObject({ pointer: '/input_params/n' });
    const viewer = await platform.as('viewer');
    expect((await viewer.post(`/workflows/${id}/run`, { input_params: { n: 1 } })).status).toBe(403);
    const started = await builder.post(
      `/workflows/${id}/execute`,
      { input_params: { n: 1 } },
      { headers: { prefer: 'wait=20' } },
    );
    expect(started.status).toBe(201);
    expect(started.headers.get('location')).toBe(`/runs/${started.body.id}`);
    const ended = await endOf(builder, started.body);
    expect(ended).toMatchObject({
      status: 'completed',
      output: { n: 1 },
      input_params: { n: 1 },
      workflow_id: id,
      workflow_revision: 1,
    });
    // Its tasks are within it: a run begins when its log says so.
    const began = ended['logs'].find(({ message }: { message: string }) => message.endsWith(' started'));
    expect([ended['started_at'], began.task]).toEqual([began.at, null]);
  });

  test('refuses an invalid or unsupported definition with 422 and its problems', async () => {
    const invalid = await create({ do: [{ a: { sett: {} } }] });
    const refused = await builder.post(`/workflows/${invalid}/run`, {});
    expect(refused.status).toBe(422);
    expect(refused.body.code).toBe('workflow_invalid');
    expect(refused.body.errors[0].pointer).toContain('/do/0/a');
    const unsupported = await create({ do: [{ a: { set: { b: 1 } } }], evaluate: { language: 'js' } });
    expect((await builder.post(`/workflows/${unsupported}/run`, {})).body.code).toBe('workflow_not_runnable');
  });

  test('starts one run for the same Idempotency-Key, also concurrently', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    const post = () => builder.post(`/workflows/${id}/run`, {}, { headers: { 'idempotency-key': 'once' } });
    const answers = await Promise.all([post(), post(), post()]);
    const created = answers.filter(({ status }) => status === 201);
    expect(created.length).toBeGreaterThan(0);
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    const runs = await builder.get(`/runs?workflow_id=${id}`);
    expect(runs.body).toHaveLength(1);
  });
});

describe('a command to a run', () => {
  test('cancels its tasks, may be repeated, and is refused after its end', async () => {
    const run = await startRun(builder, waiting());
    await statusIs(run['id'], 'waiting');
    expect((await builder.post(`/runs/${run['id']}/cancel`)).status).toBe(200);
    const ended = await statusIs(run['id'], 'cancelled');
    expect(ended['tasks'].map((task: RunRecord) => [task['name'], task['status']])).toEqual([
      ['first', 'completed'],
      ['pause', 'cancelled'],
    ]);
    expect((await builder.post(`/runs/${run['id']}/cancel`)).status).toBe(200);
    expect((await builder.post(`/runs/${run['id']}/suspend`)).status).toBe(409);
  });

  test('suspends it: running tasks finish, nothing new starts, and resume continues', async () => {
    const answered = Promise.withResolvers<void>();
    gates.set('/suspended', answered.promise);
    const run = await startRun(builder, {
      do: [{ slow: http('/suspended') }, { next: http('/after-suspend') }],
    });
    await until(
      () => runOf(run['id']),
      (found) => found['tasks'].length === 1,
    );
    await builder.post(`/runs/${run['id']}/suspend`);
    await statusIs(run['id'], 'suspended');
    answered.resolve();
    const suspended = await until(
      () => runOf(run['id']),
      (found) => found['status'] === 'suspended' && found['tasks'][0].status === 'completed',
    );
    expect(suspended['tasks']).toHaveLength(1);
    expect((await builder.post(`/runs/${run['id']}/suspend`)).status).toBe(200);
    expect((await builder.post(`/runs/${run['id']}/resume`)).status).toBe(200);
    expect((await statusIs(run['id'], 'completed'))['tasks']).toHaveLength(2);
  });

  test('gets 404 for other users, and terminate is for admins', async () => {
    const run = await startRun(builder, waiting());
    const stranger = await platform.as(await platform.createUser());
    for (const path of ['', '/logs', '/tasks', '/events'])
      expect((await stranger.get(`/runs/${run['id']}${path}`)).status).toBe(404);
    expect((await stranger.post(`/runs/${run['id']}/cancel`)).status).toBe(404);
    expect((await builder.post(`/runs/${run['id']}/terminate`)).status).toBe(403);
    const admin = await platform.as('admin');
    expect((await admin.get(`/runs/${run['id']}`)).status).toBe(200);
    expect((await admin.post(`/runs/${run['id']}/terminate`, { reason: 'stuck' })).body.status).toBe(
      'cancelled',
    );
  });
});

describe('retrying a run', () => {
  test('continues at the failed task, and repeats no completed task or finished branch', async () => {
    failing.add('/flaky');
    const run = await startRun(
      builder,
      {
        do: [
          { before: http('/before-retry') },
          {
            loop: {
              for: { in: '[1, 2]' },
              do: [{ both: { fork: { branches: [{ fine: http('/fine') }, { flaky: http('/flaky') }] } } }],
            },
          },
          { after: { set: { ok: true } } },
        ],
      },
      {},
      20,
    );
    expect(run).toMatchObject({
      status: 'faulted',
      error: { status: 503, instance: '/do/1/loop/do/0/both/fork/branches/1/flaky' },
    });
    const before = calls.filter(({ path }) => path === '/before-retry').length;
    failing.delete('/flaky');
    const retried = await builder.post(`/runs/${run['id']}/retry`, {}, { headers: { prefer: 'wait=20' } });
    expect(retried.status).toBe(201);
    expect(await endOf(builder, retried.body)).toMatchObject({
      status: 'completed',
      retry_of: run['id'],
      output: { ok: true },
    });
    expect(calls.filter(({ path }) => path === '/before-retry')).toHaveLength(before);
    expect((await builder.post(`/runs/${retried.body.id}/retry`)).status).toBe(409);
  });
});

describe('a child run', () => {
  test('is an ordinary run whose output, fault and cancellation pass between parent and child', async () => {
    const child = {
      document: { dsl: '1.0.3', namespace: 'kids', name: 'child', version: '1.0.0' },
      do: [{ w: { wait: { milliseconds: '${ .ms }' } } }, { a: { set: { twice: '${ .n * 2 }' } } }],
    };
    await builder.post('/workflows', {
      name: 'child',
      definition: { ...child, do: [{ a: { set: { twice: '${ .n * 2 }' } } }] },
    });
    const parent = (input: unknown) => ({
      do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'child', version: '1.0.0', input } } } }],
    });
    const run = await startRun(builder, parent({ n: 21 }), {}, 20);
    expect(run).toMatchObject({ status: 'completed', output: { twice: 42 } });
    const children = await builder.get(`/runs?parent_run_id=${run['id']}`);
    expect(children.body).toHaveLength(1);
    expect(run['tasks'][0].child_run_id).toBe(children.body[0].id);
    const failed = await startRun(builder, parent({ n: {} }), {}, 20);
    expect(failed).toMatchObject({ status: 'faulted', error: { instance: '/do/0/sub' } });
    const missing = await startRun(
      builder,
      { do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'nobody', version: '1.0.0' } } } }] },
      {},
      20,
    );
    expect(missing).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringContaining('/configuration') },
    });
  });

  test('that waits shows in its parent, and is cancelled with it', async () => {
    await builder.post('/workflows', {
      name: 'asks',
      definition: {
        document: { dsl: '1.0.3', namespace: 'kids', name: 'asks', version: '1.0.0' },
        do: [{ ask: humanTask('Go?') }],
      },
    });
    const run = await startRun(builder, {
      do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'asks', version: '1.0.0' } } } }],
    });
    const parent = await statusIs(run['id'], 'waiting');
    expect(parent['waiting_on']).toMatchObject([{ kind: 'human' }]);
    await builder.post(`/runs/${run['id']}/cancel`);
    await statusIs(run['id'], 'cancelled');
    const [child] = (await builder.get(`/runs?parent_run_id=${run['id']}`)).body;
    await statusIs(child.id, 'cancelled');
    expect((await builder.get(`/hitl/tasks?run_id=${child.id}&status=cancelled`)).body).toHaveLength(1);
  });
});

describe('logs and lists of runs', () => {
  test('stream each event once, resume after Last-Event-ID, end with the run, then answer 204', async () => {
    const run = await startRun(builder, {
      do: [
        {
          both: {
            fork: {
              branches: [
                { slow: http('/slow/700') },
                {
                  fast: {
                    do: [
                      { a: { set: { a: 1 } } },
                      { w: { wait: { milliseconds: 100 } } },
                      { b: { set: { b: 1 } } },
                    ],
                  },
                },
              ],
            },
          },
        },
      ],
    });
    const stream = await builder.get(`/runs/${run['id']}/events`);
    const ids = [...String(stream.body).matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    expect(ids).toEqual(ids.map((_id, i) => i + 1));
    expect(stream.body).toContain('workflow.completed.v1');
    const rest = await builder.get(`/runs/${run['id']}/events`, {
      headers: { 'last-event-id': String(ids.length - 2) },
    });
    expect([...String(rest.body).matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))).toEqual(
      ids.slice(-2),
    );
    expect(
      (await builder.get(`/runs/${run['id']}/events`, { headers: { 'last-event-id': String(ids.length) } }))
        .status,
    ).toBe(204);
  });

  test('are paged, filtered by level and task, and refuse wrong queries by name', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    for (let i = 0; i < 3; i++)
      await builder.post(`/workflows/${id}/run`, {}, { headers: { prefer: 'wait=20' } });
    const first = await builder.get(`/runs?workflow_id=${id}&limit=2`);
    expect(first.body).toHaveLength(2);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await builder.get(next);
    expect(second.body).toHaveLength(1);
    expect(second.headers.get('link')).toBeNull();
    const logs = await builder.get(`/runs/${first.body[0].id}/logs?task=/do/0/a&limit=1`);
    expect(logs.body).toMatchObject([{ task: '/do/0/a' }]);
    expect((await builder.get('/runs?statuss=x')).status).toBe(400);
    expect((await builder.get('/runs?status=nonsense')).status).toBe(400);
    expect((await builder.get('/runs?limit=0')).status).toBe(400);
  });
});

describe('a task of a run', () => {
  const large = 'x'.repeat(9_000);
  let run: RunRecord;
  const taskPath = (reference: string, query = ''): string =>
    `/runs/${run['id']}/tasks/${encodeURIComponent(reference)}${query}`;
  beforeAll(async () => {
    run = await startRun(
      builder,
      {
        do: [
          {
            each: {
              for: { each: 'item', in: '${ .items }' },
              do: [{ double: { input: { from: '${ $item }' }, set: { twice: '${ . * 2 }' } } }],
            },
          },
          { grow: { set: { text: large } } },
          { broken: { input: { from: '${ .text | keys }' }, set: { never: true } } },
        ],
      },
      { items: [3, 4] },
    );
    run = await endOf(builder, run);
  });

  test('shows its input after `input.from` and its output, by default of the last visit', async () => {
    const double = '/do/0/each/do/0/double';
    const last = await builder.get(taskPath(double));
    expect([last.status, last.body]).toMatchObject([
      200,
      { reference: double, visit: 2, status: 'completed', input: 4, output: { twice: 8 }, omitted: [] },
    ]);
    expect((await builder.get(taskPath(double, '?visit=1'))).body).toMatchObject({ visit: 1, input: 3 });
    const { body: log } = await builder.get(`/runs/${run['id']}/logs?task=${double}`);
    const started = log.filter(({ type }: { type: string }) => type.endsWith('task.started.v1'));
    expect(started.map(({ data }: { data: object }) => data)).toMatchObject([{ input: 3 }, { input: 4 }]);
  });

  test('omits what is large by name, and shows the raw input where `input.from` failed', async () => {
    const grow = (await builder.get(taskPath('/do/1/grow'))).body;
    expect(grow).toMatchObject({ omitted: ['output'] });
    expect(grow).not.toHaveProperty('output');
    const broken = (await builder.get(taskPath('/do/2/broken'))).body;
    expect(broken).toMatchObject({ status: 'faulted', omitted: ['input'] });
    const { body: log } = await builder.get(`/runs/${run['id']}/logs?task=/do/2/broken`);
    expect(log.map(({ type }: { type: string }) => type.split('.').at(-2))).toEqual(['started', 'faulted']);
  });

  test('is one record for all its visits, and lists are read from the end', async () => {
    const groups = await builder.get(`/runs/${run['id']}/tasks/groups?limit=2`);
    expect(groups.body).toMatchObject([
      { reference: '/do/0/each', type: 'for', count: 1, completed: 1, slowest: { visit: 1 } },
      { reference: '/do/0/each/do/0/double', count: 2, completed: 2, faulted: 0, last_visit: 2 },
    ]);
    const next = await builder.get(/<([^>]+)>/.exec(groups.headers.get('link') ?? '')?.[1] ?? '');
    expect(next.body).toMatchObject([{ name: 'grow' }, { name: 'broken', completed: 0, faulted: 1 }]);

    const { body: record } = await builder.get(`/runs/${run['id']}`);
    const { body: all } = await builder.get(`/runs/${run['id']}/logs?limit=200`);
    expect(record.last_seq).toBe(all.length);
    const seqs = async (path: string): Promise<number[]> =>
      (await builder.get(path)).body.map(({ seq }: { seq: number }) => seq);
    const end = record.last_seq + 1;
    const last = await builder.get(`/runs/${run['id']}/logs?before=${end}&limit=3`);
    const numbers = all.map(({ seq }: { seq: number }) => seq).reverse();
    expect(last.body.map(({ seq }: { seq: number }) => seq)).toEqual(numbers.slice(0, 3));
    const older = /<([^>]+)>/.exec(last.headers.get('link') ?? '')?.[1] ?? '';
    expect(await seqs(older)).toEqual(numbers.slice(3, 6));
    expect(await seqs(`/runs/${run['id']}/logs?before=4&after=1`)).toEqual([3, 2]);
    const tasks = await builder.get(`/runs/${run['id']}/tasks?before=${end}&limit=2`);
    expect(tasks.body.map(({ name }: { name: string }) => name)).toEqual(['broken', 'grow']);
    const faulted = await builder.get(`/runs/${run['id']}/tasks?status=faulted,cancelled`);
    expect(faulted.body).toMatchObject([{ name: 'broken' }]);
    const visits = await builder.get(
      `/runs/${run['id']}/tasks?reference=${encodeURIComponent('/do/0/each/do/0/double')}`,
    );
    expect(visits.body.map(({ visit }: { visit: number }) => visit)).toEqual([1, 2]);
    for (const query of ['before=x', 'before=-1', 'before=2147483648', 'after=1e12', 'status=odd', 'group=1'])
      expect([query, (await builder.get(`/runs/${run['id']}/tasks?${query}`)).status]).toEqual([query, 400]);
    const stranger = await platform.as(await platform.createUser());
    expect((await stranger.get(`/runs/${run['id']}/tasks/groups`)).status).toBe(404);
  });

  test('is hidden from others, and refuses what names no task or visit', async () => {
    const stranger = await platform.as(await platform.createUser());
    expect((await stranger.get(taskPath('/do/1/grow'))).status).toBe(404);
    const statusOf = async (path: string): Promise<number> => (await builder.get(path)).status;
    for (const reference of ['/do/9/none', 'do', '%', "' or 1=1", 'a\0b', '\u{1f600}', 'x'.repeat(3_000)])
      expect([reference, await statusOf(taskPath(reference))]).toEqual([reference, 404]);
    expect(await statusOf(taskPath('/do/1/grow', '?visit=2'))).toBe(404);
    expect(await statusOf(`/runs/${run['id']}/tasks/%ZZ`)).toBeLessThan(500);
    // Visits below 1 are those that a retry has asked again.
    for (const visit of ['0', '-1'])
      expect([visit, await statusOf(taskPath('/do/1/grow', `?visit=${visit}`))]).toEqual([visit, 404]);
    for (const visit of ['1.5', 'x', '2147483648', '1e99'])
      expect([visit, await statusOf(taskPath('/do/1/grow', `?visit=${visit}`))]).toEqual([visit, 400]);
  });
});

describe('the reconciler', () => {
  test('starts runs that are pending since Temporal was away', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    const em = platform.orm.em.fork();
    const { body } = await builder.post(`/workflows/${id}/run`, {}, { headers: { prefer: 'wait=20' } });
    expect((await endOf(builder, body))['status']).toBe('completed');
    // A crash between the commit and the start leaves the run like this.
    const created = await builder.post(`/workflows/${id}/run`, {});
    await until(
      () => runOf(created.body.id),
      (run) => run['status'] === 'completed',
    );
    await em.execute(
      `insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input,
                        owner_id, root_run_id, next_start_at)
       select gen_random_uuid(), workflow_id, workflow_revision, 'left', definition, 'pending', input,
              owner_id, id, now()
       from run where id = ?`,
      [created.body.id],
    );
    await platform.reconcile();
    await until(
      async () => (await builder.get('/runs?q=left')).body[0],
      (run) => run?.status === 'completed',
    );
  });

  test('repeats a decision that Temporal lost after the database had noted its receipt', async () => {
    const run = await startRun(builder, { do: [{ ask: humanTask('Go?') }] });
    const [task] = (await statusIs(run['id'], 'waiting'))['waiting_on'];
    const em = platform.orm.em.fork();
    const decisionId = '01a1fe2d-853d-7148-aa7f-addd6cb1153f';
    const decision = {
      task_id: task.id,
      decision_id: decisionId,
      decision: 'approve',
      payload: null,
      comment: null,
      decided_by: run['owner_id'],
      decided_at: new Date().toISOString(),
    };
    // A power failure leaves this: the row says that the signal was received, but the workflow lost it.
    await em.execute(`update hitl_task set status = 'decided' where id = ?`, [task.id]);
    await em.execute(
      `insert into hitl_decision (id, task_id, decision, decided_by, decided_at, via, as_admin, received_at)
       values (?, ?, 'approve', ?, now(), 'api', false, now() - interval '2 minutes')`,
      [decisionId, task.id, run['owner_id']],
    );
    await em.execute(
      `insert into run_signal (id, run_id, kind, payload, received_at, next_at)
        values (?, ?, 'hitl.decision', ?::json, now() - interval '2 minutes', now())`,
      [decisionId, run['id'], JSON.stringify(decision)],
    );
    await platform.reconcile();
    const ended = await statusIs(run['id'], 'completed');
    expect(ended['output']).toMatchObject({ decision: 'approve' });
    const [row] = await em.execute<{ applied: boolean }[]>(
      `select applied_at is not null as applied from hitl_decision where id = ?`,
      [decisionId],
    );
    expect(row?.applied).toBe(true);
  });
});

test('a recorded end is kept if Temporal lost the last task, and no agent is called again', async () => {
  const run = await startRun(builder, {
    do: [{ pause: { wait: { seconds: 10 } } }, { last: http('/after-the-end') }],
  });
  await statusIs(run['id'], 'waiting');
  // The loss of the local activity leaves this: the execution is back at an earlier state.
  const event = {
    key: 'run:ended',
    type: 'io.serverlessworkflow.workflow.completed.v1',
    at: new Date().toISOString(),
    level: 'info',
    task: null,
    message: 'Run completed',
    data: {},
  };
  await platform.orm.em.fork().execute(
    `select end_lone_run(?::uuid, ?::json, '{}', 'completed', 'cancelled', 'TASK_STATE_COMPLETED',
        '{"seen": true}', null, null, null)`,
    [run['id'], JSON.stringify([event])],
  );
  const { address, namespace } = platform.temporal;
  const client = createTemporalClient({ address, namespace }, platform.dataConverter);
  const handle = client.workflow.getHandle(run['temporal'].workflow_id);
  await until(
    () => handle.describe(),
    ({ status }) => status.name === 'COMPLETED',
  );
  await client.connection.close();
  expect(await runOf(run['id'])).toMatchObject({
    status: 'completed',
    output: { seen: true },
    logs_next: expect.anything(),
  });
  expect((await runOf(run['id']))['logs'].at(-1)).toMatchObject({ message: 'Run completed' });
  expect(calls.filter(({ path }) => path === '/after-the-end')).toEqual([]);
});

describe("in Temporal's UI", () => {
  test('a run shows its summary, what it waits for and search attributes, and no secret', async () => {
    const run = await startRun(builder, { do: [{ ask: humanTask('Go?') }] });
    await statusIs(run['id'], 'waiting');
    const { address, namespace } = platform.temporal;
    const client = createTemporalClient({ address, namespace }, platform.dataConverter);
    const handle = client.workflow.getHandle(run['temporal'].workflow_id);
    // The database knows the status before the task ends that sets the attribute.
    const { attributes, staticSummary } = await until(
      async () => {
        const { typedSearchAttributes, staticSummary } = await handle.describe();
        const found = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
        return { staticSummary, attributes: Object.fromEntries(found) as Record<string, unknown> };
      },
      (description) => description.attributes['CadenzaStatus'] === 'waiting',
    );
    expect(attributes).toMatchObject({
      CadenzaOwner: run['owner_id'],
      CadenzaWorkflow: run['workflow_id'],
      CadenzaStatus: 'waiting',
    });
    expect(await staticSummary()).toContain('Run of test');
    const { currentDetails } = await handle.query<{ currentDetails: string }, []>(
      '__temporal_workflow_metadata',
    );
    expect(currentDetails).toContain('`/do/0/ask` waits for a person');
    await client.connection.close();
    await builder.post(`/runs/${run['id']}/cancel`);
  });
});
