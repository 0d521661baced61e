import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { resolveSecret } from '../../../domain/secrets/service.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let t: TestApp;
let owner: TestUser;
let builder: Client;

beforeAll(async () => {
  t = await startTestApp();
  owner = await t.createUser();
  builder = await t.as(owner);
});
afterAll(() => t.close());

const resolve = (name: string, who = owner.id) =>
  resolveSecret(t.orm.em.fork(), t.app.deps.encryption, who, name);
const named = (placeholder: string) => placeholder.slice(1, -1);

test('the endpoints of secrets answer 401, 403, 404 and 422', async () => {
  for (const [method, path] of [
    ['GET', '/secrets'],
    ['GET', '/secrets/X'],
    ['PUT', '/secrets/X'],
    ['DELETE', '/secrets/X'],
  ] as const) {
    expect((await t.anonymous.request(method, path)).status).toBe(401);
  }
  const viewer = await t.as('viewer');
  expect((await viewer.put('/secrets/X', { value: 'v' })).status).toBe(403);
  expect((await viewer.delete('/secrets/X')).status).toBe(403);
  expect((await viewer.get('/secrets')).body).toEqual([]);
  expect((await builder.get('/secrets/NOPE')).status).toBe(404);
  expect((await builder.delete('/secrets/NOPE')).status).toBe(404);
  for (const body of [
    {},
    { value: '' },
    { value: 5 },
    { value: null },
    { value: 'x'.repeat(65_537) },
    { value: 'v', wat: 1 },
    { value: 'a\0' },
  ]) {
    expect((await builder.put('/secrets/X', body)).status).toBe(422);
  }
  for (const name of ['1X', 'a%20b', '%3CX%3E', 'x'.repeat(256)])
    expect([name, (await builder.put(`/secrets/${name}`, { value: 'v' })).status]).toEqual([name, 422]);
});

test('a secret is stored encrypted, replaced, listed, removed, and never returned', async () => {
  const created = await builder.put('/secrets/API_KEY', { value: 'sk-first-value' });
  expect(created).toMatchObject({ status: 201, body: { name: 'API_KEY' } });
  const again = await builder.put('/secrets/API_KEY', { value: 'sk-second-value' });
  expect(again).toMatchObject({ status: 200, body: { created_at: created.body.created_at } });
  await builder.put('/secrets/my-basic', { value: { username: 'ada', password: 'pw' } });
  expect(await resolve('API_KEY')).toBe('sk-second-value');
  expect(JSON.parse((await resolve('my-basic')) ?? '')).toEqual({ username: 'ada', password: 'pw' });
  const read = await builder.get('/secrets/API_KEY');
  const listed = await builder.get('/secrets');
  expect(listed.body.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['API_KEY', 'my-basic']),
  );
  expect(JSON.stringify([created.body, again.body, read.body, listed.body])).not.toContain('value');
  const rows = await t.orm.em.fork().execute<Record<string, unknown>[]>('select * from secret');
  expect(JSON.stringify(rows)).not.toContain('sk-second-value');
  expect((await builder.delete('/secrets/API_KEY')).status).toBe(204);
  expect(await resolve('API_KEY')).toBeNull();
});

test('an object has at most 100 values, on all levels, and 65,536 characters as JSON', async () => {
  const values = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, `v${n}`]));
  const codeOf = async (value: unknown) => {
    const { status, body } = await builder.put('/secrets/PARTS', { value });
    return status === 422 ? body.errors[0].message : status;
  };
  expect(await codeOf(values(100))).toBe(201);
  expect(await codeOf({ deep: [values(60)], more: values(40) })).toBe(200);
  const tooMany = 'must have at most 100 values';
  expect(await codeOf({ deep: [values(60)], more: values(41) })).toBe(tooMany);
  expect(await codeOf(JSON.stringify(values(101)))).toBe(tooMany);
  expect(await codeOf({ one: JSON.stringify(values(101)) })).toBe(tooMany);
  expect(await codeOf({ one: 'x'.repeat(65_536) })).toBe('must have at most 65536 characters as JSON');
  expect(await codeOf(`{${'x'.repeat(65_535)}`)).toBe(200);
});

test('a secret is visible to its owner only, not even to admins', async () => {
  await builder.put('/secrets/MINE', { value: 'mine-value' });
  const admin = await t.user('admin');
  expect((await (await t.as(admin)).get('/secrets/MINE')).status).toBe(404);
  expect(await resolve('MINE', admin.id)).toBeNull();
});

test('secrets are listed in pages by name', async () => {
  const client = await t.as(await t.createUser());
  for (const name of ['C', 'A', 'B']) await client.put(`/secrets/${name}`, { value: 'v' });
  const first = await client.get('/secrets?limit=2');
  expect(first.body.map(({ name }: { name: string }) => name)).toEqual(['A', 'B']);
  const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  expect((await client.get(next)).body.map(({ name }: { name: string }) => name)).toEqual(['C']);
});

test('literal secrets of an agent are moved to the store, whatever their place and spelling', async () => {
  const configuration = {
    endpoint: 'https://x.example',
    api_key: 'literal-one',
    'Client-Secret': 'literal-two',
    headers: { Authorization: 'Bearer literal-three', 'X-Plain': 'stays' },
    nested: [{ password: 'literal-four' }, { password: 'literal-five' }],
    credentials: ['literal-six', 7],
    token: '<MY_TOKEN>',
    secret: 'Bearer <MY_TOKEN>',
    tokenizer: 'stays',
    refresh_token: '',
    private_key: '<UNBOUND:KEY>',
  };
  const reply = await builder.post(
    '/agents',
    agentBody({
      configuration,
      authentication_config: { token: 'literal-seven', token_url: 'https://t.example' },
    }),
  );
  expect(reply.status).toBe(201);
  const agent = reply.body;
  const prefix = `AGENT_${agent.id.replaceAll('-', '').toUpperCase()}`;
  expect(agent.configuration).toEqual({
    ...configuration,
    api_key: `<${prefix}_API_KEY_1>`,
    'Client-Secret': `<${prefix}_CLIENT_SECRET_1>`,
    headers: { Authorization: `<${prefix}_AUTHORIZATION_1>`, 'X-Plain': 'stays' },
    nested: [{ password: `<${prefix}_PASSWORD_1>` }, { password: `<${prefix}_PASSWORD_2>` }],
    credentials: [`<${prefix}_CREDENTIALS_1>`, 7],
  });
  expect(agent.authentication_config).toEqual({
    token: `<${prefix}_TOKEN_1>`,
    token_url: 'https://t.example',
  });
  expect(agent.versions[0].configuration).toEqual(agent.configuration);
  expect(await resolve(named(agent.configuration.headers.Authorization))).toBe('Bearer literal-three');
  expect(await resolve(named(agent.authentication_config.token))).toBe('literal-seven');
  const dump = JSON.stringify(
    await t.orm.em.fork().execute(
      `select (select json_agg(agent) from agent),
          (select json_agg(v) from agent_version v),
          (select json_agg(i) from idempotency_record i)`,
    ),
  );
  expect(dump).not.toContain('literal-');
});

test('a new literal becomes a new secret, and deleting the agent removes all of them', async () => {
  const { body: agent } = await builder.post(
    '/agents',
    agentBody({ configuration: { api_key: 'literal-old' } }),
  );
  const first = agent.configuration.api_key;
  await builder.post(`/agents/${agent.id}/versions/1.0.0/publish`);
  const { body: changed } = await builder.patch(`/agents/${agent.id}`, {
    version: '1.1.0',
    configuration: { api_key: 'literal-new' },
  });
  expect(changed.configuration.api_key).toBe(first.replace('_1>', '_2>'));
  expect(await resolve(named(first))).toBe('literal-old');
  expect(await resolve(named(changed.configuration.api_key))).toBe('literal-new');
  const { body: version } = await builder.post(`/agents/${agent.id}/versions`, {
    version: '1.2.0',
    configuration: { api_key: 'literal-third' },
  });
  expect(version.configuration.api_key).toBe(first.replace('_1>', '_3>'));
  const { body: draft } = await builder.patch(`/agents/${agent.id}/versions/1.2.0`, {
    configuration: { token: 'literal-token' },
  });
  expect(draft.configuration).toEqual({
    api_key: version.configuration.api_key,
    token: expect.stringMatching(/_TOKEN_1>$/),
  });
  await builder.delete(`/agents/${agent.id}`);
  expect(await resolve(named(first))).toBeNull();
});

test("a literal that an admin writes becomes a secret of the agent's owner", async () => {
  const { body: agent } = await builder.post('/agents', agentBody());
  const admin = await t.user('admin');
  const { body: patched } = await (
    await t.as(admin)
  ).patch(`/agents/${agent.id}`, { configuration: { api_key: 'by-admin' } });
  expect(await resolve(named(patched.configuration.api_key))).toBe('by-admin');
  expect(await resolve(named(patched.configuration.api_key), admin.id)).toBeNull();
});

test('a template under a secret key is kept where templates are evaluated, and moved elsewhere', async () => {
  const { body: agent } = await builder.post(
    '/agents',
    agentBody({
      configuration: { headers: { Authorization: 'Bearer ${ .token }' }, api_key: 'pa${ss}word' },
    }),
  );
  expect(agent.configuration.headers.Authorization).toBe('Bearer ${ .token }');
  expect(agent.configuration.api_key).toMatch(/^<AGENT_/);
});
