/** With many live runs, starts are not counted one by one, and the quota is exact all the same. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

/** Above the 1,000 from which a count grants room. */
const LIVE = 1_500;
const LIMIT = 2_000;
const AT_ONCE = 16;
/** One for each copy: more connections would be granted all that there is, and come near the limit. */
const FEW = 2;

let app: TestApp;
let copy: TestApp;
let admin: Client;
let user: TestUser;
let clients: Client[];
let workflow: string;

beforeAll(async () => {
  app = await startTestApp();
  copy = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.url } });
  admin = await app.as('admin');
});
afterAll(async () => {
  await copy.close();
  await app.close();
});

beforeEach(async () => {
  user = await app.createUser({ roles: ['builder'] });
  clients = [createClient(app.url, user.token), createClient(copy.url, user.token)];
  const definition = { do: [{ a: { set: { b: 1 } } }] };
  workflow = (await clients[0]!.post('/workflows', { name: `w-${user.username}`, definition })).body.id;
  await allow(LIMIT);
  await addLive(user.id, LIVE);
});

const allow = async (limit: number): Promise<void> => {
  const { status } = await admin.patch(`/users/${user.id}`, { quotas: { live_runs: limit } });
  expect(status).toBe(200);
};

function addLive(owner: string, count: number): Promise<unknown> {
  return app.orm.em.fork().execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
     select id, 'w', '{}', 'waiting', ?, id
       from (select gen_random_uuid() as id from generate_series(1, ?)) made`,
    [owner, count],
  );
}

/** @returns how many of the starts were taken; the others are refused because of the quota */
async function start(count: number, atOnce = FEW): Promise<number> {
  let [taken, asked] = [0, 0];
  const one = async (client: Client): Promise<void> => {
    while (asked < count) {
      asked += 1;
      const { status, body } = await client.post(`/workflows/${workflow}/run`, { input_params: {} });
      if (status === 201) taken += 1;
      else expect({ status, body }).toMatchObject({ status: 429, body: { quota: 'live_runs' } });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_unused, n) => one(clients[n % 2]!)));
  return taken;
}

async function rooms(): Promise<{ stripe: number; room: number }[]> {
  return app.orm.em
    .fork()
    .execute('select stripe, room::int from live_run_room where holder_id = ? order by stripe', [user.id]);
}

test('two copies take as many starts as the quota allows, of which few count', async () => {
  expect(await start(60)).toBe(60);
  const granted = await rooms();
  expect(granted.length).toBeGreaterThan(0);
  // The limit's 64th part is the most that one count grants.
  for (const { room } of granted) expect(room).toBeLessThanOrEqual(LIMIT / 64);
  expect(await start(LIMIT - LIVE, AT_ONCE)).toBe(LIMIT - LIVE - 60);
  expect(await rooms()).toEqual([]);
  expect(await start(1)).toBe(0);
}, 300_000);

test('runs that come from another owner void the room', async () => {
  await start(20);
  expect(await rooms()).not.toEqual([]);
  const other = await app.createUser({ roles: ['builder'] });
  await addLive(other.id, LIMIT - LIVE - 20);
  await app.orm.em.fork().execute('update run set owner_id = ? where owner_id = ?', [user.id, other.id]);
  expect(await rooms()).toEqual([]);
  expect(await start(5)).toBe(0);
});

test('another quota voids the room, also one that is set back', async () => {
  await start(20);
  await allow(LIVE + 20);
  expect(await rooms()).toEqual([]);
  expect(await start(5)).toBe(0);
  await allow(LIMIT);
  expect(await start(20)).toBe(20);
  expect(await rooms()).not.toEqual([]);
  // As by a copy whose setting is lower: room under another limit is not used.
  await app.orm.em
    .fork()
    .execute('update live_run_room set live_runs = live_runs + 1 where holder_id = ?', [user.id]);
  const before = await rooms();
  await start(1);
  const used = (await rooms()).filter(({ stripe, room }) =>
    before.some((one) => one.stripe === stripe && one.room === room + 1),
  );
  expect(used).toEqual([]);
});

test('fewer live runs are counted for each start', async () => {
  await app.orm.em.fork().execute(
    `update run set status = 'completed', finished_at = clock_timestamp() where id = any(array(
         select id from run where owner_id = ? limit ?))`,
    [user.id, LIVE - 100],
  );
  expect(await start(20)).toBe(20);
  expect(await rooms()).toEqual([]);
});
