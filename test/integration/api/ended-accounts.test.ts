/**
 * Requests that meet the end of what they rely on: an account that is erased or disabled, a team that is
 * deleted, a membership that ends. Either comes first, and the other one sees it.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, noTemporal, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { agentBody } from '../../support/agent-body.ts';
import { inOneHour, insertRun, insertTask } from '../../support/human-tasks.ts';
import { publishedAgent } from '../../support/marketplace.ts';
import { meet as meetIn } from '../../support/meeting-requests.ts';
import { until } from '../../support/platform.ts';

interface Person {
  id: string;
  username: string;
  client: Client;
}

let app: TestApp;
let admin: Client;
let publicAgent: string;

beforeAll(async () => {
  app = await startTestApp({ temporal: { ...noTemporal, removeHistory: async () => 'none' } });
  admin = await app.as('admin');
  publicAgent = (await publishedAgent(await app.as('builder'), { visibility: 'public' })).id;
});
afterAll(() => app.close());

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder', 'approver'] });
  return { id: user.id, username: user.username, client: await app.as(user) };
}

const erase = ({ id, username: confirm }: Person): Promise<Reply> =>
  admin.post(`/users/${id}/erase`, { confirm });
const disable = ({ id }: Person): Promise<Reply> => admin.patch(`/users/${id}`, { status: 'disabled' });

const meet = (first: () => Promise<Reply>, second: () => Promise<Reply>): Promise<[Reply, Reply]> =>
  meetIn(app, first, second);

const definition = { schedule: { every: { hours: 1 } }, do: [{ first: { set: { a: 1 } } }] };
let count = 0;
const CREATIONS: Record<string, (client: Client, team?: string) => Promise<Reply>> = {
  workflow: (client, team_id) => client.post('/workflows', { name: 'w', definition, team_id }),
  agent: (client, team_id) => client.post('/agents', agentBody({ name: `a${(count += 1)}`, team_id })),
  secret: (client, team) =>
    client.put(`/secrets/S${(count += 1)}${team === undefined ? '' : `?team_id=${team}`}`, { value: 'a' }),
  webhook: (client, team_id) => client.post('/webhooks', { url: 'https://a.example.com', team_id }),
  'event source': (client, team_id) =>
    client.post('/event-sources', { source: `/till/${(count += 1)}`, team_id }),
  file: (client, team) =>
    client.post(`/files${team === undefined ? '' : `?team_id=${team}`}`, 'x', {
      headers: { 'content-type': 'text/plain' },
    }),
};
const OWN: typeof CREATIONS = {
  token: (client) =>
    client.post('/users/me/tokens', { name: 't', scopes: ['runs:read'], expires_at: inOneHour() }),
  'machine client': (client) => client.post('/users/me/clients', { name: 'm' }),
};
/** They may be made for a disabled account, too, by another request than those of people. */
const NOT_OF_DISABLED: typeof CREATIONS = {
  run: (client) => client.post(`/agents/${publicAgent}/invoke`, { input: {} }),
  preferences: (client) => client.put('/users/me/preferences', {}),
};

/** What has the person as its owner, of all tables that name one. */
async function ownedBy(id: string): Promise<string[]> {
  const em = app.orm.em.fork();
  const columns = await em.execute<{ name: string; owner: string }[]>(
    `select table_name as name, column_name as owner from information_schema.columns
      where table_schema = 'public' and column_name in ('owner_id', 'publisher_id')
        and data_type = 'uuid' and table_name <> 'run_hour'`,
  );
  const found: string[] = [];
  for (const { name, owner } of columns)
    if ((await em.execute(`select from "${name}" where "${owner}" = ? limit 1`, [id])).length > 0)
      found.push(name);
  return found;
}

async function taskFor({ username }: Person): Promise<string> {
  const run = await insertRun(app.orm, { owner: (await person()).id });
  return insertTask(app.orm, run, { candidates: { users: [username], roles: [], groups: [] } });
}

test.each(Object.entries({ ...CREATIONS, ...OWN, run: NOT_OF_DISABLED['run'] }))(
  'a new %s that waits for an erasure is refused with 401',
  async (_name, create) => {
    const user = await person();
    const [erased, made] = await meet(
      () => erase(user),
      () => create!(user.client),
    );
    expect([erased.status < 300, made.status, made.body.code]).toEqual([true, 401, 'invalid_token']);
    expect(made.headers.get('www-authenticate')).toContain('invalid_token');
    expect(await ownedBy(user.id)).toEqual([]);
  },
);

test.each(Object.entries({ ...CREATIONS, ...OWN }))(
  'a new %s that waits for the end of its account is refused with 401',
  async (name, create) => {
    const user = await person();
    const [disabled, made] = await meet(
      () => disable(user),
      () => create(user.client),
    );
    expect(disabled.status).toBe(200);
    // Files are made by runs, too, which go on.
    if (name !== 'file') expect([made.status, made.body.code]).toEqual([401, 'invalid_token']);
  },
);

test.each(Object.entries(CREATIONS).filter(([name]) => name !== 'secret'))(
  'an erasure that waits for a new %s finds it',
  async (_name, create) => {
    const user = await person();
    const [made, erased] = await meet(
      () => create(user.client),
      () => erase(user),
    );
    expect([made.status, erased.status, erased.body.code]).toEqual([201, 409, 'owns_objects']);
  },
);

test('nothing belongs to somebody who was erased, in whatever order the requests come', async () => {
  const makers = Object.values({ ...CREATIONS, ...OWN, ...NOT_OF_DISABLED });
  for (let round = 0; round < 12; round += 1) {
    const user = await person();
    const erasing = erase(user);
    await new Promise((resolve) => setTimeout(resolve, (round % 4) * 3));
    const made = await Promise.all([...makers, ...makers].map((create) => create(user.client)));
    const erased = await erasing;
    expect(
      made.filter(({ status }) => ![200, 201, 202, 401].includes(status)).map(({ body }) => body),
    ).toEqual([]);
    if (erased.status === 409) expect(erased.body.code).toBe('owns_objects');
    else {
      expect(erased.status).toBeLessThan(300);
      await until(
        () => admin.get(`/users/${user.id}/erasure`),
        ({ body }) => body.status === 'done',
      );
      expect(await ownedBy(user.id)).toEqual([]);
    }
  }
});

test('nobody claims a task, or is given one, when their account has ended', async () => {
  const user = await person();
  const claimed = await taskFor(user);
  const [erased, claim] = await meet(
    () => erase(user),
    () => user.client.post(`/hitl/tasks/${claimed}/claim`),
  );
  expect([erased.status < 300, claim.status]).toEqual([true, 401]);

  const [giver, taker] = [await person(), await person()];
  const run = await insertRun(app.orm, { owner: (await person()).id });
  const given = await insertTask(app.orm, run, {
    candidates: { users: [giver.username, taker.username], roles: [], groups: [] },
  });
  const [gone, delegated] = await meet(
    () => erase(taker),
    () => giver.client.post(`/hitl/tasks/${given}/delegate`, { to: taker.id }),
  );
  expect([gone.status < 300, delegated.status, delegated.body.code]).toEqual([true, 409, 'account_ended']);
});

test('what is handed over to somebody who is being erased is refused, or keeps them', async () => {
  const [from, first, second] = [await person(), await person(), await person()];
  expect((await from.client.post('/agents', agentBody())).status).toBe(201);
  const transfer = (to: Person) => admin.post(`/users/${from.id}/transfer`, { to: to.id });
  const [erased, refused] = await meet(
    () => erase(first),
    () => transfer(first),
  );
  expect([erased.status < 300, refused.status, refused.body.errors[0].code]).toEqual([
    true,
    422,
    'invalid_user',
  ]);
  const [moved, kept] = await meet(
    () => transfer(second),
    () => erase(second),
  );
  expect([moved.status < 300, kept.status, kept.body.code]).toEqual([true, 409, 'owns_objects']);
});

interface Team {
  id: string;
  lead: Person;
  builder: Person;
}

async function newTeam(): Promise<Team> {
  const [lead, builder] = [await person(), await person()];
  const made = await admin.post('/teams', { name: `team-${(count += 1)}`, admin: lead.id });
  const { id } = made.body;
  await lead.client.put(`/teams/${id}/members/${builder.id}`, { role: 'builder' });
  return { id, lead, builder };
}

test.each(Object.entries(CREATIONS))(
  'a new %s of a team and the end of the team have an order',
  async (_name, create) => {
    const { id, lead, builder } = await newTeam();
    const [made, kept] = await meet(
      () => create(builder.client, id),
      () => lead.client.delete(`/teams/${id}`),
    );
    expect([made.status, kept.status, kept.body?.code]).toEqual([201, 409, 'team_owns_objects']);
    const other = await newTeam();
    const [ended, refused] = await meet(
      () => other.lead.client.delete(`/teams/${other.id}`),
      () => create(other.builder.client, other.id),
    );
    expect([ended.status, refused.status, refused.body.errors?.[0].code]).toEqual([204, 422, 'unknown_team']);
  },
);

test.each(Object.entries(CREATIONS))(
  'a new %s of a team and the end of its maker’s membership have an order',
  async (_name, create) => {
    const { id, lead, builder } = await newTeam();
    const remove = ({ id: team, lead: by, builder: whom }: Team) =>
      by.client.delete(`/teams/${team}/members/${whom.id}`);
    const [made, removed] = await meet(
      () => create(builder.client, id),
      () => remove({ id, lead, builder }),
    );
    expect([made.status, removed.status]).toEqual([201, 204]);
    expect(await ownedBy(builder.id)).toEqual([]);
    const other = await newTeam();
    const [ended, refused] = await meet(
      () => remove(other),
      () => create(other.builder.client, other.id),
    );
    expect([ended.status, refused.status]).toEqual([204, 404]);
    expect(await ownedBy(other.builder.id)).toEqual([]);
  },
);

test('a team keeps nothing of a member who was erased while they made something for it', async () => {
  for (const create of Object.values(CREATIONS)) {
    const first = await newTeam();
    const [made, erased] = await meet(
      () => create(first.builder.client, first.id),
      () => erase(first.builder),
    );
    expect([made.status, erased.status < 300]).toEqual([201, true]);
    expect(await ownedBy(first.builder.id)).toEqual([]);
    const other = await newTeam();
    const [gone, refused] = await meet(
      () => erase(other.builder),
      () => create(other.builder.client, other.id),
    );
    expect([gone.status < 300, [401, 404].includes(refused.status)]).toEqual([true, true]);
    expect(await ownedBy(other.builder.id)).toEqual([]);
  }
});
