import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let builder: Client;
let other: Client;
let viewer: Client;
let admin: Client;

const simple = { do: [{ greet: { set: { greeting: '${ "Hello " + .name }' } } }] };

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  other = await app.as(await app.createUser({ roles: ['builder'] }));
  viewer = await app.as('viewer');
  admin = await app.as('admin');
});

afterAll(async () => {
  await app.close();
});

async function create(body: object = {}, client = builder): Promise<any> {
  const reply = await client.post('/workflows', { name: 'Greeting', definition: simple, ...body });
  expect(reply.status).toBe(201);
  return reply.body;
}

const missing = '01890000-0000-7000-8000-000000000000';

test.each([
  ['GET', '/workflows'],
  ['POST', '/workflows'],
  ['POST', '/workflows/validate'],
  ['GET', `/workflows/${missing}`],
  ['PATCH', `/workflows/${missing}`],
  ['DELETE', `/workflows/${missing}`],
  ['GET', `/workflows/${missing}/revisions`],
  ['GET', `/workflows/${missing}/revisions/1`],
  ['GET', `/workflows/${missing}/diagram`],
])('%s %s needs a token', async (method, path) => {
  const reply = await app.anonymous.request(method, path);
  expect(reply.status).toBe(401);
  expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer/);
});

test.each([
  ['POST', '/workflows'],
  ['PATCH', `/workflows/${missing}`],
  ['DELETE', `/workflows/${missing}`],
])('%s %s needs the role builder', async (method, path) => {
  expect((await viewer.request(method, path, { body: {} })).status).toBe(403);
});

test.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['GET', '/revisions'],
  ['GET', '/revisions/1'],
  ['GET', '/diagram'],
])('%s of an unknown or foreign workflow gets 404 (%s)', async (method, below) => {
  const { id } = await create();
  const body = method === 'PATCH' ? { body: { name: 'x' } } : {};
  expect((await builder.request(method, `/workflows/${missing}${below}`, body)).status).toBe(404);
  expect((await builder.request(method, `/workflows/nothing${below}`, body)).status).toBe(404);
  expect((await other.request(method, `/workflows/${id}${below}`, body)).status).toBe(404);
});

test('POST /workflows creates a workflow and completes its document', async () => {
  const reply = await builder.post('/workflows', {
    name: 'My First: Workflow',
    definition: { input: { schema: { document: { type: 'object', required: ['name'] } } }, ...simple },
    description: 'greets',
    tags: ['demo'],
  });
  expect(reply.status).toBe(201);
  const { id } = reply.body;
  expect(reply.headers.get('location')).toBe(`${app.url}/workflows/${id}`);
  expect(reply.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{14}7/),
    name: 'My First: Workflow',
    description: 'greets',
    definition: {
      document: { dsl: '1.0.3', namespace: 'default', name: 'my-first-workflow', version: '0.1.0' },
      input: { schema: { document: { type: 'object', required: ['name'] } } },
      ...simple,
    },
    revision: 1,
    valid: true,
    runnable: true,
    problems: [],
    input_schema: { type: 'object', required: ['name'] },
    owner_id: (await app.user('builder')).id,
    owner_name: 'the-builder',
    team_id: null,
    runner_names: [],
    runners: { users: [], groups: [], everyone: false },
    visibility: 'private',
    tags: ['demo'],
    budget: null,
    can: ['run', 'update', 'delete', 'publish', 'move'],
    provenance: null,
    warnings: [],
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const read = await builder.get(`/api/v1/workflows/${id}`);
  expect(read.body).toEqual(reply.body);
  expect(Object.keys(read.body.definition)).toEqual(['document', 'input', 'do']);
  expect(read.headers.get('etag')).toBe(reply.headers.get('etag'));
});

test('a record that was read can be posted back', async () => {
  const { problems: _, ...record } = await create();
  expect((await builder.post('/workflows', { ...record, problems: [] })).status).toBe(201);
});

test('those who may change a workflow are warned of another with its name', async () => {
  const first = await create({ name: 'twice', visibility: 'public' });
  expect(first.warnings).toEqual([]);
  const second = await create({ name: 'twice' });
  const message =
    'another workflow of the same owner has this name, so agents and commands must name one by its id: ' +
    `the other is ${first.id}`;
  expect(second.warnings).toEqual([{ pointer: '/name', code: 'name_taken', message }]);
  const listed = async (client: typeof builder): Promise<unknown[]> =>
    (await client.get('/workflows?q=twice')).body.map(({ id, warnings }: any) => [id, warnings.length]);
  expect(await listed(builder)).toEqual([
    [second.id, 1],
    [first.id, 1],
  ]);
  expect(await listed(other)).toEqual([[first.id, 0]]);
  expect((await create({ name: 'twice' }, other)).warnings).toEqual([]);
  const renamed = await builder.patch(`/workflows/${second.id}`, { name: 'once' });
  expect(renamed.body.warnings).toEqual([]);
  await builder.patch(`/workflows/${second.id}`, { name: 'twice' });
  await builder.delete(`/workflows/${first.id}`);
  expect((await builder.get(`/workflows/${second.id}`)).body.warnings).toEqual([]);
});

test('all mistakes of a body are listed at once', async () => {
  const reply = await builder.post('/workflows', {
    name: '',
    definition: [],
    visibility: 'secret',
    colour: 'red',
  });
  expect(reply.status).toBe(422);
  expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
    '/colour',
    '/definition',
    '/name',
    '/visibility',
  ]);
  expect((await builder.post('/workflows', {})).body.errors).toHaveLength(2);
  expect((await builder.post('/workflows', { name: '𝒳'.repeat(255), definition: simple })).status).toBe(201);
  expect((await builder.post('/workflows', { name: 'x'.repeat(256), definition: simple })).status).toBe(422);
});

test('an invalid definition is stored as a draft with its problems', async () => {
  const draft = await create({ definition: { do: [{ a: { cal: 'http' } }] } });
  expect(draft).toMatchObject({
    valid: false,
    runnable: false,
    problems: [
      {
        pointer: '/do/0/a/cal',
        code: 'unknown_task',
        message: '"cal" is not a kind of task, did you mean "call"?',
        severity: 'error',
      },
    ],
  });
  const unsupported = await create({
    definition: { evaluate: { language: 'js' }, do: [{ a: { set: { b: 1 } } }] },
  });
  expect(unsupported).toMatchObject({
    valid: true,
    runnable: false,
    problems: [{ severity: 'unsupported', code: 'unsupported_evaluate_language' }],
  });
  const empty = await create({ definition: {} });
  expect(empty).toMatchObject({ valid: false, problems: [{ pointer: '/do', code: 'required' }] });
});

test('POST /workflows/validate validates without storing', async () => {
  const before = (await builder.get('/workflows?limit=1')).body[0].id;
  const good = await viewer.post('/workflows/validate', { definition: simple });
  expect(good.status).toBe(200);
  expect(good.body).toEqual({ valid: true, runnable: true, problems: [] });
  const bad = await viewer.post('/workflows/validate', { definition: { ...simple, doo: 1 } });
  expect(bad.body).toMatchObject({
    valid: false,
    runnable: false,
    problems: [{ pointer: '/doo', code: 'unknown_property' }],
  });
  expect((await viewer.post('/workflows/validate', { definition: 'x' })).status).toBe(422);
  expect((await builder.get('/workflows?limit=1')).body[0].id).toBe(before);
});

test('everybody reads a public workflow, owner and admins change it', async () => {
  const { id } = await create({ visibility: 'public' });
  expect((await viewer.get(`/workflows/${id}`)).status).toBe(200);
  expect((await viewer.get(`/workflows/${id}/revisions`)).status).toBe(200);
  expect((await other.patch(`/workflows/${id}`, { name: 'mine' })).status).toBe(403);
  expect((await other.delete(`/workflows/${id}`)).status).toBe(403);
  const changed = await admin.patch(`/workflows/${id}`, { visibility: 'private' });
  expect(changed.body).toMatchObject({
    visibility: 'private',
    revision: 1,
    owner_id: (await app.user('builder')).id,
  });
  expect((await viewer.get(`/workflows/${id}`)).status).toBe(404);
  expect((await admin.get(`/workflows/${id}`)).status).toBe(200);
});

test('PATCH merges, clears by null, and makes a new revision of a changed definition', async () => {
  const { id, updated_at } = await create({
    description: 'old',
    tags: ['a'],
    definition: { timeout: { after: 'PT1M' }, ...simple },
  });
  const fields = await builder.patch(`/workflows/${id}`, { name: 'New', description: null, tags: null });
  expect(fields.body).toMatchObject({ name: 'New', description: null, tags: [], revision: 1 });
  expect(fields.body.updated_at >= updated_at).toBe(true);

  const definition = await builder.patch(`/workflows/${id}`, {
    definition: { timeout: null, do: [{ a: { cal: 'x' } }] },
  });
  expect(definition.body).toMatchObject({
    revision: 2,
    valid: false,
    definition: { do: [{ a: { cal: 'x' } }] },
  });
  expect(definition.body.definition).not.toHaveProperty('timeout');
  const same = await builder.patch(
    `/workflows/${id}`,
    { definition: { do: [{ a: { cal: 'x' } }] } },
    { headers: { 'content-type': 'application/merge-patch+json' } },
  );
  expect(same.body.revision).toBe(2);

  const revisions = await builder.get(`/workflows/${id}/revisions`);
  expect(
    revisions.body.map(({ revision, valid }: { revision: number; valid: boolean }) => [revision, valid]),
  ).toEqual([
    [2, false],
    [1, true],
  ]);
  expect(revisions.body[1].definition.timeout).toEqual({ after: 'PT1M' });
  expect(revisions.body[0].digest).toMatch(/^[0-9a-f]{64}$/);
  const first = await builder.get(`/workflows/${id}/revisions/1`);
  const { omitted, ...listed } = revisions.body[1];
  expect(omitted).toEqual([]);
  expect(first.body).toEqual(listed);
  expect((await builder.get(`/workflows/${id}/revisions/3`)).status).toBe(404);
  expect((await builder.get(`/workflows/${id}/revisions/0`)).status).toBe(404);
});

test('PATCH refuses an invalid patch with 422', async () => {
  const { id } = await create();
  for (const body of [
    { name: null },
    { definition: null },
    { name: '' },
    { visibility: 'x' },
    { tags: 'a' },
    { unknown: 1 },
  ]) {
    expect([body, (await builder.patch(`/workflows/${id}`, body)).status]).toEqual([body, 422]);
  }
});

test('If-Match prevents lost updates', async () => {
  const { id } = await create();
  const tag = (await builder.get(`/workflows/${id}`)).headers.get('etag') ?? '';
  const first = await builder.patch(`/workflows/${id}`, { name: 'one' }, { headers: { 'if-match': tag } });
  expect(first.status).toBe(200);
  expect(first.headers.get('etag')).not.toBe(tag);
  expect(
    (await builder.patch(`/workflows/${id}`, { name: 'two' }, { headers: { 'if-match': tag } })).status,
  ).toBe(412);
  expect((await builder.delete(`/workflows/${id}`, { headers: { 'if-match': tag } })).status).toBe(412);
  expect((await builder.get(`/workflows/${id}`)).body.name).toBe('one');
});

test('concurrent changes of the definition each give one revision', async () => {
  const { id } = await create();
  const replies = await Promise.all(
    Array.from({ length: 5 }, (_, index) =>
      builder.patch(`/workflows/${id}`, { definition: { do: [{ a: { set: { n: index } } }] } }),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(replies.map(({ body }) => body.revision).toSorted()).toEqual([2, 3, 4, 5, 6]);
});

test('DELETE archives the workflow', async () => {
  const { id } = await create({ tags: ['archived'] });
  expect((await builder.delete(`/workflows/${id}`)).status).toBe(204);
  expect((await builder.get(`/workflows/${id}`)).status).toBe(404);
  expect((await builder.delete(`/workflows/${id}`)).status).toBe(404);
  expect((await builder.patch(`/workflows/${id}`, { name: 'x' })).status).toBe(404);
  expect((await admin.get('/workflows?tag=archived')).body).toEqual([]);
});

test('workflows are listed in pages, by filters, as far as the caller may see them', async () => {
  const owner = await app.createUser({ roles: ['builder'] });
  const client = await app.as(owner);
  const names = ['Alpha 50%', 'beta_x', 'Gamma', 'delta', 'Epsilon'];
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    const workflow = await create(
      {
        name,
        tags: index % 2 === 0 ? ['even', 'both'] : ['both'],
        visibility: index === 0 ? 'public' : 'private',
        definition: index === 4 ? {} : simple,
        description: index === 3 ? 'The GAMMA ray' : null,
      },
      client,
    );
    ids.unshift(workflow.id);
  }
  const all = await client.get(`/workflows?owner_id=${owner.id}`);
  expect(all.body.map(({ id }: { id: string }) => id)).toEqual(ids);

  const seen: string[] = [];
  let next: string | null = `/workflows?owner_id=${owner.id}&limit=2`;
  let pages = 0;
  while (next !== null) {
    const reply = await client.get(next);
    expect(reply.status).toBe(200);
    seen.push(...reply.body.map(({ id }: { id: string }) => id));
    next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1] ?? null;
    pages++;
  }
  expect(seen).toEqual(ids);
  expect(pages).toBe(3);

  const count = async (query: string, who = client): Promise<number> =>
    (await who.get(`/workflows?owner_id=${owner.id}&${query}`)).body.length;
  expect(await count('tag=even')).toBe(3);
  expect(await count('visibility=public')).toBe(1);
  expect(await count('valid=false')).toBe(1);
  expect(await count('q=gamma')).toBe(2);
  expect(await count(`q=${encodeURIComponent('0%')}`)).toBe(1);
  expect(await count('q=a_x')).toBe(1);
  expect(await count(`q=${encodeURIComponent('a%x')}`)).toBe(0);
  expect(await count('q=', other)).toBe(1);
  expect(await count('q=', admin)).toBe(5);
});

test('invalid queries get 400', async () => {
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=x',
    'cursor=abc',
    'valid=maybe',
    'owner_id=you',
    'visibility=x',
    'colour=red',
  ]) {
    expect([query, (await builder.get(`/workflows?${query}`)).status]).toEqual([query, 400]);
  }
});

test('revisions are listed in pages', async () => {
  const { id } = await create();
  for (let n = 2; n <= 5; n++)
    await builder.patch(`/workflows/${id}`, { definition: { do: [{ a: { set: { n } } }] } });
  const first = await builder.get(`/workflows/${id}/revisions?limit=2`);
  expect(first.body.map(({ revision }: { revision: number }) => revision)).toEqual([5, 4]);
  const link = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  expect((await builder.get(link)).body.map(({ revision }: { revision: number }) => revision)).toEqual([
    3, 2,
  ]);
  for (const key of [[1e12], ['x'], [], 5, ['01890000-0000-7000-8000-000000000000']]) {
    const cursor = Buffer.from(JSON.stringify(key)).toString('base64url');
    expect((await builder.get(`/workflows/${id}/revisions?cursor=${cursor}`)).status).toBe(400);
  }
  expect((await builder.get(`/workflows/${id}/revisions/99999999999`)).status).toBe(404);
});

test('GET .../diagram gives Mermaid or, by Accept, SVG', async () => {
  const { id } = await create({
    definition: { do: [{ '</text><script>alert(1)</script>': { set: { a: 1 } } }] },
  });
  const mermaid = await builder.get(`/workflows/${id}/diagram`);
  expect(mermaid.status).toBe(200);
  expect(mermaid.headers.get('content-type')).toMatch('text/vnd.mermaid');
  expect(mermaid.body).toMatch(/^flowchart TD\n/);
  const svg = await builder.get(`/workflows/${id}/diagram`, { headers: { accept: 'image/svg+xml' } });
  expect(svg.headers.get('content-type')).toMatch('image/svg+xml');
  expect(svg.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(svg.body).toMatch(/^<svg /);
  expect(svg.body).not.toContain('<script');
  expect(
    (await builder.get(`/workflows/${id}/diagram`, { headers: { accept: 'text/plain' } })).headers.get(
      'content-type',
    ),
  ).toMatch('text/plain');
  expect((await builder.get(`/workflows/${id}/diagram`, { headers: { accept: 'image/png' } })).status).toBe(
    406,
  );
  const draft = await create({ definition: { do: 5 } });
  expect((await builder.get(`/workflows/${draft.id}/diagram`)).status).toBe(200);
});

test('the same Idempotency-Key creates one workflow', async () => {
  const send = () =>
    builder.post(
      '/workflows',
      { name: 'once', definition: simple },
      { headers: { 'idempotency-key': 'workflow-1' } },
    );
  const [first, second] = [await send(), await send()];
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
});

test('a missing child workflow causes a warning until it exists', async () => {
  const definition = {
    do: [{ child: { run: { workflow: { namespace: 'default', name: 'the-child', version: 'latest' } } } }],
  };
  const before = await create({ definition });
  expect(before).toMatchObject({
    valid: true,
    runnable: true,
    problems: [{ pointer: '/do/0/child/run/workflow', code: 'unknown_workflow', severity: 'warning' }],
  });
  await create({ name: 'The child' });
  expect((await create({ definition })).problems).toEqual([]);
  const again = await builder.patch(`/workflows/${before.id}`, { definition });
  expect(again.body).toMatchObject({ revision: 2, problems: [] });
  expect((await create({ definition }, other)).problems).toHaveLength(1);
});

test('a key "__proto__" is kept as data or refused by name, but never dropped', async () => {
  const { id } = await create({ definition: { do: [{ keep: { set: { ok: true } } }] } });
  const hostileInput = '{"__proto__":{"a":1},"b":{"__proto__":2}}';
  const run = await builder.post(`/workflows/${id}/run`, `{"input_params":${hostileInput}}`);
  expect(run.status).toBe(201);
  expect(JSON.stringify(run.body.input_params)).toBe(hostileInput);
  expect(JSON.stringify((await builder.get(`/runs/${run.body.id}`)).body.input_params)).toBe(hostileInput);

  const definition = '{"definition":{"__proto__":{},"do":[{"keep":{"set":{"ok":true}}}]}}';
  const checked = await builder.post('/workflows/validate', definition);
  expect(checked.body).toMatchObject({
    valid: false,
    problems: [{ pointer: '/__proto__', code: 'forbidden_name' }],
  });
  const field = await builder.post('/workflows', '{"name":"x","definition":{},"__proto__":1}');
  expect([field.status, field.body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '/__proto__' })],
  ]);
  const event = await builder.post(
    '/events',
    '{"specversion":"1.0","id":"1","source":"/t","type":"t","__proto__":"x"}',
    { headers: { 'content-type': 'application/cloudevents+json' } },
  );
  expect([event.status, event.body.errors]).toEqual([
    422,
    [expect.objectContaining({ pointer: '/__proto__', code: 'forbidden_name' })],
  ]);
  expect((await builder.post(`/workflows/${id}/run`, { input_params: [] })).body.errors).toEqual([
    { pointer: '/input_params', code: 'invalid_type', message: 'must be an object' },
  ]);
});

test('an input that does not fit is refused in plain words, field by field', async () => {
  const document = {
    type: 'object',
    required: ['name'],
    properties: { id: { type: 'string' }, size: { maximum: 3 } },
  };
  const { id } = await create({ definition: { input: { schema: { document } }, ...simple } });
  const run = await builder.post(`/workflows/${id}/run`, { input_params: { id: 1, size: 4 } });
  expect([run.status, run.body.detail]).toEqual([422, "The input does not fit the workflow's input schema."]);
  expect(run.body.errors.toSorted((a: any, b: any) => a.pointer.localeCompare(b.pointer))).toEqual([
    { pointer: '/input_params', code: 'schema', message: '"name" is missing' },
    { pointer: '/input_params/id', code: 'schema', message: 'must be text' },
    { pointer: '/input_params/size', code: 'schema', message: 'must be at most 3' },
  ]);
});
