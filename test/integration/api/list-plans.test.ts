/**
 * The plans of all filtered lists, as the API asks for them, on tables of 10,000 rows and more: none scans a
 * table, and none reads much more than its page.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { filteredLists, giveRows, idsOfLists, withIds } from '../../support/filtered-lists.ts';
import { makeMonthsBefore } from '../../support/log-months.ts';
import { insertManyRows, type ManyRows, type RowCounts } from '../../support/many-rows.ts';
import { explainAll, keepStatements, type KeepStatements } from '../../support/plans.ts';

const COUNTS: RowCounts = {
  users: 10_000,
  workflows: 10_000,
  agents: 10_000,
  items: 10_000,
  files: 10_000,
  runs: 20_000,
  tasks: 10_000,
  eventsOfRun: 1,
  entries: 10_000,
  deliveries: 10_000,
  notifications: 10_000,
  jobs: 10_000,
  others: 10_000,
};
const END_MS = Date.UTC(2026, 0, 1);
const BIG = [
  'user_account',
  'workflow',
  'workflow_revision',
  'agent',
  'marketplace_item',
  'file',
  'run',
  'run_pin',
  'run_event',
  'hitl_task',
  'hitl_task_text',
  'audit_entry',
  'delivery',
  'notification',
  'job',
  'team',
  'delivery_target',
  'webhook',
  'inbound_hook',
  'event_source',
  'chat_session',
  'inbound_event',
];

let app: TestApp;
let rows: ManyRows;
let admin: Client;
/** Has what the person with the number 1 had. */
let person: Client;
let keep: KeepStatements;
let ids: Map<string, string>;

beforeAll(async () => {
  app = await startTestApp({ strictResponses: false });
  admin = await app.as('admin');
  const em = app.orm.em.fork();
  await makeMonthsBefore(em, END_MS, 12);
  rows = await insertManyRows(em, COUNTS, END_MS);
  ids = await idsOfLists(em, rows);
  const user = await app.createUser();
  await giveRows(em, ids, user.id);
  person = await app.as(user);
  keep = keepStatements(app.orm);
});
afterAll(() => app.close());

test.each(filteredLists(END_MS))('%s reads %s by index', async (who, template, most = 1_000) => {
  const path = withIds(template, ids);
  const client = who === 'admin' ? admin : person;
  let status = 0;
  const statements = await keep(async () => ({ status } = await client.get(path)));
  expect([path, status]).toEqual([path, 200]);
  const { scanned, read } = await explainAll(app.orm, statements, BIG);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThanOrEqual(most);
});

test.each([
  ['long after', '1 day'],
  ['long before', '-1 day'],
])('a run whose row is stored %s its id is made belongs to the time of its row', async (_name, apart) => {
  const em = app.orm.em.fork();
  const id = ids.get('runs') ?? '';
  const [row] = await em.execute<{ made: string; stored: string }[]>(
    `update run set created_at = to_timestamp(? / 1000.0) + ?::interval where id = ?
     returning created_at - ?::interval as made, created_at as stored`,
    [rows.timeOf('runs', 15_000), apart, id, apart],
  );
  for (const around of [row?.made, row?.stored]) {
    const [after, before] = [-3_600_000, 3_600_000].map((ms) =>
      new Date(Date.parse(around ?? '') + ms).toISOString(),
    );
    const expected = await em.execute<{ id: string }[]>(
      'select id from run where created_at > ?::timestamptz and created_at < ?::timestamptz order by id desc',
      [after, before],
    );
    expect(expected.length).toBeGreaterThan(1);
    expect(expected.some((run) => run.id === id)).toBe(around === row?.stored);
    const { body } = await admin.get(`/runs?limit=200&created_after=${after}&created_before=${before}`);
    expect(body.map((run: { id: string }) => run.id)).toEqual(expected.map((run) => run.id));
  }
});

test('the sessions of a user are read by index', async () => {
  const em = app.orm.em.fork();
  await em.execute(
    `insert into auth_session (id, user_id, expires_at)
     select gen_random_uuid(), u.id, now() + interval '1 day' from user_account u, generate_series(1, 3)`,
  );
  await em.execute('analyze auth_session');
  let body: unknown[] = [];
  const statements = await keep(
    async () => ({ body } = await admin.get(withIds('/users/{users}/sessions', ids))),
  );
  expect(body).toHaveLength(3);
  const { scanned, read } = await explainAll(app.orm, statements, [...BIG, 'auth_session']);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThanOrEqual(100);
});

test.each([['admin'], ['person']] as const)(
  "a team's statistics of runs, for %s, read its hours",
  async (who) => {
    const em = app.orm.em.fork();
    // An hour of each workflow on each of the last days.
    await em.execute('truncate run_hour');
    await em.execute(
      `insert into run_hour (owner_id, workflow_id, hour, started)
     select owner_id, id, date_trunc('hour', now()) - n * interval '1 day', 1
       from workflow, generate_series(0, 9) n`,
    );
    await em.execute('analyze run_hour');
    const client = who === 'admin' ? admin : person;
    let body: { series: { buckets: { started: number }[] }[] } | undefined;
    const path = withIds('/runs/stats?team_id={others}', ids);
    const statements = await keep(async () => ({ body } = await client.get(path)));
    expect(body?.series[0]?.buckets[0]?.started).toBeGreaterThan(0);
    const { scanned, read } = await explainAll(app.orm, statements, [...BIG, 'run_hour']);
    expect(scanned).toEqual([]);
    expect(read).toBeLessThanOrEqual(1_000);
  },
);
