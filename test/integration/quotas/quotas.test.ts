/** Quotas of users, teams and the platform stay exact, whichever copy of the API is asked at once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createAccessToken } from '../../../domain/auth/access-tokens.ts';
import { countDescendant, runLimits } from '../../../domain/runs/limits.ts';
import { startOnTime, startWaitingTime } from '../../../domain/schedules/start.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';

let app: TestApp;
let copy: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { PLATFORM_MAX_WEBHOOKS: '3', EGRESS_ALLOW: 'localhost' } });
  copy = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { PLATFORM_MAX_WEBHOOKS: '3', BASE_URL: app.url },
  });
  admin = await app.as('admin');
});
afterAll(async () => {
  await copy.close();
  await app.close();
});

/** Runs that have not ended wait here, because there is no Temporal. */
const definition = {
  document: { dsl: '1.0.3', namespace: 'test', name: 'quota', version: '1.0.0' },
  do: [{ done: { set: { done: true } } }],
};
const sql = (text: string, values: unknown[] = []) => app.orm.em.fork().execute<any[]>(text, values);

interface Person {
  user: TestUser;
  /** Of both copies of the API. */
  clients: Client[];
  client: Client;
}

async function person(quotas: Record<string, number> | null = null): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  if (quotas) expect((await admin.patch(`/users/${user.id}`, { quotas })).status).toBe(200);
  const clients = [createClient(app.url, user.token), createClient(copy.url, user.token)];
  return { user, clients, client: await app.as(user) };
}

async function workflowOf({ client }: Person, more: object = {}): Promise<string> {
  const { status, body } = await client.post('/workflows', { name: 'quota', definition, ...more });
  expect(status).toBe(201);
  return body.id;
}

/** Requests at the same time, in turns at the copies of the API. */
async function atOnce(
  count: number,
  { clients }: Person,
  ask: (client: Client, n: number) => Promise<Reply>,
) {
  const replies = await Promise.all(
    Array.from({ length: count }, (_, n) => ask(clients[n % clients.length]!, n)),
  );
  const refused = replies.filter(({ status }) => status >= 400);
  return { done: replies.length - refused.length, refused };
}

const limitsOf = async (client: Client, query = '') =>
  Object.fromEntries(
    (await client.get(`/usage/limits${query}`)).body.limits.map((one: any) => [one.name, one]),
  );

test('of 100 starts at once at a quota of 10, exactly 10 begin; the next when one has ended', async () => {
  const ann = await person({ live_runs: 10 });
  const workflow = await workflowOf(ann);
  const { done, refused } = await atOnce(100, ann, (client) => client.post(`/workflows/${workflow}/run`, {}));
  expect([done, refused.length]).toEqual([10, 90]);
  for (const { status, body, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([429, '10']);
    expect(body).toMatchObject({
      code: 'too_many_live_runs',
      quota: 'live_runs',
      scope: 'user',
      setting: 'USER_MAX_LIVE_RUNS',
      limit: 10,
      detail: expect.stringContaining('at most 10 runs that are not over (quota live_runs)'),
    });
  }
  expect((await limitsOf(ann.client))['live_runs']).toEqual({
    name: 'live_runs',
    scope: 'user',
    per: null,
    limit: 10,
    used: 10,
    setting: 'USER_MAX_LIVE_RUNS',
    own: true,
  });
  const [first] = (await ann.client.get('/runs?limit=1')).body;
  expect((await ann.client.post(`/runs/${first.id}/cancel`)).status).toBeLessThan(300);
  const next = await atOnce(3, ann, (client) => client.post(`/workflows/${workflow}/run`, {}));
  expect(next.done).toBe(1);
});

test('starts far from the quota do not wait for each other, and none is too many', async () => {
  const [{ connections }] = await sql(`select current_setting('max_connections')::int as connections`);
  const ann = await person({ live_runs: connections + 6 });
  const workflow = await workflowOf(ann);
  // Below 6 they share a lock, from then on each has it alone.
  await sql(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
     select id, 'quota', '{}', 'running', ?, id from (
       select gen_random_uuid() as id from generate_series(1, ?)) ids`,
    [ann.user.id, 3],
  );
  const early = await atOnce(12, ann, (client) => client.post(`/workflows/${workflow}/run`, {}));
  expect(early.done).toBe(12);
  await sql(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
     select id, 'quota', '{}', 'running', ?, id from (
       select gen_random_uuid() as id from generate_series(1, ?)) ids`,
    [ann.user.id, connections - 16],
  );
  const late = await atOnce(20, ann, (client) => client.post(`/workflows/${workflow}/run`, {}));
  expect(late.done).toBe(7);
});

test('no minute has more starts than the quota, and a start with a key that ran is none', async () => {
  const ann = await person({ runs_per_minute: 10 });
  const workflow = await workflowOf(ann);
  const { done, refused } = await atOnce(60, ann, (client) => client.post(`/workflows/${workflow}/run`, {}));
  const minutes = await sql(
    'select sum(runs)::int as runs from run_rate where holder_id = ? group by minute order by minute',
    [ann.user.id],
  );
  // The minute may change meanwhile, before or after ten starts: then the other one is full.
  const runs = minutes.map((minute) => minute.runs);
  expect([Math.max(...runs), runs.length <= 2]).toEqual([10, true]);
  expect(done).toBe(minutes.reduce((sum, { runs }) => sum + runs, 0));
  const { status, body, headers } = refused[0]!;
  expect([status, body.code, body.quota]).toEqual([429, 'too_many_runs_per_minute', 'runs_per_minute']);
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
});

test('of starts with one key at once, all get the run that took the last place', async () => {
  const ann = await person({ live_runs: 1 });
  const workflow = await workflowOf(ann);
  const replies = await Promise.all(
    [0, 1, 2, 3].map((n) => ann.clients[n % 2]!.post(`/workflows/${workflow}/run`, { key: 'only' })),
  );
  expect(replies.map(({ body }) => body.id)).toEqual(Array(4).fill(expect.any(String)));
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1);
});

test('files and their bytes are counted exactly, and for the team where they are its own', async () => {
  const ann = await person({ files: 10, stored_bytes: 1_000 });
  const upload = (client: Client, bytes: number, query = '') =>
    client.post(`/files${query}`, 'a'.repeat(bytes), { headers: { 'content-type': 'text/plain' } });
  const many = await atOnce(40, ann, (client) => upload(client, 20));
  expect(many.done).toBe(10);
  expect(many.refused[0]!.body).toMatchObject({
    code: 'limit_reached',
    quota: 'files',
    setting: 'USER_MAX_FILES',
    limit: 10,
    detail: expect.stringContaining('the quota files of this user allows 10'),
  });
  const bert = await person({ stored_bytes: 1_000 });
  const large = await atOnce(20, bert, (client) => upload(client, 150));
  expect(large.done).toBe(6);
  expect(large.refused.map(({ body }) => body.quota)).toEqual(Array(14).fill('stored_bytes'));
  const used = await limitsOf(bert.client);
  expect([used['files'].used, used['stored_bytes'].used]).toEqual([6, 900]);

  const team = (await admin.post('/teams', { name: `team-${ann.user.username}`, admin: ann.user.id })).body;
  expect((await admin.patch(`/teams/${team.id}`, { quotas: { files: 1 } })).body.quotas).toEqual({
    files: 1,
  });
  expect((await upload(ann.client, 20, `?team_id=${team.id}`)).status).toBe(201);
  const second = await upload(ann.client, 20, `?team_id=${team.id}`);
  expect([second.status, second.body.scope, second.body.setting]).toEqual([409, 'team', 'TEAM_MAX_FILES']);
  expect((await limitsOf(ann.client, `?team_id=${team.id}`))['files']).toMatchObject({ used: 1, limit: 1 });
  // What moves counts at its new place.
  const [own] = await sql('select id from file where owner_id = ? and team_id is null limit 1', [
    ann.user.id,
  ]);
  const moved = await ann.client.patch(`/files/${own.id}`, { team_id: team.id });
  expect([moved.status, moved.body]).toMatchObject([409, { quota: 'files', scope: 'team', limit: 1 }]);
  expect((await limitsOf(ann.client))['files']).toMatchObject({ used: 10 });
});

test('secrets and tokens are counted exactly', async () => {
  const ann = await person({ secrets: 3, tokens: 3 });
  const secrets = await atOnce(12, ann, (client, n) => client.put(`/secrets/S${n}`, { value: 'x' }));
  expect(secrets.done).toBe(3);
  const token = {
    name: 'test',
    scopes: ['runs:read'],
    expiresAt: new Date(Date.now() + 3_600_000),
    maxDays: 1,
    secondFactorRoles: [],
    limits: app.env,
  };
  const actor = { id: ann.user.id, username: '', roles: ann.user.roles, groups: [] };
  const created = await Promise.allSettled(
    Array.from({ length: 10 }, () =>
      app.orm.em.fork().transactional((em) => createAccessToken(em, actor, token)),
    ),
  );
  expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const [refused] = created.filter((one) => one.status === 'rejected');
  expect(refused?.reason).toMatchObject({ code: 'too_many_tokens', extra: { setting: 'USER_MAX_TOKENS' } });
});

test('inbound webhooks count for the team that holds them', async () => {
  const ann = await person({ inbound_webhooks: 1, secrets: 10 });
  const { body: team } = await admin.post('/teams', { name: 'hooks' });
  await admin.put(`/teams/${team.id}/members/${ann.user.id}`, { role: 'admin' });
  expect((await admin.patch(`/teams/${team.id}`, { quotas: { inbound_webhooks: 2 } })).status).toBe(200);
  for (const path of ['/secrets/HOOK', `/secrets/HOOK?team_id=${team.id}`])
    await ann.client.put(path, { value: 'a secret of the hook' });
  const hook = { name: 'h', scheme: 'github', secret: 'HOOK' };
  const make = (more: object) => atOnce(4, ann, (client) => client.post('/hooks', { ...hook, ...more }));
  const ofTeam = await make({ team_id: team.id });
  expect(ofTeam.done).toBe(2);
  expect(ofTeam.refused[0]?.body).toMatchObject({ quota: 'inbound_webhooks', scope: 'team', limit: 2 });
  expect((await make({})).done).toBe(1);
});

test('who takes over what somebody has stays within the own quotas', async () => {
  const [ann, bob] = await Promise.all([person(), person({ secrets: 1 })]);
  for (const name of ['A', 'B']) await ann.client.put(`/secrets/${name}`, { value: 'x' });
  const handOver = () => admin.post(`/users/${ann.user.id}/transfer`, { to: bob.user.id });
  const refused = await handOver();
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { code: 'limit_reached', quota: 'secrets', limit: 1 },
  ]);
  expect((await bob.client.get('/secrets')).body).toEqual([]);
  await admin.patch(`/users/${bob.user.id}`, { quotas: { secrets: 2 } });
  expect((await handOver()).body).toMatchObject({ secrets: 2 });
});

test('of a transfer only what is handed over is checked, live runs included', async () => {
  const [ann, bob] = await Promise.all([person(), person()]);
  await bob.client.put('/secrets/ONE', { value: 'x' });
  await bob.client.put('/secrets/TWO', { value: 'x' });
  const own = await workflowOf(bob);
  expect((await bob.client.post(`/workflows/${own}/run`)).status).toBe(201);
  const id = await workflowOf(ann);
  const runs = await Promise.all([1, 2].map(() => ann.client.post(`/workflows/${id}/run`)));
  expect(runs.map(({ status }) => status)).toEqual([201, 201]);
  // Secrets are above a limit that was lowered, but none is handed over.
  await admin.patch(`/users/${bob.user.id}`, { quotas: { secrets: 1, live_runs: 2 } });
  const handOver = () => admin.post(`/users/${ann.user.id}/transfer`, { to: bob.user.id });
  const refused = await handOver();
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { code: 'limit_reached', quota: 'live_runs', scope: 'user', limit: 2 },
  ]);
  expect((await ann.client.get(`/runs/${runs[0]?.body.id}`)).body.owner_id).toBe(ann.user.id);
  await admin.patch(`/users/${bob.user.id}`, { quotas: { secrets: 1, live_runs: 3 } });
  expect(await handOver()).toMatchObject({ status: 200, body: { workflows: 1, runs: 2, secrets: 0 } });
  expect((await limitsOf(bob.client))['live_runs']).toMatchObject({ used: 3, limit: 3 });
  // History is the new owner's, and is shown.
  expect((await bob.client.get(`/workflows/${id}/revisions`)).body).toHaveLength(1);
  const listed = (await bob.client.get(`/runs?workflow_id=${id}`)).body;
  expect(listed.map((run: any) => run.id).toSorted()).toEqual(runs.map(({ body }) => body.id).toSorted());
  // A start has no room any more.
  expect((await bob.client.post(`/workflows/${own}/run`)).status).toBe(429);
});

test('the platform has a limit for all users and teams together', async () => {
  const [ann, bert] = [await person(), await person()];
  const webhook = { url: 'http://localhost:1/hook' };
  for (const client of [ann.client, ann.client, bert.client])
    expect((await client.post('/webhooks', webhook)).status).toBe(201);
  const { status, body } = await bert.client.post('/webhooks', webhook);
  expect([status, body.scope, body.setting, body.limit]).toEqual([
    409,
    'platform',
    'PLATFORM_MAX_WEBHOOKS',
    3,
  ]);
  expect((await limitsOf(admin, '?platform=true'))['webhooks']).toMatchObject({ used: 3, limit: 3 });
});

test("limits are shown to their user, to a team's members and to admins", async () => {
  const [ann, bert] = [await person(), await person()];
  const team = (await admin.post('/teams', { name: `seen-${ann.user.username}`, admin: ann.user.id })).body;
  const ask = async ({ client }: { client: Client }, query: string) =>
    (await client.get(`/usage/limits?${query}`)).status;
  expect(await ask(ann, `user_id=${ann.user.id}`)).toBe(200);
  expect(await ask(bert, `user_id=${ann.user.id}`)).toBe(404);
  expect(await ask({ client: admin }, `user_id=${ann.user.id}`)).toBe(200);
  expect(await ask(ann, `team_id=${team.id}`)).toBe(200);
  expect(await ask(bert, `team_id=${team.id}`)).toBe(404);
  expect(await ask(ann, 'platform=true')).toBe(403);
  expect(await ask({ client: admin }, `platform=true&user_id=me`)).toBe(400);
  const standard = await limitsOf(ann.client);
  expect(standard['streams']).toMatchObject({ per: null, limit: 50, used: 0, own: false });
  expect(standard['descendants']).toMatchObject({ per: 'run', limit: 1_000, setting: 'RUN_MAX_DESCENDANTS' });
});

test('only administrators set quotas, which the audit log shows', async () => {
  const ann = await person({ files: 7, secrets: 2 });
  const path = `/users/${ann.user.id}`;
  const team = (await admin.post('/teams', { name: `set-${ann.user.username}`, admin: ann.user.id })).body;
  expect((await ann.client.patch(path, { quotas: { files: 9 } })).status).toBe(403);
  expect((await ann.client.patch(`/teams/${team.id}`, { quotas: { files: 9 } })).status).toBe(403);
  expect((await admin.patch(path, { quotas: { files: -1 } })).status).toBe(422);
  expect((await admin.patch(path, { quotas: { unknown: 1 } })).status).toBe(422);
  expect((await admin.patch(path, { quotas: { secrets: null } })).body.quotas).toEqual({ files: 7 });
  expect((await admin.patch(path, { quotas: null })).body.quotas).toBeNull();
  const entries = await sql(
    `select data from audit_entry where action = 'updateUser' and object_id = ? order by id`,
    [ann.user.id],
  );
  expect(entries[0].data.changes.quotas.new).toEqual({ files: 7, secrets: 2 });
});

test("a user's own number of descendants replaces the setting", async () => {
  const ann = await person({ descendants: 1 });
  const workflow = await workflowOf(ann);
  const { id } = (await ann.client.post(`/workflows/${workflow}/run`, {})).body;
  const count = () => app.orm.em.fork().transactional((em) => countDescendant(em, id, runLimits(app.env)));
  await count();
  await expect(count()).rejects.toThrow('at most 1 descendants (quota descendants)');
  expect((await limitsOf(ann.client))['descendants']).toMatchObject({ used: 1, limit: 1 });
});

test('times of a schedule wait for the quota, and start one after the other when there is room', async () => {
  const ann = await person({ live_runs: 1 });
  const scheduled = { ...definition, schedule: { every: { hours: 1 } } };
  const workflow = await workflowOf(ann, { definition: scheduled });
  await sql(`update workflow_schedule set overlap = 'allow' where workflow_id = ?`, [workflow]);
  const limits = runLimits(app.env);
  const started = async (at: Date) =>
    app.orm.em.fork().transactional((em) => startOnTime(em, { workflowId: workflow, at, limits }));
  const waiting = async () =>
    app.orm.em.fork().transactional((em) => startWaitingTime(em, { workflowId: workflow, limits }));
  const times = [3, 2, 1].map((minutes) => new Date(Date.now() - minutes * 60_000));
  const outcomes = [];
  for (const at of [...times, times[2]!]) outcomes.push((await started(at)).outcome);
  expect(outcomes).toEqual(['started', 'buffered', 'buffered', 'buffered']);
  expect((await waiting())?.outcome).toBe('buffered');
  const [{ id: first }] = (await ann.client.get('/runs?limit=1')).body;
  await ann.client.post(`/runs/${first}/cancel`);
  const second = await waiting();
  expect(second?.outcome).toBe('started');
  const [row] = await sql('select scheduled_at from run where id = ?', [second?.run_id]);
  expect(new Date(row.scheduled_at)).toEqual(times[1]);
  expect(await sql('select scheduled_at from schedule_wait where workflow_id = ?', [workflow])).toHaveLength(
    1,
  );
});
