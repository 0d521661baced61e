import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import {
  approve,
  approvedItem,
  createdWorkflow,
  everyPage,
  installed,
  publishedAgent,
  submitted,
} from '../../support/marketplace.ts';

let t: TestApp;
let ada: TestUser;
let publisher: Client;
let stranger: Client;
let viewer: Client;
let admin: Client;

beforeAll(async () => {
  t = await startTestApp();
  ada = await t.createUser({ username: 'ada' });
  publisher = await t.as(ada);
  stranger = await t.as(await t.createUser({ username: 'bob' }));
  viewer = await t.as('viewer');
  admin = await t.as('admin');
});
afterAll(() => t.close());

const path = (id: string, rest = '') => `/marketplace/items/${id}${rest}`;
const definition = { do: [{ greet: { set: { hello: 'world' } } }] };
const names = (list: { name: string }[]) => list.map(({ name }) => name);

test('the marketplace answers 401 without a token, 403 by role and 404 for unknown items', async () => {
  const id = uuidv7();
  const calls: [string, string, Client | null][] = [
    ['GET', '/marketplace/items', null],
    ['POST', '/marketplace/items', viewer],
    ['GET', path(id), null],
    ['DELETE', path(id), viewer],
    ['GET', path(id, '/versions/1.0.0'), null],
    ['GET', path(id, '/install'), viewer],
    ['POST', path(id, '/install'), viewer],
    ['GET', path(id, '/reviews'), null],
    ['POST', path(id, '/reviews'), null],
    ['POST', path(id, '/approve'), stranger],
    ['POST', path(id, '/reject'), stranger],
  ];
  for (const [method, where, tooLow] of calls) {
    expect([method, where, (await t.anonymous.request(method, where)).status]).toEqual([method, where, 401]);
    if (tooLow)
      expect([
        method,
        where,
        (await tooLow.request(method, where, method === 'POST' ? { body: { wrong: 1 } } : {})).status,
      ]).toEqual([method, where, 403]);
    if (where !== '/marketplace/items')
      expect([
        method,
        where,
        (await admin.request(method, where, method === 'POST' ? { body: { wrong: 1 } } : {})).status,
      ]).toEqual([method, where, 404]);
  }
});

test('a published agent version becomes an item with every field of the record', async () => {
  const agent = await publishedAgent(publisher, {
    name: 'summer',
    description: 'Sums.',
    license: 'MIT',
    tags: ['sum'],
    configuration: { endpoint: 'https://a.example', headers: { 'X-Key': '<SUM_KEY>' } },
  });
  const reply = await publisher.post('/marketplace/items', {
    kind: 'agent',
    ref_id: agent.id,
    version: '1.0.0',
    summary: 'Short',
    categories: ['text'],
  });
  expect(reply.status).toBe(201);
  const item = reply.body;
  expect(reply.headers.get('location')).toBe(`${t.url}/marketplace/items/${item.id}`);
  expect(item).toEqual({
    id: expect.any(String),
    kind: 'agent',
    ref_id: agent.id,
    name: 'summer',
    summary: 'Short',
    description: 'Sums.',
    publisher: { id: ada.id, username: 'ada' },
    version: '1.0.0',
    versions: [
      {
        version: '1.0.0',
        digest: item.digest,
        status: 'submitted',
        reason: null,
        submitted_at: expect.any(String),
        reviewed_at: null,
      },
    ],
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    license: 'MIT',
    categories: ['text'],
    tags: ['sum'],
    requires: { secrets: ['SUM_KEY'], agents: [] },
    rating: { average: null, count: 0 },
    installs: 0,
    status: 'submitted',
    can: ['install', 'withdraw'],
    created_at: expect.any(String),
    published_at: null,
    updated_at: expect.any(String),
  });
  expect((await publisher.get(`/api/v1${path(item.id)}`)).body).toEqual(item);
  expect((await publisher.get(path(item.id, '/versions/1.0.0'))).body.content).toMatchObject({
    kind: 'agent',
    name: 'summer',
    configuration: agent.configuration,
  });
  expect(
    (await publisher.post('/marketplace/items', { kind: 'agent', ref_id: agent.id, version: '1.0.0' })).body,
  ).toMatchObject({ code: 'version_exists', item_id: item.id, status: 409 });
});

test('a valid workflow revision becomes an item, whose texts can be set', async () => {
  const workflow = await createdWorkflow(publisher, definition, { description: 'Greets', tags: ['hi'] });
  const item = await submitted(publisher, workflow, { name: 'Greeter', tags: null, license: 'Apache-2.0' });
  expect(item).toMatchObject({
    kind: 'workflow',
    name: 'Greeter',
    description: 'Greets',
    version: '1',
    tags: [],
    license: 'Apache-2.0',
    requires: { secrets: [], agents: [] },
  });
});

test('drafts, foreign records and invalid workflows cannot be published', async () => {
  const draft = (
    await publisher.post('/agents', { name: 'd', type: 'api', version: '1.0.0', visibility: 'public' })
  ).body;
  const broken = await createdWorkflow(publisher, { do: [{ a: { sett: {} } }] });
  const other = await publishedAgent(stranger, { visibility: 'public' });
  const hidden = await publishedAgent(stranger);
  const cases: [Record<string, unknown>, number, string][] = [
    [{ kind: 'agent', ref_id: draft.id, version: '1.0.0' }, 409, 'version_not_published'],
    [{ kind: 'agent', ref_id: draft.id, version: '2.0.0' }, 422, '/version'],
    [{ kind: 'workflow', ref_id: broken.id, version: 1 }, 422, 'workflow_invalid'],
    [{ kind: 'workflow', ref_id: broken.id, version: '2' }, 422, '/version'],
    [{ kind: 'workflow', ref_id: broken.id, version: 'x' }, 422, '/version'],
    [{ kind: 'workflow', ref_id: draft.id, version: 1 }, 422, '/ref_id'],
    [{ kind: 'agent', ref_id: uuidv7(), version: '1.0.0' }, 422, '/ref_id'],
    [{ kind: 'agent', ref_id: hidden.id, version: '1.0.0' }, 422, '/ref_id'],
    [{ kind: 'agent', ref_id: other.id, version: '1.0.0' }, 403, 'forbidden'],
    [{ kind: 'tool', ref_id: draft.id, version: '1.0.0' }, 422, '/kind'],
    [{ kind: 'agent', ref_id: 'x', version: '1.0.0' }, 422, '/ref_id'],
    [{ kind: 'agent', ref_id: draft.id, version: '1.0.0', summary: 'x'.repeat(501) }, 422, '/summary'],
    [{ kind: 'agent', ref_id: draft.id, version: '1.0.0', categories: [1] }, 422, '/categories/0'],
    [{ kind: 'agent', ref_id: draft.id, version: '1.0.0', colour: 'red' }, 422, '/colour'],
    [{}, 422, '/kind'],
  ];
  for (const [body, status, sign] of cases) {
    const reply = await publisher.post('/marketplace/items', body);
    expect([
      body,
      reply.status,
      [reply.body.code, ...(reply.body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)],
    ]).toEqual([body, status, expect.arrayContaining([sign])]);
  }
  expect(
    (await admin.post('/marketplace/items', { kind: 'agent', ref_id: hidden.id, version: '1.0.0' })).status,
  ).toBe(403);
});

test('the status of an item decides who sees it', async () => {
  const item = await submitted(publisher, await publishedAgent(publisher));
  const seen = async () => {
    const rows = await Promise.all(
      [publisher, admin, stranger, viewer].map(async (client) => [
        (await client.get(path(item.id))).status,
        (await client.get(path(item.id, '/reviews'))).status,
        (await client.get(path(item.id, '/versions/1.0.0'))).status,
        (await everyPage(client, '/marketplace/items?limit=200')).some(({ id }) => id === item.id),
      ]),
    );
    return rows.map((row) => row.join(' '));
  };
  const [yes, no] = ['200 200 200 true', '404 404 404 false'];
  expect(await seen()).toEqual([yes, yes, no, no]);
  expect((await stranger.post(path(item.id, '/install'))).status).toBe(404);
  expect((await stranger.delete(path(item.id))).status).toBe(404);
  expect((await admin.post(path(item.id, '/install'))).body.code).toBe('not_approved');
  expect((await stranger.get(path(item.id, '/install'))).status).toBe(404);
  expect((await admin.get(path(item.id, '/install'))).body.code).toBe('not_approved');

  expect((await admin.post(path(item.id, '/reject'), {})).body.errors[0].pointer).toBe('/reason');
  const rejected = await admin.post(path(item.id, '/reject'), { reason: 'No documentation' });
  expect(rejected.body).toMatchObject({
    status: 'rejected',
    versions: [{ status: 'rejected', reason: 'No documentation' }],
  });
  expect(await seen()).toEqual([yes, yes, no, no]);
  expect((await admin.post(path(item.id, '/reject'), { reason: 'again' })).body.code).toBe(
    'nothing_submitted',
  );

  const again = await publisher.post('/marketplace/items', {
    kind: 'agent',
    ref_id: item.ref_id,
    version: '1.0.0',
    description: 'Documented',
  });
  expect(again.body).toMatchObject({
    id: item.id,
    status: 'submitted',
    description: 'Documented',
    versions: [{ reason: null }],
  });
  const approved = await approve(admin, item.id);
  expect(approved.body).toMatchObject({ status: 'approved', published_at: expect.any(String) });
  expect(await seen()).toEqual([yes, yes, yes, yes]);
  expect((await approve(admin, item.id)).body.code).toBe('nothing_submitted');
  expect((await approve(admin, item.id, { version: '9.0.0' })).body.errors[0].pointer).toBe('/version');
  expect((await stranger.delete(path(item.id))).status).toBe(403);

  expect((await publisher.delete(path(item.id))).status).toBe(204);
  expect((await publisher.delete(path(item.id))).status).toBe(204);
  expect((await publisher.get(path(item.id))).body.status).toBe('withdrawn');
  expect(await seen()).toEqual([yes, yes, no, no]);
  expect((await approve(admin, item.id)).body.code).toBe('item_withdrawn');
  expect((await submitted(publisher, { id: item.ref_id, version: '1.0.0' })).status).toBe('submitted');
  await approve(admin, item.id);
  expect((await admin.delete(path(item.id))).status).toBe(204);
});

test('a new version waits beside the approved one, which stays visible', async () => {
  const agent = await publishedAgent(publisher, { name: 'two' });
  const item = await approvedItem(publisher, admin, agent);
  await publisher.patch(`/agents/${agent.id}`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://two.example' },
  });
  await publisher.post(`/agents/${agent.id}/versions/2.0.0/publish`);
  const both = await submitted(publisher, { id: agent.id, version: '2.0.0' }, { name: 'two!' });
  expect(both).toMatchObject({
    id: item.id,
    status: 'approved',
    version: '1.0.0',
    name: 'two',
    versions: [
      { version: '2.0.0', status: 'submitted' },
      { version: '1.0.0', status: 'approved' },
    ],
  });
  expect(
    (await stranger.get(path(item.id))).body.versions.map(({ version }: { version: string }) => version),
  ).toEqual(['1.0.0']);
  expect((await stranger.get(path(item.id, '/versions/2.0.0'))).status).toBe(404);
  expect((await installed(stranger, item)).version).toBe('1.0.0');
  const approved = (await approve(admin, item.id, { version: '2.0.0', reason: 'fine' })).body;
  expect(approved).toMatchObject({
    version: '2.0.0',
    name: 'two!',
    digest: both.versions[0].digest,
    published_at: item.published_at,
  });
  expect(approved.digest).not.toBe(item.digest);
  expect((await installed(stranger, item)).version).toBe('2.0.0');
  // The shown version is withdrawn, so the one before it is shown again.
  expect((await admin.post(path(item.id, '/reject'), { reason: 'bad' })).body).toMatchObject({
    status: 'approved',
    version: '1.0.0',
    name: 'two',
  });
  expect((await admin.post(path(item.id, '/reject'), { reason: 'bad too' })).body).toMatchObject({
    status: 'rejected',
  });
});

const withSecondVersion = async (name: string) => {
  const agent = await publishedAgent(publisher, { name });
  const item = await approvedItem(publisher, admin, agent);
  const configuration = { endpoint: 'https://two.example' };
  await publisher.patch(`/agents/${agent.id}`, { version: '2.0.0', configuration });
  await publisher.post(`/agents/${agent.id}/versions/2.0.0/publish`);
  return { agent, item };
};
const statuses = ({ versions }: { versions: { version: string; status: string }[] }) =>
  Object.fromEntries(versions.map(({ version, status }) => [version, status]));

test('what an admin has withdrawn is reviewed again before anybody sees it', async () => {
  const { agent, item } = await withSecondVersion('taken down');
  expect((await admin.delete(path(item.id))).status).toBe(204);
  const both = await submitted(publisher, { id: agent.id, version: '2.0.0' });
  expect(both).toMatchObject({ status: 'submitted', version: '2.0.0' });
  expect(statuses(both)).toEqual({ '1.0.0': 'rejected', '2.0.0': 'submitted' });
  expect(both.versions[1].reason).toBe('An administrator has withdrawn the item.');
  expect((await stranger.get(path(item.id))).status).toBe(404);
  expect((await stranger.post(path(item.id, '/install'), {})).status).toBe(404);
  const again = await submitted(publisher, { id: agent.id, version: '1.0.0' });
  expect(statuses(again)).toEqual({ '1.0.0': 'submitted', '2.0.0': 'submitted' });
  expect((await stranger.get(path(item.id))).status).toBe(404);
  await approve(admin, item.id, { version: '2.0.0' });
  const seen = (await stranger.get(path(item.id))).body;
  expect([seen.version, statuses(seen)]).toEqual(['2.0.0', { '2.0.0': 'approved' }]);
});

test('an admin withdraws for good what its publisher had withdrawn a moment before', async () => {
  const { agent, item } = await withSecondVersion('taken back');
  expect((await publisher.delete(path(item.id))).status).toBe(204);
  expect((await admin.delete(path(item.id))).status).toBe(204);
  expect((await submitted(publisher, { id: agent.id, version: '2.0.0' })).status).toBe('submitted');
  expect((await stranger.get(path(item.id))).status).toBe(404);
});

test('a version that was approved is shown again after its publisher has withdrawn it', async () => {
  const { agent, item } = await withSecondVersion('back again');
  expect((await publisher.delete(path(item.id))).status).toBe(204);
  const both = await submitted(publisher, { id: agent.id, version: '2.0.0' });
  expect([both.status, both.version]).toEqual(['approved', '1.0.0']);
  expect(statuses((await stranger.get(path(item.id))).body)).toEqual({ '1.0.0': 'approved' });
});

test('the same content has the same digest, whoever publishes it and in any order of keys', async () => {
  const fields = { name: 'same', description: 'd' };
  const one = await submitted(
    publisher,
    await publishedAgent(publisher, {
      ...fields,
      configuration: { endpoint: 'https://a.example', query: { b: 1, a: [1.5, 'é'] } },
    }),
  );
  const two = await submitted(
    stranger,
    await publishedAgent(stranger, {
      ...fields,
      configuration: { query: { a: [1.5, 'é'], b: 1 }, endpoint: 'https://a.example' },
    }),
  );
  expect(two.digest).toBe(one.digest);
  const three = await submitted(
    stranger,
    await publishedAgent(stranger, {
      ...fields,
      configuration: { query: { a: [1.5, 'e'], b: 1 }, endpoint: 'https://a.example' },
    }),
  );
  expect(three.digest).not.toBe(one.digest);
});

test('two concurrent submissions of one version give one item with one version', async () => {
  const agent = await publishedAgent(publisher);
  const replies = await Promise.all(
    [1, 2, 3].map(() =>
      publisher.post('/marketplace/items', { kind: 'agent', ref_id: agent.id, version: '1.0.0' }),
    ),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
});

test('items are filtered, and paged in every order', async () => {
  const marker = `m${Date.now()}`;
  const created: { id: string; name: string }[] = [];
  for (const [index, installs] of [3, 0, 2, 2, 1].entries()) {
    const agent = await publishedAgent(publisher, { name: `${marker} ${index}` });
    created.push(
      await approvedItem(publisher, admin, agent, {
        tags: [marker, `t${index}`],
        categories: [index < 2 ? 'low' : 'high'],
        summary: index === 4 ? '100%_sure' : 'no',
      }),
    );
    const item = created.at(-1)!;
    for (let n = 0; n < installs; n += 1) {
      const user = await t.as(await t.createUser());
      await installed(user, item);
      await user.post(path(item.id, '/reviews'), { rating: 5 - n - (index === 2 ? 1 : 0) });
    }
  }
  const workflow = await approvedItem(publisher, admin, await createdWorkflow(publisher, definition), {
    name: `${marker} 5`,
    tags: [marker],
  });
  expect(workflow.kind).toBe('workflow');
  const list = async (query: string, client = viewer) =>
    names(await everyPage(client, `/marketplace/items?tag=${marker}&${query}`)).map((name) => name.at(-1));
  for (const limit of [1, 2, 4, 50]) {
    expect(await list(`limit=${limit}`)).toEqual(['5', '4', '3', '2', '1', '0']);
    expect(await list(`limit=${limit}&sort=new`)).toEqual(['5', '4', '3', '2', '1', '0']);
    expect(await list(`limit=${limit}&sort=installs`)).toEqual(['0', '3', '2', '4', '5', '1']);
    // Averages: 0: 4 of 3; 2: 3.5 of 2; 3: 4.5 of 2; 4: 5 of 1.
    expect(await list(`limit=${limit}&sort=rating`)).toEqual(['4', '3', '0', '2', '5', '1']);
  }
  expect(await list('kind=workflow')).toEqual(['5']);
  expect(await list('category=low')).toEqual(['1', '0']);
  expect(await list('publisher=ADA&kind=agent')).toEqual(['4', '3', '2', '1', '0']);
  expect(await list(`publisher=${ada.id}&category=high`)).toEqual(['4', '3', '2']);
  expect(await list('publisher=bob')).toEqual([]);
  expect(await list('publisher=nobody')).toEqual([]);
  expect(await list(`q=${encodeURIComponent('0%_S')}`)).toEqual(['4']);
  expect(await list(`q=${encodeURIComponent(`${marker} 3`)}`)).toEqual(['3']);
  expect(await list('status=withdrawn')).toEqual([]);
  await publisher.delete(path(created[1]!.id));
  expect(await list('')).toEqual(['5', '4', '3', '2', '0']);
  expect(await list('status=withdrawn', publisher)).toEqual(['1']);
  expect(await list('status=withdrawn', stranger)).toEqual([]);
  const cursor = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url');
  for (const query of [
    'sort=old',
    'kind=x',
    'status=x',
    'limit=0',
    'cursor=x',
    `cursor=${cursor([5, uuidv7()])}`,
    `cursor=${cursor(['0000-01-01T00:00:00Z', uuidv7()])}`,
    `sort=installs&cursor=${cursor([1e10, uuidv7()])}`,
    `sort=rating&cursor=${cursor([1, uuidv7()])}`,
    'wat=1',
  ]) {
    expect([query, (await viewer.get(`/marketplace/items?${query}`)).status]).toEqual([query, 400]);
  }
});

test('admins list what waits for a review: new items, and new versions of approved ones', async () => {
  const marker = `w${Date.now()}`;
  const fresh = await submitted(publisher, await publishedAgent(publisher, { name: `${marker} fresh` }));
  const agent = await publishedAgent(publisher, { name: `${marker} approved` });
  const item = await approvedItem(publisher, admin, agent);
  const waiting = async (client: Client) =>
    names(await everyPage(client, `/marketplace/items?waiting=true&q=${marker}&limit=1`)).toSorted();
  expect(await waiting(admin)).toEqual([fresh.name]);

  await publisher.patch(`/agents/${agent.id}`, {
    version: '2.0.0',
    configuration: { endpoint: 'https://b.example' },
  });
  await publisher.post(`/agents/${agent.id}/versions/2.0.0/publish`);
  await submitted(publisher, { id: agent.id, version: '2.0.0' });
  expect(await waiting(admin)).toEqual([item.name, fresh.name].toSorted());
  expect(await waiting(publisher)).toEqual(await waiting(admin));
  // Nobody else learns that a new version waits.
  expect(await waiting(stranger)).toEqual([]);

  await approve(admin, item.id, { version: '2.0.0' });
  await publisher.delete(path(fresh.id));
  expect(await waiting(admin)).toEqual([]);
  await submitted(publisher, { id: fresh.ref_id, version: '1.0.0' });
  expect(await waiting(admin)).toEqual([fresh.name]);
  await admin.post(path(fresh.id, '/reject'), { reason: 'no' });
  expect(await waiting(admin)).toEqual([]);
});

test('the item of an agent is found by the agent, and a review by its user', async () => {
  const agent = await publishedAgent(publisher);
  const item = await approvedItem(publisher, admin, agent);
  expect((await viewer.get(`/marketplace/items?ref_id=${agent.id}`)).body).toMatchObject([{ id: item.id }]);
  expect((await viewer.get(`/marketplace/items?ref_id=${uuidv7()}`)).body).toEqual([]);
  const users = [await t.createUser(), await t.createUser()];
  for (const [index, user] of users.entries()) {
    const client = await t.as(user);
    await installed(client, item);
    await client.post(path(item.id, '/reviews'), { rating: 4 + index });
  }
  const reviews = await viewer.get(path(item.id, `/reviews?user_id=${users[0]!.id}`));
  expect(reviews.body).toMatchObject([{ rating: 4, user: { id: users[0]!.id } }]);
  expect((await viewer.get(path(item.id, `/reviews?user_id=${ada.id}`))).body).toEqual([]);
});

test('an approval names the content that was read, and a rejection may', async () => {
  const agent = await publishedAgent(publisher, { skills: [{ name: 'first' }] });
  const item = await submitted(publisher, agent);
  await publisher.delete(path(item.id));
  const [skill] = (await publisher.get(`/agents/${agent.id}`)).body.skills;
  await publisher.patch(`/agents/${agent.id}/skills/${skill.id}`, { name: 'second' });
  const again = await submitted(publisher, agent);
  expect(again.digest).not.toBe(item.digest);
  const stale = await admin.post(path(item.id, '/approve'), { version: '1.0.0', digest: item.digest });
  expect([stale.status, stale.body.code, stale.body.digest]).toEqual([409, 'content_changed', again.digest]);
  const refused = await admin.post(path(item.id, '/reject'), { reason: 'first', digest: item.digest });
  expect([refused.status, refused.body.code]).toEqual([409, 'content_changed']);
  const approved = await admin.post(path(item.id, '/approve'), { version: '1.0.0', digest: again.digest });
  expect(approved.body).toMatchObject({ status: 'approved', digest: again.digest });
});

test('an approval may name when what was read was submitted: texts are not in the digest', async () => {
  const agent = await publishedAgent(publisher);
  const item = await submitted(publisher, agent, { description: 'Harmless' });
  await publisher.delete(path(item.id));
  const again = await submitted(publisher, agent, { description: 'Send your password to …' });
  expect(again.digest).toBe(item.digest);
  const [{ submitted_at: first }] = item.versions;
  const [{ submitted_at: second }] = again.versions;
  const stale = await admin.post(path(item.id, '/approve'), { digest: item.digest, submitted_at: first });
  expect([stale.status, stale.body.code]).toEqual([409, 'content_changed']);
  const seen = await admin.post(path(item.id, '/approve'), { digest: item.digest, submitted_at: second });
  expect(seen.body).toMatchObject({ status: 'approved', description: 'Send your password to …' });
});
