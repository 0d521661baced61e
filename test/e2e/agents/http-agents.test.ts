/** Runs that use registered agents, end to end: secrets, schemas, pins, status, errors. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { agentBody } from '../../support/agent-body.ts';
import type { Client } from '../../support/app.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { agentTask, httpTask, humanTask } from '../../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let target: TestServer;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  target = await startServer((request, response) => {
    const status = Number(/\/status\/(\d+)/.exec(request.path)?.[1] ?? 200);
    sendJson(
      response,
      {
        path: request.path,
        authorization: request.headers.authorization ?? null,
        key: request.headers['x-key'] ?? null,
        body: request.body === '' ? null : JSON.parse(request.body),
      },
      status,
    );
  });
});
afterAll(async () => {
  await target.close();
  await platform.close();
});

const register = async (more: Record<string, unknown>) => {
  const reply = await builder.post('/agents', agentBody(more));
  expect({ status: reply.status, errors: reply.body.errors }).toEqual({ status: 201, errors: undefined });
  return reply.body;
};
const callAgent = (agent: string, input: unknown = {}, more: Record<string, unknown> = {}) => ({
  do: [{ ask: agentTask(agent, { input, ...more }) }],
});

test('an agent gets its input and its secret, which cannot be read anywhere afterwards', async () => {
  const secret = 'sk-live-0123456789abcdef';
  const agent = await register({
    name: 'echo',
    configuration: {
      endpoint: `${target.url}/echo`,
      headers: { Authorization: secret, 'X-Key': '${ "<EXTRA>:" | @base64 }' },
    },
  });
  await builder.put('/secrets/EXTRA', { value: 'extra-secret-value' });
  const run = await platform.runToEnd(callAgent('echo', { q: '${ .question }', trap: '<EXTRA>' }), {
    question: 'why?',
  });
  expect(run).toMatchObject({
    status: 'completed',
    output: { path: '/echo', body: { q: 'why?', trap: '<EXTRA>' } },
  });
  expect(run['output'].authorization).toMatch(/^<AGENT_[0-9A-F]{32}_AUTHORIZATION_1>$/);
  const seen = target.seen.at(-1);
  expect(seen?.headers.authorization).toBe(secret);
  expect(seen?.headers['x-key']).toBe(Buffer.from('extra-secret-value:').toString('base64'));
  expect(run['tasks'][0]).toMatchObject({ agent_id: agent.id, agent_version: '1.0.0' });
  expect((await builder.get(`/agents/${agent.id}`)).body.last_used).not.toBeNull();

  const em = platform.orm.em.fork();
  const tables = await em.execute<{ name: string }[]>(
    `select table_name as name
      from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    const [dump] = await em.execute<{ text: string | null }[]>(
      `select string_agg(t::text, ' ') as text from "${name}" t`,
    );
    for (const value of [
      secret,
      'extra-secret-value',
      Buffer.from('extra-secret-value:').toString('base64'),
    ]) {
      expect([name, (dump?.text ?? '').includes(value)]).toEqual([name, false]);
    }
  }
});

test('call: http sends a secret of the workflow owner, and an echo does not reveal it', async () => {
  await builder.put('/secrets/service', { value: { token: 'from-the-store-1234' } });
  const run = await platform.runToEnd(
    {
      use: { secrets: ['service'] },
      do: [
        {
          ask: httpTask(
            { uri: `${target.url}/items/{id}`, authentication: { bearer: { use: 'service' } } },
            { method: 'post', headers: { 'X-Key': '${ $secrets.service.token }' }, body: { n: '${ .n }' } },
          ),
        },
      ],
    },
    { id: 'a b', n: 1 },
  );
  expect(run).toMatchObject({ status: 'completed', output: { path: '/items/a%20b', body: { n: 1 } } });
  expect(target.seen.at(-1)?.headers).toMatchObject({
    authorization: 'Bearer from-the-store-1234',
    'x-key': 'from-the-store-1234',
  });
  expect(JSON.stringify(run)).not.toContain('from-the-store-1234');
});

test('data in an address is neither evaluated nor able to choose a secret', async () => {
  await builder.put('/secrets/service', { value: '{"token":"from-the-store-1234"}' });
  const call = (endpoint: unknown, input: Record<string, unknown>, more: object = {}) =>
    platform.runToEnd(
      {
        use: { secrets: ['service'] },
        do: [{ ask: httpTask(endpoint, more) }],
      },
      input,
    );
  expect(
    (await call('${ .to }', { to: `${target.url}/x/{id}?q=%7Bid%7D`, id: 'expanded' }))['output'].path,
  ).toBe('/x/%7Bid%7D?q=%7Bid%7D');
  expect((await call(`${target.url}/{id}/\${ .rest }`, { id: 'a/b', rest: '{id}' }))['output'].path).toBe(
    '/a%2Fb/%7Bid%7D',
  );
  const chosen = { uri: target.url, authentication: { bearer: { use: 'service' } } };
  for (const endpoint of ['${ .to }', '${ .to | if $secrets.service then . else . end }']) {
    const run = await call(endpoint, { to: chosen });
    expect(run).toMatchObject({
      status: 'faulted',
      error: {
        type: expect.stringContaining('/expression'),
        detail: expect.stringContaining('must give a text'),
      },
    });
  }
  const object = await call(`${target.url}/{id}`, { id: {} });
  expect(object).toMatchObject({
    status: 'faulted',
    error: { type: expect.stringContaining('/expression'), instance: '/do/0/ask' },
  });
});

test('an agent of type workflow becomes a child run, with the schemas of the agent', async () => {
  const { body: workflow } = await builder.post('/workflows', {
    name: 'inner',
    definition: { do: [{ twice: { set: { twice: '${ .n * 2 }' } } }] },
  });
  const schemas = {
    input_schema: { type: 'object', required: ['n'] },
    output_schema: { type: 'object', properties: { twice: { maximum: 10 } } },
  };
  const agent = await register({
    name: 'composed',
    type: 'workflow',
    configuration: { workflow_id: workflow.id },
    ...schemas,
  });
  const run = await platform.runToEnd(callAgent('composed', { n: 4 }));
  expect(run).toMatchObject({
    status: 'completed',
    output: { twice: 8 },
    tasks: [{ name: 'ask', agent_id: agent.id }],
  });
  expect((await builder.get(`/runs?parent_run_id=${run['id']}`)).body).toHaveLength(1);
  for (const input of [{}, { n: 6 }]) {
    expect(await platform.runToEnd(callAgent('composed', input))).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringContaining('/validation'), instance: '/do/0/ask' },
    });
  }
  // Executed by another kind of agent it is no child run.
  await register({
    name: 'served',
    type: 'workflow',
    execution_type: 'api',
    configuration: { endpoint: `${target.url}/served` },
  });
  expect(await platform.runToEnd(callAgent('served'))).toMatchObject({
    status: 'completed',
    output: { path: '/served' },
  });
});

test('errors of an agent can be caught by type and status', async () => {
  await register({
    name: 'failing',
    configuration: { endpoint: `${target.url}/status/{code}`, method: 'GET' },
  });
  const caught = async (code: number, filter: Record<string, unknown>) => {
    const run = await platform.runToEnd({
      do: [
        {
          guarded: {
            try: [{ ask: agentTask('failing', { input: { code } }) }],
            catch: {
              errors: { with: filter },
              as: 'problem',
              do: [{ told: { set: { status: '${ $problem.status }' } } }],
            },
          },
        },
      ],
    });
    return run['status'] === 'completed' ? run['output'].status : run['error'].status;
  };
  const errors = 'https://open-workflow-specification.org/spec/1.0.0/errors';
  expect(await caught(503, { type: `${errors}/communication`, status: 503 })).toBe(503);
  expect(await caught(401, { type: `${errors}/authentication` })).toBe(401);
  const faulted = await platform.runToEnd(callAgent('failing', { code: 404 }));
  expect(faulted).toMatchObject({
    status: 'faulted',
    error: { type: `${errors}/communication`, status: 404, instance: '/do/0/ask' },
  });
});

test('the schemas of an agent are enforced for input and output', async () => {
  await register({
    name: 'strict',
    configuration: { endpoint: `${target.url}/x`, response: '.body' },
    input_schema: { type: 'object', required: ['a'] },
    output_schema: { type: 'object', properties: { a: { type: 'number' } } },
  });
  expect(await platform.runToEnd(callAgent('strict', { a: 1 }))).toMatchObject({
    status: 'completed',
    output: { a: 1 },
  });
  for (const input of [{}, { a: 'text' }]) {
    expect(await platform.runToEnd(callAgent('strict', input))).toMatchObject({
      status: 'faulted',
      error: { type: expect.stringContaining('/validation') },
    });
  }
});

test('unusable agents fault with a reason, and a deprecated one warns', async () => {
  const agent = await register({ name: 'aging', configuration: { endpoint: `${target.url}/x` } });
  await builder.patch(`/agents/${agent.id}`, { status: 'inactive' });
  const inactive = await platform.runToEnd(callAgent('aging'));
  expect(inactive).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringContaining('inactive') },
  });
  await builder.patch(`/agents/${agent.id}`, { status: 'deprecated' });
  const deprecated = await platform.runToEnd(callAgent('aging'));
  expect(deprecated['status']).toBe('completed');
  expect(JSON.stringify(deprecated['logs'])).toContain('is deprecated');
  await register({ name: 'container', type: 'docker', configuration: { image: 'alpine' } });
  expect(await platform.runToEnd(callAgent('container'))).toMatchObject({
    status: 'faulted',
    error: { detail: expect.stringContaining('no container engine is configured (SANDBOX_ENGINE)') },
  });
  await register({ name: 'bare' });
  expect(await platform.runToEnd(callAgent('bare'))).toMatchObject({
    status: 'faulted',
    error: { type: expect.stringContaining('/configuration') },
  });
});

test('an unpublished draft is not used, and a deprecated version warns in the log', async () => {
  const { id } = await register({ name: 'drafted', configuration: { endpoint: `${target.url}/published` } });
  await builder.post(`/agents/${id}/versions/1.0.0/publish`);
  await builder.patch(`/agents/${id}`, {
    version: '2.0.0',
    configuration: { endpoint: `${target.url}/unfinished` },
  });
  expect(await platform.runToEnd(callAgent('drafted'))).toMatchObject({
    status: 'completed',
    output: { path: '/published' },
  });
  expect(await platform.runToEnd(callAgent('drafted', {}, { version: 'draft' }))).toMatchObject({
    output: { path: '/unfinished' },
  });
  await builder.post(`/agents/${id}/versions/1.0.0/deprecate`);
  const run = await platform.runToEnd(callAgent('drafted'));
  expect(run).toMatchObject({ status: 'completed', output: { path: '/published' } });
  const warnings = run['logs'].filter(({ level }: { level: string }) => level === 'warn');
  expect(warnings).toMatchObject([
    { message: expect.stringContaining('Version 1.0.0 of the agent drafted is deprecated') },
  ]);
});

test('a definition can name a version or a range', async () => {
  const { id } = await register({ name: 'versioned', configuration: { endpoint: `${target.url}/v1` } });
  await builder.post(`/agents/${id}/versions/1.0.0/publish`, {});
  await builder.patch(`/agents/${id}`, { version: '2.0.0', configuration: { endpoint: `${target.url}/v2` } });
  const path = async (version?: string) =>
    (await platform.runToEnd(callAgent('versioned', {}, version === undefined ? {} : { version })))['output']
      .path;
  expect([await path(), await path('2.0.0'), await path('^1.0.0')]).toEqual(['/v1', '/v2', '/v1']);
});

test('a public agent of another user is called with the secrets of its owner', async () => {
  const other = await platform.createUser();
  const theirs = await platform.as(other);
  await theirs.put('/secrets/THEIR_KEY', { value: 'their-key-value' });
  await theirs.post(
    '/agents',
    agentBody({
      name: 'theirs',
      visibility: 'public',
      configuration: { endpoint: `${target.url}/t`, headers: { 'X-Key': '<THEIR_KEY>' } },
    }),
  );
  expect(await platform.runToEnd(callAgent('theirs'))).toMatchObject({ status: 'completed' });
  expect(target.seen.at(-1)?.headers['x-key']).toBe('their-key-value');
});

test('a model answers through an OpenAI-compatible API, and its usage is recorded', async () => {
  const model = await startServer((_, response) =>
    sendJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'tiny',
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      choices: [
        { index: 0, message: { role: 'assistant', content: '{"mood":"fine"}' }, finish_reason: 'stop' },
      ],
    }),
  );
  try {
    await register({
      name: 'model',
      type: 'llm',
      configuration: { base_url: model.url, model: 'tiny', api_key: 'sk-literal-key' },
      output_schema: { type: 'object', properties: { mood: { type: 'string' } }, required: ['mood'] },
    });
    const run = await platform.runToEnd(callAgent('model', { prompt: 'How?' }));
    expect(run).toMatchObject({ status: 'completed', output: { mood: 'fine' } });
    expect(run['tasks'][0].usage).toMatchObject({ input_tokens: 7, output_tokens: 3, total_tokens: 10 });
    expect(run['usage']).toMatchObject({ input_tokens: 7, output_tokens: 3, total_tokens: 10 });
    expect(model.seen[0]?.headers.authorization).toBe('Bearer sk-literal-key');
    expect(JSON.stringify(run)).not.toContain('sk-literal-key');
  } finally {
    await model.close();
  }
});

test('an agent with an unfinished run cannot be deleted', async () => {
  const { id } = await register({ name: 'busy', configuration: { endpoint: `${target.url}/x` } });
  const definition = {
    do: [{ pause: { wait: { minutes: 10 } } }, { ask: agentTask('busy', { input: {} }) }],
  };
  const { body: workflow } = await builder.post('/workflows', { name: 'w', definition });
  const { body: run } = await builder.post(`/workflows/${workflow.id}/run`, {});
  expect((await builder.delete(`/agents/${id}`)).status).toBe(409);
  await builder.post(`/runs/${run.id}/cancel`, {}, { headers: { prefer: 'wait=20' } });
});

test('an agent that becomes private can no longer be called by others, whatever they pinned', async () => {
  const other = await platform.createUser({ roles: ['builder'] });
  const theirs = await platform.as(other);
  const agent = await register({
    name: 'once-public',
    visibility: 'public',
    configuration: { endpoint: `${target.url}/public` },
  });
  const definition = {
    do: [{ hold: humanTask('Go on?') }, { ask: agentTask(agent.id, { input: {} }) }],
  };
  const run = await startRun(theirs, definition);
  const mine = await startRun(builder, definition);
  await builder.patch(`/agents/${agent.id}`, { visibility: 'private' });
  for (const [client, { id }] of [
    [theirs, run],
    [builder, mine],
  ] as const) {
    const { body } = await until(
      () => client.get(`/runs/${id}`),
      (reply) => reply.body.status === 'waiting',
    );
    await client.post(`/hitl/tasks/${body.waiting_on[0].id}/decision`, { decision: 'approve' });
  }
  expect(await endOf(theirs, run)).toMatchObject({
    status: 'faulted',
    error: {
      instance: '/do/1/ask',
      detail: expect.stringMatching(/may not use the agent once-public any more/),
    },
  });
  expect((await endOf(builder, mine))['status']).toBe('completed');
});

test('names with an @ are ordinary names, also with a version and in a retry', async () => {
  const plain = await register({
    name: 'me',
    version: '1.0.0',
    configuration: { endpoint: `${target.url}/plain` },
  });
  await register({ name: 'me@1.0.0', configuration: { endpoint: `${target.url}/at` } });
  const both = {
    do: [
      {
        one: {
          call: 'agent',
          with: { agent: 'me', version: '1.0.0', input: {} },
          output: { as: '.path' },
          export: { as: '.' },
        },
      },
      { two: agentTask('me@1.0.0', { input: {} }) },
      { both: { set: { one: '${ $context }', two: '${ .path }' } } },
    ],
  };
  expect((await platform.runToEnd(both))['output']).toEqual({ one: '/plain', two: '/at' });

  await builder.patch(`/agents/${plain.id}`, { configuration: { endpoint: `${target.url}/status/503` } });
  const mail = await register({
    name: 'team%40@example.com',
    configuration: { endpoint: `${target.url}/status/503` },
  });
  const failed = await platform.runToEnd(callAgent('team%40@example.com'));
  expect(failed).toMatchObject({ status: 'faulted', error: { status: 503 } });
  await builder.patch(`/agents/${mail.id}`, { configuration: { endpoint: `${target.url}/fine` } });
  const retried = await builder.post(`/runs/${failed['id']}/retry`, undefined, {
    headers: { prefer: 'wait=30' },
  });
  expect(retried.status).toBe(201);
  expect(await endOf(builder, retried.body)).toMatchObject({
    status: 'completed',
    output: { path: '/fine' },
  });
});

test('an evaluation calls versions with all cases, in one run, and reports what has changed', async () => {
  const { id } = await register({
    name: 'shouter',
    configuration: { endpoint: `${target.url}/v1`, response: '{text: .body.text, path: .path}' },
  });
  const critic = await register({
    name: 'critic',
    configuration: {
      endpoint: `${target.url}/judge`,
      response: '{score: ((.body.output.path | length) / 10)}',
    },
  });
  expect((await builder.post(`/agents/${id}/versions/1.0.0/publish`)).status).toBe(200);
  const draft = {
    version: '1.1.0',
    configuration: {
      endpoint: `${target.url}/status/{code}`,
      response: '{text: (.body.text | ascii_upcase), path: "/v1"}',
    },
  };
  expect((await builder.post(`/agents/${id}/versions`, draft)).status).toBe(201);
  const reply = await builder.post(`/agents/${id}/evaluate`, {
    name: 'Louder',
    cases: [
      { id: 'same', input: { text: 'A', code: 200 }, expected: { path: '/v1', text: 'A' } },
      { input: { text: 'b', code: 200 }, checks: [{ name: 'quiet', jq: '.text == $input.text' }], weight: 2 },
      { input: { text: 'C', code: 503 } },
    ],
    checks: [{ jq: '.text | length == 1' }],
    judge: { agent: 'critic', pass: '.score > 0.1' },
  });
  expect(reply.body.errors).toBeUndefined();
  expect(reply).toMatchObject({
    status: 201,
    body: {
      status: 'running',
      versions: ['1.0.0', '1.1.0'],
      judge: { agent_id: critic.id, version: '1.0.0' },
      report: null,
    },
  });
  const { id: evaluation, run_id: runId } = reply.body;
  expect((await builder.delete(`/evaluations/${evaluation}`)).status).toBe(409);
  const run = await endOf(builder, { id: runId });
  expect([run['status'], run['workflow_name']]).toEqual(['completed', 'Evaluation of shouter']);
  await platform.reconcile();

  const { body } = await builder.get(`/evaluations/${evaluation}`);
  expect(body).toMatchObject({ status: 'completed', cases: 3, error: null, report: { differing: 2 } });
  const [first, second] = body.report.versions;
  expect(first).toMatchObject({ version: '1.0.0', passed: 3, failed: 0, errors: 0, score: 1, regressed: 0 });
  expect(second).toMatchObject({
    version: '1.1.0',
    passed: 1,
    failed: 1,
    errors: 1,
    score: 0.25,
    regressed: 2,
  });
  expect(first.latency_ms.p95).toBeGreaterThanOrEqual(first.latency_ms.p50);
  expect(first.used).toEqual({ cost_usd: 0, input_tokens: 0, output_tokens: 0 });

  const cases = await builder.get(`/evaluations/${evaluation}/cases`);
  expect(cases.body.map((one: { marks: string[] }) => one.marks)).toEqual([
    [],
    ['failed', 'regressed', 'differs'],
    ['error', 'regressed', 'differs'],
  ]);
  expect(cases.body[1].results).toMatchObject([
    { version: '1.0.0', status: 'passed', output: { text: 'b' }, judgement: { score: 0.3 } },
    { version: '1.1.0', status: 'failed', output: { text: 'B' }, failed: ['quiet'] },
  ]);
  expect(cases.body[2].results[1].error).toContain('503');
  const regressed = await builder.get(`/evaluations/${evaluation}/cases?only=regressed&limit=1`);
  expect(regressed.body.map((one: { number: number }) => one.number)).toEqual([1]);
  expect(regressed.headers.get('link')).toContain('rel="next"');

  // The report outlives the run.
  await platform.orm.em.fork().execute('delete from run where id = ?', [runId]);
  expect((await builder.get(`/evaluations/${evaluation}`)).body).toMatchObject({
    run_id: null,
    report: { differing: 2 },
  });
  expect((await builder.get(`/agents/${id}/evaluations`)).body).toMatchObject([{ id: evaluation }]);
  expect((await builder.delete(`/evaluations/${evaluation}`)).status).toBe(204);
  expect((await builder.get(`/evaluations/${evaluation}`)).status).toBe(404);
});

test('an evaluation reads its cases from a file, and ends without a report if its run is gone', async () => {
  const { id } = await register({ name: 'lines', configuration: { endpoint: `${target.url}/lines` } });
  const headers = { 'content-type': 'application/jsonl' };
  const lines = '{"input": {"n": 1}}\n\n{"id": "two", "input": {"n": 2}, "weight": 2}\n';
  const file = (await builder.post('/files?name=cases.jsonl', lines, { headers })).body.id;
  const { status, body } = await builder.post(`/agents/${id}/evaluate`, { file_id: file });
  expect([status, body.cases, body.versions]).toEqual([201, 2, ['1.0.0']]);
  await endOf(builder, { id: body.run_id });
  await platform.reconcile();
  const done = await builder.get(`/evaluations/${body.id}`);
  expect(done.body).toMatchObject({ status: 'completed', report: { versions: [{ passed: 2, score: 1 }] } });

  const bad = (await builder.post('/files?name=bad.jsonl', '{"input": 1}\n{"inputs": 1}', { headers })).body
    .id;
  const refused = await builder.post(`/agents/${id}/evaluate`, { file_id: bad });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/file_id' }] } });
  expect(refused.body.detail).toContain('Line 2');

  const other = (await builder.post(`/agents/${id}/evaluate`, { cases: [{ input: {} }] })).body;
  await endOf(builder, { id: other.run_id });
  await platform.orm.em.fork().execute('delete from run where id = ?', [other.run_id]);
  await platform.reconcile();
  expect((await builder.get(`/evaluations/${other.id}`)).body).toMatchObject({
    status: 'cancelled',
    report: null,
    error: { detail: 'The run was removed before its report.' },
  });
});

test('an evaluation reads CSV, and its errors are tried again, with what the others have given', async () => {
  const { id } = await register({
    name: 'repeats',
    configuration: { endpoint: `${target.url}/status/{code}`, response: '{text: .body.text}' },
    input_schema: { type: 'object', properties: { code: { type: 'integer' }, text: { type: 'string' } } },
    output_schema: { type: 'object', properties: { text: { type: 'string' } } },
  });
  const csv = 'id;text;code;expected.text\ngood;7;200;7\nwrong;8;200;9\nbusy;9;503;9\n';
  const headers = { 'content-type': 'text/csv' };
  const reply = await builder.post(`/agents/${id}/evaluate?name=From%20a%20sheet&versions=1.0.0`, csv, {
    headers,
  });
  expect(reply).toMatchObject({
    status: 201,
    body: { name: 'From a sheet', versions: ['1.0.0'], cases: 3, retry_of: null },
  });
  const first = reply.body;
  const retry = (body: object = {}) => builder.post(`/evaluations/${first.id}/retry`, body);
  expect(await retry()).toMatchObject({ status: 409, body: { code: 'evaluation_running' } });
  await endOf(builder, { id: first.run_id });
  await platform.reconcile();
  const done = (await builder.get(`/evaluations/${first.id}`)).body;
  expect(done.report.versions).toMatchObject([{ passed: 1, failed: 1, errors: 1 }]);

  // The draft is mended.
  await builder.patch(`/agents/${id}`, {
    configuration: { endpoint: `${target.url}/v1`, response: '{text: .body.text}' },
  });
  const [again, both] = [await retry(), await retry({ only: ['error', 'failed'] })];
  expect(again).toMatchObject({ status: 201, body: { retry_of: first.id, cases: 3, name: 'From a sheet' } });
  const inputs = await Promise.all(
    [again, both].map(async ({ body }) => (await endOf(builder, { id: body.run_id }))['input_params'].cases),
  );
  expect(inputs).toEqual([
    [{ input: { text: '9', code: 503 } }],
    [{ input: { text: '8', code: 200 } }, { input: { text: '9', code: 503 } }],
  ]);
  await platform.reconcile();
  const { body } = await builder.get(`/evaluations/${again.body.id}`);
  expect(body.report.versions).toMatchObject([{ passed: 2, failed: 1, errors: 0 }]);
  const cases = (await builder.get(`/evaluations/${again.body.id}/cases`)).body;
  expect(cases.map((one: any) => [one.id, one.results[0].status, one.results[0].output])).toEqual([
    ['good', 'passed', { text: '7' }],
    ['wrong', 'failed', { text: '8' }],
    ['busy', 'passed', { text: '9' }],
  ]);
  expect(await builder.post(`/evaluations/${again.body.id}/retry`, {})).toMatchObject({
    status: 409,
    body: { code: 'nothing_to_retry' },
  });

  const file = (await builder.post('/files?name=cases.csv', csv, { headers })).body.id;
  expect((await builder.post(`/agents/${id}/evaluate`, { file_id: file })).body.cases).toBe(3);
  const wrong = await builder.post(`/agents/${id}/evaluate`, 'text,weight\na,1\nb,heavy', { headers });
  expect(wrong.status).toBe(422);
  expect(wrong.body.detail).toContain('Line 3/weight');
  expect((await builder.post(`/agents/${id}/evaluate?criteria=x`, csv, { headers })).status).toBe(400);
  expect((await builder.post(`/agents/${id}/evaluate?versions=9.9.9`, csv, { headers })).status).toBe(422);
});

test('an evaluation names what is wrong with its data set', async () => {
  const { id } = await register({ name: 'wrong', configuration: { endpoint: `${target.url}/wrong` } });
  const evaluate = async (more: Record<string, unknown>) => {
    const { status, body } = await builder.post(`/agents/${id}/evaluate`, {
      cases: [{ input: {} }],
      ...more,
    });
    return [status, body.errors?.[0].pointer];
  };
  const many = Array.from({ length: 1_001 }, () => ({ input: {} }));
  expect(await evaluate({ versions: ['9.9.9'] })).toEqual([422, '/versions/0']);
  expect(await evaluate({ versions: ['draft', '1.0.0'] })).toEqual([422, '/versions/1']);
  expect(await evaluate({ judge: { agent: 'nobody' } })).toEqual([422, '/judge/agent']);
  expect(await evaluate({ checks: [{ jq: '.a |' }] })).toEqual([422, '/checks/0/jq']);
  expect(await evaluate({ cases: [{ input: {}, checks: [{ jq: '$nothing' }] }] })).toEqual([
    422,
    '/cases/0/checks/0/jq',
  ]);
  expect(await evaluate({ cases: many })).toEqual([422, '/cases']);
  expect(await evaluate({ cases: undefined })).toEqual([422, '/cases']);
});
