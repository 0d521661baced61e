/**
 * The plans of the list query with 100,000 tasks: each uses an index and reads little more than its page.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../../../domain/auth/actor.ts';
import {
  countQuery,
  listQuery,
  TASK_SORTS,
  type Query,
  type TaskFilters,
  type TaskPosition,
  type TaskSort,
} from '../../../domain/hitl/list-query.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let runId: string;
const workflowId = uuidv7();
const teamId = uuidv7();
/** One of 2,000 people: 50 tasks, 5 of them undecided. */
const voter: Actor = { id: uuidv7(), username: 'person-7', roles: ['builder'], groups: ['group-3'] };
const admin: Actor = { id: uuidv7(), username: 'boss', roles: ['admin'], groups: [] };

beforeAll(async () => {
  app = await startTestApp();
  const owner = await app.user('builder');
  const busyRun = await insertRun(app.orm, { owner: owner.id });
  runId = await insertRun(app.orm, { owner: owner.id });
  const em = app.orm.em.fork();
  // A tenth of the tasks is open. Every twentieth is for a role of `voter`. A fifth needs votes, and has one.
  await em.execute(
    `insert into hitl_task (id, run_id, workflow_id, team_id, workflow_name, owner_id, initiator_id, task,
                            task_name, title, decisions, status, priority,
                            candidates, candidate_keys, due_at, quorum)
     select gen_random_uuid(), case when n % 10000 = 0 then ?::uuid else ?::uuid end,
     case when n % 1000 = 0 then ?::uuid end, case when n % 200 = 0 then ?::uuid end, 'w',
            ?::uuid, ?::uuid, '/do/0/t', 't',
            'Task ' || n, '[]', case when n / 2000 % 10 = 0 then 'open' else 'decided' end, n % 7 * 10, '{}',
            array['name:person-' || n % 2000, 'group:group-' || n % 500]
              || case when n % 20 = 0 then '{role:builder}'::text[] else '{}' end,
            case when n % 3 = 0 then now() + (n - 99000) * interval '1 minute' end,
            case when n % 5 = 0 then '{"approvals": 2, "rejections": 1, "exclude_initiator": true}'::jsonb end
       from generate_series(1, 100000) n`,
    [runId, busyRun, workflowId, teamId, owner.id, owner.id],
  );
  await em.execute(
    `insert into hitl_vote (id, task_id, decision, voted_by, voted_at, via, as_admin)
     select gen_random_uuid(), id, 'approve', ?::uuid, now(), 'api', false
     from hitl_task where quorum is not null`,
    [owner.id],
  );
  await em.execute('vacuum analyze hitl_task');
  await em.execute('vacuum analyze hitl_vote');
});
afterAll(() => app.close());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** `nodes` lacks those of the tables of runs and workflows: they are small here, and scanned. */
async function explain({ sql, values }: Query): Promise<{ nodes: string[]; read: number }> {
  const [row] = await app.orm.em
    .fork()
    .execute<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(`explain (analyze, format json) ${sql}`, values);
  const all: Plan[] = [];
  const root = row?.['QUERY PLAN'][0]?.Plan;
  for (const queue = root ? [root] : []; queue.length > 0;) {
    const plan = queue.pop();
    if (plan) all.push(plan);
    queue.push(...(plan?.Plans ?? []));
  }
  const scans = all.filter((plan) => plan['Relation Name'] === 'hitl_task');
  const isLarge = ({ 'Relation Name': name }: Plan): boolean => name !== 'run' && name !== 'workflow';
  const nodes = all.filter(isLarge).map((plan) => plan['Node Type']);
  return {
    nodes,
    read: scans.reduce((sum, plan) => sum + plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0), 0),
  };
}

/** A person without the role that many tasks ask for. */
const few: Actor = { ...voter, roles: ['approver'] };
const inAnHour = new Date(Date.now() + 3_600_000).toISOString();

test.each<[string, Actor, Partial<TaskFilters>, TaskPosition | undefined, number]>([
  ['a person with few tasks', few, {}, undefined, 100],
  ['a person with few tasks, and what waits for others', few, { scope: 'candidate' }, undefined, 100],
  ['a person with a role that many tasks ask for', voter, {}, undefined, 3_000],
  ['their second page', voter, {}, { sort: 'priority', after: [-30, uuidv7()] }, 3_000],
  [
    'what waits for others too, of a person with such a role',
    voter,
    { scope: 'candidate' },
    undefined,
    3_000,
  ],
  ['what they decided', few, { status: ['decided'] }, undefined, 1_000],
  ['what they decided or can decide', few, { status: ['decided', 'open'] }, undefined, 1_000],
  ['what is overdue', few, { overdue: true }, undefined, 1_000],
  ['what of everything is overdue', admin, { scope: 'all', overdue: true }, undefined, 4_000],
  ['one run', voter, { run_id: '' }, undefined, 100],
  ['one workflow', voter, { workflow_id: workflowId }, undefined, 3_000],
  ['one team', voter, { team_id: teamId }, undefined, 1_000],
  ['everything of one team', admin, { scope: 'all', team_id: teamId }, undefined, 1_000],
  [
    'everything decided of one team',
    admin,
    { scope: 'all', team_id: teamId, status: ['decided'] },
    undefined,
    100,
  ],
  ['everything undecided', admin, { scope: 'all' }, undefined, 100],
  ['everything decided', admin, { scope: 'all', status: ['decided'] }, undefined, 100],
  ['everything of one priority', admin, { scope: 'all', priority: 40 }, undefined, 3_000],
])('%s', async (_name, actor, filters, page, mostRows) => {
  const withRun = filters.run_id === '' ? { ...filters, run_id: runId } : filters;
  const query = listQuery(actor, { scope: 'mine', ...withRun }, page ?? { sort: 'priority' }, 50);
  const { nodes, read } = await explain(query);
  expect(nodes).not.toContain('Seq Scan');
  expect(read).toBeLessThanOrEqual(mostRows);
});

const later: Record<TaskSort, TaskPosition> = {
  priority: { sort: 'priority', after: [-30, uuidv7()] },
  due: { sort: 'due', after: [inAnHour, uuidv7()] },
  created: { sort: 'created', after: ['80000000-0000-4000-8000-000000000000'] },
};
const lists: [string, Actor, Partial<TaskFilters>, number][] = [
  ['of a person with few tasks', few, {}, 100],
  ['of a person with a role that many tasks ask for', voter, {}, 3_000],
  ['of everything undecided', admin, { scope: 'all' }, 100],
  ['of everything decided', admin, { scope: 'all', status: ['decided'] }, 100],
  ['of what is overdue', admin, { scope: 'all', overdue: true }, 4_000],
  ['of what is due soon', few, { due_before: inAnHour }, 1_000],
  ['of what somebody has claimed', admin, { scope: 'all', claimed_by: 'me' }, 100],
];
describe.each(TASK_SORTS.map((sort) => [sort]))('by %s', (sort) => {
  test.each(lists)('a page %s', async (_name, actor, filters, mostRows) => {
    for (const position of [{ sort }, later[sort]]) {
      const { nodes, read } = await explain(listQuery(actor, { scope: 'mine', ...filters }, position, 50));
      expect(nodes).not.toContain('Seq Scan');
      expect(read).toBeLessThanOrEqual(mostRows);
    }
  });
});

test('everything undecided is read in its order, without sorting', async () => {
  for (const sort of TASK_SORTS) {
    const { nodes } = await explain(listQuery(admin, { scope: 'all' }, later[sort], 50));
    expect([sort, nodes]).toEqual([sort, ['Limit', 'Index Scan']]);
  }
});

test.each<[string, Actor, number]>([
  ['a person with few tasks', few, 200],
  ['a person with a role that many tasks ask for', voter, 3_000],
  ['an admin, who may decide everything', admin, 6_000],
])('the counts of %s', async (_name, actor, mostRows) => {
  const { nodes, read } = await explain(countQuery(actor));
  expect(nodes).not.toContain('Seq Scan');
  expect(read).toBeLessThanOrEqual(mostRows);
});
