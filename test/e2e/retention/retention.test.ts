/** The retention workflow and its schedule on a real worker. */
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { RECONCILE_SCHEDULE, RETENTION_SCHEDULE, RETENTION_WORKFLOW } from '../../../contracts/temporal.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { readInstallationId } from '../../../domain/operations/installation.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { ensureSchedules, scheduleId } from '../../../worker/schedule.ts';

let platform: TestPlatform;
let temporal: Client;

beforeAll(async () => {
  platform = await startTestPlatform({ env: { RETENTION_DAYS: '3' } });
  temporal = createTemporalClient(platform.temporal);
});
afterAll(async () => {
  await temporal.connection.close();
  await platform.close();
});

test('old runs are removed from the API, and the others are kept', async () => {
  const [old, young] = [
    await platform.runToEnd({ do: [{ a: { set: { x: 1 } } }] }),
    await platform.runToEnd({ do: [{ a: { set: { x: 1 } } }] }),
  ];
  await platform.orm.em
    .fork()
    .execute(`update run set finished_at = now() - interval '4 days' where id = ?`, [old['id']]);
  const { taskQueue } = platform.temporal;
  const orphan = '0190d4c2-0000-7000-8000-0000000000ab';
  const { files } = platform.app.deps;
  await (await files.receive(orphan, Readable.from([Buffer.from('x')]), { maxBytes: 10 })).keep();
  const longAgo = new Date(Date.now() - 7_200_000);
  utimesSync(join(platform.env.FILES_DIR, 'ab', orphan), longAgo, longAgo);
  const builder = await platform.as('builder');
  const upload = await builder.post(`/files?workflow=${young['workflow_id']}`, 'x', {
    headers: { 'content-type': 'text/plain' },
  });
  expect(upload.status).toBe(201);
  const waiting = upload.body.id;
  await platform.orm.em.fork().execute('update file set expires_at = now() where id = ?', [waiting]);
  await temporal.workflow.execute(RETENTION_WORKFLOW, { taskQueue, workflowId: 'retention-test', args: [] });
  expect((await builder.get(`/runs/${old['id']}`)).status).toBe(404);
  await expect(files.open(orphan)).rejects.toThrow('is gone');
  expect((await builder.get(`/files/${waiting}`)).status).toBe(404);
  await expect(files.open(waiting)).rejects.toThrow('is gone');
  expect((await builder.get(`/runs/${young['id']}`)).body.output).toEqual({ x: 1 });
});

test('each installation gets one schedule, which starts the workflow', async () => {
  const { taskQueue } = platform.temporal;
  const installationId = await readInstallationId(platform.orm.em.fork());
  await ensureSchedules(temporal, { installationId, taskQueue });
  await ensureSchedules(temporal, { installationId, taskQueue });
  await ensureSchedules(temporal, { installationId: 'another', taskQueue: 'another' });
  const schedule = temporal.schedule.getHandle(scheduleId(RETENTION_SCHEDULE, installationId));
  await schedule.trigger();
  const done = await until(
    () => schedule.describe(),
    ({ info }) => info.recentActions.length > 0,
  );
  expect(done.spec.intervals?.[0]?.every).toBe(3_600_000);
  const others = await temporal.schedule.getHandle(scheduleId(RETENTION_SCHEDULE, 'another')).describe();
  expect(others.action).toMatchObject({ taskQueue: 'another', workflowId: 'retention-another' });
  for (const owner of [installationId, 'another']) await deleteSchedules(owner);
});

test('a schedule of an older version is updated and stays paused; an orphaned one is removed', async () => {
  const { taskQueue } = platform.temporal;
  const owner = { installationId: 'outdated', taskQueue };
  const action = { type: 'startWorkflow' as const, workflowType: 'old-name', taskQueue, args: [] };
  const outdated = { spec: { intervals: [{ every: 420_000 }] }, action };
  const id = scheduleId(RETENTION_SCHEDULE, owner.installationId);
  await temporal.schedule.create({
    scheduleId: id,
    ...outdated,
    state: { paused: true, note: 'for a migration' },
  });
  await temporal.schedule.create({ scheduleId: RETENTION_SCHEDULE, ...outdated, state: { paused: true } });
  await ensureSchedules(temporal, owner);
  const updated = await temporal.schedule.getHandle(id).describe();
  expect(updated.spec.intervals).toEqual([expect.objectContaining({ every: 3_600_000 })]);
  expect(updated.action).toMatchObject({ workflowType: RETENTION_WORKFLOW, workflowRunTimeout: 3_000_000 });
  expect(updated.policies.overlap).toBe('SKIP');
  expect(updated.state).toMatchObject({ paused: true, note: 'for a migration' });
  await expect(temporal.schedule.getHandle(RETENTION_SCHEDULE).describe()).rejects.toThrow(/not found/i);
  await deleteSchedules(owner.installationId);
});

async function deleteSchedules(owner: string): Promise<void> {
  for (const schedule of [RETENTION_SCHEDULE, RECONCILE_SCHEDULE])
    await temporal.schedule.getHandle(scheduleId(schedule, owner)).delete();
}
