import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { resolveSecret } from '../../../domain/secrets/service.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import {
  approve,
  approvedItem,
  createdWorkflow,
  installed,
  installedAgain,
  publishedAgent,
  submitted,
} from '../../support/marketplace.ts';
import { agentTask, httpTask } from '../../support/definitions.ts';

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
const isBuilt = (agent: string, more: Record<string, unknown> = {}) => ({
  do: [{ ask: agentTask(agent, { ...more }) }],
});

test('two users install an agent, and each binds own secrets by name', async () => {
  const agent = await publishedAgent(publisher, {
    name: 'caller',
    documentation: '# Hi',
    modalities: ['text'],
    skills: [{ name: 's', tags: ['x'] }],
    input_schema: { type: 'object' },
    configuration: {
      endpoint: 'https://a.example',
      headers: { Authorization: 'Bearer <API_KEY>' },
      query: { user: '<USER>', both: '<USER>:<API_KEY>' },
    },
    authentication_type: 'api_key',
    authentication_config: { api_key: '<API_KEY>' },
  });
  const item = await approvedItem(publisher, admin, agent);
  expect(item.requires).toEqual({ secrets: ['API_KEY', 'USER'], agents: [] });
  await user.put('/secrets/API_KEY', { value: 'an equal name is not asked' });
  await user.put('/secrets/MINE', { value: 'my own value' });

  expect((await user.get(path(item.id, '/install'))).body).toMatchObject({
    copy: null,
    secrets: [
      { name: 'API_KEY', agent: null },
      { name: 'USER', agent: null },
    ],
    agents: [],
  });
  const reply = await user.post(path(item.id, '/install'), { secrets: { API_KEY: 'MINE' } });
  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`${t.url}/agents/${reply.body.ref_id}`);
  expect(reply.body).toEqual({
    id: expect.any(String),
    item_id: item.id,
    kind: 'agent',
    ref_id: expect.any(String),
    name: 'caller',
    version: '1.0.0',
    digest: item.digest,
    installed_at: expect.any(String),
    missing: { secrets: ['USER'], agents: [], workflows: [] },
    agents: [],
  });
  const copy = (await user.get(`/agents/${reply.body.ref_id}`)).body;
  expect(copy).toMatchObject({
    name: 'caller',
    owner_id: bob.id,
    visibility: 'private',
    status: 'active',
    documentation: '# Hi',
    modalities: ['text'],
    skills: [{ name: 's', tags: ['x'] }],
    input_schema: { type: 'object' },
    configuration: {
      endpoint: 'https://a.example',
      headers: { Authorization: 'Bearer <MINE>' },
      query: { user: '<UNBOUND:USER>', both: '<UNBOUND:USER>:<MINE>' },
    },
    authentication_config: { api_key: '<MINE>' },
    versions: [{ version: '1.0.0', status: 'published' }],
    provenance: {
      item_id: item.id,
      version: '1.0.0',
      digest: item.digest,
      publisher: { id: ada.id, username: 'ada' },
      installed_at: expect.any(String),
    },
  });
  expect(copy.versions[0].changelog).toContain(item.digest);
  expect((await publisher.get(`/agents/${copy.id}`)).status).toBe(404);

  // A second installation gives the existing copy with its bindings.
  expect((await user.get(path(item.id, '/install'))).body).toMatchObject({
    copy: { ref_id: copy.id, name: 'caller' },
    secrets: [],
  });
  expect(await installedAgain(user, item)).toEqual(reply.body);
  expect(await installedAgain(user, item, { API_KEY: 'MINE' })).toEqual(reply.body);
  expect((await publisher.get(path(item.id))).body.installs).toBe(1);
  const refused = await user.post(path(item.id, '/install'), { secrets: { USER: 'MINE' } });
  expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
    409,
    'already_installed',
    expect.stringContaining('new version'),
  ]);

  // The owner binds the secret later, in a new draft.
  const changed = await user.patch(`/agents/${copy.id}`, {
    version: '1.0.1',
    configuration: { query: { user: '<MINE>', both: null } },
  });
  expect(changed.body.configuration.query).toEqual({ user: '<MINE>' });
  const secrets = (await user.get('/secrets')).body.map(({ name }: { name: string }) => name);
  expect(secrets).toEqual(['API_KEY', 'MINE']);
});

test('binding refuses unknown secrets and placeholders', async () => {
  const item = await approvedItem(
    publisher,
    admin,
    await publishedAgent(publisher, { configuration: { api_key: '<API_KEY>' } }),
  );
  await user.put('/secrets/lower-case', { value: 'x' });
  await publisher.put('/secrets/HERS', { value: 'x' });
  const cases: [unknown, string][] = [
    [{ secrets: { OTHER: 'MINE' } }, '/secrets/OTHER'],
    [{ secrets: { API_KEY: 'NOT_THERE' } }, '/secrets/API_KEY'],
    [{ secrets: { API_KEY: 'HERS' } }, '/secrets/API_KEY'],
    [{ secrets: { API_KEY: 'lower-case' } }, '/secrets/API_KEY'],
    [{ secrets: { API_KEY: 5 } }, '/secrets/API_KEY'],
    [{ secrets: [] }, '/secrets'],
    [{ secret: {} }, '/secret'],
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

test('publishers can install their own submitted item, once for each Idempotency-Key', async () => {
  const item = await submitted(publisher, await publishedAgent(publisher, { name: 'tried' }));
  expect((await installed(publisher, item)).name).toBe('tried (2)');
  await approve(admin, item.id);
  const headers = { 'idempotency-key': 'once' };
  const replies = [
    await user.post(path(item.id, '/install'), {}, { headers }),
    await user.post(path(item.id, '/install'), {}, { headers }),
  ];
  expect(replies[1]!.body).toEqual(replies[0]!.body);
  expect((await user.get(path(item.id))).body.installs).toBe(2);
});

test('twenty concurrent installations by ten people create ten copies', async () => {
  const item = await approvedItem(publisher, admin);
  const clients = await Promise.all(Array.from({ length: 10 }, async () => t.as(await t.createUser())));
  const replies = await Promise.all(
    [...clients, ...clients].map((client) => client.post(path(item.id, '/install'))),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([
    ...Array.from({ length: 10 }, () => 200),
    ...Array.from({ length: 10 }, () => 201),
  ]);
  expect(new Set(replies.map(({ body }) => body.ref_id)).size).toBe(10);
  expect((await user.get(path(item.id))).body.installs).toBe(10);
  const names = (await clients[0]!.get('/agents')).body
    .filter(({ provenance }: { provenance: unknown }) => provenance !== null)
    .map(({ name }: { name: string }) => name);
  expect(names).toEqual(['summariser']);
});

test('an installed workflow reads the bound secret, never one of the same name', async () => {
  const definition = {
    use: { secrets: ['TOKEN', 'LOGIN', 'SPARE'], authentications: { basic: { basic: { use: 'LOGIN' } } } },
    do: [
      {
        a: httpTask(
          { uri: 'https://a.example', authentication: { use: 'basic' } },
          {
            method: 'post',
            headers: { 'X-Key': '${ "k " + $secrets.TOKEN }' },
            body: { use: '${ $secrets["TOKEN"] }' },
          },
        ),
      },
      {
        b: httpTask({
          uri: 'https://a.example',
          authentication: { bearer: { token: '${ $secrets.TOKEN }' } },
        }),
      },
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
  expect(copy).toMatchObject({
    valid: true,
    runnable: true,
    visibility: 'private',
    owner_id: bob.id,
    provenance: { item_id: item.id, digest: item.digest },
  });
  const [{ a }, { b }] = copy.definition.do;
  expect(copy.definition.use).toEqual({
    secrets: ['my.token', 'UNBOUND:LOGIN'],
    authentications: { basic: { basic: { use: 'UNBOUND:LOGIN' } } },
  });
  expect(a.with).toMatchObject({
    headers: { 'X-Key': '${ "k " + $secrets["my.token"] }' },
    body: { use: '${ $secrets["my.token"] }' },
  });
  expect(b.with.endpoint.authentication).toEqual({ bearer: { token: '${ $secrets["my.token"] }' } });
  expect((await user.put(`/secrets/${encodeURIComponent('UNBOUND:LOGIN')}`, { value: 'x' })).status).not.toBe(
    201,
  );
  // Published again, the copy asks for the names that are still unbound.
  expect((await submitted(user, copy)).requires.secrets).toEqual(['LOGIN', 'my.token']);
});

test('an installed workflow uses own, public and installed agents, and misses all others', async () => {
  const agents: Record<string, { id: string }> = {};
  for (const [name, visibility] of [
    ['open', 'public'],
    ['sold', 'private'],
    ['had', 'private'],
    ['hidden', 'private'],
  ] as const) {
    agents[name] = await publishedAgent(publisher, {
      name,
      visibility,
      configuration: { endpoint: 'https://a.example', api_key: '<KEY>' },
    });
  }
  await approvedItem(publisher, admin, agents['sold']);
  const had = await installed(user, await approvedItem(publisher, admin, agents['had']));
  await submitted(publisher, agents['hidden'] as { id: string; version: string });
  // None of these agents of the same name may take the place of the publisher's.
  for (const name of Object.keys(agents)) await publishedAgent(user, { name });
  await user.put('/secrets/MINE', { value: 'x' });

  const definition = {
    do: ['open', 'sold', 'had', 'hidden', 'sold'].map((agent, index) => ({
      [`t${index}`]: agentTask(agent, { version: '^1.0.0' }),
    })),
  };
  const item = await approvedItem(publisher, admin, await createdWorkflow(publisher, definition));
  expect(item.requires.agents).toEqual(
    ['open', 'sold', 'had', 'hidden'].map((agent) => ({
      agent,
      agent_id: agents[agent]!.id,
      version: '^1.0.0',
    })),
  );
  const plan = async () => (await user.get(path(item.id, '/install'))).body;
  const required = (agent: string) => ({ agent, agent_id: agents[agent]!.id, version: '^1.0.0' });
  const soldItem = (await user.get(`/marketplace/items?ref_id=${agents['sold']!.id}`)).body[0];
  expect(await plan()).toEqual({
    item_id: item.id,
    version: '1',
    digest: item.digest,
    copy: null,
    secrets: [{ name: 'sold/KEY', agent: 'sold' }],
    agents: [
      { ...required('open'), use: 'existing', uses_id: agents['open']!.id },
      { ...required('sold'), use: 'install', uses_id: soldItem.id },
      { ...required('had'), use: 'existing', uses_id: had.ref_id },
      { ...required('hidden'), use: 'missing', uses_id: null },
    ],
  });
  const done = await installed(user, item, { 'sold/KEY': 'MINE' });
  expect(await plan()).toMatchObject({
    copy: { ref_id: done.ref_id, name: done.name },
    secrets: [],
    agents: [{ agent: 'hidden', use: 'missing' }],
  });
  expect(done.missing).toEqual({
    secrets: [],
    agents: [{ agent: 'hidden', agent_id: agents['hidden']!.id, version: '^1.0.0' }],
    workflows: [],
  });
  expect(done.agents).toMatchObject([
    { kind: 'agent', name: 'sold (2)', version: '1.0.0', missing: { secrets: [] } },
  ]);
  const copy = (await user.get(`/workflows/${done.ref_id}`)).body;
  const used = copy.definition.do.map(
    (task: Record<string, { with: { agent: string } }>) => Object.values(task)[0]!.with.agent,
  );
  const sold = done.agents[0].ref_id;
  expect(used).toEqual([agents['open']!.id, sold, had.ref_id, agents['hidden']!.id, sold]);
  expect((await user.get(`/agents/${sold}`)).body.configuration.api_key).toBe('<MINE>');
  expect(copy).toMatchObject({
    valid: false,
    problems: [{ code: 'unknown_agent', pointer: '/do/3/t3/with/agent' }],
  });

  // Nothing has changed, so the existing copy is returned unchanged.
  expect(await installedAgain(user, item, { 'sold/KEY': 'MINE' })).toMatchObject({
    ref_id: done.ref_id,
    agents: [],
    missing: done.missing,
  });
  expect((await user.get(`/workflows/${done.ref_id}`)).body.revision).toBe(1);

  // Once the agent is approved, it is installed with the same copy.
  const hidden = (await publisher.get('/marketplace/items?q=hidden')).body[0];
  await approve(admin, hidden.id);
  expect(await plan()).toMatchObject({
    secrets: [{ name: 'hidden/KEY', agent: 'hidden' }],
    agents: [{ agent: 'hidden', use: 'install', uses_id: hidden.id }],
  });
  const again = await installedAgain(user, item);
  expect(again).toMatchObject({
    id: done.id,
    ref_id: done.ref_id,
    missing: { secrets: [], agents: [], workflows: [] },
  });
  expect(again.agents).toMatchObject([{ name: 'hidden (2)', missing: { secrets: ['hidden/KEY'] } }]);
  const whole = (await user.get(`/workflows/${done.ref_id}`)).body;
  expect(whole).toMatchObject({ valid: true, revision: 2, problems: [] });
  expect(whole.definition.do[3].t3.with.agent).toBe(again.agents[0].ref_id);
  expect((await publisher.get(path(hidden.id))).body.installs).toBe(1);

  // A missing secret of one of the copy's agents is still reported.
  const refused = await user.post(path(item.id, '/install'), { secrets: { 'hidden/KEY': 'MINE' } });
  expect([refused.status, refused.body.code, refused.body.ref_id, refused.body.detail]).toEqual([
    409,
    'already_installed',
    again.agents[0].ref_id,
    expect.stringContaining('a copy of hidden (2) already'),
  ]);
});

test('an unknown version and a workflow that nobody can read are reported as missing', async () => {
  const agent = await publishedAgent(publisher, { name: 'old', version: '1.0.0' });
  await approvedItem(publisher, admin, agent);
  await publisher.patch(`/agents/${agent.id}`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://two.example' },
  });
  const definition = {
    do: [
      { a: agentTask('old', { version: '>=2' }) },
      { b: { run: { workflow: { namespace: 'hers', name: 'inner', version: '1.0.0' } } } },
    ],
  };
  const done = await installed(
    user,
    await approvedItem(publisher, admin, await createdWorkflow(publisher, definition)),
  );
  expect(done).toMatchObject({
    agents: [],
    missing: { agents: [{ agent: 'old', version: '>=2' }], workflows: ['hers/inner 1.0.0'] },
  });

  const inner = await createdWorkflow(publisher, { do: [{ x: { set: { a: 1 } } }] });
  const wrapper = await approvedItem(
    publisher,
    admin,
    await publishedAgent(publisher, {
      name: 'wrapper',
      type: 'workflow',
      configuration: { workflow_id: inner.id },
    }),
  );
  expect((await installed(user, wrapper)).missing.workflows).toEqual([inner.id]);
  await publisher.patch(`/workflows/${inner.id}`, { visibility: 'public' });
  expect((await installedAgain(user, wrapper)).missing.workflows).toEqual([]);
});

describe('an installed workflow that lacks an agent becomes runnable', () => {
  async function lacking(name: string) {
    const agent = await publishedAgent(publisher, { name });
    const item = await approvedItem(
      publisher,
      admin,
      await createdWorkflow(publisher, isBuilt(name, { version: '^1.0.0' })),
    );
    const copy = await installed(user, item);
    expect((await user.get(`/workflows/${copy.ref_id}`)).body).toMatchObject({ valid: false, revision: 1 });
    return { agent, copy: `/workflows/${copy.ref_id}` };
  }

  test('when the agent becomes public', async () => {
    const { agent, copy } = await lacking('opened later');
    await publisher.patch(`/agents/${agent.id}`, { visibility: 'public' });
    expect((await user.get(copy)).body).toMatchObject({
      valid: true,
      runnable: true,
      problems: [],
      revision: 2,
    });
    expect((await user.get(copy)).body.revision).toBe(2);
  });

  test("when its owner installs the agent's item, also at the start of a run", async () => {
    const { agent, copy } = await lacking('sold later');
    const ownCopy = await installed(user, await approvedItem(publisher, admin, agent));
    expect((await user.post(`${copy}/run`, {})).status).toBe(201);
    const healed = (await user.get(copy)).body;
    expect(healed).toMatchObject({
      valid: true,
      revision: 2,
      definition: { do: [{ ask: { with: { agent: ownCopy.ref_id } } }] },
    });
  });

  test('but not by an agent of the same name, nor by one that its owner may not use', async () => {
    const { copy } = await lacking('never there');
    await publishedAgent(user, { name: 'never there' });
    // An admin who reads the copy gives it no rights.
    expect((await admin.get(copy)).body).toMatchObject({ valid: false, revision: 1 });
    expect((await user.post(`${copy}/run`, {})).body.code).toBe('workflow_invalid');
  });
});

test('include_agents submits each agent that nobody else could use, once', async () => {
  const [first, second] = [
    await publishedAgent(publisher, { name: 'inc one' }),
    await publishedAgent(publisher, { name: 'inc two' }),
  ];
  await publishedAgent(publisher, { name: 'inc open', visibility: 'public' });
  const definition = {
    do: ['inc one', 'inc two', 'inc open'].map((agent, index) => ({
      [`t${index}`]: { call: 'agent', with: { agent } },
    })),
  };
  const { id: ref_id } = await createdWorkflow(publisher, definition);
  const before = await approvedItem(publisher, admin, first);
  // Without its agents at first.
  const alone = { kind: 'workflow', ref_id, version: 1 };
  const { id } = (await publisher.post('/marketplace/items', alone)).body;
  await approve(admin, id);
  expect((await publisher.post('/marketplace/items', alone)).status).toBe(409);
  const reply = await publisher.post('/marketplace/items', { ...alone, include_agents: true });
  expect(reply.body).toMatchObject({ id, status: 'approved' });
  expect([
    reply.status,
    reply.body.included.toSorted((a: any, b: any) => (a.agent < b.agent ? -1 : 1)),
  ]).toEqual([
    201,
    [
      { agent: 'inc one', item_id: before.id, version: '1.0.0', status: 'approved' },
      { agent: 'inc two', item_id: expect.any(String), version: '1.0.0', status: 'submitted' },
    ],
  ]);
  const item = reply.body.included.find(({ agent }: { agent: string }) => agent === 'inc two');
  await approve(admin, item.item_id);
  expect((await installed(user, reply.body)).missing).toEqual({ secrets: [], agents: [], workflows: [] });
  expect((await publisher.get(path(item.item_id))).body.ref_id).toBe(second.id);
});

test('include_agents submits nothing if an agent has no published version', async () => {
  await publisher.post('/agents', agentBody({ name: 'only a draft' }));
  const { id: ref_id } = await createdWorkflow(publisher, isBuilt('only a draft'));
  const reply = await publisher.post('/marketplace/items', {
    kind: 'workflow',
    ref_id,
    version: 1,
    include_agents: true,
  });
  expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
    409,
    'version_not_published',
    expect.stringContaining('only a draft'),
  ]);
  expect((await publisher.get(`/marketplace/items?kind=workflow&q=${ref_id}`)).body).toEqual([]);
  expect(
    (await publisher.post('/marketplace/items', { kind: 'workflow', ref_id, version: 1 })).body,
  ).not.toHaveProperty('included');
});

test('a diagram names the agents that its reader may see', async () => {
  const agent = await publishedAgent(publisher, { name: 'drawn by name' });
  const { id } = await createdWorkflow(publisher, isBuilt(agent.id), { visibility: 'public' });
  const headers = { accept: 'image/svg+xml' };
  expect((await publisher.get(`/workflows/${id}/diagram`)).body).toContain('agent drawn by name');
  expect((await publisher.get(`/workflows/${id}/diagram`, { headers })).body).toContain(
    'agent drawn by name',
  );
  expect((await user.get(`/workflows/${id}/diagram`, { headers })).body).toContain(`agent ${agent.id}`);
});

test('an item outlives its original', async () => {
  const agent = await publishedAgent(publisher, { name: 'short-lived' });
  const item = await approvedItem(publisher, admin, agent);
  expect((await publisher.delete(`/agents/${agent.id}`)).status).toBe(204);
  expect((await installed(user, item)).name).toBe('short-lived');
});

test('each user who installed an item can review it once, and the average is shown', async () => {
  const item = await approvedItem(publisher, admin);
  const reviews = path(item.id, '/reviews');
  expect((await user.post(reviews, { rating: 9 })).body.code).toBe('not_installed');
  expect((await publisher.post(reviews, { rating: 5 })).body.code).toBe('own_item');
  const people = await Promise.all(
    ['r1', 'r2', 'r3', 'r4', 'r5'].map(async (username) => t.as(await t.createUser({ username }))),
  );
  await Promise.all(people.map((client) => installed(client, item)));
  for (const [body, pointer] of [
    [{}, '/rating'],
    [{ rating: 0 }, '/rating'],
    [{ rating: 6 }, '/rating'],
    [{ rating: 4.5 }, '/rating'],
    [{ rating: '4' }, '/rating'],
    [{ rating: 4, text: 5 }, '/text'],
    [{ rating: 4, text: 'x'.repeat(10_001) }, '/text'],
    [{ rating: 4, stars: 1 }, '/stars'],
  ] as const) {
    const reply = await people[0]!.post(reviews, body);
    expect([body, reply.status, reply.body.errors[0].pointer]).toEqual([body, 422, pointer]);
  }
  const installations = await Promise.all(
    people.map((client, index) => client.post(reviews, { rating: index + 1, text: `text ${index}` })),
  );
  expect(installations.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  expect(installations[0]!.body).toEqual({
    id: expect.any(String),
    item_id: item.id,
    user: { id: expect.any(String), username: 'r1' },
    version: '1.0.0',
    rating: 1,
    text: 'text 0',
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await user.get(path(item.id))).body.rating).toEqual({ average: 3, count: 5 });
  const changed = await Promise.all([1, 2, 3].map(() => people[0]!.post(reviews, { rating: 2 })));
  expect(changed.map(({ status, body }) => [status, body.rating, body.text])).toEqual(
    Array.from({ length: 3 }, () => [200, 2, null]),
  );
  expect((await user.get(path(item.id))).body.rating).toEqual({ average: 3.2, count: 5 });
  const first = await user.get(`${reviews}?limit=3`);
  const second = await user.get(/<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '');
  const ids = [...first.body, ...second.body].map(({ id }: { id: string }) => id);
  expect([first.body.length, second.body.length, new Set(ids).size]).toEqual([3, 2, 5]);
  expect(ids).toEqual(ids.toSorted().toReversed());
  await admin.post(path(item.id, '/reject'), { reason: 'down' });
  expect((await people[0]!.post(reviews, { rating: 2 })).status).toBe(404);
});

test('items of a user who leaves pass to the new owner', async () => {
  const [leaver, heir] = [await t.createUser(), await t.createUser()];
  const item = await approvedItem(await t.as(leaver), admin);
  expect((await admin.post(`/users/${leaver.id}/transfer`, { to: heir.id })).status).toBe(200);
  expect((await user.get(path(item.id))).body.publisher.id).toBe(heir.id);
  expect((await (await t.as(heir)).delete(path(item.id))).status).toBe(204);
  expect(await resolveSecret(t.orm.em.fork(), t.app.deps.encryption, heir.id, 'NONE')).toBeNull();
});

test('an agent chosen by an expression is unknown before a run', async () => {
  const workflow = await createdWorkflow(publisher, isBuilt('${ .which }'));
  expect((await submitted(publisher, workflow)).requires.agents).toEqual([]);
});
