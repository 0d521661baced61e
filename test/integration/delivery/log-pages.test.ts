/** Pages of the log of all runs: by the function with one plan, and with the conditions of one reader. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { readLog, type LogFilter, type LogPage } from '../../../domain/events/log-reader.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { makeMonthsBefore } from '../../support/log-months.ts';
import { insertManyRows, type RowCounts } from '../../support/many-rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const COUNTS: RowCounts = {
  users: 20,
  workflows: 50,
  agents: 5,
  items: 5,
  files: 5,
  runs: 20_000,
  tasks: 5,
  eventsOfRun: 2,
  entries: 5,
  deliveries: 5,
  notifications: 5,
  jobs: 5,
};
const END_MS = Date.UTC(2026, 0, 1);
const MONTHS = 12;
/** The page's beginning and the newest event are looked for in each partition. */
const PARTITIONS_BUFFERS = 2 * 3 * (MONTHS + 4);
const START = { tx: '0', gpos: '-1' };
const PAGE = 'explain (analyze, buffers, format json) select * from read_log($1, $2, 20, 4194304)';

let database: TestDatabase;
let app: TestApp;
let client: pg.Client;
let run: string;

async function buffersOf(position: readonly [string, string]): Promise<number> {
  const { rows } = await client.query(PAGE, [...position]);
  const { Plan: plan } = rows[0]['QUERY PLAN'][0];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestApp({ databaseUrl: database.url });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const em = app.orm.em.fork();
  await makeMonthsBefore(em, END_MS, MONTHS);
  await insertManyRows(em, COUNTS, END_MS);
  run =
    (await em.execute<{ id: string }[]>('select id from run order by id offset 10000 limit 1'))[0]?.id ?? '';
});
afterAll(async () => {
  await client.end();
  await app.close();
  await database.drop();
});

test('a page reads little, wherever it begins, once it is planned', async () => {
  const { rows } = await client.query<{ tx: string; gpos: string }>(
    'select tx::text, gpos::text from run_event order by tx, gpos offset 20000 limit 1',
  );
  const [middle] = rows;
  expect(middle).toBeDefined();
  const planned = await buffersOf(['0', '-1']);
  expect(planned).toBeGreaterThan(0);
  // Each event costs a page of the index, one of the log, and a few for its run and workflow.
  expect(await buffersOf(['0', '-1'])).toBeLessThan(400 + PARTITIONS_BUFFERS);
  expect(await buffersOf([middle?.tx ?? '', middle?.gpos ?? ''])).toBeLessThan(400 + PARTITIONS_BUFFERS);
  expect(await buffersOf(['9000000000000000000', '-1'])).toBeLessThan(50 + PARTITIONS_BUFFERS);
});

test.each([
  ['log_data($1, $2)', 'event:1'],
  ['(select count(*) from events_after($1, 0, null, null, $2::int, 4194304))', '5'],
  ['(select count(*) from events_before($1, null, 0, null, null, $2::int, 4194304))', '5'],
])('%s reads one partition, once it is planned', async (call, value) => {
  const buffers = async (): Promise<number> => {
    const { rows } = await client.query(`explain (analyze, buffers, format json) select ${call}`, [
      run,
      value,
    ]);
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  };
  await buffers();
  expect(await buffers()).toBeLessThan(10);
});

test('a page that ends by its size reads no large entries after its last one', async () => {
  await client.query('begin');
  await client.query(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select $1, 1000 + n, 'large:' || n, 'x', now(), 'info', '',
            (select json_agg(md5(random()::text)) from generate_series(1, 10000) where n > 0)
       from generate_series(1, 20) n`,
    [run],
  );
  for (const call of [
    'events_after($1, 1000, null, null, 20, $2)',
    'events_before($1, null, 0, null, null, 20, $2)',
  ]) {
    const buffers = async (bytes: number): Promise<number> => {
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) select sum(length(data::text)) from ${call}`,
        [run, bytes],
      );
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    await buffers(1);
    const [one, all] = [await buffers(1), await buffers(1e9)];
    expect(one).toBeLessThan(all / 10);
  }
  await client.query('rollback');
});

test('log_after finds the first event after a position in all partitions', async () => {
  const { rows } = await client.query(
    `select log_after(e.tx, e.gpos) is not distinct from
          (select n.at from run_event n where (n.tx, n.gpos) > (e.tx, e.gpos)
                                        order by n.tx, n.gpos limit 1) as "is"
       from run_event e where e.gpos % 5000 = 1`,
  );
  expect(rows.length).toBeGreaterThan(3);
  expect(new Set(rows.map((row) => row.is))).toEqual(new Set([true]));
  const end = await client.query(`select log_after('9000000000000000000', 0) as at`);
  expect(end.rows).toEqual([{ at: null }]);
});

test('all readers get the same events of the same runs, page by page', async () => {
  const em = app.orm.em.fork();
  await em.execute(`update workflow set visibility = case when hashtext(id::text) % 2 = 0
                                                          then 'public' else 'private' end`);
  await em.execute(`update run set by_grant = hashtext(id::text) % 3 = 0`);
  await em.execute(
    `update run set parent_run_id = (select min(id::text)::uuid from run) where hashtext(id::text) % 5 = 0`,
  );
  // The oldest open transaction is that of the whole server, where other tests write meanwhile.
  const page = async (after: LogPage['events'][number]['position'], filter: LogFilter) => {
    const { events, oldestOpenTx, ...rest } = await readLog(em, after, { ...filter, limit: 300 });
    expect(oldestOpenTx).toMatch(/^\d+$/);
    return { events, ...rest };
  };
  const kinds = new Set<string>();
  let after = START;
  for (let count = 0; count < 4; count++) {
    const all = await page(after, {});
    expect(all.events).toHaveLength(300);
    expect(await page(after, { runs: { sql: 'true', values: [] } })).toEqual(all);
    all.events.forEach((event) => kinds.add(`${event.run_is_open} ${event.run_is_child}`));
    after = all.events.at(-1)?.position ?? START;
  }
  expect([...kinds].toSorted()).toEqual(['false false', 'false true', 'true false', 'true true']);
  const newest = { tx: '9000000000000000000', gpos: '-1' };
  const [end, filtered] = [await page(newest, {}), await page(newest, { runs: { sql: 'true', values: [] } })];
  expect(end.events).toEqual([]);
  expect(filtered).toEqual(end);
});
