/** Schedules on real Temporal: runs start by the clock, once for each time, and people steer them. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';

import { scheduleOfWorkflow } from '../../contracts/temporal.ts';
import { startOnTime } from '../../domain/schedules/start.ts';
import { runLimits } from '../../domain/runs/limits.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client, TestUser } from '../support/app.ts';
import { startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

const DAY_MS = 86_400_000;
const quick = [{ note: { set: { done: true } } }];
const waits = [{ ask: { call: 'human', with: { title: 'Go on?', candidates: { roles: ['approver'] } } } }];
let platform: TestPlatform;
let owner: TestUser;
let builder: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  owner = await platform.createUser({ username: 'clock-owner', roles: ['builder'] });
  builder = await platform.as(owner);
});
afterAll(() => platform.close());

async function create(schedule: unknown, tasks: unknown = quick): Promise<string> {
  const definition = { schedule, do: tasks };
  const { status, body } = await builder.post('/workflows', { name: 'By the clock', definition });
  expect([status, body.runnable, body.problems]).toEqual([201, true, []]);
  return body.id;
}

const schedule = async (id: string): Promise<any> => (await builder.get(`/workflows/${id}/schedule`)).body;
const runsOf = async (id: string): Promise<any[]> =>
  (await builder.get(`/runs?workflow_id=${id}&limit=200`)).body;
const change = (id: string, changes: unknown) => builder.patch(`/workflows/${id}/schedule`, changes);
const onTime = (id: string, at: Date) =>
  platform.orm.em
    .fork()
    .transactional((em) => startOnTime(em, { workflowId: id, at, limits: runLimits(platform.env) }));
const ids = (runs: any[]): string[] => runs.map(({ id }) => id);

test('a workflow runs every second, until it is paused, and again when it is resumed', async () => {
  const id = await create({ every: { seconds: 1 } });
  const runs = await until(
    () => runsOf(id),
    (now) => now.length >= 3 && now.every(({ status }) => status === 'completed'),
  );
  const times = runs.map(({ scheduled_at: at }) => Date.parse(at));
  expect(new Set(times).size).toBe(times.length);
  expect(times.every((time) => time % 1_000 === 0)).toBe(true);
  expect(runs.every(({ owner_id: by }) => by === owner.id)).toBe(true);
  const state = await schedule(id);
  expect(state).toMatchObject({ kind: 'every', every_seconds: 1, state: 'active', overlap: 'skip' });
  expect(state.next).toHaveLength(10);
  // Beside a run of more than a second, a time is skipped.
  expect(state.last).toContainEqual(
    expect.objectContaining({ cause: 'time', outcome: 'started', detail: null }),
  );

  const paused = await change(id, { paused: true, note: 'Month end.' });
  expect(paused.body).toMatchObject({ state: 'paused', paused_by: owner.id, note: 'Month end.', next: [] });
  // A time that had begun before may still be noted.
  const started = async () => (await runsOf(id)).length;
  const before = await started();
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect(await started()).toBeLessThanOrEqual(before + 1);
  const stillPaused = await started();
  const resumed = await change(id, { paused: false });
  expect(resumed.body).toMatchObject({ state: 'active', paused_at: null, paused_by: null, note: null });
  expect(resumed.body.next).toHaveLength(10);
  await until(started, (count) => count > stillPaused);
  await builder.delete(`/workflows/${id}`);
});

test('each run of a schedule has the budget that the schedule gives', async () => {
  const id = await create({ every: { days: 1 } });
  expect(await schedule(id)).toMatchObject({ budget: null });
  const budget = { max_cost_usd: 5, on_exceed: 'ask' };
  expect((await change(id, { budget })).body).toMatchObject({ budget });
  expect(await change(id, { budget: { max_cost_usd: null } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/budget' }] },
  });
  const { body: run } = await builder.post(`/workflows/${id}/schedule/trigger`);
  expect(run.budget_id).toBe(run.id);
  expect((await builder.get(`/budgets/${run.id}`)).body).toMatchObject({
    subject: 'run',
    max_cost_usd: 5,
    on_exceed: 'ask',
  });
  const own = (await builder.get('/budgets?subject=run')).body;
  expect(own.map((state: any) => state.id)).toEqual([run.id]);
  expect((await change(id, { budget: null })).body).toMatchObject({ budget: null });
  const { body: free } = await builder.post(`/workflows/${id}/schedule/trigger`);
  expect(free.budget_id ?? null).toBeNull();
});

test('no time is lost and none counts twice while no worker is there', async () => {
  const id = await create({ every: { seconds: 1 } });
  await change(id, { overlap: 'allow' });
  await until(
    () => runsOf(id),
    (runs) => runs.length > 0,
  );
  await platform.stopWorker();
  const away = Date.now();
  await until(
    async () => Date.now() - away,
    (ms) => ms > 4_000,
  );
  await platform.startWorker();
  const back = Math.floor(Date.now() / 1_000);
  const secondsOf = async (): Promise<number[]> =>
    (await runsOf(id)).map(({ scheduled_at: at }) => Date.parse(at) / 1_000).toSorted((a, b) => a - b);
  const seconds = await until(secondsOf, ([first = back, ...rest]) => {
    const known = new Set([first, ...rest]);
    return Array.from({ length: back - first + 1 }, (_, index) => first + index).every((at) => known.has(at));
  });
  await builder.delete(`/workflows/${id}`);
  expect(new Set(seconds).size).toBe(seconds.length);
  expect(seconds.length).toBeGreaterThan(4);
});

test('a cron schedule keeps to its time zone, and follows the definition', async () => {
  const id = await create({ cron: 'CRON_TZ=Asia/Tokyo 0 9 * * *' });
  const state = await schedule(id);
  expect(state).toMatchObject({ kind: 'cron', cron: 'CRON_TZ=Asia/Tokyo 0 9 * * *', last: [] });
  expect(state.next.map((at: string) => at.slice(11))).toEqual(Array(10).fill('00:00:00.000Z'));
  await builder.patch(`/workflows/${id}`, { definition: { schedule: { cron: '30 6 * * *' }, do: quick } });
  // Null until Temporal has taken the change.
  const { next } = await until(
    () => schedule(id),
    (now) => now.next !== null,
  );
  expect(next[0]).toContain('T06:30:00.000Z');
  await builder.patch(`/workflows/${id}`, { definition: { schedule: null, do: quick } });
  expect((await builder.get(`/workflows/${id}/schedule`)).status).toBe(404);
  const { connection, schedule: onTemporal } = await temporalClient();
  await expect(onTemporal.getHandle(scheduleOfWorkflow(id)).describe()).rejects.toThrow(/not found/i);
  await connection.close();
});

async function temporalClient() {
  const { address, namespace } = platform.temporal;
  return createTemporalClient({ address, namespace }, platform.dataConverter);
}

test('what Temporal has lost is repaired, and a deleted workflow leaves nothing', async () => {
  const id = await create({ cron: '0 0 1 1 *' });
  const client = await temporalClient();
  const handle = client.schedule.getHandle(scheduleOfWorkflow(id));
  await handle.delete();
  await platform.orm.em
    .fork()
    .execute(`update workflow_schedule set due_at = clock_timestamp() where workflow_id = ?`, [id]);
  await platform.reconcile();
  expect((await handle.describe()).state.paused).toBe(false);
  expect((await builder.delete(`/workflows/${id}`)).status).toBe(204);
  await expect(handle.describe()).rejects.toThrow(/not found/i);
  await client.connection.close();
});

test('each time has one run, however often it is asked for', async () => {
  const id = await create({ cron: '0 0 1 1 *' });
  const at = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const starts = await Promise.all(Array.from({ length: 5 }, () => onTime(id, at)));
  expect(new Set(starts.map(({ run_id }) => run_id)).size).toBe(1);
  expect(await runsOf(id)).toHaveLength(1);
  expect((await schedule(id)).last).toHaveLength(1);
});

test('a time with an unfinished run before it is skipped, waits, or starts beside it', async () => {
  const id = await create({ cron: '0 0 1 1 *' }, waits);
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  const outcome = async (seconds: number) => (await onTime(id, new Date(now + seconds * 1_000))).outcome;
  expect([await outcome(0), await outcome(1)]).toEqual(['started', 'skipped']);
  await change(id, { overlap: 'buffer_one' });
  // A worker that died before it could tell asks again.
  expect([await outcome(2), await outcome(2), await outcome(3)]).toEqual(['buffered', 'buffered', 'skipped']);
  await platform.reconcile();
  expect(await runsOf(id)).toHaveLength(1);
  const [first] = await runsOf(id);
  await builder.post(`/runs/${first.id}/cancel`);
  await until(
    async () => (await builder.get(`/runs/${first.id}`)).body.status,
    (status) => status === 'cancelled',
  );
  await platform.reconcile();
  const [second, ...rest] = await runsOf(id);
  expect([second.scheduled_at, rest.length]).toEqual([new Date(now + 2_000).toISOString(), 1]);
  await change(id, { overlap: 'allow' });
  expect([await outcome(4), (await runsOf(id)).length]).toEqual(['started', 3]);
  const outcomes = (await schedule(id)).last.map((start: any) => start.outcome);
  expect(outcomes.join(' ')).toBe('started skipped started skipped started');
});

test('the end of a run starts the next one after a while; a cancelled run ends the chain', async () => {
  const id = await create({ after: { milliseconds: 200 } });
  await platform.reconcile();
  expect(await runsOf(id)).toEqual([]);
  await builder.post(`/workflows/${id}/run`, {}, { headers: { prefer: 'wait=30' } });
  const chain = await until(
    async () => {
      await platform.reconcile();
      return runsOf(id);
    },
    (runs) => runs.filter(({ status }) => status === 'completed').length >= 3,
  );
  const [last, before] = chain.filter(({ status }) => status === 'completed');
  expect(Date.parse(last.scheduled_at) - Date.parse(before.finished_at)).toBe(200);

  const { body: waiting } = await builder.post('/workflows', {
    name: 'Waits',
    definition: { schedule: { after: { milliseconds: 200 } }, do: waits },
  });
  const { body: run } = await builder.post(`/workflows/${waiting.id}/run`, {});
  await builder.post(`/runs/${run.id}/cancel`);
  await until(
    async () => (await builder.get(`/runs/${run.id}`)).body,
    ({ status, finished_at }) => status === 'cancelled' && Date.parse(finished_at) < Date.now() - 400,
  );
  await platform.reconcile();
  expect(await runsOf(waiting.id)).toHaveLength(1);
  expect((await schedule(waiting.id)).next).toEqual([]);
  await builder.delete(`/workflows/${id}`);
});

test('a chain goes on after a start that failed, and after a pause', async () => {
  const needs = { type: 'object', required: ['order'], properties: { order: { type: 'string' } } };
  const input = { schema: { document: needs } };
  const { body: workflow } = await builder.post('/workflows', {
    name: 'Needs input',
    definition: { schedule: { after: { milliseconds: 50 } }, input, do: quick },
  });
  const { id } = workflow;
  const wait = { headers: { prefer: 'wait=30' } };
  await builder.post(`/workflows/${id}/run`, { input_params: { order: 'A-1' } }, wait);
  const outcomes = async () => {
    await platform.reconcile();
    return (await schedule(id)).last.map((start: any) => start.outcome);
  };
  await until(outcomes, (last) => last.length >= 2);
  expect(new Set(await outcomes())).toEqual(new Set(['failed']));
  await change(id, { paused: true });
  await builder.patch(`/workflows/${id}`, { definition: { input: null } });
  await change(id, { paused: false });
  await until(outcomes, ([last]) => last === 'started');
  await builder.delete(`/workflows/${id}`);
});

test('runs of others neither drive a chain nor show in it', async () => {
  const definition = { schedule: { after: { milliseconds: 50 } }, do: quick };
  const { body: workflow } = await builder.post('/workflows', {
    name: 'Shared',
    definition,
    visibility: 'public',
  });
  const stranger = await platform.as('builder');
  const wait = { headers: { prefer: 'wait=30' } };
  const run = await stranger.post(`/workflows/${workflow.id}/run`, {}, wait);
  expect(run.body.status).toBe('completed');
  await platform.reconcile();
  expect(await runsOf(workflow.id)).toEqual([]);
  expect((await schedule(workflow.id)).next).toEqual([]);
  expect((await stranger.get(`/workflows/${workflow.id}/schedule`)).body).toMatchObject({
    next: null,
    last: [],
    can: [],
  });
  await builder.delete(`/workflows/${workflow.id}`);
});

test('a chain that is handed over goes on with the runs of its new owner', async () => {
  const [from, to] = [await platform.createUser(), await platform.createUser()];
  const [leaver, heir] = [await platform.as(from), await platform.as(to)];
  const definition = { schedule: { after: { milliseconds: 50 } }, do: quick };
  const { id } = (await leaver.post('/workflows', { name: 'Handed over', definition })).body;
  const wait = { headers: { prefer: 'wait=30' } };
  const first = (await leaver.post(`/workflows/${id}/run`, {}, wait)).body;
  const admin = await platform.as('admin');
  expect((await admin.post(`/users/${from.id}/transfer`, { to: to.id })).status).toBe(200);
  const runs = async (): Promise<any[]> => {
    await platform.reconcile();
    return (await heir.get(`/runs?workflow_id=${id}`)).body;
  };
  const chain = await until(
    runs,
    (found) => found.filter(({ status }) => status === 'completed').length >= 2,
  );
  expect([chain.at(-1).id, chain.at(-2).owner_id, first.owner_id]).toEqual([first.id, to.id, from.id]);
  // A run of the new owner that is cancelled ends the chain.
  await heir.patch(`/workflows/${id}/schedule`, { paused: true });
  await heir.patch(`/workflows/${id}`, { definition: { schedule: definition.schedule, do: waits } });
  const waiting = (await heir.post(`/workflows/${id}/run`, {})).body;
  await heir.post(`/runs/${waiting.id}/cancel`);
  await until(
    async () => (await heir.get(`/runs/${waiting.id}`)).body.status,
    (status) => status === 'cancelled',
  );
  await heir.patch(`/workflows/${id}/schedule`, { paused: false });
  await platform.reconcile();
  expect((await heir.get(`/workflows/${id}/schedule`)).body.next).toEqual([]);
  await heir.delete(`/workflows/${id}`);
});

test('a broken save keeps the settings, and one bad schedule does not hold up others', async () => {
  const id = await create({ cron: '0 0 1 1 *' });
  await change(id, { paused: true, note: 'Keep me.', jitter_seconds: 7 });
  const broken = { schedule: { cron: 'nonsense' }, do: quick };
  await builder.patch(`/workflows/${id}`, { definition: broken });
  const other = await create({ cron: '0 0 1 1 *' });
  await platform.orm.em
    .fork()
    .execute(`update workflow_schedule set due_at = clock_timestamp() where workflow_id in (?, ?)`, [
      id,
      other,
    ]);
  await platform.reconcile();
  expect((await schedule(id)).state).toBe('paused');
  await builder.patch(`/workflows/${id}`, { definition: { schedule: { cron: '0 0 2 1 *' }, do: quick } });
  expect(await schedule(id)).toMatchObject({ state: 'paused', note: 'Keep me.', jitter_seconds: 7 });
  expect((await schedule(other)).next).toHaveLength(10);
});

test('a person starts the run of a paused schedule, and fills past times once', async () => {
  const id = await create({ cron: '0 0 * * *' });
  await change(id, { paused: true });
  const key = { headers: { 'idempotency-key': `trigger-${id}` } };
  const first = await builder.post(`/workflows/${id}/schedule/trigger`, {}, key);
  expect([first.status, first.body.owner_id]).toEqual([201, owner.id]);
  const again = await builder.post(`/workflows/${id}/schedule/trigger`, {}, key);
  expect(again.body.id).toBe(first.body.id);

  const to = new Date(Date.now() - 1_000);
  const range = (days: number) => ({
    from: new Date(to.getTime() - days * DAY_MS).toISOString(),
    to: to.toISOString(),
  });
  // After an outage, for instance.
  const midnight = new Date(Math.floor(to.getTime() / DAY_MS) * DAY_MS - DAY_MS);
  expect((await onTime(id, midnight)).outcome).toBe('skipped');
  const backfill = (days: number) => builder.post(`/workflows/${id}/schedule/backfill`, range(days));
  const filled = await backfill(3);
  expect([filled.status, filled.body.length]).toEqual([200, 3]);
  expect((await backfill(3)).body).toEqual(filled.body);
  expect(ids(await runsOf(id)).toSorted()).toEqual(
    [first.body.id, ...filled.body.map((start: any) => start.run_id)].toSorted(),
  );
  const tooMany = await backfill(400);
  expect([tooMany.status, tooMany.body.errors[0].message]).toEqual([
    422,
    'the schedule has more than 100 times in between: fill a shorter time',
  ]);
  const turned = await builder.post(`/workflows/${id}/schedule/backfill`, {
    from: range(0).to,
    to: range(3).from,
  });
  expect(turned.body.errors[0]).toMatchObject({ pointer: '/from', message: 'is after "to"' });
  const soon = { from: range(1).from, to: new Date(Date.now() + DAY_MS).toISOString() };
  const early = await builder.post(`/workflows/${id}/schedule/backfill`, soon);
  expect(early.body.errors[0]).toMatchObject({ pointer: '/to', message: 'is in the future' });
  const exact = { from: midnight.toISOString(), to: midnight.toISOString() };
  const one = await builder.post(`/workflows/${id}/schedule/backfill`, exact);
  expect(one.body).toHaveLength(1);
  // Its times are the same with jitter, which only delays the starts by the clock.
  await change(id, { jitter_seconds: 3_600 });
  expect((await backfill(3)).body).toEqual(filled.body);
  const client = await temporalClient();
  const { namespace } = platform.temporal;
  await until(
    async () => (await client.workflowService.listSchedules({ namespace })).schedules,
    (schedules) => !schedules.some(({ scheduleId }) => scheduleId?.includes('-times-')),
  );
  await client.connection.close();
});

test('a start that is refused is noted with its reason, and late ones are missed', async () => {
  const needs = { type: 'object', required: ['order'], properties: { order: { type: 'string' } } };
  const leaver = await platform.createUser({ username: 'clock-leaver', roles: ['builder'] });
  const definition = {
    schedule: { cron: '0 0 1 1 *' },
    input: { schema: { document: needs } },
    do: quick,
  };
  const created = await (await platform.as(leaver)).post('/workflows', { name: 'Needs input', definition });
  const { id } = created.body;
  const now = Date.now();
  expect((await onTime(id, new Date(now))).outcome).toBe('failed');
  expect((await onTime(id, new Date(now - 2 * 3_600_000))).outcome).toBe('missed');
  // By the database's clock: that of a worker may be hours ahead.
  const ahead = jest.spyOn(Date, 'now').mockReturnValue(now + 2 * 3_600_000);
  expect((await onTime(id, new Date(now + 1))).outcome).toBe('failed');
  ahead.mockRestore();
  const admin = await platform.as('admin');
  await admin.patch(`/users/${leaver.id}`, { status: 'disabled' });
  expect((await onTime(id, new Date(now + 2))).outcome).toBe('skipped');
  const byHand = await admin.post(`/workflows/${id}/schedule/trigger`, {});
  expect([byHand.status, byHand.body.code]).toEqual([409, 'owner_disabled']);
  const { body } = await admin.get(`/workflows/${id}/schedule`);
  expect(body).toMatchObject({
    state: 'blocked',
    reason: 'The owner of the workflow is disabled.',
    next: [],
  });
  const details = body.last.map(({ detail }: any) => detail);
  expect(details[0]).toBe('The owner of the workflow is disabled.');
  expect(details[1]).toMatch(/order/);
  expect(details[3]).toMatch(/^It was 7\d{3} s late/);
});

test('wrong settings and other states are refused by name', async () => {
  const id = await create({ cron: '0 0 1 1 *' });
  const wrong = await change(id, { overlap: 'sometimes', jitter_seconds: -1, catch_up_seconds: 1e9 });
  expect(wrong.status).toBe(422);
  expect(wrong.body.errors.map(({ pointer }: any) => pointer).toSorted()).toEqual([
    '/catch_up_seconds',
    '/jitter_seconds',
    '/overlap',
  ]);
  const { headers } = await builder.get(`/workflows/${id}/schedule`);
  const match = { headers: { 'if-match': headers.get('etag') ?? '' } };
  const path = `/workflows/${id}/schedule`;
  expect((await builder.patch(path, { jitter_seconds: 5 }, match)).status).toBe(200);
  expect((await builder.patch(path, { jitter_seconds: 6 }, match)).status).toBe(412);
  expect((await schedule(id)).jitter_seconds).toBe(5);
});
