/** Administrators give one thing to another person (docs/teams.md#moving). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { httpTask } from '../../support/definitions.ts';
import { sendPush } from '../../support/github-push.ts';
import { createdWorkflow, publishedAgent } from '../../support/marketplace.ts';

let app: TestApp;
let admin: Client;
let giver: Person;
let taker: Person;

interface Person {
  user: TestUser;
  client: Client;
}

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  [giver, taker] = [await person(), await person()];
});
afterAll(() => app.close());

async function person(roles: Role[] = ['builder']): Promise<Person> {
  const user = await app.createUser({ roles });
  return { user, client: await app.as(user) };
}

function done(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

const reading = (name: string) => ({
  use: { secrets: [name] },
  do: [{ call: httpTask('https://a.example', { headers: { 'X-Key': `\${ $secrets.${name} }` } }) }],
});
const agentReading = (name: string) => ({
  configuration: { endpoint: 'https://a.example', headers: { 'X-Key': `<${name}>` } },
});
const upload = async (by: Person, query = ''): Promise<any> =>
  done(await by.client.post(`/files${query}`, 'text', { headers: { 'content-type': 'text/plain' } }));

test('an agent goes with its versions and a copy of its secrets, and is in the audit log', async () => {
  done(await giver.client.put('/secrets/MINE', { value: 'of the giver' }));
  const { id } = await publishedAgent(giver.client, agentReading('MINE'));
  const moved = done(await admin.patch(`/agents/${id}`, { owner_id: taker.user.id }));
  expect(moved).toMatchObject({ owner_id: taker.user.id, team_id: null });
  expect((await giver.client.get(`/agents/${id}`)).status).toBe(404);
  expect(done(await taker.client.get(`/agents/${id}`))).toMatchObject({
    ...agentReading('MINE'),
    versions: [{ status: 'published' }],
  });
  expect(done(await taker.client.get('/secrets')).map(({ name }: { name: string }) => name)).toEqual([
    'MINE',
  ]);
  expect(done(await giver.client.get('/secrets'))).toHaveLength(1);
  const [entry] = done(await admin.get(`/audit?object_id=${id}&action=updateAgent`));
  expect(entry.changes.owner_id).toEqual({ old: giver.user.id, new: taker.user.id });
});

test('a workflow goes with its revisions, without secrets of the new owner; runs stay', async () => {
  const { id } = await createdWorkflow(giver.client, reading('THEIRS'));
  const run = done(await giver.client.post(`/workflows/${id}/run`));
  done(await taker.client.put('/secrets/THEIRS', { value: 'of the taker' }));
  expect(done(await admin.patch(`/workflows/${id}`, { owner_id: taker.user.id }))).toMatchObject({
    owner_id: taker.user.id,
    revision: 2,
    definition: { use: { secrets: ['UNBOUND:THEIRS'] } },
  });
  expect(done(await taker.client.get(`/workflows/${id}/revisions`))).toHaveLength(2);
  expect(done(await giver.client.get(`/runs/${run.id}`)).owner_id).toBe(giver.user.id);
  expect((await taker.client.get(`/runs/${run.id}`)).status).toBe(404);
});

test('a schedule goes on with the new owner', async () => {
  const definition = { schedule: { every: { hours: 1 } }, do: [{ a: { set: { b: 1 } } }] };
  const { id } = await createdWorkflow(giver.client, definition);
  done(await admin.patch(`/workflows/${id}`, { owner_id: taker.user.id }));
  expect((await giver.client.get(`/workflows/${id}/schedule`)).status).toBe(404);
  expect(done(await taker.client.get(`/workflows/${id}/schedule`)).state).toBe('active');
});

test('a file goes, also one of a team; one for a decision or a start does not', async () => {
  const { id } = await upload(giver);
  expect(done(await admin.patch(`/files/${id}`, { owner_id: taker.user.id })).owner_id).toBe(taker.user.id);
  expect([
    (await giver.client.get(`/files/${id}`)).status,
    (await taker.client.get(`/files/${id}`)).status,
  ]).toEqual([404, 200]);
  const team = done(await admin.post('/teams', { name: 'of-files', admin: giver.user.id })).id;
  const shared = await upload(giver, `?team_id=${team}`);
  const own = { owner_id: giver.user.id };
  expect(done(await admin.patch(`/files/${shared.id}`, own)).team_id).toBe(team);
  expect(done(await admin.patch(`/files/${shared.id}`, { ...own, team_id: null }))).toMatchObject({
    owner_id: giver.user.id,
    team_id: null,
  });
  const { id: workflow } = await createdWorkflow(giver.client, { do: [{ a: { set: { b: 1 } } }] });
  const attached = await upload(giver, `?workflow=${workflow}`);
  expect((await admin.patch(`/files/${attached.id}`, { owner_id: taker.user.id })).body.code).toBe(
    'file_attached',
  );
});

test('only administrators decide it, for an active builder, and one holder at a time', async () => {
  const { id } = await publishedAgent(giver.client, {});
  const path = `/agents/${id}`;
  for (const [client, status] of [
    [giver.client, 403],
    [taker.client, 404],
  ] as const)
    expect((await client.patch(path, { owner_id: taker.user.id })).status).toBe(status);
  expect((await giver.client.patch(path, { owner_id: giver.user.id })).status).toBe(200);
  const [viewer, gone] = [await person(['viewer']), await person()];
  done(await admin.patch(`/users/${gone.user.id}`, { status: 'disabled' }));
  const team = done(await admin.post('/teams', { name: 'of-agents', admin: giver.user.id })).id;
  for (const [body, code] of [
    [{ owner_id: viewer.user.id }, 'cannot_own'],
    [{ owner_id: gone.user.id }, 'unknown_user'],
    [{ owner_id: taker.user.id, team_id: team }, 'team_and_owner'],
  ] as const) {
    const refused = await admin.patch(path, body);
    expect([refused.status, refused.body.errors]).toMatchObject([422, [{ pointer: '/owner_id', code }]]);
  }
  expect(done(await admin.patch(path, { owner_id: giver.user.id })).owner_id).toBe(giver.user.id);
  expect((await admin.patch(path, { owner_id: 'nobody' })).status).toBe(422);
});

test('another secret of the same name is not overwritten', async () => {
  done(await giver.client.put('/secrets/KEY', { value: 'of the giver' }));
  done(await taker.client.put('/secrets/KEY', { value: 'of the taker' }));
  const { id } = await publishedAgent(giver.client, agentReading('KEY'));
  const refused = await admin.patch(`/agents/${id}`, { owner_id: taker.user.id });
  expect(refused.body).toMatchObject({ status: 409, code: 'secret_names_taken', secrets: ['KEY'] });
  expect(done(await giver.client.get(`/agents/${id}`)).owner_id).toBe(giver.user.id);
});

const KEY = 'a signing key of the giver';

async function newHook(by: Person, name = 'PUSH_KEY', value = KEY): Promise<{ id: string; url: string }> {
  done(await by.client.put(`/secrets/${name}`, { value }));
  return done(await by.client.post('/hooks', { name: 'Pushes', scheme: 'github', secret: name }));
}

/** What moves, by its path, with the operation that moves it. */
const KINDS = {
  '/agents': {
    operation: 'updateAgent',
    make: async ({ client }) => (await publishedAgent(client, {})).id,
  },
  '/workflows': {
    operation: 'updateWorkflow',
    make: async ({ client }) => (await createdWorkflow(client, { do: [{ a: { set: { b: 1 } } }] })).id,
  },
  '/files': { operation: 'updateFile', make: async (by) => (await upload(by)).id },
  '/webhooks': {
    operation: 'updateWebhook',
    make: async ({ client }) => done(await client.post('/webhooks', { url: 'https://a.example.com' })).id,
  },
  '/hooks': { operation: 'updateHook', make: async (by) => (await newHook(by)).id },
  '/event-sources': {
    operation: 'updateEventSource',
    make: async ({ client }) => done(await client.post('/event-sources', { source: '/matrix' })).id,
  },
} satisfies Record<string, { operation: string; make: (by: Person) => Promise<string> }>;

test.each(Object.entries(KINDS))('%s: who gives it to a person, also out of a team', async (kind, one) => {
  const [owner, lead, builder, stranger, next] = [
    await person(),
    await person(),
    await person(),
    await person(),
    await person(),
  ];
  const name = `matrix-of-${kind.slice(1)}`;
  const team = done(await admin.post('/teams', { name, admin: lead.user.id })).id;
  for (const { user } of [owner, builder])
    done(await lead.client.put(`/teams/${team}/members/${user.id}`, { role: 'builder' }));
  const id = await one.make(owner);
  const path = `${kind}/${id}`;
  const statusOf = async ({ client }: Pick<Person, 'client'>) =>
    (await client.patch(path, { owner_id: next.user.id })).status;
  expect([await statusOf(owner), await statusOf(stranger), await statusOf(next)]).toEqual([403, 404, 404]);
  done(await owner.client.patch(path, { team_id: team }));
  expect([
    await statusOf(owner),
    await statusOf(lead),
    await statusOf(builder),
    await statusOf(stranger),
    (await app.anonymous.patch(path, { owner_id: next.user.id })).status,
  ]).toEqual([403, 403, 403, 404, 401]);
  const given = done(await admin.patch(path, { owner_id: next.user.id }));
  expect(given).toMatchObject({ id, owner_id: next.user.id, team_id: null });
  for (const [{ client }, status] of [
    [owner, 404],
    [lead, 404],
    [builder, 404],
    [next, 200],
  ] as const)
    expect((await client.get(path)).status).toBe(status);
  const [entry] = done(await admin.get(`/audit?object_id=${id}&action=${one.operation}`));
  expect(entry.changes).toMatchObject({
    owner_id: { old: owner.user.id, new: next.user.id },
    team_id: { old: team, new: null },
  });
});

test('an approver can get a webhook, but no inbound webhook or event source', async () => {
  const approver = await person(['approver']);
  for (const [kind, status] of [
    ['/webhooks', 200],
    ['/hooks', 422],
    ['/event-sources', 422],
  ] as const) {
    const id = await KINDS[kind].make(giver);
    const reply = await admin.patch(`${kind}/${id}`, { owner_id: approver.user.id });
    expect([kind, reply.status]).toEqual([kind, status]);
    if (status === 422) expect(reply.body.errors).toMatchObject([{ code: 'cannot_own' }]);
    else expect(reply.body.owner_id).toBe(approver.user.id);
  }
  const viewer = await person(['viewer']);
  const refused = await admin.patch(`/webhooks/${await KINDS['/webhooks'].make(giver)}`, {
    owner_id: viewer.user.id,
  });
  expect(refused.body.errors).toMatchObject([{ pointer: '/owner_id', code: 'cannot_own' }]);
});

test('an inbound webhook goes on with its address and a copy of its secret', async () => {
  const next = await person();
  const { id, url } = await newHook(giver);
  const moved = done(await admin.patch(`/hooks/${id}`, { owner_id: next.user.id }));
  expect(moved).toMatchObject({ url, secret: 'PUSH_KEY', owner_id: next.user.id });
  done(await giver.client.delete('/secrets/PUSH_KEY'));
  expect((await sendPush(app, id, KEY)).status).toBe(202);
  expect(done(await next.client.get('/events/received'))).toMatchObject([{ owner_id: next.user.id }]);
});

test('an inbound webhook never reads a secret that the new owner has by chance', async () => {
  const next = await person();
  done(await next.client.put('/secrets/CHANCE_KEY', { value: 'a key of the next one alone' }));
  const { id } = await newHook(giver, 'CHANCE_KEY');
  const path = `/hooks/${id}`;
  const taken = await admin.patch(path, { owner_id: next.user.id });
  expect(taken.body).toMatchObject({ code: 'secret_names_taken', secrets: ['CHANCE_KEY'] });
  done(await giver.client.delete('/secrets/CHANCE_KEY'));
  const gone = await admin.patch(path, { owner_id: next.user.id });
  expect(gone.body).toMatchObject({ status: 409, code: 'secret_gone', secrets: ['CHANCE_KEY'] });
  expect(done(await giver.client.get(path)).owner_id).toBe(giver.user.id);
});

test('what only the owner could send, only the new owner can; what they have already stays', async () => {
  const next = await person();
  const source = async (by: Person, more: object): Promise<string> =>
    done(await by.client.post('/event-sources', { source: '/till', ...more })).id;
  const path = `/event-sources/${await source(giver, { user_id: giver.user.id })}`;
  const other = await source(next, {});
  const refused = await admin.patch(path, { owner_id: next.user.id });
  expect(refused).toMatchObject({ status: 409, body: { code: 'source_exists' } });
  done(await next.client.delete(`/event-sources/${other}`));
  expect(done(await admin.patch(path, { owner_id: next.user.id }))).toMatchObject({
    owner_id: next.user.id,
    user_id: next.user.id,
  });
  const { client_id } = done(await giver.client.post('/users/me/clients', { name: 'till' }));
  const bound = `/event-sources/${await source(giver, { source: '/till/2', client_id })}`;
  const stays = await admin.patch(bound, { owner_id: next.user.id });
  expect(stays).toMatchObject({ status: 422, body: { errors: [{ pointer: '/client_id' }] } });
  const freed = done(await admin.patch(bound, { owner_id: next.user.id, client_id: null }));
  expect(freed).toMatchObject({ owner_id: next.user.id, client_id: null });
});

test("the new owner's quotas count", async () => {
  const next = await person();
  for (const [kind, quota] of [
    ['/webhooks', 'webhooks'],
    ['/hooks', 'inbound_webhooks'],
    ['/event-sources', 'event_sources'],
  ] as const) {
    const { make } = KINDS[kind];
    const [first, second] = [await make(await person()), await make(await person())];
    done(await admin.patch(`/users/${next.user.id}`, { quotas: { [quota]: 1 } }));
    done(await admin.patch(`${kind}/${first}`, { owner_id: next.user.id }));
    if (kind === '/event-sources') done(await admin.patch(`${kind}/${first}`, { source: '/matrix/1' }));
    const refused = await admin.patch(`${kind}/${second}`, { owner_id: next.user.id });
    expect([kind, refused.status, refused.body]).toMatchObject([kind, 409, { quota, scope: 'user' }]);
  }
});
