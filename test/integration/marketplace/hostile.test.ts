/** Secrets never leave their owner, and texts stay plain texts, whatever a publisher writes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import {
  approvedItem,
  createdWorkflow,
  installed,
  publishedAgent,
  submitted,
} from '../../support/marketplace.ts';
import { threadClock } from '../../support/machine.ts';
import { httpTask } from '../../support/definitions.ts';

let t: TestApp;
let publisher: Client;
let user: Client;
let admin: Client;

beforeAll(async () => {
  t = await startTestApp();
  publisher = await t.as(await t.createUser({ username: 'ada' }));
  user = await t.as(await t.createUser({ username: 'bob' }));
  admin = await t.as('admin');
});
afterAll(() => t.close());

const path = (id: string, rest = '') => `/marketplace/items/${id}${rest}`;

/** Everything that anybody can read of an item, and the copy of the user who installs it. */
async function everythingOf(item: { id: string; version: string }): Promise<string> {
  const stored = await t.orm.em
    .fork()
    .execute(
      'select i.*, v.* from marketplace_item i join marketplace_version v on v.item_id = i.id where i.id = ?',
      [item.id],
    );
  const copy = await installed(user, item);
  const record = await user.get(`/${copy.kind}s/${copy.ref_id}`);
  const secrets = await user.get('/secrets');
  return JSON.stringify([
    stored,
    copy,
    record.body,
    secrets.body,
    (await user.get(path(item.id))).body,
    (await user.get(path(item.id, `/versions/${item.version}`))).body,
  ]);
}

const jwt = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`;
const literals: [string, Record<string, unknown>, string][] = [
  ['moved on save', { api_key: 'plain-secret-1' }, 'plain-secret-1'],
  ['a header that the save leaves', { headers: { 'X-Api-Key': 'plain-secret-2' } }, 'plain-secret-2'],
  [
    'camel case',
    { clientSecret: 'plain-secret-3', nested: [{ accessToken: 'plain-secret-3' }] },
    'plain-secret-3',
  ],
  [
    'below a key that names secrets',
    { credentials: { user: 'u', parts: ['plain-secret-4'] } },
    'plain-secret-4',
  ],
  [
    'a template around it',
    { headers: { Authorization: 'Bearer sk-live-secret-12345${ "" }' } },
    'sk-live-secret-12345',
  ],
  ['a value of the own store', { endpoint: 'https://a.example/x/from-my-store-9/y' }, 'from-my-store-9'],
  ['in an address', { endpoint: 'https://joe:hunter22@a.example' }, 'hunter22'],
  ['in a query', { endpoint: 'https://a.example/?api_key=hunter23x&b=1' }, 'hunter23x'],
  ['a token of a known kind', { body: { text: `use ghp_${'A1'.repeat(18)} now` } }, 'A1A1A1'],
  ['a JSON Web Token', { body: [jwt] }, jwt],
  [
    'a private key',
    { body: '-----BEGIN RSA PRIVATE KEY-----\nMIIplain\n-----END RSA PRIVATE KEY-----' },
    'MIIplain',
  ],
  ['part of a JSON secret of the own store', { body: 'the-inner-password' }, 'the-inner-password'],
];

test.each(literals)('an item leaves out a literal secret: %s', async (_name, configuration, secret) => {
  await publisher.put('/secrets/MINE', { value: 'from-my-store-9' });
  await publisher.put('/secrets/LOGIN', {
    value: JSON.stringify({ username: 'u', password: 'the-inner-password' }),
  });
  const agent = await publishedAgent(publisher, { configuration });
  const item = await approvedItem(publisher, admin, agent);
  expect(item.requires.secrets.length).toBeGreaterThan(0);
  const all = await everythingOf(item);
  expect(all).not.toContain(secret);
  expect(all).toContain('<UNBOUND:');
  expect(all).not.toContain(agent.id.replaceAll('-', '').toUpperCase());
});

test('placeholders of left-out secrets are short, distinct, and bound one by one', async () => {
  await publisher.put('/secrets/MINE', { value: 'from-my-store-9' });
  const configuration = {
    api_key: 'one-secret-1',
    second: { api_key: 'two-secret-2' },
    headers: { 'X-Key': '<API_KEY>', 'X-Token': 'one-secret-3', Other: 'Basic from-my-store-9' },
    again: { 'X-Token': 'one-secret-3' },
  };
  const item = await approvedItem(publisher, admin, await publishedAgent(publisher, { configuration }));
  expect(item.requires.secrets).toEqual([
    'API_KEY',
    'API_KEY_2',
    'API_KEY_3',
    'MINE',
    'X_TOKEN',
    'X_TOKEN_2',
  ]);
  for (const name of ['OWN_1', 'OWN_2']) await user.put(`/secrets/${name}`, { value: 'x' });
  const copy = await installed(user, item, { API_KEY_2: 'OWN_1', X_TOKEN: 'OWN_2' });
  expect(copy.missing.secrets).toEqual(['API_KEY', 'API_KEY_3', 'MINE', 'X_TOKEN_2']);
  expect((await user.get(`/agents/${copy.ref_id}`)).body.configuration).toEqual({
    api_key: '<OWN_1>',
    second: { api_key: '<UNBOUND:API_KEY_3>' },
    headers: { 'X-Key': '<UNBOUND:API_KEY>', 'X-Token': '<OWN_2>', Other: 'Basic <UNBOUND:MINE>' },
    again: { 'X-Token': '<UNBOUND:X_TOKEN_2>' },
  });
});

test('text that only looks like a secret is kept', async () => {
  const configuration = {
    endpoint: 'https://a.example/tokens?page=1',
    headers: { Authorization: 'Bearer ${ .token }', 'X-Kind': 'token' },
    token_url: 'https://a.example/token',
    max_tokens: 100,
    token: 'https://a.example/t',
    authorization: '',
    basic: 'sk-learn pipelines',
    body: { password_type: 'long', key: 'name' },
  };
  const agent = await publishedAgent(publisher, {
    configuration: { ...configuration, token: undefined },
    input_schema: { type: 'object', properties: { password: { type: 'string' } } },
  });
  const item = await submitted(publisher, agent);
  expect(item.requires.secrets).toEqual([]);
  expect((await publisher.get(path(item.id, '/versions/1.0.0'))).body.content).toMatchObject({
    configuration: agent.configuration,
    input_schema: agent.input_schema,
  });
});

const key = `sk-${'a1'.repeat(20)}`;
test.each<[string, Record<string, unknown>, string]>([
  ['description', { description: `try it with ${key}` }, '/description'],
  ['documentation', { documentation: `\`${key}\`` }, '/documentation'],
  [
    'a schema',
    { input_schema: { type: 'object', properties: { k: { type: 'string', default: key } } } },
    '/input_schema/properties/k/default',
  ],
  ['a key of the configuration', { configuration: { [key]: 1 } }, '/configuration'],
  ['an example', { skills: [{ name: 's', examples: ['x', key] }] }, '/skills/0/examples/1'],
  ['the address', { url: 'https://joe:hunter22@a.example' }, '/url'],
])('a literal secret is refused where no placeholder can stand: %s', async (_name, fields, pointer) => {
  const agent = await publishedAgent(publisher, fields);
  const reply = await publisher.post('/marketplace/items', {
    kind: 'agent',
    ref_id: agent.id,
    version: '1.0.0',
  });
  expect(reply.body).toMatchObject({
    status: 422,
    code: 'literal_secret',
    errors: [{ pointer, code: 'literal_secret' }],
  });
  expect(JSON.stringify(reply.body)).not.toContain(key);
  expect(
    (await publisher.get(`/marketplace/items?publisher=ada&q=${encodeURIComponent('no such')}`)).body,
  ).toEqual([]);
});

test('literal secrets in the texts of an item or in a definition are refused', async () => {
  await publisher.put('/secrets/MINE', { value: 'from-my-store-9' });
  const agent = await publishedAgent(publisher);
  for (const [field, value] of [
    ['name', key],
    ['summary', `is ${key}`],
    ['description', 'from-my-store-9'],
    ['categories', [key]],
    ['tags', [key]],
    ['license', key],
  ] as const) {
    const reply = await publisher.post('/marketplace/items', {
      kind: 'agent',
      ref_id: agent.id,
      version: '1.0.0',
      [field]: value,
    });
    expect([field, reply.status, reply.body.errors[0].pointer.split('/')[1]]).toEqual([field, 422, field]);
  }
  const http = (more: Record<string, unknown>) => ({
    do: [{ a: httpTask('https://a.example', more) }],
  });
  const definitions: [Record<string, unknown>, string][] = [
    [http({ headers: { Authorization: 'not-to-be-told' } }), '/definition/do/0/a/with/headers/Authorization'],
    [http({ query: { q: key } }), '/definition/do/0/a/with/query/q'],
    [
      http({
        endpoint: { uri: 'https://a.example', authentication: { bearer: { token: 'not-to-be-told' } } },
      }),
      '/definition/do/0/a/with/endpoint/authentication/bearer/token',
    ],
    [{ do: [{ a: { set: { x: 'say from-my-store-9' } } }] }, '/definition/do/0/a/set/x'],
    [{ do: [{ [key]: { set: { x: 1 } } }] }, '/definition/do/0'],
  ];
  for (const [definition, pointer] of definitions) {
    const workflow = await createdWorkflow(publisher, definition);
    expect([pointer, workflow.valid]).toEqual([pointer, true]);
    const reply = await publisher.post('/marketplace/items', {
      kind: 'workflow',
      ref_id: workflow.id,
      version: 1,
    });
    expect([pointer, reply.body.code, reply.body.errors[0].pointer]).toEqual([
      pointer,
      'literal_secret',
      pointer,
    ]);
  }
});

test('a definition that hides the name of a secret is refused', async () => {
  const workflow = await createdWorkflow(publisher, {
    use: { secrets: ['A'] },
    do: [
      {
        a: httpTask('https://a.example', { headers: { X: '${ $secrets | .A }' } }),
      },
    ],
  });
  const reply = await publisher.post('/marketplace/items', {
    kind: 'workflow',
    ref_id: workflow.id,
    version: 1,
  });
  expect([workflow.valid, reply.status, reply.body.errors[0].code]).toEqual([true, 422, 'secret_hidden']);
});

test('scripts in texts are shown as text', async () => {
  const script = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'';
  const agent = await publishedAgent(publisher, {
    name: script,
    description: script,
    documentation: `# ${script}\n[x](javascript:alert(1))`,
  });
  const item = await approvedItem(publisher, admin, agent, {
    summary: script,
    categories: [script],
    tags: [script],
  });
  expect(item).toMatchObject({
    name: script,
    summary: script,
    description: script,
    categories: [script],
    tags: [script],
  });
  const copy = await installed(user, item);
  expect((await user.post(path(item.id, '/reviews'), { rating: 1, text: script })).body.text).toBe(script);
  for (const where of [path(item.id), '/marketplace/items', path(item.id, '/reviews')])
    expect((await user.get(where)).headers.get('content-type')).toMatch(/^application\/json/);
  expect(
    (
      await user.get(
        `/marketplace/items?${new URLSearchParams({ tag: script, category: script, q: script }).toString()}`,
      )
    ).body,
  ).toHaveLength(1);
  const page = await user.get(`/docs/agents/${copy.ref_id}`);
  expect(page.status).toBe(200);
  expect(page.body).not.toContain('<script>');
  expect(page.body).not.toContain('<img');
  expect(page.body).not.toContain('href="javascript:');
});

test('texts that PostgreSQL cannot store, and SQL, have no effect', async () => {
  const agent = await publishedAgent(publisher);
  const body = { kind: 'agent', ref_id: agent.id, version: '1.0.0' };
  expect((await publisher.post('/marketplace/items', { ...body, summary: 'a\0b' })).status).toBe(422);
  expect((await publisher.post('/marketplace/items', { ...body, tags: ['\ud800'] })).status).toBe(422);
  expect(
    (await publisher.get(`/marketplace/items?q=${encodeURIComponent("'; drop table marketplace_item; --")}`))
      .body,
  ).toEqual([]);
  const tags = [
    'a"b',
    'c,d',
    '{e}',
    String.raw`f\g`,
    "h'i",
    'null',
    'NULL',
    ' ',
    ' x ',
    'new\nline "quoted"\ttab',
    '\\',
    '',
  ];
  expect((await publisher.post('/marketplace/items', { ...body, tags })).status).toBe(422);
  const created = await publisher.post('/marketplace/items', { ...body, tags: tags.slice(0, -1) });
  expect(created.body).toMatchObject({ tags: tags.slice(0, -1) });
  expect((await publisher.get(path(created.body.id))).body.tags).toEqual(tags.slice(0, -1));
  for (const tag of tags.slice(0, -1))
    expect([
      tag,
      (await publisher.get(`/marketplace/items?tag=${encodeURIComponent(tag)}`)).body.length,
    ]).toEqual([tag, 1]);
  // The same holds for agents.
  expect(
    (
      await publisher.post('/agents', {
        name: 'a',
        type: 'api',
        version: '1.0.0',
        visibility: 'private',
        tags,
      })
    ).body.tags,
  ).toEqual(tags);
});

test('the search for secrets takes linear time', async () => {
  const agent = await publishedAgent(publisher, {
    description: ['eyJ', 'sk-', '://a:', 'bearer ', '-----BEGIN PRIVATE', '?key=', 'ghp_']
      .map((part) => part.repeat(200_000 / part.length))
      .join('\n'),
  });
  const spentMs = threadClock();
  const reply = await publisher.post('/marketplace/items', {
    kind: 'agent',
    ref_id: agent.id,
    version: '1.0.0',
  });
  expect([201, 422]).toContain(reply.status);
  expect(spentMs()).toBeLessThan(30_000);
});
