/**
 * One pass of the reconciler handles everything that is due, however much: rows by SQL, a real Temporal, no
 * worker.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

/** More rows than one batch of a pass holds. */
const MANY = 250;

let platform: TestPlatform;
let template: string;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  const run = await startRun(await platform.as('builder'), { do: [{ a: { set: { x: 1 } } }] });
  template = run['id'];
});
afterAll(() => platform.close());

const sql = <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  platform.orm.em.fork().execute<T[]>(text, values);

/** Copies of a run's row that are an hour old, as a crash would leave them. */
async function insertRuns(count: number, status: string): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  await sql(
    `insert into run (id, workflow_id, workflow_revision, workflow_name, definition, status, input,
                      owner_id, root_run_id, next_start_at, created_at)
     select i.id, r.workflow_id, r.workflow_revision, r.workflow_name, r.definition, ?, r.input, r.owner_id,
            i.id, clock_timestamp() - interval '1 minute', clock_timestamp() - interval '1 hour'
       from run r, unnest(?::uuid[]) as i (id) where r.id = ?`,
    [status, `{${ids.join(',')}}`, template],
  );
  return ids;
}

async function countOf(ids: string[], condition: string): Promise<number> {
  const [row] = await sql<{ count: number }>(
    `select count(*)::int as count from run where id = any(?::uuid[]) and ${condition}`,
    [`{${ids.join(',')}}`],
  );
  return row?.count ?? 0;
}

/** When the part of a pass that ends first has to stop; what is left then is for the next pass. */
const STARTS_UNTIL_MS = 15_000;
/** The same for the part that sends signals. */
const SIGNALS_UNTIL_MS = 30_000;

/** One pass does everything, or takes so long that its time is up: then further passes do the rest. */
async function reconcileAll(isDone: () => Promise<boolean>, untilMs = STARTS_UNTIL_MS): Promise<void> {
  const begun = performance.now();
  await platform.reconcile();
  if (await isDone()) return;
  expect(performance.now() - begun).toBeGreaterThan(untilMs);
  await until(async () => (await platform.reconcile(), isDone()), Boolean);
}

test('starts every pending run whose start is due', async () => {
  const ids = await insertRuns(MANY, 'pending');
  // No worker runs them, so a slow pass may find the first ones due again.
  await reconcileAll(async () => (await countOf(ids, 'start_attempts >= 1')) === MANY);
  const { temporal } = platform.app.deps;
  for (const id of [ids[0]!, ids[MANY - 1]!]) expect(await temporal.describe(id)).toBe('running');
  await sql(`update run set status = 'cancelled' where id = any(?::uuid[])`, [`{${ids.join(',')}}`]);
});

test('sends every signal that is due', async () => {
  await sql(`update run set status = 'running' where id = ?`, [template]);
  await sql(
    `insert into run_signal (id, run_id, kind, payload, created_at, next_at)
     select gen_random_uuid(), ?, 'resume', '{"by": null, "at": "2026-01-01T00:00:00.000Z"}',
     clock_timestamp(), clock_timestamp() - interval '1 minute'
       from generate_series(1, ?)`,
    [template, MANY],
  );
  const delivered = async (): Promise<number | undefined> => {
    const [row] = await sql<{ count: number }>(
      `select count(*)::int as count
        from run_signal where run_id = ? and attempts >= 1 and delivered_at is not null`,
      [template],
    );
    return row?.count;
  };
  await reconcileAll(async () => (await delivered()) === MANY, SIGNALS_UNTIL_MS);
  expect(await delivered()).toBe(MANY);
});

test('restarts every live run without an execution, and again an hour after it began', async () => {
  await sql(`update maintenance set sweep_after = null, sweep_begun_at = null`);
  const lost = await insertRuns(MANY, 'running');
  await reconcileAll(async () => {
    const [round] = await sql<{ over: boolean }>(`select sweep_after is null as over from maintenance`);
    return round?.over === true && (await countOf(lost, `status = 'faulted'`)) === MANY;
  });

  const next = await insertRuns(1, 'waiting');
  await platform.reconcile();
  expect(await countOf(next, `status = 'waiting'`)).toBe(1);
  await sql(`update maintenance set sweep_begun_at = clock_timestamp() - interval '61 minutes'`);
  await platform.reconcile();
  expect(await countOf(next, `status = 'faulted'`)).toBe(1);
});

test('continues where the last pass had to stop', async () => {
  const [before, after] = [await insertRuns(1, 'running'), await insertRuns(1, 'running')];
  await sql(`update maintenance set sweep_after = ?, sweep_begun_at = clock_timestamp()`, [before[0]]);
  await platform.reconcile();
  expect([await countOf(before, `status = 'running'`), await countOf(after, `status = 'faulted'`)]).toEqual([
    1, 1,
  ]);
});
