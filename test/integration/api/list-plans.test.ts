/**
 * The plans of all filtered lists, as the API asks for them, on tables of 10,000 rows and more: none scans a
 * table, and none reads much more than its page.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
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
];

let app: TestApp;
let rows: ManyRows;
let admin: Client;
/** Has what the person with the number 1 had. */
let person: Client;
let keep: KeepStatements;
const ids = new Map<string, string>();

beforeAll(async () => {
  app = await startTestApp({ strictResponses: false });
  admin = await app.as('admin');
  const em = app.orm.em.fork();
  rows = await insertManyRows(em, COUNTS, END_MS);
  for (const [table, n] of [
    ['users', 1],
    ['workflows', 8],
    ['agents', 1],
    ['runs', 15_000],
    ['tasks', 5_000],
    ['deliveries', 1],
  ] as const) {
    const [row] = await em.execute<{ id: string }[]>(`select ${rows.idOf(table, String(n))} as id`);
    ids.set(table, row?.id ?? '');
  }
  const user = await app.createUser();
  for (const [table, column] of [
    ['workflow', 'owner_id'],
    ['agent', 'owner_id'],
    ['file', 'owner_id'],
    ['run', 'owner_id'],
    ['hitl_task', 'owner_id'],
    ['marketplace_item', 'publisher_id'],
    ['notification', 'user_id'],
  ])
    await em.execute(`update ${table} set ${column} = ? where ${column} = ?`, [user.id, ids.get('users')]);
  person = await app.as(user);
  keep = keepStatements(app.orm);
});
afterAll(() => app.close());

/** Half a year and an hour of the rows. */
const FROM = new Date(END_MS - 200 * 24 * 3_600_000).toISOString();
const TO = new Date(END_MS - 199.5 * 24 * 3_600_000).toISOString();

/** Who asks, for what, and how many rows of the tables above may be read; default 1,000. */
const LISTS: [who: 'admin' | 'person', path: string, most?: number][] = [
  ...(['admin', 'person'] as const).flatMap((who): [typeof who, string][] => [
    [who, '/runs'],
    [who, '/runs?q=payment+2707'],
    [who, '/runs?q=approval'],
    [who, '/runs?q=nothing+like+it'],
    [who, `/runs?created_before=${FROM}`],
    [who, `/runs?created_after=${FROM}&created_before=${TO}`],
    [who, `/runs?created_after=${new Date(END_MS).toISOString()}`],
    [who, '/runs?status=faulted'],
    [who, `/runs?status=completed&created_before=${FROM}`],
    [who, '/runs?workflow_id={workflows}'],
    [who, '/runs?agent_id={agents}'],
    [who, '/runs?run_tag=tag-700'],
    [who, '/runs?label=number%3D700'],
    [who, '/runs?key=key-700'],
    [who, '/runs?tag=tag-7'],
    [who, '/runs?parent_run_id={runs}'],
    [who, '/runs?q={runs}'],
    [who, '/hitl/tasks'],
    [who, '/hitl/tasks?q=claim+payment+2708'],
    [who, '/hitl/tasks?q=nothing+like+it'],
    [who, '/hitl/tasks?sort=created&q=review'],
    [who, '/agents?q=payment+2707'],
    [who, '/agents?q=nothing+like+it'],
    [who, '/agents?type=a2a'],
    [who, '/agents?status=deprecated'],
    [who, '/agents?tag=tag-7'],
    [who, '/agents?capability=capability-7'],
    [who, '/agents?modality=modality-7'],
    [who, '/workflows?q=payment+2707'],
    [who, '/workflows?q=nothing+like+it'],
    [who, '/workflows?tag=tag-7'],
    [who, '/startable-workflows?q=payment+2707'],
    [who, '/marketplace/items?q=payment+2707'],
    [who, '/marketplace/items?q=nothing+like+it'],
    [who, '/marketplace/items?tag=tag-7'],
    [who, '/marketplace/items?category=category-7'],
    [who, '/files?q=payment+2707'],
    [who, '/files?q=nothing+like+it'],
    [who, '/users/directory?q=person-2707'],
    [who, '/users/directory?q=payment+2707'],
  ]),
  ['admin', '/runs?owner_id={users}'],
  ['admin', '/hitl/tasks?scope=all&q=payment+2707'],
  ['admin', '/hitl/tasks?scope=all&workflow_id={workflows}'],
  ['admin', '/workflows?valid=false'],
  ['admin', '/marketplace/items?status=rejected'],
  ['admin', '/users?q=person-2707'],
  ['admin', '/users?q=nothing+like+it'],
  ['admin', '/users?role=admin'],
  ['admin', '/users?group=group-7'],
  ['admin', '/users?status=disabled'],
  ['admin', '/audit?action=user.update'],
  ['admin', '/audit?outcome=refused'],
  ['admin', '/audit?object_type=user'],
  ['admin', '/audit?object_id=700'],
  ['admin', '/audit?actor_id={users}'],
  ['admin', '/audit?address=10.0.0.7'],
  ['admin', `/audit?from=${FROM}&to=${TO}`],
  ['admin', '/webhooks/{deliveries}/deliveries?status=failed'],
  ['admin', '/webhooks/{deliveries}/deliveries?status=delivered'],
  ['admin', '/agents/{agents}/jobs?status=failed'],
  ['admin', '/agents/{agents}/jobs?status=waiting'],
  ['admin', '/agents/{agents}/jobs?run_id={runs}'],
  ['person', '/notifications?unread=true'],
  ['person', '/notifications?kind=mentioned'],
];

test.each(LISTS)('%s reads %s by index', async (who, template, most = 1_000) => {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, table: string) => ids.get(table) ?? '');
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
