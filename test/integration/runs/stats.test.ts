/** Statistics of runs (docs/runs.md#statistics): equal to counting the runs, whatever happens to them. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { EVENT, type TerminalStatus } from '../../../contracts/run-events.ts';
import { Migration202611222250RunHours } from '../../../db/migrations/202611222250-run-hours.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { removeEndedRuns } from '../../../domain/retention/remove.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { removeOldRows } from '../../../domain/retention/old-rows.ts';
import { foldRunChanges } from '../../../domain/runs/hours.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let app: TestApp;
let orm: Orm;
let ada: TestUser;
let ben: TestUser;
let asAda: Client;
let asBen: Client;
let admin: Client;
let workflows: string[];

const definition = { do: [{ a: { set: { x: 1 } } }] };
const em = () => orm.em.fork();
const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> => em().execute<T[]>(sql, values);

beforeAll(async () => {
  app = await startTestApp();
  orm = createOrm({ url: app.databaseUrl, poolSize: 24, connectionTimeoutMs: 60_000 });
  admin = await app.as('admin');
  [ada, ben] = [await app.createUser({ roles: ['builder'] }), await app.createUser({ roles: ['builder'] })];
  [asAda, asBen] = [await app.as(ada), await app.as(ben)];
  workflows = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const { body } = await asAda.post('/workflows', { name, definition, visibility: 'public' });
      return body.id as string;
    }),
  );
});
beforeEach(async () => {
  await rows('truncate run, run_hour, run_hour_change cascade');
});
afterAll(async () => {
  await orm?.close(true);
  await app?.close();
});

const start = async (who: Client, workflow = workflows[0]): Promise<string> =>
  (await who.post(`/workflows/${workflow}/run`, {})).body.id;

async function end(runId: string, status: TerminalStatus = 'completed'): Promise<boolean> {
  const event = serviceEvent({ key: 'run:ended', type: EVENT.runCompleted, message: 'Run ended' });
  const { closed } = await em().transactional((tx) =>
    appendEvents(
      tx,
      runId,
      { events: [event], projection: null, acks: [] },
      { end: { status, output: null } },
    ),
  );
  return !closed;
}

const stats = async (who: Client, query = ''): Promise<any> => (await who.get(`/runs/stats?${query}`)).body;

interface Counts {
  started: number;
  completed: number;
  faulted: number;
  cancelled: number;
  total_ms: number;
  slowest_ms: number | null;
}

/** The sums of the first series. */
async function counted(who: Client, query = ''): Promise<Counts> {
  const sums = { started: 0, completed: 0, faulted: 0, cancelled: 0, total_ms: 0 };
  let slowest: number | null = null;
  for (const bucket of (await stats(who, query)).series[0].buckets as Counts[]) {
    for (const name of ['started', 'completed', 'faulted', 'cancelled', 'total_ms'] as const)
      sums[name] += bucket[name];
    if (bucket.slowest_ms !== null) slowest = Math.max(slowest ?? 0, bucket.slowest_ms);
  }
  return { ...sums, slowest_ms: slowest };
}

/** The same by counting the runs themselves. */
async function recounted(owner: string | null): Promise<Counts> {
  const [row] = await rows<Counts>(
    `select count(*)::int as started,
            count(*) filter (where status = 'completed')::int as completed,
            count(*) filter (where status = 'faulted')::int as faulted,
            count(*) filter (where status = 'cancelled')::int as cancelled,
            coalesce(sum(ms), 0)::float8 as total_ms, max(ms)::float8 as slowest_ms
       from (select status, case when status = 'completed' then
                    (extract(epoch from finished_at - started_at) * 1000)::bigint end as ms
               from run where ?::uuid is null or owner_id = ?::uuid) runs`,
    [owner, owner],
  );
  if (!row) throw new Error('no counts');
  return row;
}

async function expectExact(): Promise<void> {
  expect(await counted(admin)).toEqual(await recounted(null));
  expect(await counted(asAda)).toEqual(await recounted(ada.id));
  expect(await counted(asBen)).toEqual(await recounted(ben.id));
}

test('each sees the counts of the runs in their own list, folded or not', async () => {
  const ofAda = [await start(asAda), await start(asAda), await start(asAda, workflows[1])];
  const ofBen = [await start(asBen)];
  await expectExact();
  await foldRunChanges(em());
  await end(ofAda[0] ?? '');
  await end(ofAda[1] ?? '', 'faulted');
  await asAda.post(`/runs/${ofAda[2]}/cancel`);
  await end(ofAda[2] ?? '', 'cancelled');
  await end(ofBen[0] ?? '');
  await expectExact();
  expect(await counted(asAda)).toMatchObject({ started: 3, completed: 1, faulted: 1, cancelled: 1 });
  expect(await foldRunChanges(em())).toBe(4);
  await expectExact();
  const viewer = await app.as('viewer');
  expect((await stats(viewer)).series).toEqual([{ workflow_id: null, last_run: null, buckets: [] }]);
  expect((await app.anonymous.get('/runs/stats')).status).toBe(401);
});

test('a series for each workflow, with its latest run that the caller may see', async () => {
  const first = await start(asAda);
  await end(first);
  await foldRunChanges(em());
  const ofBen = await start(asBen);
  const unknown = uuidv7();
  const query = `by=day&workflow_id=${workflows[1]},${workflows[0]},${unknown}`;
  const shown = await stats(asAda, query);
  expect(shown.series.map((one: any) => [one.workflow_id, one.last_run?.id, one.buckets.length])).toEqual([
    [workflows[1], undefined, 0],
    [workflows[0], first, 1],
    [unknown, undefined, 0],
  ]);
  expect(shown.series[1].last_run).toMatchObject({ status: 'completed' });
  expect((await stats(asBen, query)).series[1].last_run).toMatchObject({ id: ofBen, status: 'pending' });
  await foldRunChanges(em());
  expect((await stats(admin, query)).series[1].last_run.id).toBe(ofBen);
});

test('of a team: for its builders and admins all runs of its workflows, for others their own', async () => {
  const team = (await admin.post('/teams', { name: 'counting', admin: ada.id })).body.id;
  const held = (await asAda.post('/workflows', { name: 'held', definition, team_id: team })).body.id;
  const cleo = await app.createUser({ roles: ['builder'] });
  for (const [user, role] of [
    [ben.id, 'builder'],
    [cleo.id, 'viewer'],
  ])
    expect((await asAda.put(`/teams/${team}/members/${user}`, { role })).status).toBe(201);
  const asCleo = await app.as(cleo);
  await start(asAda);
  const ofAda = await start(asAda, held);
  await end(ofAda);
  await foldRunChanges(em());
  const ofBen = await start(asBen, held);
  const query = `team_id=${team}`;
  for (const who of [asAda, asBen, admin])
    expect(await counted(who, query)).toMatchObject({ started: 2, completed: 1 });
  expect(await counted(asAda)).toMatchObject({ started: 2 });
  expect(await counted(asBen)).toMatchObject({ started: 1 });
  for (const who of [asCleo, await app.as('builder')])
    expect(await counted(who, query)).toMatchObject({ started: 0 });

  const both = `by=day&${query}&workflow_id=${held},${workflows[0]}`;
  for (const who of [asAda, asBen])
    expect((await stats(who, both)).series.map((one: any) => [one.last_run?.id, one.buckets.length])).toEqual(
      [
        [ofBen, 1],
        [undefined, 0],
      ],
    );
  expect((await stats(asCleo, both)).series[0]).toMatchObject({ last_run: null, buckets: [] });
  expect((await asAda.get('/runs/stats?team_id=nonsense')).status).toBe(400);
  expect((await stats(asAda, `team_id=${uuidv7()}`)).series[0].buckets).toEqual([]);
});

test('ends at once, each tried twice, while several workers fold, are counted once', async () => {
  const runs = await Promise.all(
    Array.from({ length: 60 }, (_, n) => start(n % 2 === 0 ? asAda : asBen, workflows[n % 3 === 0 ? 1 : 0])),
  );
  const words = ['completed', 'faulted', 'cancelled'] as const;
  const folding = Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let n = 0; n < 20; n++) await foldRunChanges(em());
    }),
  );
  const ended = await Promise.all(runs.flatMap((run, n) => [end(run, words[n % 3]), end(run, words[n % 3])]));
  await folding;
  expect(ended.filter(Boolean)).toHaveLength(60);
  await expectExact();
  await foldRunChanges(em());
  await expectExact();
  expect(await rows('select from run_hour_change')).toEqual([]);
  expect(await counted(admin)).toMatchObject({ started: 60, completed: 20, faulted: 20, cancelled: 20 });
});

test('a transaction that is rolled back counts nothing', async () => {
  const run = await start(asAda);
  const failed = em().transactional(async (tx) => {
    const event = serviceEvent({ key: 'run:ended', type: EVENT.runCompleted, message: 'Run ended' });
    await appendEvents(
      tx,
      run,
      { events: [event], projection: null, acks: [] },
      { end: { status: 'completed', output: null } },
    );
    throw new Error('rolled back');
  });
  await expect(failed).rejects.toThrow('rolled back');
  expect(await counted(asAda)).toMatchObject({ started: 1, completed: 0 });
});

test('counts outlive their runs, go to a new owner with them, and are removed after 400 days', async () => {
  const runs = [await start(asAda), await start(asAda), await start(asBen)];
  await Promise.all(runs.map((run) => end(run)));
  await foldRunChanges(em());
  runs.push(await start(asAda));
  const before = await counted(asAda);
  expect((await removeEndedRuns(em(), 0)).runs).toBe(3);
  expect(await counted(asAda)).toEqual(before);

  const ofBen = await counted(asBen);
  expect((await admin.post(`/users/${ada.id}/transfer`, { to: ben.id })).status).toBe(200);
  expect(await counted(asAda)).toMatchObject({ started: 0, completed: 0 });
  expect(await counted(asBen)).toMatchObject({
    started: before.started + ofBen.started,
    completed: before.completed + ofBen.completed,
    total_ms: before.total_ms + ofBen.total_ms,
  });
  expect((await admin.post(`/users/${ben.id}/transfer`, { to: ada.id })).status).toBe(200);

  await foldRunChanges(em());
  const all = (await rows('select from run_hour')).length;
  await rows(`update run_hour set hour = hour - interval '401 days' where owner_id = ?`, [ada.id]);
  await removeOldRows(em(), 30);
  expect(all).toBeGreaterThan(0);
  expect((await rows('select from run_hour where owner_id = ?', [ada.id])).length).toBe(0);
});

test('hours and days are whole ones in UTC, and their number is bounded', async () => {
  await rows(
    `insert into run_hour (owner_id, workflow_id, hour, started)
     select ?::uuid, ?::uuid, at, 1
       from unnest('{2026-03-01T22:00Z,2026-03-01T23:00Z,2026-03-02T00:00Z}'::timestamptz[]) at`,
    [ada.id, workflows[0]],
  );
  const range = 'from=2026-03-01T22:59:59Z&to=2026-03-02T00:00:01Z';
  const hours = await stats(asAda, range);
  expect(hours).toMatchObject({ from: '2026-03-01T22:00:00.000Z', to: '2026-03-02T01:00:00.000Z' });
  expect(hours.series[0].buckets.map(({ at }: any) => at)).toEqual([
    '2026-03-01T22:00:00.000Z',
    '2026-03-01T23:00:00.000Z',
    '2026-03-02T00:00:00.000Z',
  ]);
  const days = await stats(asAda, `by=day&${range}`);
  expect(days.series[0].buckets.map(({ at, started }: any) => [at, started])).toEqual([
    ['2026-03-01T00:00:00.000Z', 2],
    ['2026-03-02T00:00:00.000Z', 1],
  ]);
  const ids = (count: number) => Array.from({ length: count }, () => uuidv7()).join(',');
  for (const refused of [
    'by=week',
    'from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z',
    'by=day&from=2024-01-01T00:00:00Z&to=2026-03-01T00:00:00Z',
    'workflow_id=nonsense',
    `workflow_id=${ids(201)}`,
    `by=day&workflow_id=${ids(20)}&from=2025-03-01T00:00:00Z&to=2026-03-01T00:00:00Z`,
  ])
    expect([refused.slice(0, 40), (await asAda.get(`/runs/stats?${refused}`)).status]).toEqual([
      refused.slice(0, 40),
      400,
    ]);
});

test('the migration counts the runs that are there', async () => {
  const runs = await Promise.all([start(asAda), start(asAda, workflows[1]), start(asBen), start(asBen)]);
  await end(runs[0] ?? '');
  await end(runs[1] ?? '', 'faulted');
  await end(runs[2] ?? '', 'cancelled');
  const before = await stats(admin, 'by=day');
  await rows('drop table run_hour, run_hour_change');
  for (const sql of sqlOf(Migration202611222250RunHours)) await rows(sql);
  expect(await stats(admin, 'by=day')).toEqual(before);
  await expectExact();
});

/** What a migration without conditions executes. */
function sqlOf(migration: typeof Migration202611222250RunHours): string[] {
  const sql: string[] = [];
  const recorder = Object.assign(Object.create(migration.prototype), {
    addSql: (statement: string) => sql.push(statement),
  });
  recorder.up();
  return sql;
}
