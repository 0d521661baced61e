/** Fields that the server sets are never taken from a client, by whichever endpoint. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { agentBody } from '../support/agent-body.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { publishedAgent } from '../support/marketplace.ts';

let app: TestApp;
let builder: Client;
let caller: TestUser;
let victim: TestUser;
const chosenId = '0190d4c2-1111-7000-8000-000000000001';

beforeAll(async () => {
  app = await startTestApp();
  caller = await app.user('builder');
  builder = await app.as(caller);
  victim = await app.createUser();
});
afterAll(() => app.close());

/** Fields that a record may not take from a request. */
function serverFields(): Record<string, unknown> {
  return {
    id: chosenId,
    owner_id: victim.id,
    created_at: '2001-01-01T00:00:00.000Z',
    updated_at: '2001-01-01T00:00:00.000Z',
    last_used: '2001-01-01T00:00:00.000Z',
  };
}

const definition = { do: [{ first: { set: { a: 1 } } }] };

test.each([
  ['/agents', () => agentBody()],
  ['/workflows', () => ({ name: 'w', definition })],
  ['/webhooks', () => ({ url: 'https://hooks.example.com' })],
])('POST and PATCH %s ignore or refuse fields that the server sets', async (path, body) => {
  const plain = await builder.post(path, body());
  const known = Object.fromEntries(Object.entries(serverFields()).filter(([name]) => name in plain.body));
  expect(Object.keys(known)).toEqual(expect.arrayContaining(['id', 'owner_id', 'created_at']));
  const created = await builder.post(path, { ...body(), ...known });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({ owner_id: caller.id });
  expect(created.body.id).not.toBe(chosenId);
  expect(created.body.created_at > '2020').toBe(true);
  const { owner_id: other, ...fields } = known;
  const refused = await builder.patch(`${path}/${created.body.id}`, { owner_id: other });
  expect(refused.status === 403 || refused.body.owner_id === caller.id).toBe(true);
  const changed = await builder.patch(`${path}/${created.body.id}`, { ...fields, owner_id: caller.id });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    id: created.body.id,
    owner_id: caller.id,
    created_at: created.body.created_at,
  });
});

test('a marketplace item keeps its publisher, its status and its counts', async () => {
  const agent = await publishedAgent(builder);
  const submission = { kind: 'agent', ref_id: agent.id, version: agent.version };
  const wishes = {
    status: 'approved',
    installs: 1_000,
    rating: { average: 5, count: 100 },
    publisher: { id: victim.id },
  };
  const refused = await builder.post('/marketplace/items', { ...submission, ...wishes });
  const item =
    refused.status === 201 ? refused.body : (await builder.post('/marketplace/items', submission)).body;
  expect(item).toMatchObject({ status: 'submitted', installs: 0, publisher: { id: caller.id } });
});

test('users cannot give themselves a role or a group', async () => {
  const me = await builder.patch('/users/me', { roles: ['admin'], groups: ['finance'] });
  expect([404, 405]).toContain(me.status);
  expect((await builder.patch(`/users/${caller.id}`, { roles: ['admin'] })).status).toBe(403);
  expect((await builder.get('/users/me')).body.roles).toEqual(['builder']);
});

test('a run belongs to the user who started it, whatever the body says', async () => {
  const workflow = (await builder.post('/workflows', { name: 'w', definition })).body;
  const path = `/workflows/${workflow.id}/run`;
  const sent = {
    input_params: {},
    owner_id: victim.id,
    parent_run_id: chosenId,
    retry_of: chosenId,
    status: 'completed',
  };
  const reply = await builder.post(path, sent);
  const run = reply.status === 201 ? reply.body : (await builder.post(path, { input_params: {} })).body;
  expect(run).toMatchObject({ owner_id: caller.id, parent_run_id: null, retry_of: null, status: 'pending' });
});

test('no body can change a prototype', async () => {
  const body =
    '{"name":"p","type":"api","version":"1.0.0","visibility":"private","configuration":' +
    '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}}';
  const reply = await builder.post('/agents', body);
  expect(reply.status).toBeLessThan(500);
  expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  expect((await builder.post('/agents', '{"__proto__":{"name":"p"},"type":"api"}')).status).toBe(422);
});
