/** Administrators give one agent, workflow or file to another person (docs/teams.md#moving). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { httpTask } from '../../support/definitions.ts';
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
