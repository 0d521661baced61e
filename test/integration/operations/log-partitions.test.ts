import { afterAll, beforeAll, expect, test } from '@jest/globals';

import {
  makeLogPartitions,
  monthPartition,
  monthStartMs,
  readLogState,
  type RunSql,
} from '../../../db/log-partitions.ts';
import { databaseFindings, logFinding } from '../../../dev/server/checks/database.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;
const run: RunSql = (sql) => app.orm.em.fork().execute(sql);

beforeAll(async () => {
  app = await startTestApp();
  // The database may have been made before midnight of a month.
  await makeLogPartitions(run);
});
afterAll(() => app.close());

const finding = async () =>
  (await databaseFindings(app.orm.em.fork(), app.app.deps.env)).find(
    ({ check }) => check === 'partitions of the log',
  );

test('the doctor says that the partition of the next month is missing, and what makes it', async () => {
  expect(await finding()).toMatchObject({ status: 'ok' });
  const { nowMs } = await readLogState(run);
  const next = monthPartition(monthStartMs(nowMs, 1)).name;
  await run(`drop table ${next}`);
  expect(await finding()).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(new RegExp(`^${next} is missing\\. .*worker`)),
  });
  expect(await makeLogPartitions(run)).toEqual([next]);
  expect(await finding()).toMatchObject({ status: 'ok' });
});

test('the month after the next one need not be there yet, and this month need', async () => {
  const { nowMs } = await readLogState(run);
  await run(`drop table ${monthPartition(monthStartMs(nowMs, 2)).name}`);
  expect(await finding()).toMatchObject({ status: 'ok' });
  const now = monthPartition(nowMs).name;
  await run(`drop table ${now}`);
  expect(await finding()).toMatchObject({ status: 'warn', detail: expect.stringContaining(now) });
});

test('a log that is not divided yet is a finding', async () => {
  const state = await readLogState(run);
  expect(logFinding({ ...state, hasDefault: false })).toMatchObject({
    status: 'warn',
    detail: expect.stringContaining('cadenza server upgrade'),
  });
});
