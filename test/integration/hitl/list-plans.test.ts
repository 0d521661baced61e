/** The plans of the list query with 100,000 tasks: each goes by an index and reads little more than its page. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../../../domain/auth/actor.ts';
import { listQuery } from '../../../domain/hitl/service.ts';
import type { TaskFilters, TaskPage } from '../../../domain/hitl/service.ts';
import { startTestApp } from '../../support/app.ts';
import type { TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let runId: string;
const workflowId = uuidv7();
/** One of 2,000 people: 50 tasks, 5 of them undecided. */
const one: Actor = { id: uuidv7(), username: 'person-7', roles: ['approver'], groups: ['group-3'] };
const admin: Actor = { id: uuidv7(), username: 'boss', roles: ['admin'], groups: [] };

beforeAll(async () => {
  app = await startTestApp();
  const owner = await app.user('builder');
  const busyRun = await insertRun(app.orm, { owner: owner.id });
  runId = await insertRun(app.orm, { owner: owner.id });
  const em = app.orm.em.fork();
  // A tenth is undecided; every twentieth task is for a role of which all approvers are.
  await em.execute(
    `insert into hitl_task (id, run_id, workflow_id, workflow_name, owner_id, initiator_id, task, task_name, title, decisions, status, priority,
                            candidates, candidate_keys, due_at)
     select gen_random_uuid(), case when n % 10000 = 0 then ?::uuid else ?::uuid end, case when n % 1000 = 0 then ?::uuid end, 'w', ?::uuid, ?::uuid, '/do/0/t', 't',
            'Task ' || n, '[]', case when n / 2000 % 10 = 0 then 'open' else 'decided' end, n % 7 * 10, '{}',
            array['name:person-' || n % 2000, 'group:group-' || n % 500] || case when n % 20 = 0 then '{role:approver}'::text[] else '{}' end,
            case when n % 3 = 0 then now() + (n - 99000) * interval '1 minute' end
       from generate_series(1, 100000) n`,
    [runId, busyRun, workflowId, owner.id, owner.id],
  );
  await em.execute('vacuum analyze hitl_task');
});
afterAll(() => app.close());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

async function explain(actor: Actor, filters: Partial<TaskFilters>, page: TaskPage = { limit: 50 }): Promise<{ nodes: string[]; read: number }> {
  const { sql, values } = listQuery(actor, { scope: 'mine', ...filters }, page);
  const [row] = await app.orm.em.fork().execute<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(`explain (analyze, format json) ${sql}`, values);
  const all: Plan[] = [];
  const root = row?.['QUERY PLAN'][0]?.Plan;
  for (const queue = root ? [root] : []; queue.length > 0; ) {
    const plan = queue.pop();
    if (plan) all.push(plan);
    queue.push(...(plan?.Plans ?? []));
  }
  const scans = all.filter((plan) => plan['Relation Name'] === 'hitl_task');
  return { nodes: all.map((plan) => plan['Node Type']), read: scans.reduce((sum, plan) => sum + plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0), 0) };
}

const narrow: Actor = { ...one, roles: ['viewer'] };
test.each<[string, Actor, Partial<TaskFilters>, TaskPage | undefined, number]>([
  ['a person with few tasks', narrow, {}, undefined, 100],
  ['a person with a role that many tasks ask for', one, {}, undefined, 3_000],
  ['their second page', one, {}, { limit: 50, after: [-30, uuidv7()] }, 3_000],
  ['what they decided', narrow, { status: ['decided'] }, undefined, 1_000],
  ['what is overdue', narrow, { overdue: true }, undefined, 1_000],
  ['what of everything is overdue', admin, { scope: 'all', overdue: true }, undefined, 4_000],
  ['one run', one, { run_id: '' }, undefined, 100],
  ['one workflow', one, { workflow_id: workflowId }, undefined, 3_000],
  ['everything undecided', admin, { scope: 'all' }, undefined, 100],
  ['everything decided', admin, { scope: 'all', status: ['decided'] }, undefined, 100],
  ['everything of one priority', admin, { scope: 'all', priority: 40 }, undefined, 3_000],
])('%s', async (_name, actor, filters, page, mostRows) => {
  const given = filters.run_id === '' ? { ...filters, run_id: runId } : filters;
  const { nodes, read } = await explain(actor, given, page);
  expect(nodes).not.toContain('Seq Scan');
  expect(read).toBeLessThanOrEqual(mostRows);
});
