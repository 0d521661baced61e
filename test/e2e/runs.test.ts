/** Runs through HTTP: interface-decisions §4. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTemporalClient } from '../../temporal/client.ts';
import { startRun, startTestPlatform, until } from '../support/platform.ts';
import type { RunRecord, TestPlatform } from '../support/platform.ts';
import type { Client } from '../support/app.ts';

let platform: TestPlatform;
let builder: Client;
let agent: Server;
let agentUrl: string;
const calls: { path: string; key: string | undefined }[] = [];
/** Paths that answer 503 until told otherwise. */
const failing = new Set<string>();

beforeAll(async () => {
  agent = createServer((request, response) => {
    const path = request.url ?? '';
    calls.push({ path, key: request.headers['idempotency-key'] as string | undefined });
    const delay = Number(/^\/slow\/(\d+)/.exec(path)?.[1] ?? 0);
    setTimeout(() => {
      response.writeHead(failing.has(path) ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify({ path }));
    }, delay);
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

const http = (path: string) => ({ call: 'http', with: { method: 'get', endpoint: `${agentUrl}${path}` } });
const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const statusIs = (id: string, status: string): Promise<RunRecord> => until(() => runOf(id), (run) => run['status'] === status);
const waiting = () => ({ do: [{ first: http('/first') }, { pause: { wait: { seconds: 60 } } }, { last: { set: { done: true } } }] });
const create = async (definition: unknown): Promise<string> => (await builder.post('/workflows', { name: 'test', definition })).body.id;

describe('starting', () => {
  test('401, 404 for another’s workflow, 422 for input that does not fit, 201 with Location', async () => {
    const id = await create({ input: { schema: { document: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } } } }, do: [{ a: { set: { n: '${ .n }' } } }] });
    expect((await platform.anonymous.post(`/workflows/${id}/run`, {})).status).toBe(401);
    const stranger = await platform.as(await platform.createUser());
    expect((await stranger.post(`/workflows/${id}/run`, {})).status).toBe(404);
    const refused = await builder.post(`/workflows/${id}/run`, { input_params: { n: 'x' } });
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0]).toMatchObject({ pointer: '/input_params/n' });
    const viewer = await platform.as('viewer');
    expect((await viewer.post(`/workflows/${id}/run`, { input_params: { n: 1 } })).status).toBe(403);
    const started = await builder.post(`/workflows/${id}/execute`, { input_params: { n: 1 } }, { headers: { prefer: 'wait=20' } });
    expect(started.status).toBe(201);
    expect(started.headers.get('location')).toBe(`/runs/${started.body.id}`);
    expect(started.body).toMatchObject({ status: 'completed', output: { n: 1 }, input_params: { n: 1 }, workflow_id: id, workflow_revision: 1 });
  });

  test('an invalid definition and one that is not runnable: 422 with their problems', async () => {
    const invalid = await create({ do: [{ a: { sett: {} } }] });
    const refused = await builder.post(`/workflows/${invalid}/run`, {});
    expect(refused.status).toBe(422);
    expect(refused.body.code).toBe('workflow_invalid');
    expect(refused.body.errors[0].pointer).toContain('/do/0/a');
    const unsupported = await create({ do: [{ a: { listen: { to: { one: { with: { type: 'x' } } } } } }] });
    expect((await builder.post(`/workflows/${unsupported}/run`, {})).body.code).toBe('workflow_not_runnable');
  });

  test('the same Idempotency-Key starts one run, also at once', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    const post = () => builder.post(`/workflows/${id}/run`, {}, { headers: { 'idempotency-key': 'once' } });
    const answers = await Promise.all([post(), post(), post()]);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    const runs = await builder.get(`/runs?workflow_id=${id}`);
    expect(runs.body).toHaveLength(1);
  });
});

describe('steering', () => {
  test('cancel: tasks end, repeating is harmless, a finished run cannot be suspended', async () => {
    const run = await startRun(builder, waiting());
    await statusIs(run['id'], 'waiting');
    expect((await builder.post(`/runs/${run['id']}/cancel`)).status).toBe(200);
    const ended = await statusIs(run['id'], 'cancelled');
    expect(ended['tasks'].map((task: RunRecord) => [task['name'], task['status']])).toEqual([['first', 'completed'], ['pause', 'cancelled']]);
    expect((await builder.post(`/runs/${run['id']}/cancel`)).status).toBe(200);
    expect((await builder.post(`/runs/${run['id']}/suspend`)).status).toBe(409);
  });

  test('suspend: what runs finishes, nothing new starts; resume goes on', async () => {
    const run = await startRun(builder, { do: [{ slow: http('/slow/600') }, { next: http('/after-suspend') }] });
    await until(() => runOf(run['id']), (found) => found['tasks'].length === 1);
    await builder.post(`/runs/${run['id']}/suspend`);
    const suspended = await until(() => runOf(run['id']), (found) => found['status'] === 'suspended' && found['tasks'][0].status === 'completed');
    expect(suspended['tasks']).toHaveLength(1);
    expect((await builder.post(`/runs/${run['id']}/suspend`)).status).toBe(200);
    expect((await builder.post(`/runs/${run['id']}/resume`)).status).toBe(200);
    expect((await statusIs(run['id'], 'completed'))['tasks']).toHaveLength(2);
  });

  test('others get 404, admins may; terminate is for admins', async () => {
    const run = await startRun(builder, waiting());
    const stranger = await platform.as(await platform.createUser());
    for (const path of ['', '/logs', '/tasks', '/events']) expect((await stranger.get(`/runs/${run['id']}${path}`)).status).toBe(404);
    expect((await stranger.post(`/runs/${run['id']}/cancel`)).status).toBe(404);
    expect((await builder.post(`/runs/${run['id']}/terminate`)).status).toBe(403);
    const admin = await platform.as('admin');
    expect((await admin.get(`/runs/${run['id']}`)).status).toBe(200);
    expect((await admin.post(`/runs/${run['id']}/terminate`, { reason: 'stuck' })).body.status).toBe('cancelled');
  });
});

describe('retry', () => {
  test('goes on from the failed task; what completed is not run again; a decided fork branch neither', async () => {
    failing.add('/flaky');
    const run = await startRun(
      builder,
      {
        do: [
          { before: http('/before-retry') },
          { loop: { for: { in: '[1, 2]' }, do: [{ both: { fork: { branches: [{ fine: http('/fine') }, { flaky: http('/flaky') }] } } }] } },
          { after: { set: { ok: true } } },
        ],
      },
      {},
      20,
    );
    expect(run).toMatchObject({ status: 'faulted', error: { status: 503, instance: '/do/1/loop/do/0/both/fork/branches/1/flaky' } });
    const before = calls.filter(({ path }) => path === '/before-retry').length;
    failing.delete('/flaky');
    const retried = await builder.post(`/runs/${run['id']}/retry`, {}, { headers: { prefer: 'wait=20' } });
    expect(retried.status).toBe(201);
    expect(retried.body).toMatchObject({ status: 'completed', retry_of: run['id'], output: { ok: true } });
    expect(calls.filter(({ path }) => path === '/before-retry')).toHaveLength(before);
    expect((await builder.post(`/runs/${retried.body.id}/retry`)).status).toBe(409);
  });
});

describe('child runs', () => {
  test('run: workflow is an ordinary run whose output comes back; its fault is the parent’s; cancel reaches it', async () => {
    const child = { document: { dsl: '1.0.3', namespace: 'kids', name: 'child', version: '1.0.0' }, do: [{ w: { wait: { milliseconds: '${ .ms }' } } }, { a: { set: { twice: '${ .n * 2 }' } } }] };
    await builder.post('/workflows', { name: 'child', definition: { ...child, do: [{ a: { set: { twice: '${ .n * 2 }' } } }] } });
    const parent = (input: unknown) => ({ do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'child', version: '1.0.0', input } } } }] });
    const run = await startRun(builder, parent({ n: 21 }), {}, 20);
    expect(run).toMatchObject({ status: 'completed', output: { twice: 42 } });
    const children = await builder.get(`/runs?parent_run_id=${run['id']}`);
    expect(children.body).toHaveLength(1);
    expect(run['tasks'][0].child_run_id).toBe(children.body[0].id);
    const failed = await startRun(builder, parent({ n: {} }), {}, 20);
    expect(failed).toMatchObject({ status: 'faulted', error: { instance: '/do/0/sub' } });
    const missing = await startRun(builder, { do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'nobody', version: '1.0.0' } } } }] }, {}, 20);
    expect(missing).toMatchObject({ status: 'faulted', error: { type: expect.stringContaining('/configuration') } });
  });

  test('a child that waits shows in its parent; cancelling the parent cancels it', async () => {
    await builder.post('/workflows', {
      name: 'asks',
      definition: { document: { dsl: '1.0.3', namespace: 'kids', name: 'asks', version: '1.0.0' }, do: [{ ask: { call: 'human', with: { title: 'Go?' } } }] },
    });
    const run = await startRun(builder, { do: [{ sub: { run: { workflow: { namespace: 'kids', name: 'asks', version: '1.0.0' } } } }] });
    const parent = await statusIs(run['id'], 'waiting');
    expect(parent['waiting_on']).toMatchObject([{ kind: 'human' }]);
    await builder.post(`/runs/${run['id']}/cancel`);
    await statusIs(run['id'], 'cancelled');
    const [child] = (await builder.get(`/runs?parent_run_id=${run['id']}`)).body;
    await statusIs(child.id, 'cancelled');
    expect((await builder.get(`/hitl/tasks?run_id=${child.id}&status=cancelled`)).body).toHaveLength(1);
  });
});

describe('streams and lists', () => {
  test('SSE tells every event once, resumes after Last-Event-ID, ends with the run, and then says 204', async () => {
    const run = await startRun(builder, {
      do: [{ both: { fork: { branches: [{ slow: http('/slow/700') }, { fast: { do: [{ a: { set: { a: 1 } } }, { w: { wait: { milliseconds: 100 } } }, { b: { set: { b: 1 } } }] } }] } } }],
    });
    const stream = await builder.get(`/runs/${run['id']}/events`);
    const ids = [...String(stream.body).matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    expect(ids).toEqual(ids.map((_id, i) => i + 1));
    expect(stream.body).toContain('workflow.completed.v1');
    const rest = await builder.get(`/runs/${run['id']}/events`, { headers: { 'last-event-id': String(ids.length - 2) } });
    expect([...String(rest.body).matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))).toEqual(ids.slice(-2));
    expect((await builder.get(`/runs/${run['id']}/events`, { headers: { 'last-event-id': String(ids.length) } })).status).toBe(204);
  });

  test('lists page by keyset; logs filter by level and task; wrong queries are named', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    for (let i = 0; i < 3; i++) await builder.post(`/workflows/${id}/run`, {}, { headers: { prefer: 'wait=20' } });
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

describe('the reconciler', () => {
  test('starts what was left pending while Temporal was away', async () => {
    const id = await create({ do: [{ a: { set: { ok: true } } }] });
    const em = platform.orm.em.fork();
    const { body } = await builder.post(`/workflows/${id}/run`, {}, { headers: { prefer: 'wait=20' } });
    expect(body.status).toBe('completed');
    // As a crash between the commit and the start leaves it.
    const made = await builder.post(`/workflows/${id}/run`, {});
    await until(() => runOf(made.body.id), (run) => run['status'] === 'completed');
    await em.execute(`insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input, owner_id, root_run_id, next_start_at)
      select gen_random_uuid(), workflow_id, workflow_revision, 'left', definition, 'pending', input, owner_id, id, now() from run where id = ?`, [made.body.id]);
    await platform.reconcile();
    await until(async () => (await builder.get('/runs?q=left')).body[0], (run) => run?.status === 'completed');
  });

  test('repeats a decision that Temporal lost after the database had noted it as received', async () => {
    const run = await startRun(builder, { do: [{ ask: { call: 'human', with: { title: 'Go?' } } }] });
    const [task] = (await statusIs(run['id'], 'waiting'))['waiting_on'];
    const em = platform.orm.em.fork();
    const decisionId = '01a1fe2d-853d-7148-aa7f-addd6cb1153f';
    const decision = { task_id: task.id, decision_id: decisionId, decision: 'approve', payload: null, comment: null, decided_by: run['owner_id'], decided_at: new Date().toISOString() };
    // As a power failure leaves it: the row of the signal says received, the workflow knows of nothing.
    await em.execute(`update hitl_task set status = 'decided' where id = ?`, [task.id]);
    await em.execute(
      `insert into hitl_decision (id, task_id, decision, decided_by, decided_at, via, as_admin, received_at)
       values (?, ?, 'approve', ?, now(), 'api', false, now() - interval '2 minutes')`,
      [decisionId, task.id, run['owner_id']],
    );
    await em.execute(
      `insert into run_signal (id, run_id, kind, payload, received_at, next_at) values (?, ?, 'hitl.decision', ?::json, now() - interval '2 minutes', now())`,
      [decisionId, run['id'], JSON.stringify(decision)],
    );
    await platform.reconcile();
    const ended = await statusIs(run['id'], 'completed');
    expect(ended['output']).toMatchObject({ decision: 'approve' });
    const [row] = await em.execute<{ applied: boolean }[]>(`select applied_at is not null as applied from hitl_decision where id = ?`, [decisionId]);
    expect(row?.applied).toBe(true);
  });
});

test('a workflow whose end is on record, but whose last task Temporal lost, ends without calling anybody', async () => {
  const run = await startRun(builder, { do: [{ pause: { wait: { seconds: 2 } } }, { last: http('/after-the-end') }] });
  await statusIs(run['id'], 'waiting');
  // As the local activity of a task that is lost then leaves it: the execution is back where it was before.
  const event = { key: 'run:ended', type: 'io.serverlessworkflow.workflow.completed.v1', at: new Date().toISOString(), level: 'info', task: null, message: 'Run completed', data: {} };
  await platform.orm.em.fork().execute(`select end_lone_run(?::uuid, ?::json, '{}', gen_random_uuid(), 'completed', '{"seen": true}', null, null)`, [
    run['id'], JSON.stringify([event]),
  ]);
  const { address, namespace } = platform.temporal;
  const client = createTemporalClient({ address, namespace }, platform.dataConverter);
  const handle = client.workflow.getHandle(run['temporal'].workflow_id);
  await until(() => handle.describe(), ({ status }) => status.name === 'COMPLETED');
  await client.connection.close();
  expect(await runOf(run['id'])).toMatchObject({ status: 'completed', output: { seen: true }, logs_next: expect.anything() });
  expect((await runOf(run['id']))['logs'].at(-1)).toMatchObject({ message: 'Run completed' });
  expect(calls.filter(({ path }) => path === '/after-the-end')).toEqual([]);
});

describe('in Temporal UI', () => {
  test('a run can be read: summary, what it waits for, search attributes, no secret', async () => {
    const run = await startRun(builder, { do: [{ ask: { call: 'human', with: { title: 'Go?' } } }] });
    await statusIs(run['id'], 'waiting');
    const { address, namespace } = platform.temporal;
    const client = createTemporalClient({ address, namespace }, platform.dataConverter);
    const handle = client.workflow.getHandle(run['temporal'].workflow_id);
    const { typedSearchAttributes, staticSummary } = await handle.describe();
    const attributes = Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
    expect(attributes).toMatchObject({ CadenzaOwner: run['owner_id'], CadenzaWorkflow: run['workflow_id'], CadenzaStatus: 'waiting' });
    expect(await staticSummary()).toContain('Run of test');
    const { currentDetails } = await handle.query<{ currentDetails: string }, []>('__temporal_workflow_metadata');
    expect(currentDetails).toContain('`/do/0/ask` waits for a person');
    await client.connection.close();
    await builder.post(`/runs/${run['id']}/cancel`);
  });
});
