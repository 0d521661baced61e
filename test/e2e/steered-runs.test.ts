/** Runs that are retried with changes, and runs that are found by key, tags and labels. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/app.ts';
import { httpTask, humanTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { endOf, startTestPlatform, until, type RunRecord, type TestPlatform } from '../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let service: TestServer;
/** Paths that answer with an error. */
const broken = new Set<string>();
let calls: string[] = [];
beforeAll(async () => {
  service = await startServer((request, response) => {
    calls.push(request.path);
    sendJson(response, { at: request.path }, broken.has(request.path) ? 500 : 200);
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  await service.close();
});
beforeEach(() => {
  calls = [];
  broken.clear();
});

const call = (path: string, more: object = {}) => ({ ...httpTask(`${service.url}${path}`), ...more });

async function workflowOf(definition: unknown): Promise<string> {
  const { body, status } = await builder.post('/workflows', { name: 'steered', definition });
  expect([status, body.problems.filter(({ severity }: RunRecord) => severity !== 'warning')]).toEqual([
    201,
    [],
  ]);
  return body.id;
}
const revise = async (id: string, definition: unknown): Promise<void> => {
  expect((await builder.patch(`/workflows/${id}`, { definition })).status).toBe(200);
};
const start = async (id: string, body: object = {}): Promise<RunRecord> =>
  (await builder.post(`/workflows/${id}/run`, body)).body;
const retry = (run: RunRecord, body: object) => builder.post(`/runs/${run['id']}/retry`, body);
const faulted = async (workflow: string): Promise<RunRecord> => {
  const run = await endOf(builder, await start(workflow));
  expect(run['status']).toBe('faulted');
  return run;
};
const openTask = async (run: RunRecord): Promise<string> => {
  const [task] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body as RunRecord[],
    (tasks) => tasks.length > 0,
  );
  return String(task?.['id']);
};
const approve = async (run: RunRecord): Promise<void> => {
  const reply = await builder.post(`/hitl/tasks/${await openTask(run)}/decision`, { decision: 'approve' });
  expect(reply.status).toBe(200);
};

describe('a retry', () => {
  test('goes on by a new revision where that still has the place, wherever it stands now', async () => {
    broken.add('/old');
    const inner = (path: string) => [{ first: call('/first') }, { second: call(path) }];
    const workflow = await workflowOf({
      do: [{ before: call('/before') }, { group: { do: inner('/old') } }],
    });
    const run = await faulted(workflow);
    await revise(workflow, {
      do: [
        { added: call('/added') },
        { group: { do: [{ new: call('/new') }, ...inner('/mended')] } },
        { last: call('/last') },
      ],
    });
    const again = await endOf(builder, (await retry(run, { revision: 2 })).body);
    expect(again).toMatchObject({ status: 'completed', workflow_revision: 2, retry_of: run['id'] });
    expect(calls).toEqual(['/before', '/first', '/old', '/mended', '/last']);
  });

  test.each([
    ['lacks it', { other: { set: { a: 1 } } }, '/do has no task "fails"'],
    ['has another kind of task there', { fails: { set: { a: 1 } } }, 'a task of kind "set"'],
    ['calls something else there', { fails: { call: 'human', with: { title: 'x' } } }, 'now calls "human"'],
  ])('is refused if the revision %s', async (_case, task, reason) => {
    broken.add('/fails');
    const workflow = await workflowOf({ do: [{ fails: call('/fails') }] });
    const run = await faulted(workflow);
    await revise(workflow, { do: [task] });
    const { status, body } = await retry(run, { revision: 2 });
    expect([status, body.code]).toEqual([409, 'place_changed']);
    expect(body.detail).toContain(reason);
    expect((await retry(run, { revision: 3 })).status).toBe(404);
  });

  test('takes another input, and goes on from another task', async () => {
    broken.add('/second');
    const keep = { keep: { set: '${ { n: .n, at: $task.name } }' } };
    const workflow = await workflowOf({ do: [{ first: call('/first') }, { second: call('/second') }, keep] });
    const run = await faulted(workflow);
    const skipped = await endOf(builder, (await retry(run, { from: '/do/2/keep', input: { n: 7 } })).body);
    expect(skipped).toMatchObject({ status: 'completed', output: { n: 7, at: 'keep' } });
    broken.clear();
    const earlier = await endOf(builder, (await retry(run, { from: '/do/0/first' })).body);
    expect(earlier['status']).toBe('completed');
    expect(calls).toEqual(['/first', '/second', '/first', '/second']);
    for (const [from, code] of [
      ['/do/2/keep', 'no_input'],
      ['/do/5/keep', 'place_not_found'],
      ['nowhere', 'place_not_found'],
    ])
      expect((await retry(run, { from })).body).toMatchObject({ status: 409, code });
  });

  test('asks people again: what they decided is not taken over', async () => {
    broken.add('/pay');
    const workflow = await workflowOf({ do: [{ ask: humanTask('Pay?') }, { pay: call('/pay') }] });
    const started = await start(workflow);
    await approve(started);
    const run = await endOf(builder, started);
    const refused = await retry(run, { input: { amount: 1_000 } });
    expect(refused.body).toMatchObject({ status: 409, code: 'decisions_kept', tasks: ['/do/0/ask'] });
    broken.clear();
    const { body: again } = await retry(run, { from: '/do/0/ask' });
    await approve(again);
    expect((await endOf(builder, again))['status']).toBe('completed');
    // Without changes the decision is still the one on this data.
    expect((await endOf(builder, (await retry(run, {})).body))['status']).toBe('completed');
  });

  test('with changes is for who may change the workflow: it could pass by an approval', async () => {
    broken.add('/before');
    const workflow = await workflowOf({
      do: [{ before: call('/before') }, { ask: humanTask('Pay?') }, { pay: call('/pay') }],
    });
    expect((await builder.patch(`/workflows/${workflow}`, { visibility: 'public' })).status).toBe(200);
    const other = await platform.as(await platform.createUser({ roles: ['builder'] }));
    const run = await endOf(other, (await other.post(`/workflows/${workflow}/run`)).body);
    const as = (body: object) => other.post(`/runs/${run['id']}/retry`, body);
    for (const changes of [{ from: '/do/2/pay', input: {} }, { input: {} }, { revision: 1 }])
      expect((await as(changes)).status).toBe(403);
    expect((await endOf(other, (await as({})).body))['status']).toBe('faulted');
    expect(calls).not.toContain('/pay');
  });

  test('with a new input names one of the tasks that it would continue with', async () => {
    broken.add('/fails');
    const branches = [{ one: call('/fails') }, { two: { do: [{ ask: humanTask('Never asked') }] } }];
    const workflow = await workflowOf({ do: [{ both: { fork: { branches } } }] });
    const run = await faulted(workflow);
    expect((await retry(run, { input: {} })).body).toMatchObject({ status: 409, code: 'several_places' });
    broken.clear();
    const { body: again } = await retry(run, { from: '/do/0/both/fork/branches/0/one', input: { x: 1 } });
    await approve(again);
    const ended = await endOf(builder, again);
    expect(ended['status']).toBe('completed');
    expect(ended['tasks'].find(({ name }: RunRecord) => name === 'one')).toMatchObject({
      status: 'completed',
    });
  });
});

describe('a key', () => {
  test('gives the same start the same live run, of simultaneous ones too, and refuses another', async () => {
    const workflow = await workflowOf({ do: [{ ask: humanTask('Wait') }] });
    const body = { key: 'order-1', input_params: { a: 1, b: 2 } };
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => builder.post(`/workflows/${workflow}/run`, body)),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(7).fill(200), 201]);
    const [first] = replies;
    expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1);
    const same = await builder.post(`/workflows/${workflow}/run`, { ...body, input_params: { b: 2, a: 1 } });
    expect([same.status, same.body.key]).toEqual([200, 'order-1']);
    const other = await builder.post(`/workflows/${workflow}/run`, {
      key: 'order-1',
      input_params: { a: 2 },
    });
    expect(other.body).toMatchObject({ status: 409, code: 'key_in_use', run_id: first?.body.id });
    const admin = await platform.as('admin');
    const ofAnother = await admin.post(`/workflows/${workflow}/run`, body);
    expect([ofAnother.status, ofAnother.body.id === first?.body.id]).toEqual([201, false]);
    await approve(first?.body);
    await endOf(builder, first?.body);
    expect((await builder.post(`/workflows/${workflow}/run`, body)).status).toBe(201);
  });
});

test('the picture of a run has the state of its tasks', async () => {
  broken.add('/fails');
  const loop = { loop: { for: { in: '[range(3)]' }, do: [{ turn: call('/ok') }] } };
  const workflow = await workflowOf({ do: [loop, { fails: call('/fails') }, { never: call('/ok') }] });
  const run = await faulted(workflow);
  const mermaid = await builder.get(`/runs/${run['id']}/diagram`);
  const lines = String(mermaid.body)
    .split('\n')
    .map((line) => line.trim());
  expect(lines).toEqual(expect.arrayContaining(['class t1,t4 completed', 'class t2 faulted']));
  const svg = await builder.get(`/runs/${run['id']}/diagram`, { headers: { accept: 'image/svg+xml' } });
  expect([svg.status, svg.headers.get('content-type')]).toEqual([200, expect.stringContaining('svg')]);
  expect(String(svg.body)).toContain('<title>turn: completed ×3</title>');
  expect(String(svg.body)).not.toContain('<title>never');
  const other = await platform.createUser({ roles: ['builder'] });
  const foreign = await (await platform.as(other)).get(`/runs/${run['id']}/diagram`);
  expect(foreign.status).toBe(404);
});

test('runs are found by key, tags and labels; a retry has those of its run', async () => {
  broken.add('/fails');
  const workflow = await workflowOf({ do: [{ fails: call('/fails') }] });
  const names = { key: 'k-2', tags: ['blue', 'urgent'], labels: { team: 'sales', region: 'eu' } };
  const run = await endOf(builder, await start(workflow, names));
  await endOf(builder, await start(workflow, { tags: ['blue'], labels: { team: 'support' } }));
  expect(run).toMatchObject(names);
  const again = await endOf(builder, (await retry(run, {})).body);
  expect(again).toMatchObject(names);
  const found = async (query: string): Promise<number> =>
    ((await builder.get(`/runs?workflow_id=${workflow}&${query}`)).body as unknown[]).length;
  for (const [query, count] of [
    ['run_tag=blue', 3],
    ['run_tag=blue,urgent', 2],
    ['label=team%3Dsales', 2],
    ['label=team%3Dsales,region%3Dus', 0],
    ['label=team%3Dsupport', 1],
    ['key=k-2', 2],
    ['tag=blue', 0],
  ] as const)
    expect([query, await found(query)]).toEqual([query, count]);
  expect((await builder.get('/runs?label=team')).status).toBe(400);
  const tooMany = { tags: Array.from({ length: 21 }, (_unused, i) => `t${i}`) };
  for (const wrong of [tooMany, { tags: ['a,b'] }, { labels: { 'a b': 'c' } }, { key: '' }])
    expect((await builder.post(`/workflows/${workflow}/run`, wrong)).status).toBe(422);
});
