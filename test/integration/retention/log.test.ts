/** The partitions of the log: made ahead, dropped when their runs are removed, swept where a run lives on. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';

import { monthPartition, monthStartMs, readLogState } from '../../../db/log-partitions.ts';
import { readLog } from '../../../domain/events/log-reader.ts';
import {
  beginSweep,
  dropEmptyPartitions,
  makeComingPartitions,
  sweep,
} from '../../../domain/retention/log.ts';
import { removeEndedRuns, removeRunsOf } from '../../../domain/retention/remove.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { allowedMs } from '../../support/machine.ts';
import { until } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/servers.ts';

const DAY_MS = 24 * 3_600_000;
const DAYS = 90;

let database: TestDatabase;
let t: TestApp;
let owner: string;
let other: pg.Client;
const em = () => t.orm.em.fork();
const rows = <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  em().execute(sql, values);

beforeAll(async () => {
  database = await createTestDatabase();
  t = await startTestApp({ databaseUrl: database.url });
  owner = (await t.user('builder')).id;
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
beforeEach(async () => {
  await rows('truncate run, run_event, erasure cascade');
  // The database may have been made before midnight of a month.
  for (const name of await partitions()) await rows(`drop table ${name}`);
  await makeComingPartitions(em());
});
afterAll(async () => {
  await other.end();
  await t.close();
  await database.drop();
});

const partitions = async (): Promise<string[]> =>
  (await readLogState((sql) => rows(sql))).partitions.map(({ name }) => name);

/** A partition of a month so long ago. */
async function month(monthsAgo: number): Promise<{ name: string; startMs: number }> {
  const startMs = monthStartMs(Date.now(), -monthsAgo);
  const { name, from, to } = monthPartition(startMs);
  await rows('select make_log_partition(?, ?, ?, 1000)', [name, from, to]);
  return { name, startMs };
}

interface Given {
  /** Milliseconds since 1970. */
  startedMs: number;
  /** Days ago; absent: it goes on. */
  ended?: number;
  events?: number;
  of?: string;
  parent?: string;
}

async function run({ startedMs, ended, events = 3, of = owner, parent }: Given): Promise<string> {
  const id = uuidv7({ msecs: startedMs });
  await rows(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, parent_run_id, last_seq,
                      created_at, finished_at)
     values (?, 'w', '{}', ?, ?, ?, ?, ?, to_timestamp(? / 1000.0), now() - ?::float8 * interval '1 day')`,
    [
      id,
      ended === undefined ? 'running' : 'completed',
      of,
      parent ?? id,
      parent ?? null,
      events,
      startedMs,
      ended ?? null,
    ],
  );
  await rows(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select ?, n, 'k' || n, 't', now(), 'info', 'm', '{}' from generate_series(1, ?) n`,
    [id, events],
  );
  return id;
}

const logOf = async (id: string): Promise<string[]> =>
  (await rows<{ key: string }>('select key from run_event where run_id = ? order by seq', [id])).map(
    ({ key }) => key,
  );

const partitionOf = async (id: string): Promise<string | undefined> =>
  (
    await rows<{ name: string }>('select tableoid::regclass::text as name from run_event where run_id = ?', [
      id,
    ])
  )[0]?.name;

async function removeAll(days = DAYS): Promise<number> {
  let removed = 0;
  for (;;) {
    const { runs } = await removeEndedRuns(em(), days);
    if (runs === 0) return removed;
    removed += runs;
  }
}

async function sweepAll(): Promise<number> {
  let removed = 0;
  for (let position = await beginSweep(em(), DAYS); position.left.length > 0;) {
    const { next, events } = await sweep(em(), position);
    position = next;
    removed += events;
  }
  return removed;
}

async function append(id: string, key: string): Promise<boolean> {
  const event = serviceEvent({ type: 't', key, level: 'info', message: 'm', data: {} });
  const { closed } = await em().transactional((tx) =>
    appendEvents(tx, id, { events: [event], projection: null, acks: [] }),
  );
  return !closed;
}

test('this month and the two that follow have partitions, however many copies make them', async () => {
  const coming = [0, 1, 2].map((ahead) => monthPartition(monthStartMs(Date.now(), ahead)).name);
  expect(await partitions()).toEqual(coming);
  for (const name of coming) await rows(`drop table ${name}`);
  const made = await Promise.all(Array.from({ length: 6 }, () => makeComingPartitions(em())));
  await makeComingPartitions(em());
  expect(await partitions()).toEqual(coming);
  expect(made.flat().toSorted()).toEqual(coming.slice(0, new Set(made.flat()).size));
});

test('few events of a month without a partition are moved when it is made', async () => {
  const [name = ''] = await partitions();
  await rows(`drop table ${name}`);
  const id = await run({ startedMs: Date.now() });
  expect(await partitionOf(id)).toBe('run_event_default');
  expect(await append(id, 'late')).toBe(true);
  expect(await makeComingPartitions(em())).toEqual([name]);
  expect(await partitionOf(id)).toBe(name);
  expect(await append(id, 'later')).toBe(true);
  expect(await logOf(id)).toEqual(['k1', 'k2', 'k3', 'late', 'later']);
});

test('many events in the default partition stay there and are removed with their runs', async () => {
  const { name, startMs } = await month(5);
  await rows(`drop table ${name}`);
  const id = await run({ startedMs: startMs + DAY_MS, ended: 91, events: 1_001 });
  await month(5);
  expect(await partitions()).not.toContain(name);
  expect(await partitionOf(id)).toBe('run_event_default');
  expect(await removeAll()).toBe(1);
  expect(await logOf(id)).toEqual([]);
});

test('a partition is dropped with the last of its runs, whose events wait for that unread', async () => {
  const { name, startMs } = await month(4);
  // The month ended so many days and a few more ago.
  const days = Math.floor((Date.now() - monthStartMs(startMs, 1)) / DAY_MS) - 2;
  const gone = await run({ startedMs: startMs + DAY_MS, ended: days + 1 });
  const lasts = await run({ startedMs: startMs + 20 * DAY_MS, ended: days - 1 });
  const today = await run({ startedMs: Date.now() });
  expect(await removeAll(days)).toBe(1);
  expect(await logOf(gone)).toHaveLength(3);
  // Transactions of other tests hold the readers of the log back.
  const { events } = await until(
    () => readLog(em(), { tx: '0', gpos: '-1' }, { limit: 100 }),
    (page) => page.events.some(({ run_id: id }) => id === today),
  );
  expect(new Set(events.map((event) => event.run_id))).toEqual(new Set([lasts, today]));
  expect((await (await t.as('builder')).get(`/runs/${gone}/logs`)).status).toBe(404);

  expect(await dropEmptyPartitions(em(), days)).toEqual([]);
  await rows(`update run set finished_at = now() - interval '1 year' where id = ?`, [lasts]);
  expect(await removeAll(days)).toBe(1);
  expect(await dropEmptyPartitions(em(), days)).toEqual([name]);
  expect(await partitions()).not.toContain(name);
  expect([await logOf(gone), await logOf(lasts)]).toEqual([[], []]);
  expect(await logOf(today)).toHaveLength(3);
});

test.each<[string, (startMs: number) => Promise<string[]>]>([
  ['a run that goes on', async (startMs) => [await run({ startedMs: startMs + DAY_MS })]],
  [
    'an ended child of a run that goes on',
    async (startMs) => {
      const parent = await run({ startedMs: startMs + DAY_MS });
      return [parent, await run({ startedMs: startMs + 2 * DAY_MS, ended: 200, parent })];
    },
  ],
  [
    'a run whose retry has not started',
    async (startMs) => {
      const first = await run({ startedMs: startMs + DAY_MS, ended: 200 });
      const retry = await run({ startedMs: Date.now() });
      await rows(`update run set status = 'pending', retry_of = ? where id = ?`, [first, retry]);
      return [first];
    },
  ],
])('%s keeps its log for years, and those of removed runs beside it are swept', async (_name, keep) => {
  const { name, startMs } = await month(14);
  const kept = await keep(startMs);
  const gone = await run({ startedMs: startMs + DAY_MS, ended: 91 });
  const later = await run({ startedMs: startMs + 3 * DAY_MS, ended: 91 });
  // As before the partition was due.
  await em().transactional(async (tx) => {
    await tx.execute(`select set_config('cadenza.leaves_logs', 'on', true)`);
    await tx.execute('delete from run where id = ?', [gone]);
  });
  expect(await logOf(gone)).toHaveLength(3);
  expect(await removeAll()).toBe(1);
  expect(await logOf(later)).toEqual([]);
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([]);
  expect(await sweepAll()).toBe(3);
  expect([await logOf(gone), await sweepAll()]).toEqual([[], 0]);
  expect(await partitions()).toContain(name);
  for (const id of kept) expect(await logOf(id)).toEqual(['k1', 'k2', 'k3']);
});

test('a sweep in batches takes all events of removed runs and none of others', async () => {
  const { startMs } = await month(14);
  const spread = `(lpad(to_hex(${startMs} + n * 1000), 12, '0') || '70008000000000000000')::uuid`;
  await rows(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select ${spread}, s, 'k' || s, 't', now(), 'info', 'm', '{}'
       from generate_series(1, 1200) n, generate_series(1, case n when 3 then 21000 else 2 end) s`,
  );
  await rows(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, last_seq)
     select ${spread}, 'w', '{}', 'running', ?, ${spread}, 2 from generate_series(1, 1200, 7) n`,
    [owner],
  );
  expect(await sweepAll()).toBe(20_998 + (1200 - 172) * 2);
  const [left] = await rows<{ events: number; runs: number }>(
    `select count(*)::int as events, count(distinct run_id)::int as runs from run_event e
      where exists (select from run r where r.id = e.run_id)`,
  );
  expect(left).toEqual({ events: 344, runs: 172 });
  expect((await rows<{ n: number }>('select count(*)::int as n from run_event'))[0]?.n).toBe(344);
});

test('removal on request of the owner, and by hand, takes the events at once', async () => {
  const [mine, byHand] = [
    await run({ startedMs: Date.now(), ended: 1 }),
    await run({ startedMs: Date.now(), ended: 1, of: (await t.createUser()).id }),
  ];
  await em().transactional((tx) => removeRunsOf(tx, owner));
  expect(await logOf(mine)).toEqual([]);
  expect(await logOf(byHand)).toHaveLength(3);
  await rows('delete from run where id = ?', [byHand]);
  expect(await logOf(byHand)).toEqual([]);
});

test('after an erasure no events wait for a drop', async () => {
  const { startMs } = await month(3);
  const [gone, stays] = [
    await run({ startedMs: startMs + DAY_MS, ended: 91 }),
    await run({ startedMs: startMs + DAY_MS, ended: 1 }),
  ];
  await removeAll();
  expect(await sweepAll()).toBe(0);
  const user = await t.createUser();
  const erased = await (await t.as('admin')).post(`/users/${user.id}/erase`, { confirm: user.username });
  expect([200, 202]).toContain(erased.status);
  expect(await sweepAll()).toBe(3);
  expect([await logOf(gone), (await logOf(stays)).length]).toEqual([[], 3]);
});

test('appends and starts go on while partitions are dropped and made, and none is lost', async () => {
  const live = await Promise.all(Array.from({ length: 4 }, () => run({ startedMs: Date.now() })));
  const written = new Map(live.map((id) => [id, 0]));
  let done = false;
  const writers = live.map(async (id) => {
    while (!done) {
      const count = (written.get(id) ?? 0) + 1;
      expect(await append(id, `w${count}`)).toBe(true);
      written.set(id, count);
    }
  });
  for (let round = 0; round < 10; round++) {
    const { name, startMs } = await month(5 + round);
    await run({ startedMs: startMs + DAY_MS, ended: 95 });
    await removeAll();
    while ((await partitions()).includes(name)) await dropEmptyPartitions(em(), DAYS);
  }
  done = true;
  await Promise.all(writers);
  for (const id of live) expect((await logOf(id)).length).toBe(3 + (written.get(id) ?? 0));
  expect(Math.min(...written.values())).toBeGreaterThan(10);
});

test('a drop gives up quickly while others hold the log, and comes again', async () => {
  const { name } = await month(5);
  await other.query('begin; select from run_event limit 1');
  const begun = performance.now();
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([]);
  expect(performance.now() - begun).toBeLessThan(allowedMs(5_000));
  await other.query('commit');
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([name]);
});

test('a run with an id of the month that is added meanwhile keeps the partition', async () => {
  const { name, startMs } = await month(5);
  const id = uuidv7({ msecs: startMs + DAY_MS });
  await other.query('begin');
  await other.query(
    `with made as (
       insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
       values ($1, 'w', '{}', 'pending', $2, $1) returning id)
     insert into run_event (run_id, seq, key, type, at, level, message, data)
     select id, 1, 'k1', 't', now(), 'info', 'm', '{}' from made`,
    [id, owner],
  );
  const dropping = dropEmptyPartitions(em(), DAYS);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await other.query('commit');
  expect(await dropping).toEqual([]);
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([]);
  expect([await partitionOf(id), await logOf(id)]).toEqual([name, ['k1']]);
});

test('a run with an id of a month that is gone has its log in the default partition', async () => {
  const { name, startMs } = await month(5);
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([name]);
  const id = await run({ startedMs: startMs + DAY_MS });
  expect(await append(id, 'more')).toBe(true);
  expect([await partitionOf(id), await logOf(id)]).toEqual(['run_event_default', ['k1', 'k2', 'k3', 'more']]);
});

test('a drop that is killed changes nothing, and the next one completes it', async () => {
  const { name, startMs } = await month(5);
  const live = await run({ startedMs: Date.now() });
  await run({ startedMs: startMs + DAY_MS, ended: 95 });
  await removeAll();
  const dying = new pg.Client({ connectionString: database.url });
  dying.on('error', () => undefined);
  await dying.connect();
  const { rows: pids } = await dying.query<{ pid: number }>('select pg_backend_pid() as pid');
  await dying.query('begin');
  await dying.query('select drop_log_partition($1)', [name]);
  const appended = append(live, 'waits');
  await other.query('select pg_terminate_backend($1)', [pids[0]?.pid]);
  expect(await appended).toBe(true);
  expect(await partitions()).toContain(name);
  expect(await dropEmptyPartitions(em(), DAYS)).toEqual([name]);
  expect(await logOf(live)).toEqual(['k1', 'k2', 'k3', 'waits']);
});
