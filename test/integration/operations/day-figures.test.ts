/** What workflows, agents and people did since midnight, as monitoring reads it. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { readDayFigures } from '../../../domain/operations/day-figures.ts';
import { foldRunChanges } from '../../../domain/runs/hours.ts';
import { foldUsage } from '../../../domain/spending/usage.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let userId: string;

beforeAll(async () => {
  app = await startTestApp();
  userId = (await app.user('builder')).id;
});
afterAll(() => app.close());

const LOW = '0190d4c2-0000-7000-8000-000000000001';
const HIGH = '0190d4c2-0000-7000-8000-000000000002';
const read = (labels: number) => readDayFigures(app.orm.em.fork(), labels);
const rows = (sql: string, values: unknown[]) => app.orm.em.fork().execute(sql, values);
const SINCE_MIDNIGHT = `date_trunc('day', clock_timestamp(), 'UTC') + ? * interval '1 minute'`;

test('an agent keeps its label when an older one is used later in the day', async () => {
  const use = (agent: string, minute: number) =>
    rows(
      `insert into usage_record (id, at, run_id, user_id, agent_id, usage)
       values (?, ${SINCE_MIDNIGHT}, ?, ?, ?, '{}')`,
      [randomUUID(), minute, randomUUID(), userId, agent],
    );
  const calls = async () =>
    Object.fromEntries((await read(1)).agents.map(({ agent, invocations }) => [agent, invocations]));
  await use(HIGH, 60);
  expect(await calls()).toEqual({ [HIGH]: 1 });
  await use(LOW, 720);
  expect(await calls()).toEqual({ [HIGH]: 1, other: 1 });
  // In two steps, so that the first use is that of a row which is there.
  await foldUsage(app.orm.em.fork());
  await use(HIGH, 780);
  expect(await calls()).toEqual({ [HIGH]: 2, other: 1 });
  await foldUsage(app.orm.em.fork());
  expect(await calls()).toEqual({ [HIGH]: 2, other: 1 });
});

test('a workflow keeps its label when an older one starts later in the same hour', async () => {
  const start = (workflow: string, minute: number) =>
    rows(
      `insert into run_hour_change (run_id, owner_id, workflow_id, change, at)
       values (?, ?, ?, 'started', ${SINCE_MIDNIGHT})`,
      [randomUUID(), userId, workflow, minute],
    );
  const started = async () =>
    Object.fromEntries((await read(1)).workflows.map(({ workflow, started: runs }) => [workflow, runs]));
  await start(HIGH, 10);
  await start(LOW, 50);
  expect(await started()).toEqual({ [HIGH]: 1, other: 1 });
  await foldRunChanges(app.orm.em.fork());
  await start(LOW, 55);
  expect(await started()).toEqual({ [HIGH]: 1, other: 2 });
  await foldRunChanges(app.orm.em.fork());
  expect(await started()).toEqual({ [HIGH]: 1, other: 2 });
});

/** Minutes since midnight, one after the other: after all other uses, whatever the time is now. */
let late = 1_400;

test('what the runs of a workflow have spent has the label of the workflow', async () => {
  const use = (workflow: string | null, cost: number) =>
    rows(
      `insert into usage_record (id, at, run_id, user_id, workflow_id, usage, cost_usd, input_tokens)
       values (?, ${SINCE_MIDNIGHT}, ?, ?, ?, '{}', ?, 10)`,
      [randomUUID(), late++, randomUUID(), userId, workflow, cost],
    );
  const spent = async () => {
    // One is for the calls without a workflow of the first test.
    const { spending } = await read(2);
    return Object.fromEntries(
      spending.filter(({ cost_usd: cost }) => cost > 0).map((day) => [day.workflow, day.cost_usd]),
    );
  };
  // Before it starts a run of today: its run is of yesterday.
  await use(HIGH, 1.5);
  await use(HIGH, 2);
  expect(await spent()).toEqual({ [HIGH]: 3.5 });
  await use(LOW, 4);
  await use(null, 8);
  expect(await spent()).toEqual({ [HIGH]: 3.5, other: 4, none: 8 });
  await foldUsage(app.orm.em.fork());
  await use(HIGH, 1);
  expect(await spent()).toEqual({ [HIGH]: 4.5, other: 4, none: 8 });
});

test('a claim counts on its own day, once, whether or not the task is decided', async () => {
  const approver = await app.as('approver');
  const run = await insertRun(app.orm, { owner: userId });
  const [task, old] = [await insertTask(app.orm, run), await insertTask(app.orm, run)];
  const act = async (id: string, action: string, body: object = {}) =>
    expect((await approver.post(`/hitl/tasks/${id}/${action}`, body)).status).toBe(200);
  const counts = async () =>
    Object.fromEntries((await read(1)).humans.map(({ what, counts: times }) => [what, times.at(-1)]));
  await act(task, 'claim');
  expect(await counts()).toEqual({ claim: 1 });
  await rows(`update hitl_task set created_at = first_claimed_at - interval '2 minutes' where id = ?`, [
    task,
  ]);
  await act(task, 'release');
  await act(task, 'claim');
  const [claims] = (await read(1)).humans;
  expect(claims).toMatchObject({ workflow: 'none', what: 'claim', total_seconds: 120 });
  await act(task, 'decision', { decision: 'approve' });
  expect(await counts()).toEqual({ claim: 1, decide: 1 });
  await act(old, 'claim');
  await rows(`update hitl_task set first_claimed_at = clock_timestamp() - interval '2 days' where id = ?`, [
    old,
  ]);
  await act(old, 'decision', { decision: 'approve' });
  expect(await counts()).toEqual({ claim: 1, decide: 2 });
});
