/** Webhooks, inbound webhooks and event sources that move to a team and back (docs/teams.md#moving). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import type { DueTarget } from '../../../domain/ports.ts';
import {
  noTemporal,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { sendPush } from '../../support/github-push.ts';

let app: TestApp;
let admin: Client;
let count = 0;
/** What was asked to deliver, and for whom. */
const woken: DueTarget[] = [];

beforeAll(async () => {
  app = await startTestApp({
    temporal: { ...noTemporal, wakeDelivery: async (target) => void woken.push(target) },
  });
  admin = await app.as('admin');
});
afterAll(() => app.close());

interface Person {
  user: TestUser;
  client: Client;
}

interface World {
  team: string;
  /** An admin of the team. */
  lead: Person;
  /** A builder of the team and of the platform, who has what moves. */
  owner: Person;
  /** A builder of the team only. */
  builder: Person;
}
let world: World;

async function person(roles: Role[]): Promise<Person> {
  count += 1;
  const user = await app.createUser({ username: `person-${count}`, roles });
  return { user, client: await app.as(user) };
}

function done(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

beforeEach(async () => {
  const [lead, owner, builder] = [
    await person(['builder']),
    await person(['builder']),
    await person(['viewer']),
  ];
  const team = done(await admin.post('/teams', { name: `team-${count}`, admin: lead.user.id })).id;
  for (const { user } of [owner, builder])
    done(await lead.client.put(`/teams/${team}/members/${user.id}`, { role: 'builder' }));
  world = { team, lead, owner, builder };
});

const KEY = 'a signing key of the owner';
const github = { name: 'Pushes', scheme: 'github', secret: 'PUSH_KEY' };

async function newHook({ client }: Person, more: object = {}) {
  done(await client.put('/secrets/PUSH_KEY', { value: KEY }));
  return done(await client.post('/hooks', { ...github, ...more }));
}

test('move for their owner and admins of the team, and the audit log has it', async () => {
  const { team, lead, owner, builder } = world;
  const made = [
    [
      '/webhooks',
      'updateWebhook',
      done(await owner.client.post('/webhooks', { url: 'https://a.example.com' })),
    ],
    ['/hooks', 'updateHook', await newHook(owner)],
    [
      '/event-sources',
      'updateEventSource',
      done(await owner.client.post('/event-sources', { source: '/till', user_id: owner.user.id })),
    ],
  ] as const;
  for (const [kind, action, { id }] of made) {
    const path = `${kind}/${id}`;
    const before = await owner.client.get(path);
    expect([path, (await builder.client.get(path)).status]).toEqual([path, 404]);
    expect((await builder.client.patch(path, { team_id: team })).status).toBe(404);
    const moved = await owner.client.patch(path, { team_id: team });
    expect(moved).toMatchObject({ status: 200, body: { team_id: team, owner_id: owner.user.id } });
    expect(moved.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect((await builder.client.get(path)).status).toBe(200);
    const listed = (await builder.client.get(`${kind}?team_id=${team}`)).body;
    expect(listed.map((one: { id: string }) => one.id)).toContain(id);
    for (const { client } of [builder, owner])
      expect((await client.patch(path, { team_id: null })).status).toBe(403);
    const taken = done(await lead.client.patch(path, { team_id: null }));
    expect(taken).toMatchObject({ team_id: null, owner_id: lead.user.id });
    expect((await builder.client.get(path)).status).toBe(404);
    const entries = (await admin.get(`/audit?object_id=${id}&action=${action}`)).body;
    expect(entries.filter(({ outcome }: { outcome: string }) => outcome !== 'refused')).toMatchObject([
      { changes: { team_id: { old: team, new: null } } },
      { changes: { team_id: { old: null, new: team } } },
    ]);
  }
  const other = (await admin.post('/teams', { name: `other-${count}` })).body.id;
  const refused = await lead.client.patch(`/webhooks/${made[0][2].id}`, { team_id: other });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: 'unknown_team' }] } });
});

test('an inbound webhook goes on with its address and its secret, for the team', async () => {
  const { team, owner, builder } = world;
  const { id, url } = await newHook(owner);
  const moved = done(await owner.client.patch(`/hooks/${id}`, { team_id: team }));
  expect(moved).toMatchObject({ url, source: url, secret: 'PUSH_KEY' });
  done(await owner.client.delete('/secrets/PUSH_KEY'));
  expect((await sendPush(app, id, KEY)).status).toBe(202);
  const received = (await builder.client.get(`/events/received?team_id=${team}`)).body;
  expect(received).toMatchObject([{ team_id: team, owner_id: team }]);
});

test('an inbound webhook never reads a secret of the new holder by chance', async () => {
  const { team, lead, owner } = world;
  const { id } = await newHook(owner);
  done(await owner.client.put(`/secrets/PUSH_KEY?team_id=${team}`, { value: 'a key of the whole team' }));
  const path = `/hooks/${id}`;
  expect((await owner.client.patch(path, { team_id: team })).body).toMatchObject({
    status: 409,
    code: 'secret_names_taken',
  });
  done(await owner.client.put(`/secrets/TILL_KEY?team_id=${team}`, { value: 'another key of the team' }));
  done(await owner.client.patch(path, { team_id: team, secret: 'TILL_KEY' }));
  expect((await sendPush(app, id, 'another key of the team')).status).toBe(202);
  expect((await sendPush(app, id, KEY)).status).toBe(401);
  // The team's secret is gone, and the one who takes the webhook has one of the same name.
  done(await owner.client.delete(`/secrets/TILL_KEY?team_id=${team}`));
  done(await lead.client.put('/secrets/TILL_KEY', { value: 'a key of the lead alone' }));
  const gone = await lead.client.patch(path, { team_id: null });
  expect(gone.body).toMatchObject({ status: 409, code: 'secret_gone', secrets: ['TILL_KEY'] });
  expect((await lead.client.get(path)).body.team_id).toBe(team);
});

test('an inbound webhook does not bring a source that is bound to somebody else', async () => {
  const { team, lead, owner } = world;
  const { id } = await newHook(owner, { source: '/till' });
  done(await lead.client.post('/event-sources', { source: '/till', user_id: lead.user.id, team_id: team }));
  const refused = await owner.client.patch(`/hooks/${id}`, { team_id: team });
  expect(refused).toMatchObject({ status: 403, body: { code: 'source_bound' } });
});

test('an event source stays with its owner if the new holder has it, or its client stays', async () => {
  const { team, lead, owner } = world;
  const client = done(await owner.client.post('/users/me/clients', { name: 'till' }));
  const source = (more: object) => owner.client.post('/event-sources', { source: '/till', ...more });
  const path = `/event-sources/${done(await source({ client_id: client.client_id })).id}`;
  const other = done(await source({ team_id: team }));
  expect((await owner.client.patch(path, { team_id: team })).body.code).toBe('source_exists');
  // Who is not in the team does not even learn what it has.
  const stranger = await app.as(await app.createUser({ roles: ['builder'] }));
  const own = done(await stranger.post('/event-sources', { source: '/till' }));
  const foreign = await stranger.patch(`/event-sources/${own.id}`, { team_id: team });
  expect(foreign).toMatchObject({ status: 422, body: { errors: [{ code: 'unknown_team' }] } });
  done(await owner.client.delete(`/event-sources/${other.id}`));
  expect(done(await owner.client.patch(path, { team_id: team })).client_id).toBe(client.client_id);
  const refused = await lead.client.patch(path, { team_id: null });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/client_id' }] } });
  const freed = { team_id: null, client_id: null };
  expect(done(await lead.client.patch(path, freed))).toMatchObject({
    owner_id: lead.user.id,
    client_id: null,
  });
});

test('one request gives an event source to a team and renames it, whoever has the two names', async () => {
  const { team, owner } = world;
  const make = async (source: string, more: object = {}): Promise<string> =>
    done(await owner.client.post('/event-sources', { source, ...more })).id;
  const moving = await make('/old');
  await make('/new');
  await make('/old', { team_id: team });
  const moved = await owner.client.patch(`/event-sources/${moving}`, { team_id: team, source: '/new' });
  expect(moved).toMatchObject({ status: 200, body: { team_id: team, source: '/new' } });
  const again = await make('/old');
  const refused = await owner.client.patch(`/event-sources/${again}`, { team_id: team, source: '/new' });
  expect(refused).toMatchObject({ status: 409, body: { code: 'source_exists' } });
  expect((await owner.client.get(`/event-sources/${again}`)).body).toMatchObject({
    team_id: null,
    source: '/old',
  });
});

test('a webhook that moves and is turned on delivers what waits for its new holder', async () => {
  const { team, owner } = world;
  const { id } = done(await owner.client.post('/webhooks', { url: 'https://a.example.com' }));
  done(await owner.client.post(`/webhooks/${id}/test`));
  const next = await person(['builder']);
  const wakes = async (client: Client, to: object): Promise<DueTarget[]> => {
    done(await client.patch(`/webhooks/${id}`, { active: false }));
    woken.length = 0;
    done(await client.patch(`/webhooks/${id}`, { ...to, active: true }));
    return woken;
  };
  expect(await wakes(owner.client, { team_id: team })).toEqual([{ id, holder_id: team }]);
  expect(await wakes(admin, { owner_id: next.user.id })).toEqual([{ id, holder_id: next.user.id }]);
  expect(await wakes(next.client, {})).toEqual([{ id, holder_id: next.user.id }]);
});

test('what moves counts for the quotas of the new holder', async () => {
  const { team, owner } = world;
  done(
    await admin.patch(`/teams/${team}`, {
      quotas: { webhooks: 1, inbound_webhooks: 1, event_sources: 1 },
    }),
  );
  const add = {
    webhooks: (n: number) => owner.client.post('/webhooks', { url: `https://${n}.example.com` }),
    hooks: async () => ({ status: 201, body: await newHook(owner) }),
    'event-sources': (n: number) => owner.client.post('/event-sources', { source: `/till/${n}` }),
  };
  for (const [kind, make] of Object.entries(add)) {
    const [first, second] = [(await make(1)).body.id, (await make(2)).body.id];
    const move = (id: string) => owner.client.patch(`/${kind}/${id}`, { team_id: team });
    expect([kind, (await move(first)).status]).toEqual([kind, 200]);
    const refused = await move(second);
    expect([kind, refused.status, refused.body.scope]).toEqual([kind, 409, 'team']);
    expect((await owner.client.get(`/${kind}/${second}`)).body.team_id).toBeNull();
  }
});
