/** Names beside the ids of people, in the records that have both. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';

let app: TestApp;
let admin: Client;
let builder: Client;
let user: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  user = await app.createUser({ username: 'ada', roles: ['builder'] });
  builder = await app.as(user);
  await app.orm.em
    .fork()
    .execute(`update user_account set display_name = 'Ada Lovelace' where id = ?`, [user.id]);
});
afterAll(() => app.close());

function done(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

const ADA = 'Ada Lovelace';

test('inbound webhooks, event sources and chats have the name of their owner', async () => {
  done(await builder.put('/secrets/HOOK_KEY', { value: 'a signing key for calls' }));
  const hook = { name: 'Pushes', scheme: 'github', secret: 'HOOK_KEY' };
  const source = { source: '/till', user_id: user.id };
  const chat = { name: 'Mine', format: 'slack', url: 'https://chat.example.com/1' };
  expect(done(await builder.post('/hooks', hook))).toMatchObject({ owner_name: ADA });
  expect(done(await builder.get('/hooks'))).toMatchObject([{ owner_name: ADA }]);
  expect(done(await builder.post('/event-sources', source))).toMatchObject({
    owner_name: ADA,
    user_name: ADA,
  });
  expect(done(await builder.get('/event-sources'))).toMatchObject([{ owner_name: ADA, user_name: ADA }]);
  expect(done(await builder.post('/notifications/channels', chat))).toMatchObject({ owner_name: ADA });
  expect(done(await admin.get('/notifications/channels'))).toMatchObject([{ owner_name: ADA }]);
});

test('received events, budgets and worker tokens have the name of their owner', async () => {
  const event = { specversion: '1.0', id: 'named', source: '/named', type: 'com.example.named' };
  done(await builder.post('/events', event, { headers: { 'content-type': 'application/cloudevents+json' } }));
  expect(done(await builder.get('/events/received'))).toMatchObject([{ owner_name: ADA }]);
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const workflow = done(await builder.post('/workflows', { name: 'paid', definition }));
  done(await builder.patch(`/workflows/${workflow.id}`, { budget: { max_invocations: 5 } }));
  expect(done(await builder.get('/budgets'))).toMatchObject([{ owner_id: user.id, owner_name: ADA }]);
  const agent = await registeredAgent(builder, { execution_type: 'edge' });
  const token = await builder.post(`/agents/${agent.id}/worker-tokens`, { name: 'one' });
  expect(done(token)).toMatchObject({ owner_name: ADA });
});

test('every id of a person in an answer has the name beside it', () => {
  const openapi = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
  const missing = Object.entries(openapi.components.schemas)
    .filter(([name]) => !name.endsWith('Request') && !WITHOUT_NAMES.has(name))
    .flatMap(([name, schema]) => unnamedIn(schema).map((id) => `${name}: ${id}`));
  expect(missing).toEqual([]);
});

/** Documents for `cadenza apply`, a person who is erased, what has the name itself, and ids of events. */
const WITHOUT_NAMES = new Set(['EventSourceResource', 'Erasure', 'TeamMember', 'RunFields']);
const ID_OF_PERSON = /^(?:owner_id|user_id|actor_id|[a-z_]+_by)$/;

function unnamedIn(schema: any): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const properties: Record<string, any> = schema.properties ?? {};
  const unnamed = Object.keys(properties).filter((key) => {
    if (!ID_OF_PERSON.test(key) || !JSON.stringify(properties[key]).includes('"uuid"')) return false;
    return !(key.replace(/_id$/, '') + '_name' in properties);
  });
  return [...unnamed, ...Object.values(schema).flatMap((part) => unnamedIn(part))];
}

test('a team and its members name who made and added them', async () => {
  const team = done(await admin.post('/teams', { name: 'payments', admin: user.id }));
  expect(team.created_by_name).toBe('the-admin');
  expect(done(await builder.get(`/teams/${team.id}`)).created_by_name).toBe('the-admin');
  const { id } = await app.user('viewer');
  done(await builder.put(`/teams/${team.id}/members/${id}`, { role: 'viewer' }));
  const members = done(await builder.get(`/teams/${team.id}/members`));
  const names = members.map((member: Record<string, string>) => [member['user_id'], member['added_by_name']]);
  expect(Object.fromEntries(names)).toEqual({ [user.id]: 'the-admin', [id]: ADA });
});

test('a workflow names its runners in their order, for those who see them', async () => {
  const viewer = await app.user('viewer');
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const runners = { users: [viewer.username, 'ada'] };
  const made = { name: 'expense', definition, visibility: 'public', runners };
  const { id } = done(await builder.post('/workflows', made));
  const read = done(await builder.get(`/workflows/${id}`));
  expect(read).toMatchObject({
    runners: { users: [viewer.id, user.id] },
    runner_names: [viewer.username, ADA],
  });
  const seen = done(await (await app.as('approver')).get(`/workflows/${id}`));
  expect([seen.runners, seen.runner_names]).toEqual([null, undefined]);
});

test('a schedule names who has paused it', async () => {
  const definition = { schedule: { every: { hours: 1 } }, do: [{ first: { set: { a: 1 } } }] };
  const { id } = done(await builder.post('/workflows', { name: 'hourly', definition }));
  const path = `/workflows/${id}/schedule`;
  expect(done(await builder.patch(path, { paused: true }))).toMatchObject({
    paused_by: user.id,
    paused_by_name: ADA,
  });
  expect(done(await builder.patch(path, { paused: false }))).toMatchObject({
    paused_by: null,
    paused_by_name: null,
  });
});
