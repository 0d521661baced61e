/** A start by the clock gives its connection back when somebody holds the rows that it needs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { startScheduledRunActivity } from '../../../activities/start-scheduled-run.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { noTemporal, startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test('it fails soon while the schedule is held, and starts its run afterwards', async () => {
  const builder = await app.as('builder');
  const definition = { schedule: { every: { seconds: 1 } }, do: [{ note: { set: { done: true } } }] };
  const { body: workflow } = await builder.post('/workflows', { name: 'Held', definition });
  const start = startScheduledRunActivity({
    orm: app.orm,
    limits: runLimits(app.env),
    temporal: noTemporal,
  } as ActivityDeps);
  const wanted = { workflow_id: workflow.id, scheduled_at: new Date().toISOString() };
  const holder = new pg.Client({ connectionString: app.databaseUrl });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from workflow_schedule where workflow_id = $1 for update', [workflow.id]);
    // Not the end of the statement's 30 seconds (57014).
    await expect(start(wanted)).rejects.toMatchObject({ code: '55P03' });
    await holder.query('rollback');
    expect((await start(wanted)).outcome).toBe('started');
  } finally {
    await holder.end();
  }
});
