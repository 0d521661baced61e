import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { resolveSecret } from '../../../domain/secrets/service.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { createdWorkflow, publishedAgent, submitted } from '../../support/marketplace.ts';
import { httpTask } from '../../support/definitions.ts';

let t: TestApp;
let from: TestUser;
let to: TestUser;
let leaver: Client;
let heir: Client;
let admin: Client;

beforeAll(async () => {
  t = await startTestApp();
  admin = await t.as('admin');
  [from, to] = [await t.createUser(), await t.createUser()];
  [leaver, heir] = [await t.as(from), await t.as(to)];
});
afterAll(() => t.close());

const secretOf = (owner: TestUser, name: string) =>
  resolveSecret(t.orm.em.fork(), t.app.deps.encryption, owner.id, name);
const reading = (name: string) => ({
  use: { secrets: [name] },
  do: [
    {
      a: httpTask('https://a.example', { headers: { 'X-Key': `\${ $secrets.${name} }` } }),
    },
  ],
});

test('a transfer moves agents and workflows with their secrets, and renames colliding ones', async () => {
  await leaver.put('/secrets/SHARED', { value: 'hers' });
  await leaver.put('/secrets/SAME', { value: 'equal' });
  await heir.put('/secrets/SHARED', { value: 'his' });
  await heir.put('/secrets/SHARED_2', { value: 'his too' });
  await heir.put('/secrets/SAME', { value: 'equal' });
  const agent = await publishedAgent(leaver, {
    configuration: { endpoint: 'https://a.example', headers: { K: 'Bearer <SHARED>' }, api_key: '<SAME>' },
    authentication_config: { token: '<SHARED>' },
  });
  const workflow = await createdWorkflow(leaver, reading('SHARED'));
  const draft = await createdWorkflow(leaver, { ...reading('SHARED'), do: [{ a: { sett: {} } }] });
  const item = await submitted(leaver, agent);

  // A run of the old revision would read the secrets of the new owner.
  const { body: run } = await leaver.post(`/workflows/${workflow.id}/run`);
  const refused = await admin.post(`/users/${from.id}/transfer`, { to: to.id });
  expect(refused.body).toMatchObject({
    status: 409,
    code: 'workflow_in_use',
    workflow_id: workflow.id,
    run_id: run.id,
    secrets: ['SHARED'],
  });
  expect((await heir.get(`/agents/${agent.id}`)).status).toBe(404);
  await leaver.post(`/runs/${run.id}/cancel`);

  const done = await admin.post(`/users/${from.id}/transfer`, { to: to.id });
  expect(done.body).toEqual({
    status: 'done',
    to: to.id,
    agents: 1,
    workflows: 2,
    runs: 1,
    files: 0,
    webhooks: 0,
    items: 1,
    human_tasks: 0,
    conversations: 0,
    chats: 0,
    secrets: 1,
    secrets_renamed: { SHARED: 'SHARED_3' },
  });
  expect(await Promise.all(['SHARED', 'SHARED_2', 'SHARED_3'].map((name) => secretOf(to, name)))).toEqual([
    'his',
    'his too',
    'hers',
  ]);
  expect(await secretOf(from, 'SHARED')).toBe('hers');
  const moved = (await heir.get(`/agents/${agent.id}`)).body;
  expect(moved).toMatchObject({
    configuration: { headers: { K: 'Bearer <SHARED_3>' }, api_key: '<SAME>' },
    authentication_config: { token: '<SHARED_3>' },
    versions: [{ status: 'published', configuration: { headers: { K: 'Bearer <SHARED_3>' } } }],
  });
  expect((await heir.get(`/workflows/${workflow.id}`)).body).toMatchObject({
    revision: 2,
    valid: true,
    definition: {
      use: { secrets: ['SHARED_3'] },
      do: [{ a: { with: { headers: { 'X-Key': '${ $secrets["SHARED_3"] }' } } } }],
    },
  });
  expect((await heir.get(`/workflows/${draft.id}`)).body).toMatchObject({
    revision: 2,
    valid: false,
    definition: { use: { secrets: ['SHARED_3'] } },
  });
  expect((await heir.get(`/marketplace/items/${item.id}`)).body.publisher.id).toBe(to.id);
});

test('a live run whose key the new owner uses already is handed over without it', async () => {
  const [giver, taker] = [await t.createUser(), await t.createUser()];
  const workflow = await createdWorkflow(admin, { do: [{ a: httpTask('https://a.example') }] });
  expect((await admin.patch(`/workflows/${workflow.id}`, { visibility: 'public' })).status).toBe(200);
  const start = async (user: TestUser, key: string): Promise<string> =>
    (await (await t.as(user)).post(`/workflows/${workflow.id}/run`, { key })).body.id;
  const [same, other] = [await start(giver, 'order-1'), await start(giver, 'order-2')];
  const kept = await start(taker, 'order-1');
  expect((await admin.post(`/users/${giver.id}/transfer`, { to: taker.id })).status).toBe(200);
  const keys = await Promise.all(
    [same, other, kept].map(async (id) => (await admin.get(`/runs/${id}`)).body.key),
  );
  expect(keys).toEqual([null, 'order-2', 'order-1']);
});

test('a transfer gets 401, 403, 404 for an unknown user and 422 for an unknown recipient', async () => {
  const path = `/users/${from.id}/transfer`;
  expect((await t.anonymous.post(path, { to: to.id })).status).toBe(401);
  expect((await heir.post(path, {})).status).toBe(403);
  expect((await admin.post('/users/0190d4c2-0000-7000-8000-000000000000/transfer', {})).status).toBe(404);
  for (const body of [{}, { to: 'x' }, { to: from.id }, { to: to.id, also: 1 }])
    expect((await admin.post(path, body)).status).toBe(422);
});
