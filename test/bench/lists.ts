/**
 * Times first and deep pages of lists on a database with many rows, what the index of names costs a run,
 * and how fast retention removes runs: `npm run bench:lists [runs] [tasks] [events of a run]
 * [--data=FOLDER] [--write]`, 1,000,000, 100,000 and 10 by default. With a folder the rows are kept there,
 * and the next call with the same numbers uses them again; `--fill` only makes them.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { v7 as uuidv7 } from 'uuid';
import { migrate } from '../../db/migrate.ts';
import type { EntityManager } from '../../db/orm.ts';
import { encodeCursor } from '../../db/sql.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { removeEndedRuns } from '../../domain/retention/remove.ts';
import { startTestApp, type Client } from '../support/app.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { runFolderVariable } from '../support/run-folder.ts';
import { filteredLists, giveRows, idsOfLists, withIds } from '../support/filtered-lists.ts';
import { insertManyRows, manyRows, type RowCounts } from '../support/many-rows.ts';
import { inTurns, percentile } from './beside/in-turns.ts';

const REQUESTS = 100;
const RUNS_TIMED = 300;
const REMOVED_BATCHES = 50;
const [runs = 1_000_000, tasks = 100_000, eventsOfRun = 10] = process.argv
  .slice(2)
  .map(Number)
  .filter(Number.isFinite);
const counts: RowCounts = {
  users: 10_000,
  workflows: 10_000,
  agents: 10_000,
  items: 10_000,
  files: 100_000,
  runs,
  tasks,
  eventsOfRun,
  entries: runs,
  deliveries: tasks,
  notifications: tasks,
  jobs: tasks,
  others: 10_000,
};
const DAY_MS = 24 * 3_600_000;

const given = process.argv.find((argument) => argument.startsWith('--data='))?.slice('--data='.length);
const folder = given ?? mkdtempSync(join(tmpdir(), 'cadenza-lists-'));
mkdirSync(folder, { recursive: true });
/** The time at which the rows end, and what they took. */
const marker = join(folder, 'filled.json');
const isFilled = existsSync(marker);
const filled: { endMs: number; minutes: number } = isFilled
  ? JSON.parse(readFileSync(marker, 'utf8'))
  : { endMs: Date.now(), minutes: 0 };
const END_MS = filled.endMs;
const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), throwaway: true });
await migrate(postgres.url);
// State that the helpers of the tests share.
process.env[runFolderVariable] = folder;
// The same key in each call, since rows that are kept are encrypted with it.
const encryptionKeys = `bench:${Buffer.alloc(32, 'cadenza').toString('base64')}`;
const app = await startTestApp({ databaseUrl: postgres.url, strictResponses: false, encryptionKeys });
const em = app.orm.em.fork();
const user = await app.createUser();
const administrator = await app.createUser({ roles: ['admin'] });
const [admin, person] = [await app.as(administrator), await app.as(user)];

const rows = manyRows(counts, END_MS);
if (!isFilled) await fill();
if (process.argv.includes('--fill')) await end();
const ids = await idsOfLists(em, rows);
await giveRows(em, ids, user.id);
// A hundredth of the runs is the person's, in the same places as those of everybody.
await em.execute(`update run set owner_id = ? where get_byte(uuid_send(id), 15) < 3`, [user.id]);
await em.execute('vacuum analyze run');

async function end(): Promise<never> {
  await app.close();
  await postgres.stop();
  process.exit(0);
}

async function fill(): Promise<void> {
  const begun = performance.now();
  const restore = await withoutIndexes(em);
  await insertManyRows(em, counts, END_MS);
  for (const statement of restore) await em.execute(statement);
  await em.execute('vacuum analyze');
  filled.minutes = (performance.now() - begun) / 60_000;
  writeFileSync(marker, JSON.stringify(filled));
}

/** Takes the secondary indexes of the large tables away. @returns the statements that bring them back */
async function withoutIndexes(on: EntityManager): Promise<string[]> {
  const found = await on.execute<{ gone: string; back: string }[]>(
    `select case when c.conname is null then 'drop index ' || i.indexrelid::regclass
                 else 'alter table ' || i.indrelid::regclass || ' drop constraint ' || c.conname end as gone,
            case when c.conname is null then pg_get_indexdef(i.indexrelid)
                 else 'alter table ' || i.indrelid::regclass || ' add constraint ' || c.conname || ' '
                      || pg_get_constraintdef(c.oid) end as back
       from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.conrelid = i.indrelid
      where i.indrelid = any('{run,run_event,run_pin,hitl_task,hitl_task_text,audit_entry}'::regclass[])
        and (c.conname is null or i.indrelid = 'run_event'::regclass)`,
  );
  for (const { gone } of found) await on.execute(gone);
  return found.map(({ back }) => back);
}

async function idOf(table: keyof RowCounts, n: number): Promise<string> {
  const [row] = await em.execute<{ id: string }[]>(`select ${rows.idOf(table, String(n))} as id`);
  return row?.id ?? '';
}

const [half, late] = [await idOf('runs', runs / 2), await idOf('runs', Math.round(runs * 0.99))];
const task = await idOf('tasks', Math.round(tasks / 2));
const byId = [half];
const [midYear, dayAfter] = [-180, -179].map((days) => new Date(END_MS + days * DAY_MS).toISOString());

interface List {
  who: Client;
  path: string;
  /** The sort key of the last row of a page in the middle. */
  deep?: readonly unknown[];
}
const everybody = (path: string, deep?: readonly unknown[]): List => ({
  who: admin,
  path,
  ...(deep ? { deep } : {}),
});
const own = (path: string, deep?: readonly unknown[]): List => ({
  who: person,
  path,
  ...(deep ? { deep } : {}),
});
const LISTS: List[] = [
  everybody('/runs', byId),
  own('/runs', byId),
  everybody('/runs?q=payment', byId),
  own('/runs?q=payment', byId),
  everybody('/runs?q=invoice+payment+2725', byId),
  own('/runs?q=invoice+payment+2725', byId),
  everybody('/runs?q=nothing+like+it'),
  everybody(`/runs?created_before=${midYear}`, [await idOf('runs', runs / 4)]),
  own(`/runs?created_before=${midYear}`, [await idOf('runs', runs / 4)]),
  everybody(`/runs?created_after=${midYear}&created_before=${dayAfter}`),
  everybody(`/runs?created_after=${new Date(END_MS + DAY_MS).toISOString()}`),
  everybody('/runs?status=faulted', byId),
  everybody(`/runs?agent_id=${await idOf('agents', 7)}`, byId),
  everybody('/runs?tag=tag-7', byId),
  everybody('/hitl/tasks?scope=all', [-30, task]),
  own('/hitl/tasks', [-30, task]),
  everybody('/hitl/tasks?scope=all&q=review', [-30, task]),
  everybody('/hitl/tasks?scope=all&q=contract+review+2722', [-30, task]),
  everybody('/hitl/tasks?scope=all&q=nothing+like+it'),
  everybody('/audit'),
  everybody('/audit?outcome=refused'),
  everybody(`/runs/${late}/logs`),
  ...filteredLists(END_MS).map(([who, path]) => ({
    who: who === 'admin' ? admin : person,
    path: withIds(path, ids),
  })),
];

async function times({ who, path }: List, cursor?: readonly unknown[]): Promise<string> {
  const at = cursor ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeCursor(cursor)}` : path;
  const measured: number[] = [];
  for (let n = -3; n < REQUESTS; n++) {
    const begun = performance.now();
    const { status, body } = await who.get(at);
    if (status !== 200) throw new Error(`${at} answered ${status}: ${JSON.stringify(body)}`);
    if (n >= 0) measured.push(performance.now() - begun);
  }
  return [0.5, 0.99].map((part) => percentile(measured, part).toFixed(1)).join(', ');
}

/** What a run costs PostgreSQL: its row, and three changes of its status. @returns milliseconds */
async function runMs(): Promise<number> {
  const begun = performance.now();
  for (let n = 0; n < RUNS_TIMED; n++) {
    const id = uuidv7();
    await em.execute(
      `insert into run (id, workflow_name, definition, status, owner_id, root_run_id)
       values (?, 'Invoice approval of the second department', '{}', 'pending', ?, ?)`,
      [id, user.id, id],
    );
    for (const status of ['running', 'waiting', 'completed'])
      await em.execute(`update run set status = ? where id = ?`, [status, id]);
  }
  return (performance.now() - begun) / RUNS_TIMED;
}

async function withoutSearch(): Promise<number> {
  await em.execute('drop index run_search');
  const ms = await runMs();
  await em.execute('create index run_search on run using gin (workflow_name gin_trgm_ops)');
  return ms;
}

/** Without ids and times. */
function shownPath(path: string): string {
  const withoutIds = path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…');
  return withoutIds.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…');
}

const table: string[] = [];
for (const list of LISTS) {
  const line = [
    `\`${shownPath(list.path)}\``,
    list.who === admin ? 'administrator' : 'builder',
    await times(list),
    list.deep ? await times(list, list.deep) : '',
  ];
  table.push(`| ${line.join(' | ')} |`);
  console.log(table.at(-1));
}
const cost = await inTurns({ with: runMs, without: withoutSearch }, 3);
const removal = { runs: 0, seconds: 0 };
for (let batch = -2; batch < REMOVED_BATCHES; batch++) {
  const begun = performance.now();
  const removed = await removeEndedRuns(app.orm.em.fork(), 90);
  if (batch < 0) continue;
  removal.runs += removed.runs;
  removal.seconds += (performance.now() - begun) / 1_000;
}
const [size] = await em.execute<{ database: string; search: string; runs: string }[]>(
  `select pg_size_pretty(pg_database_size(current_database())) as database,
          pg_size_pretty(pg_relation_size('run_search')) as search,
          pg_size_pretty(pg_total_relation_size('run')) as runs`,
);
await app.close();
await postgres.stop();
if (given === undefined) rmSync(folder, { recursive: true, force: true });

const format = (value: number): string => value.toLocaleString('en-US');
const body = [
  '## Lists',
  '',
  `\`npm run bench:lists\`, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: ` +
    `${format(runs)} runs of a year, ${format(tasks)} undecided human tasks, ${format(runs * eventsOfRun)} ` +
    `events, ${format(counts.entries)} entries of the audit log, 10,000 each of users, ` +
    `workflows, agents and ` +
    `items; ${size?.database} altogether, made in ${filled.minutes.toFixed(0)} minutes. API, ` +
    `PostgreSQL (without ` +
    'fsync) and the bench are on the same two cores. Milliseconds of one request after another, median and ' +
    `99th percentile of ${REQUESTS}. The deep page begins in the middle of the list. The builder has a ` +
    'hundredth of the runs.',
  '',
  '| list | who | first page | deep page |',
  '| --- | --- | ---: | ---: |',
  ...table,
  '',
  `The trigram index of runs takes ${size?.search} of their ${size?.runs}. A run's row and ` +
    `three changes of its ` +
    `status take ${(cost.with / cost.without).toFixed(2)} times as long with it as without ` +
    `(${cost.with.toFixed(2)} and ${cost.without.toFixed(2)} ms, in turns).`,
  '',
  `Retention removes ${format(Math.round(removal.runs / removal.seconds))} of these runs a second, with ` +
    `${format(Math.round((removal.runs * eventsOfRun) / removal.seconds))} events, in batches of 100.`,
].join('\n');
console.log(body);
if (process.argv.includes('--write'))
  await writeDocsSection({ file: 'docs/benchmarks.md', name: 'lists', script: 'bench:lists', body });
process.exit(0);
