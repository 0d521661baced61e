/**
 * What the partitions of the log cost and save: `npm run bench:log -- --before=<folder of a checkout of the
 * commit before them>`. Processor time of PostgreSQL's process for each connection, in turns; then the
 * removal of a month of runs. Each side runs its own code on a database of its own, on one server.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';

import { EVENT, type NewRunEvent } from '../../contracts/run-events.ts';
import { monthPartition, monthStartMs } from '../../db/log-partitions.ts';
import type { Orm } from '../../db/orm.ts';
import { startPostgres } from '../../dev/postgres.ts';
import type { Actor } from '../../domain/auth/actor.ts';
import { dropEmptyPartitions } from '../../domain/retention/log.ts';
import { inTurns } from './beside/in-turns.ts';

const ROUNDS = 9;
const MONTHS_FILLED = 4;
const RUNS = 20_000;
const EVENTS = 5;
const LIVE_RUNS = 100;
const REMOVED_RUNS = 30_000;
const REMOVED_EVENTS = 10;
const TICK_US = 10_000;
const DAY_MS = 24 * 3_600_000;
const START = { tx: '0', gpos: '-1' };

const here = resolve(import.meta.dirname, '../..');
const before = process.argv.find((argument) => argument.startsWith('--before='))?.slice('--before='.length);
if (before === undefined) throw new Error('Give the checkout to compare with: --before=FOLDER');

interface Side {
  orm: Orm;
  owner: Actor;
  live: string[];
  code: Awaited<ReturnType<typeof load>>;
}

async function load(folder: string) {
  const at = async (file: string): Promise<unknown> => import(join(folder, file));
  // Both checkouts have these functions with these types; those of this one are checked.
  return {
    ...((await at('db/migrate.ts')) as typeof import('../../db/migrate.ts')),
    ...((await at('db/orm.ts')) as typeof import('../../db/orm.ts')),
    ...((await at('domain/events/log-reader.ts')) as typeof import('../../domain/events/log-reader.ts')),
    ...((await at('domain/retention/remove.ts')) as typeof import('../../domain/retention/remove.ts')),
    ...((await at('domain/runs/events.ts')) as typeof import('../../domain/runs/events.ts')),
    ...((await at('domain/runs/queries.ts')) as typeof import('../../domain/runs/queries.ts')),
  };
}

const dataDir = mkdtempSync(join(tmpdir(), 'cadenza-log-'));
const postgres = await startPostgres({ dataDir, throwaway: true });

/** `months`: how many partitions of months; null: the table of before. */
async function prepare(name: string, folder: string, months: number | null): Promise<Side> {
  const server = new pg.Client({ connectionString: postgres.url });
  await server.connect();
  await server.query(`create database ${name}`);
  await server.end();
  const url = postgres.url.replace(/[^/]*$/, name);
  const code = await load(folder);
  await code.migrate(url);
  const orm = code.createOrm({ url, poolSize: 1, statementTimeoutMs: 300_000 });
  const em = orm.em.fork();
  for (let ago = 1; months !== null && ago <= months - 3; ago++) await makeMonth(orm, ago);
  const owner: Actor = { id: uuidv7(), username: 'o', roles: ['builder'], groups: [], teams: [] };
  await em.execute(
    `insert into user_account (id, username, email, password_hash, roles)
        values (?, 'o', 'o', '', '{builder}')`,
    [owner.id],
  );
  for (let ago = 0; ago < MONTHS_FILLED; ago++)
    await fill(orm, owner.id, {
      startMs: monthStartMs(Date.now(), -ago),
      runs: RUNS / MONTHS_FILLED,
      events: EVENTS,
    });
  const live = Array.from({ length: LIVE_RUNS }, () => uuidv7());
  for (const id of live)
    await em.execute(
      `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, last_seq)
       values (?, 'w', '{}', 'running', ?, ?, 0)`,
      [id, owner.id, id],
    );
  await em.execute('vacuum analyze');
  return { orm, owner, live, code };
}

async function makeMonth(orm: Orm, ago: number): Promise<void> {
  const { name, from, to } = monthPartition(monthStartMs(Date.now(), -ago));
  await orm.em.fork().execute('select make_log_partition(?, ?, ?, 0)', [name, from, to]);
}

interface Filling {
  startMs: number;
  runs: number;
  events: number;
  ended?: boolean;
}

/** Runs of the first day of a month. */
async function fill(
  orm: Orm,
  owner: string,
  { startMs, runs, events, ended = false }: Filling,
): Promise<void> {
  const em = orm.em.fork();
  const id = `(lpad(to_hex(${startMs} + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
               || substr(md5(n::text), 4, 15))::uuid`;
  await em.execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, last_seq, started_at,
                      finished_at)
     select ${id}, 'Invoice approval', '{}', 'completed', ?, ${id}, ${events}, now(),
            case when ? then now() - interval '400 days' else now() end
       from generate_series(1, ${runs}) n`,
    [owner, ended],
  );
  await em.execute(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     select ${id}, e, case e when 1 then 'run:started' else 'event:' || e end, '${EVENT.taskStarted}', now(),
            'info', 'Number ' || e || ' of run ' || n,
            json_build_object('task', '/do/0/work', 'execution', ${id}, 'text', repeat('x', 200))
       from generate_series(1, ${runs}) n, generate_series(1, ${events}) e`,
  );
}

/** User and system time of a process, in microseconds. */
function processorUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** The process of the only connection, which is made anew after a while without work. */
async function processOf({ orm }: Pick<Side, 'orm'>): Promise<number> {
  const [row] = await orm.em.fork().execute<{ pid: number }[]>('select pg_backend_pid() as pid');
  return row?.pid ?? 0;
}

async function perCall(side: Side, count: number, work: (n: number) => Promise<unknown>): Promise<number> {
  const pid = await processOf(side);
  const begun = processorUs(pid);
  for (let n = 0; n < count; n++) await work(n);
  return (processorUs(pid) - begun) / count;
}

let steps = 0;
function step(): NewRunEvent[] {
  const visit = ++steps;
  const at = new Date().toISOString();
  return [EVENT.taskStarted, EVENT.taskCompleted].map((type) => ({
    key: `/do/0/work#${visit}:${type}`,
    type,
    at,
    level: 'info' as const,
    task: '/do/0/work',
    message: 'work',
    data: { visit, name: 'work', type: 'call', output: 'x'.repeat(200) },
  }));
}

const MEASURES: Record<string, (side: Side) => Promise<number>> = {
  'append of a step, two events': (side) =>
    perCall(side, 800, (n) =>
      side.orm.em.fork().transactional((tx) =>
        side.code.appendEvents(tx, side.live[n % LIVE_RUNS] ?? '', {
          events: step(),
          projection: null,
          acks: [],
        }),
      ),
    ),
  "page of a run's log": (side) =>
    perCall(side, 300, (n) =>
      side.code.listEvents(side.orm.em.fork(), side.live[n % LIVE_RUNS] ?? '', { after: 0, limit: 20 }),
    ),
  "a run's record with the end of its log": (side) =>
    perCall(side, 300, (n) =>
      side.code.getRunWithTail(side.orm.em.fork(), side.owner, side.live[n % LIVE_RUNS] ?? '', {
        tasks: 20,
        events: 20,
      }),
    ),
  'page of all runs, 20': (side) =>
    perCall(side, 300, () => side.code.listRuns(side.orm.em.fork(), side.owner, {}, { limit: 20 })),
  "page of all runs' log, 100 events": (side) =>
    perCall(side, 300, () => side.code.readLog(side.orm.em.fork(), START, { limit: 100 })),
  'the same for one user': (side) =>
    perCall(side, 300, () =>
      side.code.readLog(side.orm.em.fork(), START, {
        runs: { sql: 'r.owner_id = ?::uuid', values: [side.owner.id] },
        limit: 100,
      }),
    ),
};

interface Removal {
  seconds: number;
  processorSeconds: number;
  walMib: number;
  dropMs: number;
  logMib: number;
}

async function remove(side: Side, isPartitioned: boolean): Promise<Removal> {
  const em = side.orm.em.fork();
  if (isPartitioned) await makeMonth(side.orm, 6);
  const startMs = monthStartMs(Date.now(), -6);
  await fill(side.orm, side.owner.id, { startMs, runs: REMOVED_RUNS, events: REMOVED_EVENTS, ended: true });
  await em.execute('vacuum analyze');
  await em.execute('checkpoint');
  const lsn = async (): Promise<number> =>
    Number((await em.execute<{ at: string }[]>(`select pg_current_wal_insert_lsn() - '0/0' as at`))[0]?.at);
  const pid = await processOf(side);
  const [from, processor, begun] = [await lsn(), processorUs(pid), performance.now()];
  // The month is due only now, so its events are left for the drop.
  const days = Math.floor((Date.now() - monthStartMs(startMs, 1)) / DAY_MS) - 1;
  while ((await side.code.removeEndedRuns(side.orm.em.fork(), days)).runs > 0);
  const dropping = performance.now();
  if (isPartitioned) await dropEmptyPartitions(side.orm.em.fork(), days);
  const [row] = await em.execute<{ bytes: string }[]>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
      where c.relkind = 'r' and c.relname like 'run\\_event%'`,
  );
  return {
    seconds: (performance.now() - begun) / 1000,
    processorSeconds: (processorUs(pid) - processor) / 1e6,
    walMib: ((await lsn()) - from) / 2 ** 20,
    dropMs: performance.now() - dropping,
    logMib: Number(row?.bytes) / 2 ** 20,
  };
}

const sides = {
  before: await prepare('bench_before', resolve(before), null),
  six: await prepare('bench_six', here, 6),
  twelve: await prepare('bench_twelve', here, 12),
};
try {
  for (const [name, measure] of Object.entries(MEASURES)) {
    const us = await inTurns(
      {
        before: () => measure(sides.before),
        six: () => measure(sides.six),
        twelve: () => measure(sides.twelve),
      },
      ROUNDS,
    );
    const ratios = [us.six, us.twelve].map((value) => (value / us.before).toFixed(2)).join(' | ');
    console.log(`| ${name} | ${us.before.toFixed(0)} | ${ratios} |`);
  }
  console.log(
    JSON.stringify({ before: await remove(sides.before, false), six: await remove(sides.six, true) }),
  );
} finally {
  for (const { orm } of Object.values(sides)) await orm.close(true);
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
