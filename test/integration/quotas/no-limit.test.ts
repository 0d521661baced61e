/** 0 is no limit: in settings, and in what administrators give a user or a team. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { QUOTA_NAMES, type QuotaName } from '../../../contracts/quotas.ts';
import { countDescendant, runLimits } from '../../../domain/runs/limits.ts';
import { QUOTA_SETTINGS } from '../../../domain/quotas/settings.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { addable, type Place } from '../../support/quotas.ts';

const SETTINGS = [
  ...new Set(
    Object.values(QUOTA_SETTINGS).flatMap(({ per: _per, ...scopes }: Record<string, string>) =>
      Object.values(scopes),
    ),
  ),
];
const all = (limit: string): Record<string, string> =>
  Object.fromEntries(
    SETTINGS.map((name) => [name, name === 'RUN_MAX_EVENTS' && limit !== '0' ? '100' : limit]),
  );
const COUNT = 3;

let free: TestApp;
/** Its settings allow one of everything; of the platform as much as anybody likes. */
let tight: TestApp;

beforeAll(async () => {
  free = await startTestApp({ env: { ...all('0'), EGRESS_ALLOW: 'localhost' } });
  const ofPlatform = SETTINGS.filter((name) => name.startsWith('PLATFORM_')).map((name) => [name, '0']);
  tight = await startTestApp({
    env: { ...all('1'), ...Object.fromEntries(ofPlatform), EGRESS_ALLOW: 'localhost' },
  });
});
afterAll(async () => {
  await tight.close();
  await free.close();
});

async function addSome(client: Client, scope: 'user' | 'team', place: Place = {}): Promise<void> {
  for (const [quota, { prepare, add }] of addable(scope)) {
    const prepared = (await prepare?.(client, place)) ?? '';
    for (let n = 0; n < COUNT; n += 1) {
      const { status, body } = await add(client, prepared, place);
      expect({ quota, status, body }).toMatchObject({ status: status < 300 ? status : 201 });
    }
  }
}

const limitsOf = async (
  client: Client,
  query = '',
): Promise<{ name: QuotaName; limit: unknown; own: boolean }[]> =>
  (await client.get(`/usage/limits${query}`)).body.limits;

async function newTeam(app: TestApp, quotas: object | null): Promise<{ id: string; client: Client }> {
  const admin = await app.as('admin');
  const user = await app.createUser({ roles: ['builder'] });
  const { body: team } = await admin.post('/teams', { name: `free-${user.username}`, admin: user.id });
  const changed = [
    await admin.patch(`/users/${user.id}`, { quotas }),
    await admin.patch(`/teams/${team.id}`, { quotas: quotas && withoutOwn(quotas) }),
  ];
  expect(changed.map(({ status }) => status)).toEqual([200, 200]);
  return { id: team.id, client: await app.as(user) };
}

/** What only people have. */
function withoutOwn(quotas: object): object {
  const { chats, tokens, clients, streams, ...rest } = quotas as Record<string, number>;
  expect([chats, tokens, clients, streams]).toEqual([0, 0, 0, 0]);
  return rest;
}

const unlimited = Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0]));

describe('settings', () => {
  test('of 0 refuse nothing to users and teams, and are shown as no limit', async () => {
    const { id, client } = await newTeam(free, null);
    await addSome(client, 'user');
    await addSome(client, 'team', { team_id: id });
    for (const query of ['', `?team_id=${id}`]) {
      const limits = await limitsOf(client, query);
      expect(limits.filter(({ limit, own }) => limit !== null || own)).toEqual([]);
    }
    const platform = await limitsOf(await free.as('admin'), '?platform=true');
    expect(platform.map(({ limit }) => limit)).toEqual(platform.map(() => null));
  });
});

describe('own quotas', () => {
  test('of 0 replace settings that allow one', async () => {
    const { id, client } = await newTeam(tight, unlimited);
    await addSome(client, 'user');
    await addSome(client, 'team', { team_id: id });
    for (const query of ['', `?team_id=${id}`]) {
      const limits = await limitsOf(client, query);
      expect(limits.filter(({ limit, own }) => limit !== null || !own)).toEqual([]);
    }
  });

  test('that are absent leave the settings, which allow one', async () => {
    const { id, client } = await newTeam(tight, null);
    for (const place of [{}, { team_id: id }]) {
      const webhook = { url: 'http://localhost:1/hook', ...place };
      expect((await client.post('/webhooks', webhook)).status).toBe(201);
      expect(await client.post('/webhooks', webhook)).toMatchObject({
        status: 409,
        body: { quota: 'webhooks', limit: 1 },
      });
    }
  });

  test.each([
    [{ live_runs: 0, runs_per_minute: 2 }, 'runs_per_minute'],
    [{ live_runs: 2, runs_per_minute: 0 }, 'live_runs'],
  ])('%j limit starts by %s alone', async (quotas, quota) => {
    const user = await tight.createUser({ roles: ['builder'] });
    await (await tight.as('admin')).patch(`/users/${user.id}`, { quotas });
    const client = await tight.as(user);
    const [, { prepare, add }] = addable('user').find(([name]) => name === quota)!;
    const prepared = (await prepare?.(client, {})) ?? '';
    const replies = [];
    // The minute may change once.
    while (replies.length < 5) replies.push(await add(client, prepared, {}));
    const refused = replies.filter(({ status }) => status === 429);
    expect(new Set(refused.map(({ body }) => body.quota))).toEqual(new Set([quota]));
  });

  test('of descendants too, and of fewer events than a run needs none', async () => {
    const user = await tight.createUser({ roles: ['builder'] });
    const admin = await tight.as('admin');
    const set = (quotas: object) => admin.patch(`/users/${user.id}`, { quotas });
    expect((await set({ run_events: 99 })).status).toBe(422);
    expect((await set({ descendants: 0, run_events: 0 })).status).toBe(200);
    const client = await tight.as(user);
    const [, { prepare, add }] = addable('user').find(([name]) => name === 'live_runs')!;
    const run = (await add(client, (await prepare?.(client, {})) ?? '', {})).body.id;
    const count = () =>
      tight.orm.em.fork().transactional((em) => countDescendant(em, run, runLimits(tight.env)));
    for (let n = 0; n < COUNT; n += 1) await count();
    await set({ descendants: null });
    await expect(count()).rejects.toThrow('at most 1 descendants (RUN_MAX_DESCENDANTS)');
  });
});
