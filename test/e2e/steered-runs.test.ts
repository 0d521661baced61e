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

  test('asks people again what it would take over, and goes on with the same answer only', async () => {
    broken.add('/pay');
    const workflow = await workflowOf({ do: [{ ask: humanTask('Pay?') }, { pay: call('/pay') }] });
    const started = await start(workflow);
    await approve(started);
    const run = await endOf(builder, started);
    await revise(workflow, {
      do: [{ added: call('/added') }, { ask: humanTask('Pay?') }, { pay: call('/pay') }],
    });
    const { body: second } = await retry(run, { input: { amount: 1_000 }, revision: 2 });
    const task = (await builder.get(`/hitl/tasks/${await openTask(second)}`)).body;
    expect(task).toMatchObject({ title: 'Pay?', task: '/do/1/ask', run_id: second.id });
    expect(task.context).toMatchObject([
      { name: 'Retry with changes', value: { retry_of: run['id'], revision: 2, input: { amount: 1_000 } } },
      { name: 'Decided before', value: { decision: 'approve' } },
    ]);
    expect((await builder.post(`/hitl/tasks/${task.id}/decision`, { decision: 'reject' })).status).toBe(200);
    const refused = await endOf(builder, second);
    expect(refused).toMatchObject({
      status: 'faulted',
      error: { instance: '/do/1/ask', detail: expect.stringContaining('decided otherwise') },
      tasks: [{ name: 'ask', status: 'faulted', hitl_task_id: task.id }],
    });
    // A retry of that asks again, too, and then relies on the answer.
    const { body: third } = await retry(refused, {});
    await approve(third);
    const failed = await endOf(builder, third);
    expect(failed).toMatchObject({ status: 'faulted', error: { instance: '/do/2/pay' } });
    expect(calls).toEqual(['/pay', '/pay']);
    broken.clear();
    const { body: unchanged } = await retry(failed, {});
    expect(await endOf(builder, unchanged)).toMatchObject({ status: 'completed', tasks: [{ name: 'pay' }] });
    const { body: changed } = await retry(failed, { input: {} });
    await approve(changed);
    expect(await endOf(builder, changed)).toMatchObject({
      status: 'completed',
      tasks: [{ name: 'ask', status: 'completed' }, { name: 'pay' }],
    });
    const asked = (await builder.get(`/hitl/tasks?run_id=${changed.id}&status=decided`)).body;
    expect(asked).toHaveLength(1);
    expect(calls).toEqual(['/pay', '/pay', '/pay', '/pay']);
    await platform.orm.em.fork().execute('delete from run where id = ?', [run['id']]);
    const { body: late } = await retry(failed, { input: {} });
    expect(late).toMatchObject({ status: 409, code: 'decisions_removed' });
  });

  test('asks by the task itself what lies at its place or after it', async () => {
    broken.add('/pay');
    const ask = humanTask('Pay?');
    const workflow = await workflowOf({ do: [{ before: ask }, { ask }, { pay: call('/pay') }] });
    const started = await start(workflow);
    await approve(started);
    await approve(started);
    const run = await endOf(builder, started);
    broken.clear();
    const { body: again } = await retry(run, { from: '/do/1/ask' });
    for (const reference of ['/do/0/before', '/do/1/ask']) {
      const id = await openTask(again);
      expect((await builder.get(`/hitl/tasks/${id}`)).body.task).toBe(reference);
      const decision = reference === '/do/1/ask' ? 'reject' : 'approve';
      expect((await builder.post(`/hitl/tasks/${id}/decision`, { decision })).status).toBe(200);
    }
    expect(await endOf(builder, again)).toMatchObject({ status: 'completed' });
  });

  test('asks what was decided in a child run, and is refused if that is too much', async () => {
    broken.add('/pay');
    const branches = Array.from({ length: 21 }, (_unused, i) => ({ [`b${i}`]: humanTask(`Part ${i}?`) }));
    const document = { dsl: '1.0.3', namespace: 'asking', name: 'asks', version: '1.0.0' };
    const child = await builder.post('/workflows', {
      name: 'asks',
      definition: {
        document,
        do: [{ many: { if: '${ .many == true }', fork: { branches } } }, { one: humanTask('?') }],
      },
    });
    expect([child.status, child.body.runnable]).toEqual([201, true]);
    const { namespace, name, version } = document;
    const sub = { input: { from: '${ $workflow.input }' }, run: { workflow: { namespace, name, version } } };
    const workflow = await workflowOf({ do: [{ sub }, { pay: call('/pay') }] });
    const runWith = async (input: object, questions: number): Promise<RunRecord> => {
      const started = await start(workflow, { input_params: input });
      for (let left = questions; left > 0; left--) {
        const [task] = await until(
          async () => (await builder.get('/hitl/tasks')).body as RunRecord[],
          (tasks) => tasks.length > 0,
        );
        await builder.post(`/hitl/tasks/${task?.['id']}/decision`, { decision: 'approve' });
      }
      return endOf(builder, started);
    };
    const { body: again } = await retry(await runWith({}, 1), { input: {} });
    const asked = (await builder.get(`/hitl/tasks/${await openTask(again)}`)).body;
    expect(asked).toMatchObject({ title: '?', task: '/do/0/sub', run_id: again.id });
    await approve(again);
    expect((await endOf(builder, again))['error'].instance).toBe('/do/1/pay');
    expect((await retry(await runWith({ many: true }, 22), { input: {} })).body).toMatchObject({
      status: 409,
      code: 'decisions_kept',
      tasks: ['/do/0/sub'],
    });
  });

  test('shows later what a step has given, not what was asked again in its name', async () => {
    broken.add('/pay');
    const document = { dsl: '1.0.3', namespace: 'asking', name: 'gives', version: '1.0.0' };
    const gives = { document, do: [{ one: humanTask('First?') }, { give: { set: { given: 7 } } }] };
    expect((await builder.post('/workflows', { name: 'gives', definition: gives })).body.runnable).toBe(true);
    const { namespace, name, version } = document;
    const workflow = await workflowOf({
      do: [
        { sub: { run: { workflow: { namespace, name, version } } } },
        { pay: call('/pay') },
        { review: humanTask('Review?', { context: ['sub'] }) },
      ],
    });
    const started = await start(workflow);
    const [asked] = await until(
      async () => (await builder.get('/hitl/tasks')).body as RunRecord[],
      (tasks) => tasks.length > 0,
    );
    await builder.post(`/hitl/tasks/${asked?.['id']}/decision`, { decision: 'approve' });
    const run = await endOf(builder, started);
    broken.clear();
    const { body: again } = await retry(run, { input: {} });
    await approve(again);
    const review = (await builder.get(`/hitl/tasks/${await openTask(again)}`)).body;
    expect([review.title, review.context]).toMatchObject([
      'Review?',
      [{ name: 'sub', status: 'completed', value: { given: 7 } }],
    ]);
    await approve(again);
    expect((await endOf(builder, again))['status']).toBe('completed');
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
