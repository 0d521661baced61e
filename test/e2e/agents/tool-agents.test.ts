/** Language models that call tools: agents, workflows, MCP servers and people (docs/llm-agents.md). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT } from '../../../contracts/run-events.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import type { Client } from '../../support/app.ts';
import { cliUser } from '../../support/cli.ts';
import { agentTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { startMcpServer, type McpTestServer } from '../../support/mcp-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { readLog } from '../../support/run-log.ts';
import { startScriptedModel, toolAnswers, type ScriptedModel } from '../../support/scripted-model.ts';

let platform: TestPlatform;
let builder: Client;
let model: ScriptedModel;
let shop: TestServer;
let mcp: McpTestServer;
let configuration: Record<string, unknown>;

const ORDER = { type: 'object', required: ['order'], properties: { order: { type: 'integer' } } };
const REFUND = {
  type: 'object',
  required: ['order', 'amount'],
  properties: { order: { type: 'integer' }, amount: { type: 'number', minimum: 1 } },
  additionalProperties: false,
};

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  [model, mcp] = await Promise.all([startScriptedModel(), startMcpServer()]);
  shop = await startServer((request, response) => {
    if (request.path === '/broken') return sendJson(response, { error: 'no stock' }, 500);
    sendJson(response, { done: request.path, given: JSON.parse(request.body || 'null') });
  });
  configuration = { base_url: `${model.url}/v1`, model: 'tiny' };
  const shopAgent = (name: string, more: object = {}) =>
    registeredAgent(builder, { name, configuration: { endpoint: `${shop.url}/${name}` }, ...more });
  await shopAgent('look-up', { description: 'Looks up an order', input_schema: ORDER });
  await shopAgent('refund', { description: 'Pays money back', input_schema: REFUND });
  await shopAgent('broken');
  await builder.post('/workflows', {
    name: 'restock',
    definition: {
      document: { dsl: '1.0.3', namespace: 'tests', name: 'restock', version: '1.0.0' },
      input: { schema: { document: { type: 'object', required: ['item'], properties: { item: {} } } } },
      do: [{ order: { set: { ordered: '${ .item }' } } }],
    },
  });
});
afterAll(async () => {
  await platform.close();
  await Promise.all([model.close(), shop.close(), mcp.close()]);
});

let made = 0;
/** Registers a model with these tools, and starts a run that calls it. */
async function ask(tools: unknown[], more: { agent?: object; with?: object; configuration?: object } = {}) {
  const name = `clerk-${++made}`;
  await registeredAgent(builder, {
    name,
    type: 'llm',
    configuration: { ...configuration, tools, ...more.configuration },
    ...more.agent,
  });
  model.requests.length = 0;
  return startRun(builder, { do: [{ ask: agentTask(name, { input: 'Help me', ...more.with }) }] });
}
async function humanTaskOf(run: Record<string, any>): Promise<Record<string, any>> {
  const [task] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body as Record<string, any>[],
    (tasks) => tasks.length > 0,
  );
  return task ?? {};
}
async function decide(run: Record<string, any>, decision: object): Promise<Record<string, any>> {
  const task = await humanTaskOf(run);
  const { status, body } = await builder.post(`/hitl/tasks/${task['id']}/decision`, decision);
  expect([status, body]).toEqual([200, expect.anything()]);
  return task;
}

test('a model calls an agent, a workflow, an MCP server and a person, with a step for each', async () => {
  await builder.put('/secrets/MCP_TOKEN', { value: 'mcp-secret-token' });
  model.script((_, turn) =>
    turn === 1
      ? {
          text: 'Let me see. ',
          calls: [
            { name: 'look-up', arguments: { order: 7 } },
            { name: 'restock', arguments: { item: 'tea' } },
            { name: 'sums_add', arguments: { a: 1, b: 2 } },
            { name: 'ask_person', arguments: { question: 'Which colour?', details: '${ .secret }' } },
          ],
        }
      : { text: 'All done' },
  );
  const run = await ask([
    { agent: 'look-up' },
    { workflow: 'restock' },
    {
      name: 'sums',
      mcp: { url: `${mcp.url}/mcp`, tools: ['add'], headers: { Authorization: 'Bearer <MCP_TOKEN>' } },
    },
    { human: {} },
  ]);
  const question = await decide(run, { decision: 'answer', payload: { answer: 'blue ${ .x }' } });
  expect(question).toMatchObject({ title: 'A language model asks: Which colour?', subject: '${ .secret }' });
  const ended = await endOf(builder, run);
  expect(ended['error']).toBeNull();
  expect(ended).toMatchObject({
    status: 'completed',
    output: { text: 'All done', finish_reason: 'stop', model: 'tiny-2026' },
    usage: { input_tokens: 22, output_tokens: 10 },
  });
  expect(model.requests[0]?.tools.map(({ function: { name } }: any) => name)).toEqual([
    'look-up',
    'restock',
    'sums_add',
    'ask_person',
  ]);
  expect(model.requests[0]?.tools[0].function).toMatchObject({
    description: 'Looks up an order',
    parameters: ORDER,
  });
  const answers = toolAnswers(model.requests[1] ?? { messages: [], tools: [] });
  expect(answers.map(([name]) => name)).toEqual(['look-up', 'restock', 'sums_add', 'ask_person']);
  expect(JSON.parse(answers[0]?.[1] ?? '')).toEqual({ done: '/look-up', given: { order: 7 } });
  expect(answers.slice(1).map(([, text]) => text)).toEqual([
    '{"ordered":"tea"}',
    '{"sum":3}',
    'blue ${ .x }',
  ]);
  expect(mcp.requests.some(({ headers }) => headers.authorization === 'Bearer mcp-secret-token')).toBe(true);
  const { tasks } = ended;
  expect(tasks.map(({ reference, type, status }: any) => [reference, type, status])).toEqual(
    expect.arrayContaining([
      ['/do/0/ask', 'agent', 'completed'],
      ['/do/0/ask/model', 'model', 'completed'],
      ['/do/0/ask/tools/look-up', 'tool', 'completed'],
      ['/do/0/ask/tools/sums_add', 'tool', 'completed'],
    ]),
  );
  const [whole] = tasks;
  expect(whole.usage).toMatchObject({ input_tokens: 22, total_tokens: 32 });
  const log = await readLog(builder, run['id']);
  expect(JSON.stringify(log)).not.toContain('mcp-secret-token');
  expect(log.find(({ data }) => data['name'] === 'look-up' && 'output' in data)?.data['output']).toEqual({
    done: '/look-up',
    given: { order: 7 },
  });
});

test('a person approves a call, with other arguments, or rejects it, and the model is told', async () => {
  const calls = [
    { name: 'refund', arguments: { order: 1, amount: 5 } },
    { name: 'refund', arguments: { order: 1, amount: 500 } },
  ];
  const tools = [{ agent: 'refund', approval: '.amount > 100' }];
  for (const [decision, told] of [
    [{ decision: 'approve' }, { order: 1, amount: 500 }],
    [
      { decision: 'approve', payload: { arguments: { order: 1, amount: 50 } } },
      { order: 1, amount: 50 },
    ],
    [{ decision: 'reject', comment: 'too much' }, /rejected this call: too much/],
  ] as const) {
    model.script((_, turn) => (turn === 1 ? { text: 'I pay back.', calls } : { text: 'ok' }));
    const before = shop.seen.length;
    const run = await ask(tools);
    const task = await humanTaskOf(run);
    expect(task).toMatchObject({
      subject: { tool: 'refund', arguments: { order: 1, amount: 500 } },
      description: 'Pays money back',
      form_schema: { properties: { arguments: { default: { order: 1, amount: 500 } } } },
    });
    const whole = (await builder.get(`/hitl/tasks/${task['id']}`)).body;
    expect(whole.context[0].value.at(-1)).toEqual({ role: 'assistant', text: 'I pay back.' });
    const wrong = { decision: 'approve', payload: { arguments: { order: 1, amount: 0 } } };
    expect((await builder.post(`/hitl/tasks/${task['id']}/decision`, wrong)).status).toBe(422);
    await decide(run, decision);
    expect((await endOf(builder, run))['status']).toBe('completed');
    const [, second] = toolAnswers(model.requests[1] ?? { messages: [], tools: [] });
    if (told instanceof RegExp) expect(second?.[1]).toMatch(told);
    else expect(JSON.parse(second?.[1] ?? '').given).toEqual(told);
    expect(shop.seen.length - before).toBe(told instanceof RegExp ? 1 : 2);
  }
});

test('an approval that is no boolean, or that fails, needs a person', async () => {
  model.script((_, turn) =>
    turn === 1
      ? { calls: ['a', 'b', 'c'].map((name) => ({ name, arguments: { order: 1, amount: 5 } })) }
      : { text: 'ok' },
  );
  const run = await ask([
    { name: 'a', agent: 'refund', approval: '.nothing' },
    { name: 'b', agent: 'refund', approval: '.amount | error' },
    { name: 'c', agent: 'refund', approval: 'always' },
  ]);
  for (let left = 3; left > 0; left--) {
    await until(
      async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body.length,
      (open) => open === left,
    );
    await decide(run, { decision: 'approve' });
  }
  expect((await endOf(builder, run))['status']).toBe('completed');
});

test('the model is told of bad arguments, unknown tools and tools that fail', async () => {
  model.script((_, turn) =>
    turn === 1
      ? {
          calls: [
            { name: 'refund', arguments: { order: 'x', amount: 5 } },
            { name: 'refund', arguments: '{"order": ' },
            { name: 'fly', arguments: {} },
            { name: 'broken', arguments: { input: 1 } },
          ],
        }
      : { text: 'sorry' },
  );
  const before = shop.seen.length;
  const run = await ask([{ agent: 'refund' }, { agent: 'broken' }]);
  expect((await endOf(builder, run))['status']).toBe('completed');
  const answers = toolAnswers(model.requests[1] ?? { messages: [], tools: [] }).map(([, text]) => text);
  expect(answers).toHaveLength(4);
  expect(answers[0]).toMatch(/do not fit the schema of refund: \/order/);
  expect(answers[1]).toMatch(/not valid JSON/);
  expect(answers[2]).toMatch(/There is no tool "fly"\. There are: refund, broken/);
  expect(answers[3]).toMatch(/500/);
  expect(shop.seen.slice(before).map(({ path }) => path)).toEqual(['/broken']);
});

test('turns and tokens are limited: a loop ends with an error, or a person lets it go on', async () => {
  const again = () => ({ calls: [{ name: 'look-up', arguments: { order: 1 } }] });
  model.script(again);
  const tools = [{ agent: 'look-up' }];
  const stopped = await endOf(builder, await ask(tools, { configuration: { max_turns: 2 } }));
  expect(stopped).toMatchObject({ status: 'faulted', usage: { input_tokens: 22 } });
  expect(stopped['error'].detail).toMatch(/used 2 of 2 turns \(max_turns\)/);
  expect(model.requests).toHaveLength(2);
  const costly = await endOf(builder, await ask(tools, { configuration: { max_total_tokens: 20 } }));
  expect(costly['error'].detail).toMatch(/used 32 of 20 tokens/);

  model.script((_, turn) => (turn < 3 ? again() : { text: 'at last' }));
  const asked = await ask(tools, { configuration: { max_turns: 2, on_exceed: 'ask' } });
  const question = await decide(asked, { decision: 'continue' });
  expect(question['description']).toMatch(/used 2 of 2 turns/);
  expect((await endOf(builder, asked))['output'].text).toBe('at last');
  const refused = await ask(tools, { configuration: { max_turns: 1, on_exceed: 'ask' } });
  await decide(refused, { decision: 'reject' });
  expect((await endOf(builder, refused))['error'].detail).toMatch(/a person has stopped it/);
});

test('what a workflow has used that is a tool counts, of one that fails, too', async () => {
  await registeredAgent(builder, { name: 'adviser', type: 'llm', configuration });
  for (const [name, rest] of [
    ['advise', []],
    ['advise-badly', [{ end: { raise: { error: { type: 'https://example.com/bad', status: 500 } } } }]],
  ] as const)
    await builder.post('/workflows', {
      name,
      definition: {
        document: { dsl: '1.0.3', namespace: 'tests', name, version: '1.0.0' },
        do: [{ ask: agentTask('adviser', { input: 'Advise' }) }, ...rest],
      },
    });
  for (const workflow of ['advise', 'advise-badly']) {
    model.script((request) =>
      request.tools === undefined ? { text: 'Be kind' } : { calls: [{ name: workflow, arguments: {} }] },
    );
    const ended = await endOf(
      builder,
      await ask([{ workflow }], { configuration: { max_total_tokens: 20 } }),
    );
    expect(ended['error'].detail).toMatch(/used 32 of 20 tokens/);
    // The child's own record has the rest.
    expect(ended['usage']).toMatchObject({ total_tokens: 16 });
  }
});

test('costs are limited, of failed tools too, and a log says if nobody knows them', async () => {
  // A turn costs eleven dollars.
  const price = { input_per_million_usd: 1_000_000 };
  await registeredAgent(builder, {
    name: 'poet',
    type: 'llm',
    configuration: { ...configuration, price },
    output_schema: { type: 'object', required: ['verse'] },
  });
  model.script(({ tools }) =>
    tools ? { calls: [{ name: 'poet', arguments: { input: 'Write' } }] } : { text: '{"prose": 1}' },
  );
  const limits = { price, max_cost_usd: 20 };
  const stopped = await endOf(builder, await ask([{ agent: 'poet' }], { configuration: limits }));
  // The poet is asked once more, because its answer does not fit.
  expect(stopped['error'].detail).toMatch(/used 33 of 20 US dollars \(max_cost_usd\)/);
  expect(stopped['usage']).toMatchObject({ cost_usd: 33 });

  model.script(() => ({ text: 'ok' }));
  const unpriced = await ask([{ agent: 'look-up' }], { configuration: { max_cost_usd: 20 } });
  expect((await endOf(builder, unpriced))['status']).toBe('completed');
  const log = await readLog(builder, unpriced['id']);
  expect(log.filter(({ type }) => type === EVENT.agentWarning)).toMatchObject([
    { message: expect.stringContaining('max_cost_usd does not limit') },
  ]);
});

test('the time for which a person is asked about a budget does not count', async () => {
  model.script((_, turn) =>
    turn === 1 ? { calls: [{ name: 'look-up', arguments: { order: 1 } }] } : { text: 'in time' },
  );
  const run = await ask([{ agent: 'look-up' }], {
    agent: { budget: { max_invocations: 0, on_exceed: 'ask' } },
    with: { timeout: { seconds: 20 } },
  });
  const task = await humanTaskOf(run);
  await until(
    async () => Date.now() - Date.parse(task['created_at']),
    (age) => age > 21_000,
  );
  await decide(run, { decision: 'raise_once', payload: { amount: 5 } });
  expect(await endOf(builder, run)).toMatchObject({ status: 'completed', output: { text: 'in time' } });
});

test('a model that is too busy opens its circuit breaker', async () => {
  model.script(() => ({ status: 503, headers: { 'retry-after': '0' } }));
  const limits = { breaker: { failures: 2, within: 600, open_for: 600 } };
  const ended = await endOf(builder, await ask([{ agent: 'look-up' }], { agent: { limits } }));
  expect(ended['error']).toMatchObject({ status: 503, title: 'Circuit Open' });
  expect(model.requests).toHaveLength(2);
});

test('arguments are checked by schemas that are not of objects and refer to their own parts', async () => {
  const line = { type: 'object', required: ['item'], properties: { item: { type: 'string' } } };
  await registeredAgent(builder, {
    name: 'order-lines',
    configuration: { endpoint: `${shop.url}/lines` },
    input_schema: { type: 'array', items: { $ref: '#/$defs/line' }, $defs: { line } },
  });
  model.script((_, turn) =>
    turn === 1
      ? {
          calls: [
            { name: 'order-lines', arguments: { input: [{ item: 'tea' }] } },
            { name: 'order-lines', arguments: { input: [{}] } },
          ],
        }
      : { text: 'ok' },
  );
  expect((await endOf(builder, await ask([{ agent: 'order-lines' }])))['status']).toBe('completed');
  const [good, bad] = toolAnswers(model.requests[1] ?? { messages: [], tools: [] });
  expect(JSON.parse(good?.[1] ?? '').given).toEqual([{ item: 'tea' }]);
  expect(bad?.[1]).toMatch(/do not fit the schema of order-lines: \/input\/0: .*item/);
});

test('an output that does not fit is repaired once, and a busy model is asked again', async () => {
  const output_schema = { type: 'object', required: ['total'], properties: { total: { type: 'integer' } } };
  const tools = [{ agent: 'look-up' }];
  model.script((_, turn) => {
    if (turn === 1) return { status: 429, headers: { 'retry-after': '0' } };
    return { text: turn === 2 ? '{"total": "three"}' : '{"total": 3}' };
  });
  const repaired = await endOf(builder, await ask(tools, { agent: { output_schema } }));
  expect(repaired).toMatchObject({ status: 'completed', output: { total: 3 } });
  expect(model.requests[2]?.messages.at(-1)).toMatchObject({
    role: 'user',
    content: expect.stringContaining('/total'),
  });
  model.script(() => ({ text: 'no JSON at all' }));
  const faulted = await endOf(builder, await ask(tools, { agent: { output_schema } }));
  expect(faulted['error']).toMatchObject({ status: 400, detail: expect.stringMatching(/does not fit/) });
  expect(model.requests).toHaveLength(2);
});

test('cancelling reaches models, tools and questions; a suspended loop starts nothing', async () => {
  model.script(() => undefined);
  const held = await ask([{ agent: 'look-up' }]);
  await model.held(1);
  await builder.post(`/runs/${held['id']}/suspend`, {});
  model.release({ calls: [{ name: 'look-up', arguments: { order: 1 } }] });
  await until(
    async () => (await builder.get(`/runs/${held['id']}`)).body,
    ({ status, tasks }) =>
      status === 'suspended' &&
      tasks.some(({ type, status: of }: any) => type === 'model' && of === 'completed'),
  );
  const before = shop.seen.length;
  await builder.post(`/runs/${held['id']}/resume`, {});
  await model.held(1);
  expect(shop.seen.length - before).toBe(1);
  await builder.post(`/runs/${held['id']}/cancel`, {});
  expect((await endOf(builder, held))['status']).toBe('cancelled');

  model.script(() => ({
    calls: [
      { name: 'wait', arguments: {} },
      { name: 'ask_person', arguments: { question: 'Well?' } },
    ],
  }));
  const run = await ask([{ mcp: { url: `${mcp.url}/mcp`, tools: ['wait'] } }, { human: {} }]);
  const task = await humanTaskOf(run);
  await until(async () => mcp.waiting.begun === 1, Boolean);
  await builder.post(`/runs/${run['id']}/cancel`, {});
  expect((await endOf(builder, run))['status']).toBe('cancelled');
  await until(async () => mcp.waiting.cancelled === 1, Boolean);
  expect((await builder.get(`/hitl/tasks/${task['id']}`)).body.status).toBe('cancelled');
});

test('a retry goes on after the last turn, with the answers that the tools have given', async () => {
  model.script((_, turn) =>
    turn === 1 ? { calls: [{ name: 'look-up', arguments: { order: 1 } }] } : { status: 400 },
  );
  const before = shop.seen.length;
  const run = await ask([{ agent: 'look-up' }]);
  expect((await endOf(builder, run))['status']).toBe('faulted');
  model.script(() => ({ text: 'better' }));
  const { body: again } = await builder.post(`/runs/${run['id']}/retry`, {});
  const ended = await endOf(builder, again);
  expect(ended).toMatchObject({ status: 'completed', output: { text: 'better' } });
  expect(toolAnswers(model.requests.at(-1) ?? { messages: [], tools: [] })).toHaveLength(1);
  expect(shop.seen.length - before).toBe(1);
});

test('a tool that does not exist is an error that names it', async () => {
  const run = await endOf(builder, await ask([{ agent: 'nobody' }]));
  expect(run['error'].detail).toMatch(/The tool "nobody"/);
});

test('private tools serve whoever may use the agent, and nobody else', async () => {
  const owner = await platform.as(await platform.createUser({ roles: ['builder'] }));
  const secret = { endpoint: `${shop.url}/secret` };
  const tool = await registeredAgent(owner, { name: 'hidden-tool', configuration: secret });
  const { body: flow } = await owner.post('/workflows', {
    name: 'hidden-flow',
    definition: { do: [{ call: agentTask('hidden-tool') }] },
  });
  await registeredAgent(owner, {
    name: 'hidden-agent',
    type: 'workflow',
    configuration: { workflow_id: flow.id },
  });
  const tools = [{ agent: 'hidden-tool' }, { workflow: 'hidden-flow' }, { agent: 'hidden-agent' }];
  const shared = { type: 'llm', visibility: 'public', configuration: { ...configuration, tools } };
  const { id } = await registeredAgent(owner, { name: 'shared', ...shared });
  const calls = ['hidden-tool', 'hidden-flow', 'hidden-agent'].map((name) => ({
    name,
    arguments: { input: 1 },
  }));
  model.script(({ messages }) => (messages.at(-1).role === 'tool' ? { text: 'ok' } : { calls }));
  const run = await startRun(builder, { do: [{ ask: agentTask(id, { input: 'x' }) }] });
  expect((await endOf(builder, run))['status']).toBe('completed');
  const answers = toolAnswers(model.requests.at(-1) ?? { messages: [], tools: [] });
  expect(answers.map(([, text]) => JSON.parse(text).done)).toEqual(['/secret', '/secret', '/secret']);
  const direct = await startRun(builder, { do: [{ ask: agentTask('${ .id }') }] }, { id: tool.id });
  expect((await endOf(builder, direct))['error'].detail).toMatch(/There is no agent/);
});

test('a model that is its own tool ends somewhere, and each turn counts once', async () => {
  await registeredAgent(builder, {
    name: 'mirror',
    type: 'llm',
    configuration: { ...configuration, tools: [{ agent: 'mirror' }] },
  });
  model.script(({ messages }) =>
    messages.at(-1).role === 'tool'
      ? { text: `heard ${messages.at(-1).content.slice(0, 60)}` }
      : { text: 'Let us see', calls: [{ name: 'mirror', arguments: { input: 'who?' } }] },
  );
  const run = await startRun(builder, { do: [{ ask: agentTask('mirror', { input: 'who?' }) }] });
  const ended = await endOf(builder, run);
  expect(ended).toMatchObject({ status: 'completed', output: { text: expect.stringMatching(/^heard/) } });
  const deepest = '/do/0/ask' + '/tools/mirror'.repeat(5);
  expect(ended['tasks'].find(({ reference }: any) => reference === deepest)).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringMatching(/5 deep/) },
  });
  // The sums of inner models are not counted again.
  const turns = ended['tasks'].filter(({ type }: any) => type === 'model');
  expect(ended['usage'].total_tokens).toBe(16 * turns.length);
});

test('what cannot work with tools is a warning when the agent is saved', async () => {
  const tools = [
    { agent: 'nobody' },
    { workflow: 'nothing' },
    { agent: 'refund', approval: '.amount >' },
    { agent: 'refund', mcp: { url: 'x' } },
    { agent: 'refund', aproval: 'always' },
  ];
  const { warnings } = await registeredAgent(builder, {
    name: 'hopeful',
    type: 'llm',
    configuration: { ...configuration, tools },
  });
  const pointers = warnings.map(({ pointer }: { pointer: string }) => pointer);
  expect(pointers.toSorted()).toEqual(
    ['/0/agent', '/1/workflow', '/2/approval', '/3', '/4'].map((rest) => `/configuration/tools${rest}`),
  );
});

describe('a session', () => {
  let agent: string;
  const say = async (client: Client, input: string, session = 'trip') => {
    const { status, body } = await client.post(`/agents/${agent}/invoke`, { input, session });
    expect([status, body.errors ?? []]).toEqual([201, []]);
    return body as Record<string, any>;
  };

  test('continues with what was said, is searchable and deletable, and belongs to one user', async () => {
    const record = await registeredAgent(builder, {
      name: 'guide',
      type: 'llm',
      visibility: 'public',
      configuration,
    });
    agent = record.id;
    model.requests.length = 0;
    model.script((_, turn) => ({ text: `answer ${turn}` }));
    await endOf(builder, await say(builder, 'I am ${ .Ada }'));
    expect((await endOf(builder, await say(builder, 'Who am I?')))['output'].text).toBe('answer 2');
    const said = [
      { role: 'user', content: 'I am ${ .Ada }' },
      { role: 'assistant', content: 'answer 1' },
      { role: 'user', content: 'Who am I?' },
    ];
    expect(model.requests[1]?.messages).toEqual(said);
    const other = await platform.as(await platform.createUser({ roles: ['builder'] }));
    await endOf(other, await say(other, 'And I?'));
    expect(model.requests[2]?.messages).toHaveLength(1);

    const list = async (client: Client, query = '') =>
      (await client.get(`/agents/${agent}/sessions${query}`)).body;
    expect(await list(builder)).toMatchObject([{ session: 'trip', messages: 4 }]);
    expect(await list(builder, '?q=i%20am%20%24')).toHaveLength(1);
    expect(await list(builder, '?q=100%25')).toEqual([]);
    expect(await list(other)).toMatchObject([{ messages: 2 }]);
    const one = `/agents/${agent}/sessions/trip`;
    expect((await builder.get(one)).body.said.map(({ text }: any) => text)).toEqual([
      'I am ${ .Ada }',
      'answer 1',
      'Who am I?',
      'answer 2',
    ]);
    const { token } = await platform.user('builder');
    const cli = cliUser({ CADENZA_URL: platform.url, CADENZA_TOKEN: token });
    const invoked = await cli.run([
      'agent',
      'invoke',
      'guide',
      '-i',
      'text=Hi',
      '--session',
      'cli',
      '--wait',
      '60s',
    ]);
    expect([invoked.exitCode, invoked.stderr]).toEqual([0, expect.any(String)]);
    expect((await cli.run(['agent', 'sessions', 'guide', '-o', 'name'])).stdout).toBe('cli\ntrip\n');
    expect((await cli.run(['agent', 'session', 'guide', 'cli'])).stdout).toContain('answer');
    expect((await cli.run(['agent', 'delete-session', 'guide', 'cli', '--yes'])).exitCode).toBe(0);
    expect((await builder.delete(one)).status).toBe(204);
    expect((await builder.get(one)).status).toBe(404);
    expect((await other.get(one)).status).toBe(200);
  });

  test('is continued by one call at a time, and a failed call leaves nothing', async () => {
    model.script(() => undefined);
    const first = await say(builder, 'one', 'busy "}');
    await model.held(1);
    const second = await endOf(builder, await say(builder, 'two', 'busy "}'));
    expect(second['error']).toMatchObject({ status: 409, detail: expect.stringContaining(first['id']) });
    await builder.post(`/runs/${first['id']}/cancel`, {});
    await endOf(builder, first);
    model.script(() => ({ status: 400 }));
    await endOf(builder, await say(builder, 'three', 'busy "}'));
    model.script(() => ({ text: 'at last' }));
    await endOf(builder, await say(builder, 'four', 'busy "}'));
    const one = `/agents/${agent}/sessions/${encodeURIComponent('busy "}')}`;
    expect((await builder.get(one)).body.said.map(({ text }: any) => text)).toEqual(['four', 'at last']);
    expect((await builder.delete(`/agents/${agent}`)).status).toBe(204);
    expect((await builder.get(one)).status).toBe(404);
  });

  test('is held by the retry of a run until that ends', async () => {
    const { id } = await registeredAgent(builder, {
      name: 'asking-guide',
      type: 'llm',
      configuration: { ...configuration, tools: [{ human: {} }] },
    });
    agent = id;
    model.script(() => ({ status: 400 }));
    const first = await endOf(builder, await say(builder, 'one', 'held'));
    model.script(({ messages }) =>
      messages.at(-1).role === 'tool'
        ? { text: 'bye' }
        : { calls: [{ name: 'ask_person', arguments: { question: 'Well?' } }] },
    );
    const { body: retry } = await builder.post(`/runs/${first['id']}/retry`, {});
    await humanTaskOf(retry);
    const second = await endOf(builder, await say(builder, 'two', 'held'));
    expect(second['error']).toMatchObject({ status: 409, detail: expect.stringContaining(retry.id) });
    await decide(retry, { decision: 'answer', payload: { answer: 'yes' } });
    expect((await endOf(builder, retry))['status']).toBe('completed');
    const { said } = (await builder.get(`/agents/${agent}/sessions/held`)).body;
    expect(said.map(({ text }: any) => text)).toEqual(['one', 'bye']);
  });

  test('can have any id that expressions give, of 200 characters', async () => {
    model.script(() => ({ text: 'ok' }));
    for (const session of ['${ "a\\u0000b" }', '🙂'.repeat(200)]) {
      const run = await startRun(builder, { do: [{ ask: agentTask(agent, { input: 'x', session }) }] });
      expect((await endOf(builder, run))['error']).toBeNull();
    }
  });

  test('is for language models only', async () => {
    const [refund] = (await builder.get('/agents?name=refund')).body;
    const { status, body } = await builder.post(`/agents/${refund.id}/invoke`, {
      input: { order: 1, amount: 1 },
      session: 'x',
    });
    expect([status, body.code]).toEqual([422, 'no_sessions']);
  });
});
