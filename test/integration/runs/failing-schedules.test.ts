/** Times of schedules that cannot be started: they are noted, and the later ones go on. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { runLimits } from '../../../domain/runs/limits.ts';
import { reconcileSchedules } from '../../../domain/schedules/reconcile.ts';
import { startOnTime, startWaitingTime } from '../../../domain/schedules/start.ts';
import { noTemporal, startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let builder: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  // Stands for whatever keeps a row from being written.
  await sql(`
    create function refuse_broken() returns trigger language plpgsql as $$
    begin raise exception 'no room for %', new.input using errcode = '54000'; end $$`);
  await sql(`create trigger refuse_broken before insert on run for each row
    when (new.workflow_name like 'broken%') execute function refuse_broken()`);
});
afterAll(() => app.close());

const sql = (text: string, values: unknown[] = []) => app.orm.em.fork().execute<any[]>(text, values);
const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);
const definition = { schedule: { every: { hours: 1 } }, do: [{ first: { set: { a: 1 } } }] };

async function workflow(name: string, client = builder): Promise<string> {
  count += 1;
  const { status, body } = await client.post('/workflows', { name: `${name} ${count}`, definition });
  expect([status, body.problems]).toEqual([201, []]);
  return body.id;
}

const start = (workflowId: string, at: Date) =>
  app.orm.em.fork().transactional((em) => startOnTime(em, { workflowId, at, limits: runLimits(app.env) }));
const last = async (id: string, client = builder): Promise<any[]> =>
  (await client.get(`/workflows/${id}/schedule`)).body.last;
const works = (id: string): Promise<unknown> =>
  sql(`update workflow set name = 'works ' || id where id = ?`, [id]);

test('an error that lasts is repeated for five minutes, then noted, and the next time starts', async () => {
  const id = await workflow('broken');
  await expect(start(id, ago(60))).rejects.toThrow('no room');
  expect(await last(id)).toEqual([]);
  expect(await start(id, ago(301))).toEqual({ outcome: 'failed', run_id: null });
  expect(await last(id)).toMatchObject([
    {
      outcome: 'failed',
      run_id: null,
      detail: 'The run could not be created (error 54000 of the database).',
    },
  ]);
  await works(id);
  expect((await start(id, ago(1))).outcome).toBe('started');
  expect((await last(id)).map(({ outcome }) => outcome)).toEqual(['started', 'failed']);
});

test('a time that waited for an earlier run is given up, too, and holds up no other schedule', async () => {
  const [broken, young, other] = [
    await workflow('broken'),
    await workflow('broken'),
    await workflow('works'),
  ];
  await sql(
    `update workflow_schedule set buffered_at = ?, overlap = 'buffer_one' where workflow_id in (?, ?)`,
    [ago(400), broken, other],
  );
  await sql(`update workflow_schedule set buffered_at = ?, overlap = 'buffer_one' where workflow_id = ?`, [
    ago(100),
    young,
  ]);
  const deps = { orm: app.orm, temporal: noTemporal, limits: runLimits(app.env) };
  await sql(`update workflow_schedule set due_at = 'infinity'`);
  await expect(reconcileSchedules(deps, { heartbeat: () => {} })).rejects.toThrow('schedules that failed: 1');
  const outcomes = await Promise.all([broken, young, other].map((id) => last(id)));
  expect(outcomes.map((times) => times.map(({ outcome }) => outcome))).toEqual([['failed'], [], ['started']]);
  await works(young);
  await reconcileSchedules(deps, { heartbeat: () => {} });
  expect(await last(young)).toMatchObject([{ outcome: 'started' }]);
});

test('a time waits for a quota of runs for a day; meanwhile the policy for overlaps counts', async () => {
  const owner = await app.createUser({ username: 'owner', roles: ['builder'] });
  const asOwner = await app.as(owner);
  const admin = await app.as('admin');
  await admin.patch(`/users/${owner.id}`, { quotas: { live_runs: 1 } });
  const other = await asOwner.post(`/workflows/${await workflow('works', asOwner)}/run`);
  expect(other.status).toBe(201);
  const id = await workflow('works', asOwner);
  expect((await start(id, ago(30))).outcome).toBe('buffered');
  expect((await start(id, ago(20))).outcome).toBe('skipped');
  expect(await last(id, asOwner)).toMatchObject([
    { outcome: 'skipped', detail: 'An earlier time waits for a quota of runs.' },
  ]);
  await sql(`update schedule_wait set scheduled_at = ? where workflow_id = ?`, [ago(86_500), id]);
  const waiting = () =>
    app.orm.em
      .fork()
      .transactional((em) => startWaitingTime(em, { workflowId: id, limits: runLimits(app.env) }));
  expect((await waiting())?.outcome).toBe('failed');
  expect((await last(id, asOwner)).at(-1)).toMatchObject({
    outcome: 'failed',
    detail: expect.stringMatching(/^It waited too long for a quota of runs: .*live_runs/),
  });
  expect(await waiting()).toBeNull();
  expect((await asOwner.post(`/runs/${other.body.id}/cancel`)).status).toBe(200);
  expect((await start(id, ago(10))).outcome).toBe('started');
});
