/** Import of agents, refresh, and checks of counterparts, against real servers. */
import { createServer, type AddressInfo } from 'node:net';
import { Aedes } from 'aedes';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startRemoteAgent, type RemoteA2aAgent } from '../../support/a2a-agent.ts';
import { announceProcessPolicy } from '../../../domain/operations/process-policy.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { startMcpServer, type McpTestServer } from '../../support/mcp-server.ts';

const KEY = 'sk-live-0123456789abcdef';
let app: TestApp;
let builder: Client;
let server: TestServer;
let mcp: McpTestServer;
let remote: RemoteA2aAgent;
let title = 'Get a pet';
let petType = 'object';
/** What a hostile source says. */
let hostile: object = {};

const document = () => ({
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: '/v1' }],
  paths: {
    '/pets/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'getPet',
        summary: title,
        responses: { 200: { $ref: '#/components/responses/Pet' } },
      },
      put: {
        operationId: 'putPet',
        parameters: [{ name: 'force', in: 'query', schema: { type: 'boolean' } }],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
        responses: {},
      },
    },
    '/nameless': { get: { responses: {} } },
    '/a-b': { post: { responses: {} } },
    '/a/b/': { post: { responses: {} } },
  },
  components: {
    responses: {
      Pet: { content: { 'application/json': { schema: { type: petType, required: ['name'] } } } },
    },
    schemas: {
      Pet: {
        type: 'object',
        properties: {
          name: { type: 'string', nullable: true },
          parent: { $ref: '#/components/schemas/Pet' },
        },
      },
    },
  },
});

beforeAll(async () => {
  [mcp, remote] = await Promise.all([startMcpServer(), startRemoteAgent()]);
  server = await startServer((request, response) => {
    const { path, headers } = request;
    if (path === '/openapi.json')
      return sendJson(response, document(), headers['x-api-key'] === KEY ? 200 : 401);
    if (path === '/assistants/search')
      return sendJson(response, [{ assistant_id: 'a-1', graph_id: 'writer', name: 'Writer' }]);
    if (path === '/assistants/a-1/schemas') return sendJson(response, { input_schema: { type: 'object' } });
    if (path === '/assistants/a-1') return sendJson(response, {});
    if (path === '/v1/models') return sendJson(response, { data: [{ id: 'tiny' }] });
    if (path.includes('/chat/completions') && headers['api-key'] === KEY) {
      const message = { role: 'assistant', content: 'yes' };
      return sendJson(response, { id: 'c', created: 1, model: 'm', choices: [{ index: 0, message }] });
    }
    if (path === '/health') return sendJson(response, {}, headers['x-api-key'] === KEY ? 204 : 401);
    if (path === '/hostile.json') return sendJson(response, hostile);
    if (path === '/broken') return sendJson(response, { secret: headers['x-api-key'] ?? null }, 500);
    sendJson(response, {}, 404);
  });
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' } });
  builder = await app.as('builder');
  await builder.put('/secrets/PETS', { value: KEY });
});
afterAll(async () => {
  await app.close();
  await Promise.all([server.close(), mcp.close(), remote.close()]);
});

const access = { authentication_type: 'api_key', authentication_config: { api_key: '<PETS>' } };

test('operations of an OpenAPI document become agents, first as a plan', async () => {
  const url = `${server.url}/openapi.json`;
  const source = { from: 'openapi', url, ...access };
  const plan = await builder.post('/agents/import', { ...source, dry_run: true });
  expect([plan.status, plan.body.agents.map(({ select }: { select: string }) => select)]).toEqual([
    200,
    ['getPet', 'putPet', 'get_nameless', 'post_a_b_362c85cb', 'post_a_b_3b4baf51'],
  ]);
  expect(plan.body.agents[1]).toMatchObject({
    status: 'new',
    agent_id: null,
    configuration: {
      endpoint: `${server.url}/v1/pets/{id}`,
      method: 'PUT',
      query: { force: '${ .["force"] }' },
      body: '${ .body }',
    },
    input_schema: {
      properties: {
        id: { type: 'string' },
        body: { properties: { name: { type: ['string', 'null'] }, parent: {} } },
      },
      required: ['id', 'body'],
    },
  });
  expect((await builder.get('/agents?name=getPet')).body).toEqual([]);
  const made = await builder.post('/agents/import', { ...source, select: ['getPet'] });
  expect([made.status, made.body.agents[0].status]).toEqual([201, 'imported']);
  const agent = (await builder.get(`/agents/${made.body.agents[0].agent_id}`)).body;
  expect(agent).toMatchObject({
    name: 'getPet',
    description: 'Get a pet',
    visibility: 'private',
    authentication_config: { api_key: '<PETS>' },
    source: { from: 'openapi', url, select: 'getPet' },
  });
  const again = await builder.post('/agents/import', { ...source, select: ['getPet'] });
  expect(again.body.agents).toMatchObject([{ status: 'exists', agent_id: agent.id }]);

  expect((await builder.post(`/agents/${agent.id}/refresh`)).body).toMatchObject({
    found: true,
    changes: [],
  });
  title = 'Get one pet';
  const changed = (await builder.post(`/agents/${agent.id}/refresh`)).body;
  expect(changed.changes).toEqual([{ field: 'description', before: 'Get a pet', after: 'Get one pet' }]);
  expect((await builder.get(`/agents/${agent.id}`)).body.description).toBe('Get a pet');
  const applied = (await builder.post(`/agents/${agent.id}/refresh`, { apply: true })).body;
  expect(applied).toMatchObject({ applied: true, version: '1.0.0' });
  const after = (await builder.get(`/agents/${agent.id}`)).body;
  expect(after).toMatchObject({ description: 'Get one pet', output_schema: null });
});

test('what a team holds is refreshed with the secrets of the team', async () => {
  const user = await app.createUser();
  const member = await app.as(user);
  await member.put('/secrets/PETS', { value: KEY });
  const source = { from: 'openapi', url: `${server.url}/openapi.json`, ...access };
  const made = await member.post('/agents/import', { ...source, select: ['putPet'] });
  const path = `/agents/${made.body.agents[0].agent_id}`;
  const team = await (await app.as('admin')).post('/teams', { name: 'pets', admin: user.id });
  expect((await member.patch(path, { team_id: team.body.id })).status).toBe(200);
  await member.put(`/secrets/PETS?team_id=${team.body.id}`, { value: KEY });
  await member.put('/secrets/PETS', { value: 'of the member alone' });
  expect((await member.post(`${path}/refresh`)).body).toMatchObject({ found: true, changes: [] });
});

test('schemas of answers are taken over if asked for; a change is a draft with own settings', async () => {
  const url = `${server.url}/openapi.json`;
  const source = { from: 'openapi', url, ...access, output_schemas: true };
  const bob = await app.as(await app.createUser());
  await bob.put('/secrets/PETS', { value: KEY });
  const made = await bob.post('/agents/import', { ...source, select: ['getPet', 'get_nameless'] });
  expect(made.body.agents.map(({ output_schema: schema }: { output_schema: unknown }) => schema)).toEqual([
    { type: 'object', required: ['name'] },
    null,
  ]);
  const path = `/agents/${made.body.agents[0].agent_id}`;
  const { configuration } = (await bob.get(path)).body;
  await bob.patch(path, { configuration: { ...configuration, timeout: 'PT5S' } });
  await bob.post(`${path}/versions/1.0.0/publish`);
  petType = 'string';
  expect((await bob.post(`${path}/refresh`, { apply: true, version: '0.9.0' })).status).toBe(409);
  expect((await bob.post(`${path}/refresh`)).body).toMatchObject({
    changes: [{ field: 'output_schema', before: { type: 'object' }, after: { type: 'string' } }],
    applied: false,
  });
  const applied = await bob.post(`${path}/refresh`, { apply: true });
  expect(applied.body).toMatchObject({ applied: true, version: '1.1.0' });
  expect((await bob.get(path)).body).toMatchObject({
    version: '1.1.0',
    published_version: '1.0.0',
    name: 'getPet',
    configuration: { timeout: 'PT5S', method: 'GET' },
    output_schema: { type: 'string' },
  });
  expect((await bob.post(`${path}/refresh`, { apply: true })).body).toMatchObject({
    changes: [],
    applied: false,
    version: '1.1.0',
  });
  petType = 'object';
  const others = await builder.post(`${path}/refresh`, { apply: true });
  expect(others.status).toBe(404);
});

test('of two equal imports at once, one makes the agents', async () => {
  const url = `${mcp.url}`;
  const answers = await Promise.all(
    [1, 2, 3].map(() => builder.post('/agents/import', { from: 'mcp', url, select: ['*'] })),
  );
  const statuses = answers.map(({ body }) => body.agents[0].status);
  expect(statuses.toSorted()).toEqual(['exists', 'exists', 'imported']);
  expect(new Set(answers.map(({ body }) => body.agents[0].agent_id)).size).toBe(1);
});

test('literal credentials are moved to the secrets', async () => {
  const { body } = await builder.post('/agents/import', {
    from: 'openapi',
    url: `${server.url}/openapi.json`,
    select: ['putPet'],
    authentication_type: 'api_key',
    authentication_config: { api_key: KEY },
  });
  const agent = (await builder.get(`/agents/${body.agents[0].agent_id}`)).body;
  expect(agent.authentication_config.api_key).toMatch(/^<AGENT_/);
  expect(JSON.stringify(agent)).not.toContain(KEY);
});

test('tools of an MCP server, an A2A card and an assistant become agents', async () => {
  const importOf = (from: string, url: string, more: object = {}) =>
    builder.post('/agents/import', { from, url, ...more });
  const tools = (await importOf('mcp', `${mcp.url}/mcp`, { select: ['add'] })).body.agents;
  expect(tools).toMatchObject([
    {
      name: 'add',
      execution_type: 'framework',
      configuration: { framework: 'mcp', base_url: `${mcp.url}/mcp`, tool: 'add' },
      input_schema: { type: 'object' },
    },
  ]);
  const whole = (await importOf('mcp', `${mcp.url}/mcp`, { select: ['*'] })).body.agents;
  expect(whole[0].skills).toEqual(expect.arrayContaining(['add', 'echo']));
  const card = (await importOf('a2a', remote.url)).body.agents;
  expect(card).toMatchObject([{ type: 'a2a', status: 'imported' }]);
  const assistant = (await importOf('langgraph', server.url, { select: ['writer'] })).body.agents;
  expect(assistant).toMatchObject([
    { name: 'Writer', configuration: { framework: 'langgraph', assistant_id: 'a-1' } },
  ]);
  for (const { agent_id: id } of [...tools, ...card, ...assistant])
    expect((await builder.post(`/agents/${id}/check`)).body).toMatchObject({ status: 'ok', error: null });
});

test('what cannot be read, or must not be called, is refused', async () => {
  const statuses: unknown[] = [];
  for (const body of [
    { from: 'openapi', url: `${server.url}/openapi.json` },
    { from: 'openapi', url: `${server.url}/v1/models` },
    { from: 'mcp', url: `${server.url}/v1/models` },
    { from: 'openapi', url: 'http://169.254.169.254/latest' },
    { from: 'openapi', url: `${server.url}/openapi.json`, select: ['nothing'], ...access },
    { from: 'telepathy', url: server.url },
    { from: 'openapi', url: `${server.url}/openapi.json?api_key=${KEY}` },
  ]) {
    const reply = await builder.post('/agents/import', body);
    statuses.push([reply.status, reply.body.errors?.[0]?.pointer]);
  }
  expect(statuses).toEqual([
    [422, '/url'],
    [422, '/url'],
    [422, '/url'],
    [422, '/url'],
    [422, '/select'],
    [422, '/from'],
    [422, '/url'],
  ]);
});

describe('a hostile OpenAPI document', () => {
  const dryRun = async (paths: object, components: object = {}) => {
    hostile = { openapi: '3.1.0', paths, components };
    const source = { from: 'openapi', url: `${server.url}/hostile.json`, dry_run: true, ...access };
    return builder.post('/agents/import', source);
  };
  const get = (operationId: string, more: object = {}) => ({ get: { operationId, responses: {}, ...more } });

  test('chooses no secrets that calls would send', async () => {
    const reply = await dryRun({ '/x/<OPENAI_KEY>': get('steal') });
    expect([reply.status, reply.body.errors]).toMatchObject([
      422,
      [{ pointer: '/url', message: expect.stringContaining('<OPENAI_KEY>') }],
    ]);
  });

  test('gets no credentials for other servers', async () => {
    const seen: unknown[] = [];
    const other = await startServer((request, response) => {
      seen.push(request.headers['x-api-key']);
      sendJson(response, { p: { name: 'id', in: 'query', schema: { type: 'string' } } });
    });
    const parameters = [{ $ref: `${other.url}/parts.json#/p` }];
    const reply = await dryRun({ '/x': get('look', { parameters }) });
    await other.close();
    expect(reply.body.agents).toMatchObject([{ input_schema: { properties: { id: { type: 'string' } } } }]);
    expect(seen).toEqual([undefined]);
    expect(server.seen.at(-1)?.headers['x-api-key']).toBe(KEY);
  });

  test('cannot make the answer huge, and breaks nothing by references or depth', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `p${index}`);
    const schema = { $ref: '#/components/schemas/Big' };
    const components = {
      schemas: { Big: { enum: Array.from({ length: 1_000 }, () => 'x'.repeat(40)) } },
      parameters: Object.fromEntries(names.map((name) => [name, { name, in: 'query', schema }])),
    };
    const parameters = names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
    const many = Array.from({ length: 100 }, (_, index) => [`/${index}`, get(`o${index}`, { parameters })]);
    const large = await dryRun(Object.fromEntries(many), components);
    expect([large.status, large.body.errors[0].message]).toEqual([
      422,
      'The schemas of these operations are too large together: select fewer',
    ]);
    let deep: object = { type: 'string' };
    for (let level = 0; level < 2_000; level++) deep = { items: deep };
    const body = (of: object) => ({ requestBody: { content: { 'application/json': { schema: of } } } });
    const odd = await dryRun({
      '/deep': get('deep', body(deep)),
      '/broken': get('broken', body({ $ref: '#/%E0%A4%A' })),
    });
    expect([odd.status, odd.body.agents]).toMatchObject([
      200,
      [
        { select: 'deep', input_schema: { properties: { body: {} } } },
        { select: 'broken', input_schema: { properties: { body: {} } } },
      ],
    ]);
  });
});

test('a device is checked by a connection to its broker and a subscription', async () => {
  const broker = await Aedes.createBroker({
    authorizeSubscribe: (_client, subscription, done) =>
      done(null, subscription.topic === 'secret' ? null : subscription),
  });
  const mqtt = createServer(broker.handle);
  await new Promise<void>((resolve) => mqtt.listen(0, '127.0.0.1', resolve));
  const { port } = mqtt.address() as AddressInfo;
  const check = async (topic: string, at = `mqtt://127.0.0.1:${port}`) => {
    const configuration = { broker: at, topic, protocol: 'mqtt' };
    const { id } = await registeredAgent(builder, { type: 'sensor', configuration });
    const { status, error } = (await builder.post(`/agents/${id}/check`)).body;
    return [status, error];
  };
  expect(await check('rooms/1')).toEqual(['ok', null]);
  expect(await check('rooms/{room}')).toEqual(['ok', null]);
  expect((await check('secret'))[0]).toBe('failed');
  await new Promise<void>((resolve) => broker.close(() => resolve()));
  await new Promise((resolve) => mqtt.close(resolve));
  expect(await check('rooms/1')).toEqual(['failed', 'communication']);
});

test('a check keeps its result and its latency, for owner and admins', async () => {
  const check = async (more: object) => {
    const { id } = await registeredAgent(builder, { visibility: 'public', ...more });
    const { body } = await builder.post(`/agents/${id}/check`);
    return { id, ...body };
  };
  const llm = { type: 'llm', configuration: { base_url: `${server.url}/v1`, model: 'tiny' } };
  const fine = await check(llm);
  expect(fine).toMatchObject({ status: 'ok', latency_ms: expect.any(Number) });
  expect((await builder.get(`/agents/${fine.id}`)).body.last_check).toMatchObject({ status: 'ok' });
  expect(await builder.post(`/agents/${fine.id}/check`)).toMatchObject({
    status: 429,
    body: { code: 'checked_just_now', detail: 'The agent was checked less than 5 seconds ago.' },
  });
  const other = await app.as(await app.createUser());
  expect((await other.get(`/agents/${fine.id}`)).body.last_check).toBeNull();
  expect((await other.post(`/agents/${fine.id}/check`)).status).toBe(403);
  const api = (endpoint: string, more: object = {}) => ({ configuration: { endpoint, ...more } });
  expect(await check(api(`${server.url}/any/{id}`))).toMatchObject({ status: 'ok' });
  expect(await check({ ...api(`${server.url}/any`, { check: '/health' }), ...access })).toMatchObject({
    status: 'ok',
  });
  const broken = await check({ ...api(`${server.url}/any`, { check: '/broken' }), ...access });
  expect(broken).toMatchObject({ status: 'failed', error: 'communication' });
  expect(await check(api('http://127.0.0.1:1/x'))).toMatchObject({
    status: 'failed',
    error: 'communication',
  });
  expect(await check(api('http://169.254.169.254/x'))).toMatchObject({ error: 'authorization' });
  await builder.put('/secrets/NO_ADDRESS', { value: 'not an address' });
  expect(await check(api('<NO_ADDRESS>/x'))).toMatchObject({ status: 'failed', error: 'configuration' });
  expect(await check({ execution_type: 'edge' })).toMatchObject({ status: 'failed' });
  const azure = { provider: 'azure', base_url: server.url, model: 'gpt', system: 'In <TAGS>' };
  expect(await check({ type: 'llm', configuration: { ...azure, api_key: '<PETS>' } })).toMatchObject({
    status: 'ok',
    detail: 'The model gpt answers.',
  });
  await builder.put('/secrets/WRONG', { value: 'another-key-1' });
  expect(await check({ type: 'llm', configuration: { ...azure, api_key: '<WRONG>' } })).toMatchObject({
    status: 'failed',
  });
});

test('a container is not checked where none may run, and says who is missing', async () => {
  const check = async (image: string) => {
    const { id } = await registeredAgent(builder, { type: 'docker', configuration: { image } });
    const { body } = await builder.post(`/agents/${id}/check`);
    return { ...body, kept: (await builder.get(`/agents/${id}`)).body.last_check };
  };
  const none = await check('tools:1');
  expect(none).toMatchObject({
    status: 'failed',
    error: 'configuration',
    detail: 'Agents run in no container here: no container engine is configured (SANDBOX_ENGINE).',
    latency_ms: expect.any(Number),
  });
  expect(none.kept.detail).toBe(none.detail);
  const containers = {
    images: ['tools:*'],
    pull: 'ifNotPresent' as const,
    network: false,
    ports: [],
    volumes: [],
    shell_image: null,
    python_image: null,
  };
  await announceProcessPolicy(app.orm.em.fork(), { containers });
  expect(await check('alpine')).toMatchObject({
    status: 'failed',
    detail: 'The image alpine may not run here (SANDBOX_IMAGES).',
  });
  expect(await check('tools:1')).toMatchObject({ status: 'failed', error: 'communication' });
});
