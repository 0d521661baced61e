/** Temporal that refuses to remove histories: the erasure ends, says so, and can be retried. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { TemporalRefused } from '../../../domain/ports.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { removeHistories } from '../../../domain/privacy/histories.ts';
import { noTemporal, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let admin: Client;
/** Runs whose histories Temporal does not let go. */
const denied = new Set<string>();
const asked: string[] = [];

beforeAll(async () => {
  app = await startTestApp({
    temporal: {
      ...noTemporal,
      historyRetentionMs: async () => Promise.reject(new TemporalRefused('PERMISSION_DENIED')),
      removeHistory: async (runId) => {
        asked.push(runId);
        if (denied.has(runId)) throw new TemporalRefused('PERMISSION_DENIED');
        return 'removed';
      },
    },
  });
  admin = await app.as('admin');
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> => fork().execute<T[]>(sql, values);
const reportOf = async (id: string) => (await admin.get(`/users/${id}/erasure`)).body;

/** As if the pauses were over. */
async function nextAttempt(): Promise<void> {
  await rows(`update erasure_history set next_at = clock_timestamp() where next_at < 'infinity'`);
  await removeHistories(fork, app.app.deps.temporal, 60_000);
}

async function endedRun(owner: string): Promise<string> {
  const id = await insertRun(app.orm, { owner });
  await rows(`update run set status = 'completed', finished_at = clock_timestamp() where id = ?`, [id]);
  return id;
}

/** Erases a person with two ended runs, of which Temporal keeps one. */
async function erased(username: string): Promise<{ id: string; kept: string; gone: string }> {
  const { id } = await app.createUser({ username, roles: ['builder'] });
  const [kept, gone] = [await endedRun(id), await endedRun(id)];
  denied.add(kept);
  const begun = await admin.post(`/users/${id}/erase`, { confirm: username, runs: 'remove' });
  expect([begun.status, begun.body.status]).toEqual([202, 'running']);
  await continueErasures({ fork, files: { remove: async () => {} } }, 60_000);
  return { id, kept, gone };
}

test('after five refusals the erasure is incomplete, and names how Temporal refuses', async () => {
  const { id, kept, gone } = await erased('Denied.One');
  await nextAttempt();
  // A refusal holds up no other.
  expect(asked).toContain(gone);
  expect(await reportOf(id)).toMatchObject({
    status: 'running',
    histories: { removed: 1, waiting: 1, refused: 0, refusal: null, kept_until: null },
  });
  const attemptsOf = async (): Promise<number> =>
    (await rows<{ attempts: number }>('select attempts from erasure_history where run_id = ?', [kept]))[0]
      ?.attempts ?? 0;
  while ((await attemptsOf()) < 5) await nextAttempt();
  const calls = asked.length;
  await nextAttempt();
  expect(asked).toHaveLength(calls);
  expect(await reportOf(id)).toMatchObject({
    status: 'incomplete',
    finished_at: expect.any(String),
    histories: { removed: 1, waiting: 0, refused: 1, refusal: 'PERMISSION_DENIED' },
  });
});

test('each pause is longer than the one before', async () => {
  const { kept } = await erased('Denied.Two');
  const pauses: number[] = [];
  for (let attempt = 1; attempt < 5; attempt += 1) {
    await rows('update erasure_history set attempts = ?, next_at = clock_timestamp() where run_id = ?', [
      attempt - 1,
      kept,
    ]);
    await removeHistories(fork, app.app.deps.temporal, 60_000);
    const [row] = await rows<{ minutes: number }>(
      `select round(extract(epoch from next_at - clock_timestamp()) / 60)::int as minutes
         from erasure_history where run_id = ?`,
      [kept],
    );
    pauses.push(row?.minutes ?? 0);
  }
  expect(pauses).toEqual([1, 2, 4, 8]);
  denied.delete(kept);
  await nextAttempt();
});

test('a retry removes what Temporal allows by then, and is refused where nothing was given up', async () => {
  const { id, kept } = await erased('Denied.Three');
  await nextAttempt();
  const early = await admin.post(`/users/${id}/erasure/retry`);
  expect([early.status, early.body.code]).toEqual([409, 'nothing_refused']);
  await rows(`update erasure_history set attempts = 5, next_at = 'infinity' where run_id = ?`, [kept]);
  const still = await admin.post(`/users/${id}/erasure/retry`);
  expect([still.status, still.body.status, still.body.histories.waiting]).toEqual([202, 'running', 1]);
  await rows(`update erasure_history set attempts = 5, next_at = 'infinity' where run_id = ?`, [kept]);
  denied.delete(kept);
  const retried = await admin.post(`/users/${id}/erasure/retry`);
  expect([retried.status, retried.body]).toEqual([
    200,
    expect.objectContaining({
      status: 'done',
      histories: expect.objectContaining({ removed: 2, waiting: 0, refused: 0, refusal: null }),
    }),
  ]);
  const stranger = await app.as('builder');
  expect((await stranger.post(`/users/${id}/erasure/retry`)).status).toBe(403);
});
