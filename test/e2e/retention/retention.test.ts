/** The workflow that the schedule starts, on a real worker; and the schedule itself. */
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { RETENTION_SCHEDULE, RETENTION_WORKFLOW } from '../../../contracts/temporal.ts';
import { startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { ensureSchedules } from '../../../worker/schedule.ts';

let platform: TestPlatform;
let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  platform = await startTestPlatform({ env: { RETENTION_DAYS: '3' } });
  connection = await Connection.connect({ address: platform.temporal.address });
  temporal = new Client({ connection, namespace: platform.temporal.namespace });
});
afterAll(async () => {
  await connection.close();
  await platform.close();
});

test('old runs are gone for those who ask, and the others go on', async () => {
  const [old, young] = [await platform.runToEnd({ do: [{ a: { set: { x: 1 } } }] }), await platform.runToEnd({ do: [{ a: { set: { x: 1 } } }] })];
  await platform.orm.em.fork().execute(`update run set finished_at = now() - interval '4 days' where id = ?`, [old['id']]);
  const { taskQueue } = platform.temporal;
  const orphan = '0190d4c2-0000-7000-8000-0000000000ab';
  const { files } = platform.app.deps;
  await (await files.receive(orphan, Readable.from([Buffer.from('x')]), { maxBytes: 10 })).keep();
  const longAgo = new Date(Date.now() - 7_200_000);
  utimesSync(join(platform.env.FILES_DIR, 'ab', orphan), longAgo, longAgo);
  await temporal.workflow.execute(RETENTION_WORKFLOW, { taskQueue, workflowId: 'retention-test', args: [] });
  const builder = await platform.as('builder');
  expect((await builder.get(`/runs/${old['id']}`)).status).toBe(404);
  await expect(files.open(orphan)).rejects.toThrow('is gone');
  expect((await builder.get(`/runs/${young['id']}`)).body.output).toEqual({ x: 1 });
});

test('the schedule is made once, and starts it', async () => {
  const { taskQueue } = platform.temporal;
  await ensureSchedules(temporal, taskQueue);
  await ensureSchedules(temporal, taskQueue);
  const schedule = temporal.schedule.getHandle(RETENTION_SCHEDULE);
  await schedule.trigger();
  const done = await until(() => schedule.describe(), ({ info }) => info.recentActions.length > 0);
  expect(done.spec.intervals?.[0]?.every).toBe(3_600_000);
  for (const id of [RETENTION_SCHEDULE, 'cadenza-reconcile']) await temporal.schedule.getHandle(id).delete();
});
