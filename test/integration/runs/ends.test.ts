/** Runs of one tree that end at the same time. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { childRunActivities } from '../../../activities/child-runs.ts';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { createOrm, type Orm } from '../../../db/orm.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { failInvocation, finishInvocation } from '../../../domain/runs/invocations.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { endRun, insertRun } from '../../support/human-tasks.ts';

const PAIRS = 64;

let app: TestApp;
let orm: Orm;

beforeAll(async () => {
  app = await startTestApp();
  // More ends at once than connections: on a busy machine the last ones wait longer than the default 5 s.
  orm = createOrm({ url: app.databaseUrl, poolSize: 32, connectionTimeoutMs: 60_000 });
});
afterAll(async () => {
  await orm.close(true);
  await app.close();
});

const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> =>
  orm.em.fork().execute<T[]>(sql, values);

const end = (runId: string): Promise<void> => endRun(orm, runId, { status: 'completed', output: null });

test('64 parents that end together with their children all close, without a deadlock', async () => {
  const { id: owner } = await app.user('builder');
  const pairs = await Promise.all(
    Array.from({ length: PAIRS }, async () => {
      const parent = await insertRun(orm, { owner, status: 'running' });
      return { parent, child: await insertRun(orm, { owner, parent, status: 'running' }) };
    }),
  );
  const ends = await Promise.allSettled(pairs.flatMap(({ parent, child }) => [end(parent), end(child)]));
  expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(
    await rows(`select status, count(*)::int as runs from run where owner_id = ? group by status`, [owner]),
  ).toEqual([{ status: 'completed', runs: 2 * PAIRS }]);
});

test('a call that has ended keeps its outcome, whatever another attempt of it says later', async () => {
  const { id: owner } = await app.user('builder');
  const run = await insertRun(orm, { owner, status: 'running' });
  const em = orm.em.fork();
  await em.execute(`insert into invocation (run_id, key) values (?, 'a'), (?, 'b')`, [run, run]);
  const error = { type: 'about:blank', status: 500 };
  expect(await finishInvocation(em, run, 'a', { output: 1 })).toBe(true);
  expect(await failInvocation(em, run, 'a', error)).toBe(false);
  expect(await failInvocation(em, run, 'b', error)).toBe(true);
  expect(await finishInvocation(em, run, 'b', { output: 1 })).toBe(false);
  const kept = await rows(`select key, result, error from invocation where run_id = ? order by key`, [run]);
  expect(kept).toEqual([
    { key: 'a', result: { output: 1 }, error: null },
    { key: 'b', result: null, error },
  ]);
});

test('no database function locks a run for update', async () => {
  const functions = await rows<{ name: string; body: string }>(
    `select p.proname as name, p.prosrc as body
      from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosrc ~ ' run '`,
  );
  expect(functions.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['append_run_events', 'end_lone_run', 'lock_human_task']),
  );
  expect(functions.filter(({ body }) => /\bfor update\b/.test(body)).map(({ name }) => name)).toEqual([]);
});

test('a parent that finds its child from before a restore writes what else its request carries', async () => {
  const { id: owner } = await app.user('builder');
  const parent = await insertRun(orm, { owner, status: 'running' });
  const child = await insertRun(orm, { owner, parent });
  const event = (key: string, data = {}) =>
    serviceEvent({ key, type: EVENT.childCreated, message: key, data });
  const created = (id: string) => event('child-created', { child_run_id: id });
  const append = { events: [created(child)], projection: null, acks: [] };
  await orm.em.fork().transactional((em) => appendEvents(em, parent, append));
  const [signal, planned] = [randomUUID(), randomUUID()];
  await rows(`insert into run_signal (id, run_id, kind, payload) values (?, ?, 'resume', '{}')`, [
    signal,
    parent,
  ]);
  // Nothing is sent: there is no signal, and no run starts.
  const { createChildRun } = childRunActivities({ orm } as unknown as ActivityDeps);
  const batch = { events: [event('new'), created(planned)], projection: null, acks: [signal] };
  const request = { run_id: parent, child_run_id: planned, task: '/do/0/sub', input: {}, batch };
  const answer = await createChildRun({ ...request, workflow: { id: planned, revision: 1 } });
  expect(answer).toEqual({ closed: false, before: child });
  expect(
    await rows(`select key, data ->> 'child_run_id' as child from run_event where run_id = ? order by seq`, [
      parent,
    ]),
  ).toEqual([
    { key: 'child-created', child },
    { key: 'new', child: null },
  ]);
  expect(
    await rows(`select received_at is not null as received from run_signal where id = ?`, [signal]),
  ).toEqual([{ received: true }]);
});
