/** Each quota of a user, a team and the platform is exact, however many requests come to two copies. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import type { QuotaName } from '../../../contracts/quotas.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { ADDITIONS, addable, type Place } from '../../support/quotas.ts';

const LIMIT = 3;
const OF_PLATFORM = 6;
const REQUESTS = 12;
/** What is refused with 429; the other quotas with 409. */
const OF_RUNS: readonly QuotaName[] = ['live_runs', 'runs_per_minute'];

/** Two copies of the API on one database. */
interface Copies {
  app: TestApp;
  copy: TestApp;
  admin: Client;
}

async function startCopies(env: Record<string, string>): Promise<Copies> {
  const app = await startTestApp({ env: { ...env, EGRESS_ALLOW: 'localhost' } });
  const copy = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { ...env, EGRESS_ALLOW: 'localhost', BASE_URL: app.url },
  });
  return { app, copy, admin: await app.as('admin') };
}

async function closeCopies({ app, copy }: Copies): Promise<void> {
  await copy.close();
  await app.close();
}

interface Person {
  id: string;
  username: string;
  /** Of both copies. */
  clients: Client[];
}

async function person({ app, copy }: Copies): Promise<Person> {
  const { id, username, token } = await app.createUser({ roles: ['builder'] });
  return { id, username, clients: [createClient(app.url, token), createClient(copy.url, token)] };
}

/** Each of the people asks as often as the others, in turns at the copies. */
async function addAtOnce(quota: QuotaName, people: readonly Person[], place: Place): Promise<Reply[]> {
  const { prepare, add } = ADDITIONS[quota]!;
  const clients = people.flatMap((one) => one.clients);
  // What is prepared is everybody's in a team; else each has an own one.
  const shared = place.team_id === undefined ? null : await prepare?.(clients[0]!, place);
  const prepared = new Map<Client, string>();
  for (const one of people) {
    const own = shared ?? (await prepare?.(one.clients[0]!, place)) ?? '';
    for (const client of one.clients) prepared.set(client, own);
  }
  return Promise.all(
    Array.from({ length: REQUESTS }, (_unused, n) => {
      const client = clients[n % clients.length]!;
      return add(client, prepared.get(client) ?? '', place);
    }),
  );
}

/** What was taken, and the refusals, which are all of this quota. */
function judge(replies: readonly Reply[], quota: QuotaName, scope: string, limit: number): number {
  const refused = replies.filter(({ status }) => status >= 300);
  for (const { status, body } of refused)
    expect({ status, body }).toMatchObject({
      status: OF_RUNS.includes(quota) ? 429 : 409,
      body: { quota, scope, limit },
    });
  return replies.length - refused.length;
}

async function usedOf(client: Client, quota: QuotaName, query: string): Promise<number> {
  const { limits } = (await client.get(`/usage/limits${query}`)).body;
  return limits.find(({ name }: { name: QuotaName }) => name === quota).used;
}

/** Starts may fall into two minutes, each of which has room for as many; no minute has more. */
async function checkMinutes({ app }: Copies, holder: string, limit: number, done: number): Promise<void> {
  const minutes = await app.orm.em
    .fork()
    .execute<{ runs: number }[]>(
      'select sum(runs)::int as runs from run_rate where holder_id = ? group by minute order by minute',
      [holder],
    );
  expect(minutes.length).toBeLessThanOrEqual(2);
  expect(Math.max(...minutes.map(({ runs }) => runs))).toBe(limit);
  expect(done).toBe(minutes.reduce((sum, { runs }) => sum + runs, 0));
}

describe('of a user and a team', () => {
  let copies: Copies;
  beforeAll(async () => {
    copies = await startCopies({});
  });
  afterAll(() => closeCopies(copies));

  test.each(addable('user').map(([quota]) => quota))('%s of a user', async (quota) => {
    const ann = await person(copies);
    const set = await copies.admin.patch(`/users/${ann.id}`, { quotas: { [quota]: LIMIT } });
    expect(set.status).toBe(200);
    const done = judge(await addAtOnce(quota, [ann], {}), quota, 'user', LIMIT);
    if (quota === 'runs_per_minute') return checkMinutes(copies, ann.id, LIMIT, done);
    expect(done).toBe(LIMIT - (ADDITIONS[quota]?.prepared ?? 0));
    expect(await usedOf(ann.clients[0]!, quota, '')).toBe(LIMIT);
  });

  test.each(addable('team').map(([quota]) => quota))('%s of a team, by two members', async (quota) => {
    const [ann, bob] = [await person(copies), await person(copies)];
    const { body: team } = await copies.admin.post('/teams', {
      name: `${quota}-${ann.username}`,
      admin: ann.id,
    });
    await copies.admin.put(`/teams/${team.id}/members/${bob.id}`, { role: 'admin' });
    const set = await copies.admin.patch(`/teams/${team.id}`, { quotas: { [quota]: LIMIT } });
    expect(set.status).toBe(200);
    const place = { team_id: team.id };
    const done = judge(await addAtOnce(quota, [ann, bob], place), quota, 'team', LIMIT);
    if (quota === 'runs_per_minute') return checkMinutes(copies, team.id, LIMIT, done);
    expect(done).toBe(LIMIT - (ADDITIONS[quota]?.prepared ?? 0));
    expect(await usedOf(ann.clients[0]!, quota, `?team_id=${team.id}`)).toBe(LIMIT);
  });
});

describe('of the platform', () => {
  const settings = (...names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [`PLATFORM_MAX_${name}`, String(OF_PLATFORM)]));
  let copies: Copies;
  /** Where starts and bytes are not limited by runs and files. */
  let others: Copies;
  beforeAll(async () => {
    copies = await startCopies(settings('LIVE_RUNS', 'FILES', 'SECRETS', 'SCHEDULES', 'WEBHOOKS', 'TOKENS'));
    others = await startCopies(settings('RUNS_PER_MINUTE', 'STORED_BYTES'));
  });
  afterAll(async () => {
    await closeCopies(others);
    await closeCopies(copies);
  });

  test.each(['live_runs', 'files', 'secrets', 'schedules', 'webhooks', 'tokens'] as const)(
    '%s, by two users',
    async (quota) => {
      const people = [await person(copies), await person(copies)];
      const done = judge(await addAtOnce(quota, people, {}), quota, 'platform', OF_PLATFORM);
      expect(done).toBe(OF_PLATFORM);
      expect(await usedOf(copies.admin, quota, '?platform=true')).toBe(OF_PLATFORM);
    },
  );

  test('stored_bytes, by two users', async () => {
    const people = [await person(others), await person(others)];
    const replies = await addAtOnce('stored_bytes', people, {});
    expect(judge(replies, 'stored_bytes', 'platform', OF_PLATFORM)).toBe(OF_PLATFORM);
    expect(await usedOf(others.admin, 'stored_bytes', '?platform=true')).toBe(OF_PLATFORM);
  });

  test('runs_per_minute, by two users', async () => {
    const people = [await person(others), await person(others)];
    const replies = await addAtOnce('runs_per_minute', people, {});
    const done = judge(replies, 'runs_per_minute', 'platform', OF_PLATFORM);
    expect(done).toBeGreaterThanOrEqual(OF_PLATFORM);
    await checkMinutes(others, '00000000-0000-0000-0000-000000000000', OF_PLATFORM, done);
  });
});
