/**
 * The plans of lists of what a user sees, with 60,000 records of others: both parts of the condition (held by
 * the user and their teams, or public) come from an index, or the newest are read until the page is full.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Actor } from '../../../domain/auth/actor.ts';
import { seenBy } from '../../../domain/auth/ownership.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

const ROWS = 60_000;
const PAGE = 50;
let app: TestApp;
/** A member of two teams who sees a record in 500 of what is private, and the same of what is public. */
let member: Actor;

beforeAll(async () => {
  app = await startTestApp();
  const [user, other] = [await app.createUser(), await app.createUser()];
  const admin = await app.as('admin');
  const teams: string[] = [];
  for (const name of ['left', 'right'])
    teams.push((await admin.post('/teams', { name, admin: user.id })).body.id);
  member = { ...user, teams: teams.map((id) => ({ id, role: 'builder' as const })) };
  const em = app.orm.em.fork();
  const held = `case when n % 1000 = 0 then ?::uuid when n % 1000 = 1 then ?::uuid end`;
  const seen = (often: number): string => `case when n % ${often} = 2 then 'public' else 'private' end`;
  const from = `from generate_series(1, ${ROWS}) n`;
  await em.execute(
    `insert into file (id, owner_id, team_id, visibility, name, media_type, size, sha256)
     select gen_random_uuid(), ?::uuid, ${held}, ${seen(500)}, 'f', 'text/plain', 1, 'none' ${from}`,
    [other.id, ...teams],
  );
  await em.execute(
    `insert into workflow (id, owner_id, team_id, visibility, name, tags, revision, valid, runnable,
                           created_at, updated_at)
     select gen_random_uuid(), ?::uuid, ${held}, ${seen(3)}, 'w', '{}', 1, true, true, now(), now() ${from}`,
    [other.id, ...teams],
  );
  for (const table of ['file', 'workflow']) await em.execute(`vacuum analyze ${table}`);
});
afterAll(() => app.close());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

async function explain(table: string, after: string | null): Promise<{ nodes: string[]; read: number }> {
  const seen = seenBy(member, 't');
  const [row] = await app.orm.em.fork().execute<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(
    `explain (analyze, format json) select t.id from ${table} t
      where ${seen.sql} ${after === null ? '' : 'and t.id < ?::uuid'} order by t.id desc limit ${PAGE}`,
    [...seen.values, ...(after === null ? [] : [after])],
  );
  const all: Plan[] = [];
  const root = row?.['QUERY PLAN'][0]?.Plan;
  for (const queue = root ? [root] : []; queue.length > 0;) {
    const plan = queue.pop();
    if (plan) all.push(plan);
    queue.push(...(plan?.Plans ?? []));
  }
  const scans = all.filter((plan) => plan['Relation Name'] !== undefined);
  return {
    nodes: all.map((plan) => plan['Node Type']),
    read: scans.reduce(
      (sum, plan) =>
        sum + plan['Actual Loops'] * (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)),
      0,
    ),
  };
}

const MIDDLE = '80000000-0000-0000-0000-000000000000';

test.each([[null], [MIDDLE]])('few that one sees are found by index, after %s', async (after) => {
  const { nodes, read } = await explain('file', after);
  expect(nodes).toContain('BitmapOr');
  expect(nodes).not.toContain('Seq Scan');
  expect(read).toBeLessThanOrEqual((ROWS / 1_000) * 4);
});

test.each([[null], [MIDDLE]])(
  'of many that one sees, little more than a page is read, after %s',
  async (after) => {
    const { nodes, read } = await explain('workflow', after);
    expect(nodes).not.toContain('Seq Scan');
    expect(read).toBeLessThanOrEqual(PAGE * 6);
  },
);
