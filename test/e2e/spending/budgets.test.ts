/** Prices, budgets and usage, end to end (docs/budgets.md). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { agentBody } from '../../support/agent-body.ts';
import type { Client, TestUser } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

const BUDGET_ERROR = 'urn:cadenza:error:budget';

let platform: TestPlatform;
let model: TestServer;
let person: TestUser;
let client: Client;
let admin: Client;
/** What the model says that a call uses. */
let used = { prompt_tokens: 100, completion_tokens: 50 };
/** The model has too much to do. */
let isBusy = false;

beforeAll(async () => {
  platform = await startTestPlatform();
  admin = await platform.as('admin');
  model = await startServer((_, response) => {
    if (isBusy) return sendJson(response, { error: { message: 'Too many requests' } }, 429);
    return sendJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'tiny-2026',
      usage: { ...used, total_tokens: used.prompt_tokens + used.completion_tokens },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
    });
  });
});
// A person of its own for each test, with nothing used yet.
beforeEach(async () => {
  person = await platform.createUser({ roles: ['builder'] });
  client = await platform.as(person);
  used = { prompt_tokens: 100, completion_tokens: 50 };
  isBusy = false;
});
afterAll(async () => {
  await model.close();
  await platform.close();
});

async function created(path: string, body: unknown, by = client): Promise<any> {
  const reply = await by.post(path, body);
  expect({ status: reply.status, errors: reply.body.errors }).toEqual({ status: 201, errors: undefined });
  return reply.body;
}

const llm = (more: Record<string, unknown> = {}, configuration: Record<string, unknown> = {}) =>
  created(
    '/agents',
    agentBody({
      name: 'model',
      type: 'llm',
      configuration: { base_url: model.url, model: 'tiny', ...configuration },
      ...more,
    }),
  );

/** An agent of a free service. */
const service = (more: Record<string, unknown> = {}) =>
  created('/agents', agentBody({ name: 'service', configuration: { endpoint: model.url }, ...more }));

const branches = (agent: string, count: number) => ({
  do: [
    {
      all: {
        fork: {
          branches: Array.from({ length: count }, (_unused, i) => ({
            [`b${i}`]: {
              try: [{ ask: agentTask(agent, { input: 'Hello?' }) }],
              catch: {
                as: 'e',
                do: [{ no: { set: { failed: '${ $e.type }', detail: '${ $e.detail }' } } }],
              },
            },
          })),
        },
      },
    },
  ],
});

const setPrice = (name: string, more: Record<string, unknown> = {}) =>
  created('/prices', { model: name, input_per_million_usd: 2, output_per_million_usd: 10, ...more }, admin);

test('an invocation costs what the price is when it begins; without one the cost is unknown', async () => {
  const agent = await llm({}, { model: 'unpriced-model' });
  const run = async () => {
    const reply = await client.post(`/agents/${agent.id}/invoke`, { input: 'Hello?' });
    return endOf(client, reply.body);
  };
  const before = await run();
  expect(before['usage']).toMatchObject({ input_tokens: 100, unpriced: 1 });
  expect(before['usage'].cost_usd).toBeUndefined();
  expect(before['tasks'][0].usage).toMatchObject({ cost_usd: null });
  const price = await setPrice('unpriced-model');
  expect((await run())['usage']).toMatchObject({ cost_usd: 0.0007 });
  await admin.put(`/prices/${price.id}`, {
    model: 'unpriced-model',
    input_per_million_usd: 0.15,
    output_per_million_usd: 0.000_001,
  });
  expect((await run())['usage'].cost_usd).toBe(0.000015);
  // The name in the answer is more exact than that in the configuration.
  const exact = await setPrice('tiny-2026', { input_per_million_usd: 1, output_per_million_usd: 1 });
  expect((await run())['usage'].cost_usd).toBe(0.00015);
  await admin.delete(`/prices/${exact.id}`);
  const [day] = (await client.get('/usage?by=day')).body;
  expect(day).toMatchObject({ invocations: 4, unpriced: 1, input_tokens: 400, output_tokens: 200 });
  expect(day.cost_usd).toBeCloseTo(0.0007 + 0.000015 + 0.00015, 9);
});

test('of a hundred branches at once, exactly as many pass as the budget of the run allows', async () => {
  const agent = await service();
  const workflow = await created('/workflows', { name: 'many', definition: branches(agent.id, 100) });
  const { body } = await client.post(`/workflows/${workflow.id}/run`, { budget: { max_invocations: 10 } });
  const run = await endOf(client, body);
  const outputs = Object.values<any>(run['output']);
  expect(outputs.filter(({ failed }) => failed === undefined)).toHaveLength(10);
  expect(outputs.filter(({ failed }) => failed === BUDGET_ERROR)).toHaveLength(90);
  const { body: state } = await client.get(`/budgets/${run['budget_id']}`);
  expect(state).toMatchObject({
    subject: 'run',
    used: { invocations: 10 },
    reserved: { invocations: 0, tokens: 0, cost_usd: 0 },
  });
  expect((await client.get(`/usage?by=agent&run_id=${run['id']}`)).body).toMatchObject([
    { key: agent.id, invocations: 10 },
  ]);
});

test('the cost is reserved by max_tokens, and the error names budget, limit and window', async () => {
  await setPrice('dear', { output_per_million_usd: 1_000_000 });
  used = { prompt_tokens: 1, completion_tokens: 1 };
  const budget = { max_cost_usd: 25, window: 'month' };
  const agent = await llm({ name: 'dear', budget }, { model: 'dear', max_tokens: 10 });
  const parallel = await endOf(client, await startRun(client, branches(agent.id, 5)));
  const outputs = Object.values<any>(parallel['output']);
  // Each reserves ten dollars and costs one: at most two at once, and more of them one after another.
  const passed = outputs.filter(({ failed }) => failed === undefined).length;
  expect(passed).toBeGreaterThanOrEqual(2);
  const { body: state } = await client.get(`/budgets/${agent.id}`);
  expect(state.used.cost_usd).toBeCloseTo(passed * 1.000002, 6);
  expect(state.used).toMatchObject({ tokens: passed * 2, invocations: passed });
  await client.patch(`/agents/${agent.id}`, { budget: { max_cost_usd: 5 } });
  const refused = await endOf(client, (await client.post(`/agents/${agent.id}/invoke`, { input: 'x' })).body);
  expect(refused['error']).toMatchObject({ type: BUDGET_ERROR, status: 402, title: 'Budget Exceeded' });
  expect(refused['error'].detail).toContain('The budget of the agent dear');
  expect(refused['error'].detail).toContain('of 5 US dollars used');
  expect(refused['error'].detail).toContain(`begins anew at ${state.window_to}`);
});

test('a cost budget refuses a model without a price, and says what is missing', async () => {
  const agent = await llm({ budget: { max_cost_usd: 1 } }, { model: 'nobody-knows' });
  const run = await endOf(client, (await client.post(`/agents/${agent.id}/invoke`, { input: 'x' })).body);
  expect(run['error']).toMatchObject({ type: BUDGET_ERROR });
  expect(run['error'].detail).toContain('nobody knows the price');
  const own = { price: { per_invocation_usd: 0.6 } };
  const stated = await llm(
    { name: 'stated', budget: { max_cost_usd: 1 } },
    { model: 'nobody-knows', ...own },
  );
  const first = await endOf(client, (await client.post(`/agents/${stated.id}/invoke`, { input: 'x' })).body);
  expect(first['usage']).toMatchObject({ cost_usd: 0.6 });
});

test('the runs that a run starts use its budget, and those of their workflows and agents', async () => {
  const agent = await service();
  const inner = await created('/workflows', {
    name: 'inner',
    definition: { do: [{ ask: agentTask(agent.id, { input: {} }) }] },
  });
  const asAgent = await created(
    '/agents',
    agentBody({
      name: 'inner-agent',
      type: 'workflow',
      configuration: { workflow_id: inner.id },
      budget: { max_tokens: 1000, max_invocations: 5 },
    }),
  );
  const outer = await created('/workflows', {
    name: 'outer',
    budget: { max_invocations: 3 },
    definition: { do: [{ a: agentTask(asAgent.id) }, { b: agentTask(asAgent.id) }] },
  });
  const { body } = await client.post(`/workflows/${outer.id}/run`, { budget: { max_invocations: 100 } });
  const run = await endOf(client, body);
  // Each invocation of the workflow agent is one, and the call within it another: the fourth is too many.
  expect(run).toMatchObject({ status: 'faulted', error: { type: BUDGET_ERROR } });
  const stateOf = async (id: string) => (await client.get(`/budgets/${id}`)).body;
  expect(await stateOf(run['id'])).toMatchObject({ used: { invocations: 3 } });
  expect(await stateOf(outer.id)).toMatchObject({ used: { invocations: 3 } });
  expect(await stateOf(asAgent.id)).toMatchObject({ used: { invocations: 2 } });
  await client.patch(`/workflows/${outer.id}`, { budget: null });
  const retried = await endOf(client, (await client.post(`/runs/${run['id']}/retry`)).body);
  expect(retried).toMatchObject({ status: 'completed', budget_id: run['id'] });
  expect(await stateOf(run['id'])).toMatchObject({ used: { invocations: 4 } });
});

test('a budget that asks opens one human task for all branches, which go on once it is raised', async () => {
  const agent = await service({
    name: 'asking',
    budget: { max_invocations: 2, on_exceed: 'ask', window: 'P1D' },
  });
  const run = await startRun(client, branches(agent.id, 5));
  const tasks = await until(
    async (): Promise<any[]> => (await client.get(`/hitl/tasks?run_id=${run['id']}`)).body,
    (list) => list.length > 0,
  );
  expect(tasks).toHaveLength(1);
  expect(tasks[0]).toMatchObject({ title: 'Raise the budget of the agent asking?' });
  const decide = (task: string, body: unknown) => client.post(`/hitl/tasks/${task}/decision`, body);
  expect((await decide(tasks[0].id, { decision: 'raise_once', payload: { amount: -1 } })).status).toBe(422);
  await decide(tasks[0].id, { decision: 'raise_once', payload: { amount: 2 } });
  const again = await until(
    async () => (await client.get(`/hitl/tasks?run_id=${run['id']}`)).body,
    (list: any[]) => list.length > 0 && list[0].id !== tasks[0].id,
  );
  const state = await until(
    async () => (await client.get(`/budgets/${agent.id}`)).body,
    ({ reserved }) => reserved.invocations === 0,
  );
  expect(state).toMatchObject({
    max_invocations: 2,
    raised: { invocations: 2 },
    used: { invocations: 4 },
  });
  await decide(again[0].id, { decision: 'reject' });
  const ended = await endOf(client, run);
  const outputs = Object.values<any>(ended['output']);
  expect(outputs.filter(({ failed }) => failed === BUDGET_ERROR)).toHaveLength(1);
  expect((await client.get(`/budgets/${agent.id}`)).body.reserved.invocations).toBe(0);
});

test('a budget also asks for a call that is alone in its run', async () => {
  const agent = await service({ name: 'alone', budget: { max_invocations: 0, on_exceed: 'ask' } });
  const run = await startRun(client, { do: [{ call: agentTask(agent.id, { input: {} }) }] });
  const [task] = await until(
    async (): Promise<any[]> => (await client.get(`/hitl/tasks?run_id=${run['id']}`)).body,
    (list) => list.length > 0,
  );
  expect(task).toMatchObject({ title: 'Raise the budget of the agent alone?' });
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'raise_once', payload: { amount: 1 } });
  expect(await endOf(client, run)).toMatchObject({ status: 'completed', output: { id: 'c' } });
  expect((await client.get(`/budgets/${agent.id}`)).body).toMatchObject({ used: { invocations: 1 } });
});

const questionsOf = async (runs: { id?: string }[]): Promise<any[]> => {
  const lists = await Promise.all(runs.map(({ id }) => client.get(`/hitl/tasks?run_id=${id}`)));
  return lists.flatMap(({ body }) => body);
};
const statusOf = async (run: Record<string, any>): Promise<string> =>
  (await client.get(`/runs/${run['id']}`)).body.status;

test('runs that find the same budget used up open one task, whose decision is for all', async () => {
  const agent = await service({ name: 'shared', budget: { max_invocations: 1, on_exceed: 'ask' } });
  const once = () => startRun(client, branches(agent.id, 1));
  await endOf(client, await once());
  const runs = await Promise.all([once(), once(), once()]);
  const waiting = () => Promise.all(runs.map(statusOf));
  await until(waiting, (statuses) => statuses.every((status) => status === 'waiting'));
  const [task, ...others] = await questionsOf(runs);
  expect(others).toEqual([]);
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'raise_once', payload: { amount: 2 } });
  // Two of the three go on; the third asks, and nobody else.
  const [next, ...more] = await until(
    () => questionsOf(runs),
    (list) => list.some(({ id }) => id !== task.id),
  ).then((list) => list.filter(({ id }) => id !== task.id));
  expect(more).toEqual([]);
  // Those that wait meanwhile are refused with the one that asks.
  const late = await once();
  await until(
    () => statusOf(late),
    (status) => status === 'waiting',
  );
  await client.post(`/hitl/tasks/${next.id}/decision`, { decision: 'reject' });
  const ends = await Promise.all([...runs, late].map((run) => endOf(client, run)));
  const outputs = ends.flatMap(({ output }) => Object.values<any>(output));
  expect(outputs.filter(({ failed }) => failed === BUDGET_ERROR)).toHaveLength(2);
  expect((await client.get(`/budgets/${agent.id}`)).body).toMatchObject({ used: { invocations: 3 } });
});

test('a run whose end leaves a question about a budget leaves it to the others', async () => {
  const agent = await service({ name: 'left', budget: { max_invocations: 0, on_exceed: 'ask' } });
  const [first, second] = [
    await startRun(client, branches(agent.id, 1)),
    await startRun(client, branches(agent.id, 1)),
  ];
  const waiting = () => Promise.all([first, second].map(statusOf));
  await until(waiting, (statuses) => statuses.every((status) => status === 'waiting'));
  const [asked] = await questionsOf([first, second]);
  const [asking, other] = asked.run_id === first['id'] ? [first, second] : [second, first];
  await client.post(`/runs/${asking['id']}/cancel`);
  await endOf(client, asking);
  const [task] = await until(
    async () => {
      await platform.reconcile();
      return questionsOf([other]);
    },
    (list) => list.length > 0,
  );
  // Raising it elsewhere answers no question, and the next call goes through.
  expect((await client.post(`/budgets/${agent.id}/raise`, { invocations: 5 })).status).toBe(200);
  expect(await endOf(client, await startRun(client, branches(agent.id, 1)))).toMatchObject({
    status: 'completed',
  });
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'raise_once', payload: { amount: 1 } });
  expect(await endOf(client, other)).toMatchObject({ status: 'completed' });
});

test('a workflow agent that is invoked directly passes its own budget and limits first', async () => {
  const workflow = await created('/workflows', {
    name: 'asks',
    definition: { do: [{ look: { set: { done: true } } }, { wait: { wait: { milliseconds: 400 } } }] },
  });
  const agent = await created(
    '/agents',
    agentBody({
      name: 'asks',
      type: 'workflow',
      configuration: { workflow_id: workflow.id, price: { per_invocation_usd: 0.5 } },
      budget: { max_invocations: 2 },
      limits: { concurrency: 1 },
    }),
  );
  const invoke = async () => (await client.post(`/agents/${agent.id}/invoke`, { input: {} })).body;
  const [one, two] = await Promise.all([invoke(), invoke()]);
  const [first, second] = await Promise.all([endOf(client, one), endOf(client, two)]);
  expect([first, second]).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  // One after the other, although they were asked for at once.
  const [earlier, later] = [first, second].toSorted((a, b) => (a['finished_at'] < b['finished_at'] ? -1 : 1));
  const stepOf = (run: any, name: string) => run['tasks'].find((task: any) => task.name === name);
  expect(stepOf(later, 'look').started_at > earlier?.['finished_at']).toBe(true);
  const refused = await endOf(client, await invoke());
  expect(refused).toMatchObject({ status: 'faulted', error: { type: BUDGET_ERROR } });
  expect((await client.get(`/budgets/${agent.id}`)).body).toMatchObject({
    used: { invocations: 2, cost_usd: 1 },
    reserved: { invocations: 0 },
  });
  expect((await client.get(`/usage?by=agent&agent_id=${agent.id}`)).body).toMatchObject([
    { invocations: 2, cost_usd: 1 },
  ]);
  // A retry is another call.
  const retried = await endOf(client, (await client.post(`/runs/${refused['id']}/retry`)).body);
  expect(retried).toMatchObject({ status: 'faulted', error: { type: BUDGET_ERROR } });
  await client.patch(`/agents/${agent.id}`, { budget: { on_exceed: 'ask' } });
  const asking = await invoke();
  const [task] = await until(
    () => questionsOf([asking]),
    (list) => list.length > 0,
  );
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'raise_once', payload: { amount: 1 } });
  expect(await endOf(client, asking)).toMatchObject({ status: 'completed' });
});

test('each turn of a model with tools is a call, is counted once, and waits for its budget', async () => {
  const tool = await service({ name: 'lookup' });
  await setPrice('looping');
  const budget = { max_invocations: 0, on_exceed: 'ask' };
  const agent = await llm({ name: 'looping', budget }, { model: 'looping', tools: [{ agent: tool.id }] });
  const run = (await client.post(`/agents/${agent.id}/invoke`, { input: 'Hello?' })).body;
  const [task] = await until(
    async (): Promise<any[]> => (await client.get(`/hitl/tasks?run_id=${run.id}`)).body,
    (list) => list.length > 0,
  );
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'raise_once', payload: { amount: 5 } });
  const ended = await endOf(client, run);
  expect(ended).toMatchObject({ status: 'completed', usage: { input_tokens: 100, cost_usd: 0.0007 } });
  const { body: state } = await client.get(`/budgets/${agent.id}`);
  expect(state).toMatchObject({
    max_invocations: 5,
    used: { invocations: 1, cost_usd: 0.0007, tokens: 150 },
  });
  expect((await client.get('/usage?by=agent')).body).toMatchObject([{ key: agent.id, invocations: 1 }]);
});

test('turns of a model with tools that is too busy open its circuit breaker', async () => {
  const tool = await service({ name: 'lookup' });
  const limits = { breaker: { failures: 1 } };
  const agent = await llm({ name: 'busy', limits }, { model: 'busy', tools: [{ agent: tool.id }] });
  isBusy = true;
  const run = await endOf(client, (await client.post(`/agents/${agent.id}/invoke`, { input: 'Hi' })).body);
  expect(run['error']).toMatchObject({ status: 503, title: 'Circuit Open' });
});

test('the budget of a user is for admins to set and raise, and the next window begins empty', async () => {
  const agent = await service();
  const budget = { max_invocations: 1, window: 'PT1S' };
  expect((await client.patch(`/users/${person.id}`, { budget })).status).toBe(403);
  expect((await admin.patch(`/users/${person.id}`, { budget })).body.budget).toEqual(budget);
  const invoke = async () =>
    endOf(client, (await client.post(`/agents/${agent.id}/invoke`, { input: {} })).body);
  expect(await invoke()).toMatchObject({ status: 'completed' });
  expect((await client.post(`/budgets/${person.id}/raise`, { invocations: 1 })).status).toBe(403);
  await admin.patch(`/users/${person.id}`, { budget: { window: 'P1D' } });
  expect(await invoke()).toMatchObject({ status: 'completed' });
  expect(await invoke()).toMatchObject({ status: 'faulted' });
  const raised = await admin.post(`/budgets/${person.id}/raise`, { invocations: 1, lasting: true });
  expect(raised.body).toMatchObject({ max_invocations: 2, used: { invocations: 1 } });
  expect((await admin.get(`/users/${person.id}`)).body.budget).toMatchObject({ max_invocations: 2 });
  expect(await invoke()).toMatchObject({ status: 'completed' });
  await admin.patch(`/users/${person.id}`, { budget: { window: 'PT1S', max_invocations: 1 } });
  expect(await until(invoke, (run) => run['status'] === 'completed')).toBeTruthy();
  expect(await until(invoke, (run) => run['status'] === 'completed')).toBeTruthy();
});

test('usage is that of the caller, also after the runs are removed', async () => {
  const agent = await service({ visibility: 'public' });
  const run = await endOf(client, (await client.post(`/agents/${agent.id}/invoke`, { input: {} })).body);
  const other = await platform.as(await platform.createUser({ roles: ['builder'] }));
  expect((await other.get('/usage?by=agent')).body).toEqual([]);
  expect((await other.get(`/usage?by=user&user_id=${person.id}`)).body).toEqual([]);
  await platform.reconcile();
  await platform.orm.em.fork().execute('delete from run where id = ?', [run['id']]);
  const usage = async (query: string) => (await client.get(`/usage?${query}`)).body;
  const one = { invocations: 1, unpriced: 0, input_tokens: 100, output_tokens: 50, cost_usd: 0 };
  const none = { ...one, input_tokens: 0, output_tokens: 0 };
  expect(await usage('by=agent')).toEqual([{ key: agent.id, name: 'service', ...none }]);
  expect(await usage('by=user')).toEqual([{ key: person.id, name: person.username, ...none }]);
  expect(await usage('by=run')).toMatchObject([{ key: run['id'], name: null }]);
  expect(await usage('by=task')).toMatchObject([{ key: `${run['id']}/do/0/invoke` }]);
  expect(await usage('by=day&to=2020-01-01T00:00:00Z')).toEqual([]);
  const csv = await client.get('/usage/csv?by=agent');
  expect(csv.body).toBe(
    `key,name,invocations,unpriced,input_tokens,output_tokens,cost_usd\r\n${agent.id},service,1,0,0,0,0\r\n`,
  );
  const admins = await admin.get(`/usage?by=user&user_id=${person.id}`);
  expect(admins.body).toHaveLength(1);
});
