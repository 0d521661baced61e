import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { resolveSecret } from '../../../domain/secrets/service.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { approvedItem, createdWorkflow, installed, publishedAgent, submitted } from '../../support/marketplace.ts';

let t: TestApp;
let ada: TestUser;
let bob: TestUser;
let publisher: Client;
let user: Client;
let admin: Client;

beforeAll(async () => {
  t = await startTestApp();
  ada = await t.createUser({ username: 'ada' });
  bob = await t.createUser({ username: 'bob' });
  publisher = await t.as(ada);
  user = await t.as(bob);
  admin = await t.as('admin');
});
afterAll(() => t.close());

const path = (id: string, rest = '') => `/marketplace/items/${id}${rest}`;
const isBuilt = (agent: string, more: Record<string, unknown> = {}) => ({ do: [{ ask: { call: 'agent', with: { agent, ...more } } }] });

test('two users install an agent; each binds secrets of their own, and only by name', async () => {
  const agent = await publishedAgent(publisher, {
    name: 'caller', documentation: '# Hi', modalities: ['text'], skills: [{ name: 's', tags: ['x'] }], input_schema: { type: 'object' },
    configuration: { endpoint: 'https://a.example', headers: { Authorization: 'Bearer <API_KEY>' }, query: { user: '<USER>', both: '<USER>:<API_KEY>' } },
    authentication_type: 'api_key', authentication_config: { api_key: '<API_KEY>' },
  });
  const item = await approvedItem(publisher, admin, agent);
  expect(item.requires).toEqual({ secrets: ['API_KEY', 'USER'], agents: [] });
  await user.put('/secrets/API_KEY', { value: 'an equal name is not asked' });
  await user.put('/secrets/MINE', { value: 'my own value' });

  const reply = await user.post(path(item.id, '/install'), { secrets: { API_KEY: 'MINE' } });
  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`${t.url}/agents/${reply.body.ref_id}`);
  expect(reply.body).toEqual({
    id: expect.any(String), item_id: item.id, kind: 'agent', ref_id: expect.any(String), name: 'caller', version: '1.0.0', digest: item.digest, installed_at: expect.any(String),
    missing: { secrets: ['USER'], agents: [], workflows: [] }, agents: [],
  });
  const copy = (await user.get(`/agents/${reply.body.ref_id}`)).body;
  expect(copy).toMatchObject({
    name: 'caller', owner_id: bob.id, visibility: 'private', status: 'active', documentation: '# Hi', modalities: ['text'], skills: [{ name: 's', tags: ['x'] }], input_schema: { type: 'object' },
    configuration: { endpoint: 'https://a.example', headers: { Authorization: 'Bearer <MINE>' }, query: { user: '<UNBOUND:USER>', both: '<UNBOUND:USER>:<MINE>' } },
    authentication_config: { api_key: '<MINE>' }, versions: [{ version: '1.0.0', status: 'published' }],
    provenance: { item_id: item.id, version: '1.0.0', digest: item.digest, publisher: { id: ada.id, username: 'ada' }, installed_at: expect.any(String) },
  });
  expect(copy.versions[0].changelog).toContain(item.digest);
  expect((await publisher.get(`/agents/${copy.id}`)).status).toBe(404);

  // A second copy does not make the name of the first one ambiguous.
  const second = await installed(user, item);
  expect(second).toMatchObject({ name: 'caller (2)', missing: { secrets: ['API_KEY', 'USER'] } });
  expect((await user.get(`/agents/${second.ref_id}`)).body.configuration.headers.Authorization).toBe('Bearer <UNBOUND:API_KEY>');
  expect((await publisher.get(path(item.id))).body.installs).toBe(2);

  // The owner binds later, in a new draft.
  const later = await user.patch(`/agents/${copy.id}`, { version: '1.0.1', configuration: { query: { user: '<MINE>', both: null } } });
  expect(later.body.configuration.query).toEqual({ user: '<MINE>' });
  const secrets = (await user.get('/secrets')).body.map(({ name }: { name: string }) => name);
  expect(secrets).toEqual(['API_KEY', 'MINE']);
});

test('what cannot be bound', async () => {
  const item = await approvedItem(publisher, admin, await publishedAgent(publisher, { configuration: { api_key: '<API_KEY>' } }));
  await user.put('/secrets/lower-case', { value: 'x' });
  await publisher.put('/secrets/HERS', { value: 'x' });
  const cases: [unknown, string][] = [
    [{ secrets: { OTHER: 'MINE' } }, '/secrets/OTHER'], [{ secrets: { API_KEY: 'NOT_THERE' } }, '/secrets/API_KEY'], [{ secrets: { API_KEY: 'HERS' } }, '/secrets/API_KEY'],
    [{ secrets: { API_KEY: 'lower-case' } }, '/secrets/API_KEY'], [{ secrets: { API_KEY: 5 } }, '/secrets/API_KEY'], [{ secrets: [] }, '/secrets'], [{ secret: {} }, '/secret'],
  ];
  for (const [body, pointer] of cases) {
    const reply = await user.post(path(item.id, '/install'), body);
    expect([body, reply.status, reply.body.errors?.[0].pointer]).toEqual([body, 422, pointer]);
  }
  expect((await user.get(path(item.id))).body.installs).toBe(0);
  await publisher.delete(path(item.id));
  expect((await user.post(path(item.id, '/install'), { secret: {} })).status).toBe(404);
  expect((await admin.post(path(item.id, '/install'), { secret: {} })).status).toBe(409);
});

test('publishers try their own item before it is approved; an install is made once for an Idempotency-Key', async () => {
  const item = await submitted(publisher, await publishedAgent(publisher, { name: 'tried' }));
  expect((await installed(publisher, item)).name).toBe('tried (2)');
  await admin.post(path(item.id, '/approve'));
  const headers = { 'idempotency-key': 'once' };
  const replies = [await user.post(path(item.id, '/install'), {}, { headers }), await user.post(path(item.id, '/install'), {}, { headers })];
  expect(replies[1]!.body).toEqual(replies[0]!.body);
  expect((await user.get(path(item.id))).body.installs).toBe(2);
});

test('twenty installations at once count as twenty', async () => {
  const item = await approvedItem(publisher, admin);
  const clients = await Promise.all(Array.from({ length: 10 }, async () => t.as(await t.createUser())));
  const replies = await Promise.all([...clients, ...clients].map((client) => client.post(path(item.id, '/install'))));
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
  expect((await user.get(path(item.id))).body.installs).toBe(20);
  const names = (await clients[0]!.get('/agents')).body.filter(({ provenance }: { provenance: unknown }) => provenance !== null).map(({ name }: { name: string }) => name);
  expect(names.toSorted()).toEqual(['summariser', 'summariser (2)']);
});

test('a workflow reads the bound secret, never one of an equal name', async () => {
  const definition = {
    use: { secrets: ['TOKEN', 'LOGIN', 'SPARE'], authentications: { basic: { basic: { use: 'LOGIN' } } } },
    do: [
      { a: { call: 'http', with: { method: 'post', endpoint: { uri: 'https://a.example', authentication: { use: 'basic' } }, headers: { 'X-Key': '${ "k " + $secrets.TOKEN }' }, body: { use: '${ $secrets["TOKEN"] }' } } } },
      { b: { call: 'http', with: { method: 'get', endpoint: { uri: 'https://a.example', authentication: { bearer: { token: '${ $secrets.TOKEN }' } } } } } },
    ],
  };
  const workflow = await createdWorkflow(publisher, definition);
  expect(workflow.problems).toEqual([]);
  const item = await approvedItem(publisher, admin, workflow);
  expect(item.requires.secrets).toEqual(['LOGIN', 'SPARE', 'TOKEN']);
  await user.put('/secrets/my.token', { value: 'x' });
  await user.put('/secrets/LOGIN', { value: 'never by an equal name' });
  const done = await installed(user, item, { TOKEN: 'my.token', SPARE: 'my.token' });
  expect(done.missing.secrets).toEqual(['LOGIN']);
  const copy = (await user.get(`/workflows/${done.ref_id}`)).body;
  expect(copy).toMatchObject({ valid: true, runnable: true, visibility: 'private', owner_id: bob.id, provenance: { item_id: item.id, digest: item.digest } });
  const [{ a }, { b }] = copy.definition.do;
  expect(copy.definition.use).toEqual({ secrets: ['my.token', 'UNBOUND:LOGIN'], authentications: { basic: { basic: { use: 'UNBOUND:LOGIN' } } } });
  expect(a.with).toMatchObject({ headers: { 'X-Key': '${ "k " + $secrets["my.token"] }' }, body: { use: '${ $secrets["my.token"] }' } });
  expect(b.with.endpoint.authentication).toEqual({ bearer: { token: '${ $secrets["my.token"] }' } });
  expect((await user.put(`/secrets/${encodeURIComponent('UNBOUND:LOGIN')}`, { value: 'x' })).status).not.toBe(201);
  // A copy asks for the names that were not bound when it is published again.
  expect((await submitted(user, copy)).requires.secrets).toEqual(['LOGIN', 'my.token']);
});

test('agents of a workflow: the own, public ones, copies, items, else missing', async () => {
  const agents: Record<string, { id: string }> = {};
  for (const [name, visibility] of [['open', 'public'], ['sold', 'private'], ['had', 'private'], ['hidden', 'private']] as const) {
    agents[name] = await publishedAgent(publisher, { name, visibility, configuration: { endpoint: 'https://a.example', api_key: '<KEY>' } });
  }
  await approvedItem(publisher, admin, agents['sold']);
  const had = await installed(user, await approvedItem(publisher, admin, agents['had']));
  await submitted(publisher, agents['hidden'] as { id: string; version: string });
  // The same names: none of these may take the place of the publisher's.
  for (const name of Object.keys(agents)) await publishedAgent(user, { name });
  await user.put('/secrets/MINE', { value: 'x' });

  const definition = { do: ['open', 'sold', 'had', 'hidden', 'sold'].map((agent, index) => ({ [`t${index}`]: { call: 'agent', with: { agent, version: '^1.0.0' } } })) };
  const item = await approvedItem(publisher, admin, await createdWorkflow(publisher, definition));
  expect(item.requires.agents).toEqual(['open', 'sold', 'had', 'hidden'].map((agent) => ({ agent, agent_id: agents[agent]!.id, version: '^1.0.0' })));
  const done = await installed(user, item, { 'sold/KEY': 'MINE' });
  expect(done.missing).toEqual({ secrets: [], agents: [{ agent: 'hidden', agent_id: agents['hidden']!.id, version: '^1.0.0' }], workflows: [] });
  expect(done.agents).toMatchObject([{ kind: 'agent', name: 'sold (2)', version: '1.0.0', missing: { secrets: [] } }]);
  const copy = (await user.get(`/workflows/${done.ref_id}`)).body;
  const used = copy.definition.do.map((task: Record<string, { with: { agent: string } }>) => Object.values(task)[0]!.with.agent);
  const sold = done.agents[0].ref_id;
  expect(used).toEqual([agents['open']!.id, sold, had.ref_id, agents['hidden']!.id, sold]);
  expect((await user.get(`/agents/${sold}`)).body.configuration.api_key).toBe('<MINE>');
  expect(copy).toMatchObject({ valid: false, problems: [{ code: 'unknown_agent', pointer: '/do/3/t3/with/agent' }] });

  // Once it is approved, it comes along, and what was installed is used again.
  const hidden = (await publisher.get('/marketplace/items?q=hidden')).body[0];
  await admin.post(path(hidden.id, '/approve'));
  const again = await installed(user, item);
  expect(again.missing).toEqual({ secrets: [], agents: [], workflows: [] });
  expect(again.agents).toMatchObject([{ name: 'hidden (2)', missing: { secrets: ['hidden/KEY'] } }]);
  expect((await user.get(`/workflows/${again.ref_id}`)).body.valid).toBe(true);
  expect((await publisher.get(path(hidden.id))).body.installs).toBe(1);
});

test('a version that an item has not, and a workflow that nobody brings, are missing', async () => {
  const agent = await publishedAgent(publisher, { name: 'old', version: '1.0.0' });
  await approvedItem(publisher, admin, agent);
  await publisher.patch(`/agents/${agent.id}`, { version: '2.0.0', configuration: { endpoint: 'https://two.example' } });
  const definition = { do: [{ a: { call: 'agent', with: { agent: 'old', version: '>=2' } } }, { b: { run: { workflow: { namespace: 'hers', name: 'inner', version: '1.0.0' } } } }] };
  const done = await installed(user, await approvedItem(publisher, admin, await createdWorkflow(publisher, definition)));
  expect(done).toMatchObject({ agents: [], missing: { agents: [{ agent: 'old', version: '>=2' }], workflows: ['hers/inner 1.0.0'] } });

  const inner = await createdWorkflow(publisher, { do: [{ x: { set: { a: 1 } } }] });
  const wrapper = await approvedItem(publisher, admin, await publishedAgent(publisher, { name: 'wrapper', type: 'workflow', configuration: { workflow_id: inner.id } }));
  expect((await installed(user, wrapper)).missing.workflows).toEqual([inner.id]);
  await publisher.patch(`/workflows/${inner.id}`, { visibility: 'public' });
  expect((await installed(user, wrapper)).missing.workflows).toEqual([]);
});

test('an item outlives its origin', async () => {
  const agent = await publishedAgent(publisher, { name: 'short-lived' });
  const item = await approvedItem(publisher, admin, agent);
  expect((await publisher.delete(`/agents/${agent.id}`)).status).toBe(204);
  expect((await installed(user, item)).name).toBe('short-lived');
});

test('reviews: by those who installed it, one each, the average counts', async () => {
  const item = await approvedItem(publisher, admin);
  const reviews = path(item.id, '/reviews');
  expect((await user.post(reviews, { rating: 9 })).body.code).toBe('not_installed');
  expect((await publisher.post(reviews, { rating: 5 })).body.code).toBe('own_item');
  const people = await Promise.all(['r1', 'r2', 'r3', 'r4', 'r5'].map(async (username) => t.as(await t.createUser({ username }))));
  await Promise.all(people.map((client) => installed(client, item)));
  for (const [body, pointer] of [[{}, '/rating'], [{ rating: 0 }, '/rating'], [{ rating: 6 }, '/rating'], [{ rating: 4.5 }, '/rating'], [{ rating: '4' }, '/rating'], [{ rating: 4, text: 5 }, '/text'], [{ rating: 4, text: 'x'.repeat(10_001) }, '/text'], [{ rating: 4, stars: 1 }, '/stars']] as const) {
    const reply = await people[0]!.post(reviews, body);
    expect([body, reply.status, reply.body.errors[0].pointer]).toEqual([body, 422, pointer]);
  }
  const made = await Promise.all(people.map((client, index) => client.post(reviews, { rating: index + 1, text: `text ${index}` })));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  expect(made[0]!.body).toEqual({ id: expect.any(String), item_id: item.id, user: { id: expect.any(String), username: 'r1' }, version: '1.0.0', rating: 1, text: 'text 0', created_at: expect.any(String), updated_at: expect.any(String) });
  expect((await user.get(path(item.id))).body.rating).toEqual({ average: 3, count: 5 });
  const changed = await Promise.all([1, 2, 3].map(() => people[0]!.post(reviews, { rating: 2 })));
  expect(changed.map(({ status, body }) => [status, body.rating, body.text])).toEqual(Array.from({ length: 3 }, () => [200, 2, null]));
  expect((await user.get(path(item.id))).body.rating).toEqual({ average: 3.2, count: 5 });
  const first = await user.get(`${reviews}?limit=3`);
  const second = await user.get(/<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '');
  const ids = [...first.body, ...second.body].map(({ id }: { id: string }) => id);
  expect([first.body.length, second.body.length, new Set(ids).size]).toEqual([3, 2, 5]);
  expect(ids).toEqual(ids.toSorted().toReversed());
  await admin.post(path(item.id, '/reject'), { reason: 'down' });
  expect((await people[0]!.post(reviews, { rating: 2 })).status).toBe(404);
});

test('what a leaver published goes over to the new owner', async () => {
  const [leaver, heir] = [await t.createUser(), await t.createUser()];
  const item = await approvedItem(await t.as(leaver), admin);
  expect((await admin.post(`/users/${leaver.id}/transfer`, { to: heir.id })).status).toBe(200);
  expect((await user.get(path(item.id))).body.publisher.id).toBe(heir.id);
  expect((await (await t.as(heir)).delete(path(item.id))).status).toBe(204);
  expect(await resolveSecret(t.orm.em.fork(), t.app.deps.encryption, heir.id, 'NONE')).toBeNull();
});

test('an expression may choose its agent: nothing is known of it before a run', async () => {
  const workflow = await createdWorkflow(publisher, isBuilt('${ .which }'));
  expect((await submitted(publisher, workflow)).requires.agents).toEqual([]);
});
