import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;
let stranger: Client;
let viewer: Client;
let admin: Client;

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser({ username: 'ada' });
  builder = await t.as(owner);
  stranger = await t.as(await t.createUser({ username: 'bob' }));
  viewer = await t.as('viewer');
  admin = await t.as('admin');
});
afterAll(() => t.close());

const create = async (more: Record<string, unknown> = {}, client = builder) => {
  const reply = await client.post('/agents', agentBody(more));
  expect({ status: reply.status, errors: reply.body.errors }).toEqual({ status: 201, errors: undefined });
  return reply.body;
};

const FIELDS = [
  'id',
  'name',
  'description',
  'type',
  'execution_type',
  'status',
  'version',
  'created_at',
  'updated_at',
  'last_used',
  'owner_id',
  'visibility',
  'documentation',
  'license',
  'repository_url',
  'configuration',
  'input_schema',
  'output_schema',
  'modalities',
  'capabilities',
  'url',
  'provider_name',
  'provider_url',
  'authentication_type',
  'authentication_config',
  'capabilities_streaming',
  'capabilities_push',
  'capabilities_history',
  'versions',
  'skills',
  'tags',
  'display_type',
  'display_name',
];

test('every endpoint of the registry needs a token', async () => {
  const id = uuidv7();
  const calls: [string, string][] = [
    ['GET', '/agents'],
    ['POST', '/agents'],
    ['GET', `/agents/${id}`],
    ['PATCH', `/agents/${id}`],
    ['DELETE', `/agents/${id}`],
    ['GET', `/agents/${id}/versions`],
    ['POST', `/agents/${id}/versions`],
    ['GET', `/agents/${id}/versions/1.0.0`],
    ['PATCH', `/agents/${id}/versions/1.0.0`],
    ['POST', `/agents/${id}/versions/1.0.0/publish`],
    ['POST', `/agents/${id}/versions/1.0.0/deprecate`],
    ['GET', `/agents/${id}/skills`],
    ['POST', `/agents/${id}/skills`],
    ['PATCH', `/agents/${id}/skills/${id}`],
    ['DELETE', `/agents/${id}/skills/${id}`],
    ['GET', `/agents/${id}/.well-known/agent.json`],
    ['GET', `/docs/agents/${id}`],
  ];
  for (const [method, path] of calls) {
    const anonymous = await t.anonymous.request(method, path);
    expect([method, path, anonymous.status]).toEqual([method, path, 401]);
    if (method !== 'GET') {
      const low = await viewer.request(method, path, method === 'DELETE' ? {} : { body: {} });
      expect([method, path, low.status]).toEqual([method, path, 403]);
    }
    if (!path.endsWith('/agents')) {
      const missing = await builder.request(
        method,
        path,
        method === 'POST' || method === 'PATCH' ? { body: {} } : {},
      );
      expect([method, path, missing.status]).toEqual([method, path, 404]);
    }
  }
});

test('the least registration gives the whole record, null where unset, below both prefixes', async () => {
  const reply = await builder.post('/agents', agentBody());
  expect(reply.status).toBe(201);
  const agent = reply.body;
  expect(reply.headers.get('location')).toBe(`${t.url}/agents/${agent.id}`);
  expect(Object.keys(agent)).toEqual(expect.arrayContaining(FIELDS));
  expect(agent).toMatchObject({
    name: 'summariser',
    type: 'api',
    status: 'active',
    version: '1.0.0',
    visibility: 'private',
    owner_id: owner.id,
    last_used: null,
    configuration: null,
    input_schema: null,
    output_schema: null,
    description: null,
    tags: null,
    modalities: null,
    capabilities_streaming: false,
    capabilities_push: false,
    capabilities_history: false,
    skills: [],
    display_type: 'api',
    display_name: 'API Agent',
    warnings: [{ pointer: '/configuration/endpoint' }],
  });
  expect(agent.versions).toEqual([
    {
      id: expect.any(String),
      agent_id: agent.id,
      version: '1.0.0',
      configuration: {},
      input_schema: {},
      output_schema: {},
      status: 'draft',
      changelog: null,
      created_by: owner.id,
      created_at: expect.any(String),
      published_at: null,
    },
  ]);
  expect(agent.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const read = await builder.get(`/api/v1/agents/${agent.id}`);
  expect(read.body).toEqual(agent);
  expect(read.headers.get('etag')).toBe(reply.headers.get('etag'));
});

test('every field is stored and returned, skills inline', async () => {
  const fields = {
    description: 'Sums up.',
    execution_type: 'edge',
    status: 'inactive',
    documentation: '# Hi',
    license: 'MIT',
    repository_url: 'https://example.com/r',
    configuration: { zebra: 1, apple: { b: [1], a: null } },
    input_schema: { type: 'object', properties: { b: {}, a: {} } },
    output_schema: { type: 'string' },
    modalities: ['text'],
    capabilities: ['sum', 'up'],
    url: 'https://example.com/a2a',
    provider_name: 'Acme',
    provider_url: 'https://acme.example',
    authentication_type: 'api_key',
    authentication_config: { in: 'header', name: 'X-Key' },
    capabilities_streaming: true,
    capabilities_push: true,
    capabilities_history: true,
    tags: ['t'],
  };
  const agent = await create({
    ...fields,
    skills: [
      { name: 's1', tags: ['x'] },
      { name: 's2', description: 'd', examples: ['e'], input_modes: ['text'], output_modes: ['json'] },
    ],
  });
  expect(agent).toMatchObject(fields);
  expect(JSON.stringify(agent.configuration)).toBe(JSON.stringify(fields.configuration));
  expect(agent.skills).toMatchObject([
    {
      agent_id: agent.id,
      name: 's1',
      description: null,
      tags: ['x'],
      examples: null,
      input_modes: null,
      output_modes: null,
    },
    {
      agent_id: agent.id,
      name: 's2',
      description: 'd',
      tags: null,
      examples: ['e'],
      input_modes: ['text'],
      output_modes: ['json'],
    },
  ]);
});

test('a record that was read can be posted and patched back', async () => {
  const agent = await create({
    name: 'copied',
    description: 'x',
    skills: [{ name: 's' }],
    input_schema: { type: 'object' },
  });
  const copy = await builder.post('/agents', agent);
  expect(copy.status).toBe(201);
  expect(copy.body.id).not.toBe(agent.id);
  expect(copy.body.skills[0]).toMatchObject({ name: 's', agent_id: copy.body.id });
  const patched = await builder.patch(`/agents/${agent.id}`, agent);
  expect(patched.status).toBe(200);
  const namesake = { pointer: '/name', message: expect.stringContaining(copy.body.id) };
  const warnings = [...agent.warnings, namesake];
  expect({ ...patched.body, updated_at: null }).toEqual({ ...agent, updated_at: null, warnings });
});

const long = (length: number) => '😀'.repeat(length);

test.each([
  ['name', ''],
  ['name', long(256)],
  ['name', 5],
  ['name', null],
  ['name', 'a\0b'],
  ['name', '\ud800'],
  ['type', 'robot'],
  ['execution_type', 'llm'],
  ['status', 'gone'],
  ['version', '1.0'],
  ['version', 'v1.0.0'],
  ['version', '01.0.0'],
  ['version', '1.0.0\n'],
  ['version', `1.0.0-${'a'.repeat(45)}`],
  ['version', '99999999999999999999.0.0'],
  ['visibility', 'secret'],
  ['license', long(101)],
  ['repository_url', 'ftp://x.example'],
  ['repository_url', `https://x.example/${'a'.repeat(250)}`],
  ['configuration', []],
  ['configuration', 'x'],
  ['input_schema', { type: 'strin' }],
  ['output_schema', { properties: 5 }],
  ['modalities', 'text'],
  ['modalities', [1]],
  ['url', 'javascript:alert(1)'],
  ['url', 'nope'],
  ['provider_name', long(101)],
  ['provider_url', 'mailto:x@y'],
  ['authentication_type', 'basic'],
  ['capabilities_streaming', 'yes'],
  ['tags', {}],
  ['skills', [{ description: 'no name' }]],
  ['skills', [{ name: long(101) }]],
  ['skills', [{ name: 'x', wat: 1 }]],
  ['wat', 1],
])('POST /agents refuses %s: %j by name', async (field, value) => {
  const reply = await builder.post('/agents', agentBody({ [field]: value }));
  expect(reply.status).toBe(422);
  expect(reply.body.errors.some(({ pointer }: { pointer: string }) => pointer.startsWith(`/${field}`))).toBe(
    true,
  );
});

test('limits count characters, all mistakes are listed, and missing fields are named', async () => {
  const fits = await create({ name: long(255), license: long(100), provider_name: long(100) });
  expect(fits.name).toBe(long(255));
  const reply = await builder.post('/agents', {});
  expect(
    reply.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
  ).toEqual(
    expect.arrayContaining([
      ['/name', 'required'],
      ['/type', 'required'],
      ['/version', 'required'],
      ['/visibility', 'required'],
    ]),
  );
});

test('owner and admins read and change a private agent, everybody reads a public one', async () => {
  const hidden = await create({ name: 'hidden' });
  const shown = await create({ name: 'shown', visibility: 'public' });
  expect((await stranger.get(`/agents/${hidden.id}`)).status).toBe(404);
  expect((await stranger.patch(`/agents/${hidden.id}`, {})).status).toBe(404);
  expect((await stranger.delete(`/agents/${hidden.id}`)).status).toBe(404);
  expect((await stranger.get(`/agents/${hidden.id}/versions`)).status).toBe(404);
  expect((await stranger.get(`/agents/${hidden.id}/skills`)).status).toBe(404);
  expect((await stranger.get(`/agents/${hidden.id}/.well-known/agent.json`)).status).toBe(404);
  expect((await admin.get(`/agents/${hidden.id}`)).status).toBe(200);
  expect((await viewer.get(`/agents/${shown.id}`)).status).toBe(200);
  expect((await stranger.patch(`/agents/${shown.id}`, { description: 'mine' })).status).toBe(403);
  expect((await stranger.delete(`/agents/${shown.id}`)).status).toBe(403);
  expect((await stranger.post(`/agents/${shown.id}/skills`, { name: 's' })).status).toBe(403);
  expect((await stranger.post(`/agents/${shown.id}/versions`, { version: '2.0.0' })).status).toBe(403);
  expect((await admin.patch(`/agents/${shown.id}`, { description: 'by admin' })).body.description).toBe(
    'by admin',
  );
  const ids = (await stranger.get('/agents?limit=200')).body.map(({ id }: { id: string }) => id);
  expect(ids).toContain(shown.id);
  expect(ids).not.toContain(hidden.id);
});

test('agents are listed by filters', async () => {
  const marker = `m${Date.now()}`;
  const a = await create({
    name: `${marker} alpha`,
    type: 'llm',
    tags: [marker],
    modalities: [`${marker}-text`],
    capabilities: [`${marker}-sum`],
    description: '100%_sure',
  });
  const b = await create({
    name: `${marker} beta`,
    type: 'vision',
    status: 'inactive',
    tags: [marker],
    visibility: 'public',
    version: '2.1.0-rc.1',
  });
  const ids = async (query: string) =>
    (await builder.get(`/agents?tag=${marker}&${query}`)).body.map(({ id }: { id: string }) => id);
  expect(await ids('')).toEqual([b.id, a.id]);
  expect(await ids('type=llm')).toEqual([a.id]);
  expect(await ids('status=inactive')).toEqual([b.id]);
  expect(await ids('visibility=public')).toEqual([b.id]);
  expect(await ids(`owner_id=${owner.id}`)).toEqual([b.id, a.id]);
  expect(await ids(`owner_id=${uuidv7()}`)).toEqual([]);
  expect(await ids(`capability=${marker}-sum`)).toEqual([a.id]);
  expect(await ids(`modality=${marker}-text`)).toEqual([a.id]);
  expect(await ids('q=ALPHA')).toEqual([a.id]);
  expect(await ids(`q=${encodeURIComponent('0%_s')}`)).toEqual([a.id]);
  expect(await ids(`q=${encodeURIComponent('%b%')}`)).toEqual([]);
  expect(await ids(`name=${encodeURIComponent(`${marker} beta`)}`)).toEqual([b.id]);
  expect(await ids('version=2.1.0-rc.1')).toEqual([b.id]);
  for (const query of [
    'type=robot',
    'status=x',
    'visibility=x',
    'owner_id=x',
    'limit=0',
    'limit=201',
    'cursor=x',
    'wat=1',
  ]) {
    expect([query, (await builder.get(`/agents?${query}`)).status]).toEqual([query, 400]);
  }
});

test('agents are listed in pages by Link', async () => {
  const client = await t.as(await t.createUser());
  const created: string[] = [];
  for (let index = 0; index < 5; index += 1) created.unshift((await create({ tags: ['paged'] }, client)).id);
  const seen: string[] = [];
  let next: string | undefined = '/agents?tag=paged&limit=2';
  while (next !== undefined) {
    const reply = await client.get(next);
    seen.push(...reply.body.map(({ id }: { id: string }) => id));
    next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
  }
  expect(seen).toEqual(created);
});

test('PATCH merges, clears by null, and checks If-Match', async () => {
  const agent = await create({
    description: 'd',
    configuration: { endpoint: 'https://x.example', timeout: 5 },
    authentication_config: { a: 1, b: 2 },
    tags: ['x'],
    capabilities_push: true,
    status: 'inactive',
  });
  const first = await builder.get(`/agents/${agent.id}`);
  const patch = {
    description: null,
    configuration: { timeout: null, method: 'GET' },
    authentication_config: { a: null },
    tags: ['y', 'z'],
    capabilities_push: null,
    status: null,
    name: 'renamed',
  };
  const patched = await builder.patch(`/agents/${agent.id}`, patch, {
    headers: { 'If-Match': first.headers.get('etag') ?? '' },
  });
  expect(patched.status).toBe(200);
  expect(patched.body).toMatchObject({
    name: 'renamed',
    description: null,
    configuration: { endpoint: 'https://x.example', method: 'GET' },
    authentication_config: { b: 2 },
    tags: ['y', 'z'],
    capabilities_push: false,
    status: 'active',
  });
  expect(patched.body.configuration.timeout).toBeUndefined();
  expect(patched.body.versions[0].configuration).toEqual(patched.body.configuration);
  expect(Date.parse(patched.body.updated_at)).toBeGreaterThan(Date.parse(agent.updated_at));
  expect(
    (
      await builder.patch(
        `/agents/${agent.id}`,
        { name: 'late' },
        { headers: { 'If-Match': first.headers.get('etag') ?? '' } },
      )
    ).status,
  ).toBe(412);
  expect((await builder.patch(`/agents/${agent.id}`, { configuration: null })).body).toMatchObject({
    configuration: null,
    versions: [{ configuration: {} }],
  });
  expect((await builder.patch(`/agents/${agent.id}`, { input_schema: { type: 5 } })).status).toBe(422);
  expect((await builder.patch(`/agents/${agent.id}`, { name: null })).status).toBe(422);
});

test('an agent switches between active and inactive until it is deprecated', async () => {
  const { id } = await create();
  for (const status of ['inactive', 'active', 'deprecated', 'deprecated'])
    expect((await builder.patch(`/agents/${id}`, { status })).body.status).toBe(status);
  expect((await builder.patch(`/agents/${id}`, { status: 'active' })).status).toBe(409);
});

test('display settings depend on the type', async () => {
  const shown: Record<string, [string, string]> = {
    llm: ['text', 'Text Agent'],
    vision: ['vision', 'Vision Agent'],
    audio: ['audio', 'Audio Agent'],
    a2a: ['a2a', 'A2A Agent'],
    docker: ['container', 'Container Agent'],
    api: ['api', 'API Agent'],
    sensor: ['sensor', 'Sensor Agent'],
    workflow: ['workflow', 'Workflow Agent'],
  };
  for (const [type, [display_type, display_name]] of Object.entries(shown))
    expect(await create({ type })).toMatchObject({ type, display_type, display_name });
});

test('unused keys of the configuration are kept, with a warning', async () => {
  const configuration = { endpoint: 5, endpont: 'https://x.example', 'a/b': 1 };
  const agent = await create({ name: 'with-unused-keys', configuration });
  expect(agent.configuration).toEqual({ endpoint: 5, endpont: 'https://x.example', 'a/b': 1 });
  expect(agent.warnings.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/configuration/endpoint',
    '/configuration/endpont',
    '/configuration/a~1b',
  ]);
});

test('deleting removes versions and skills, unless an unfinished run uses the agent', async () => {
  const { id } = await create({ skills: [{ name: 's' }] });
  const em = t.orm.em.fork();
  const runId = uuidv7();
  await em.execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
      values (?, 'w', '{}', 'waiting', ?, ?)`,
    [runId, owner.id, runId],
  );
  await em.execute(
    `insert into run_pin (run_id, reference, agent_id, version, snapshot)
      values (?, '/do/0', ?, '1.0.0', '{}')`,
    [runId, id],
  );
  const refused = await builder.delete(`/agents/${id}`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'agent_in_use', run_id: runId } });
  await em.execute(`update run set status = 'completed' where id = ?`, [runId]);
  expect((await builder.delete(`/agents/${id}`)).status).toBe(204);
  expect((await builder.get(`/agents/${id}`)).status).toBe(404);
  const [left] = await em.execute<{ count: string }[]>(
    `select (select count(*) from agent_version where agent_id = ?)
       + (select count(*) from agent_skill where agent_id = ?) as count`,
    [id, id],
  );
  expect(Number(left?.count)).toBe(0);
});

test('the same Idempotency-Key registers one agent', async () => {
  const headers = { 'Idempotency-Key': uuidv7() };
  const first = await builder.post('/agents', agentBody(), { headers });
  const again = await builder.post('/agents', agentBody(), { headers });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
});

test('a copy of the API reads agents on after a newer release has added columns', async () => {
  const { id } = await create();
  const readAtOnce = () => Promise.all(Array.from({ length: 20 }, () => builder.get(`/agents/${id}`)));
  const before = await readAtOnce();
  for (const table of ['agent', 'agent_version', 'agent_skill'])
    await t.orm.em.fork().execute(`alter table ${table} add column of_a_newer_release text`);
  const after = await readAtOnce();
  expect(after.map(({ status, body }) => ({ status, body }))).toEqual(
    before.map(({ body }) => ({ status: 200, body })),
  );
  expect((await builder.patch(`/agents/${id}`, { description: 'Changed' })).status).toBe(200);
});
