/**
 * What work costs in processor time and in counts, which a busy machine changes less than the time it takes.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import pg from 'pg';
import { statOf, TICKS_PER_SECOND } from './processes.ts';

/** Per unit of work: processor time by process in milliseconds, and counts. */
export type Costs = Record<string, number>;

export interface CostCounter {
  /** Does the work once. `units`: how much it is, to divide by. */
  costsOf(units: number, work: () => Promise<unknown>): Promise<Costs>;
  close(): Promise<void>;
}

/** From the beginning: a connection keeps the function that it has when it opens. */
const statements = countStatements();

/**
 * `own ms` is this process, `main ms` its main thread, `code ms` the thread of workflow code that works most.
 * With `eachStatement`, statements are counted by their first words too.
 */
export async function createCostCounter(
  databaseUrl: string,
  pids: { postgres: number; temporal: number },
  eachStatement = false,
): Promise<CostCounter> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  const read = async (): Promise<Costs> => {
    const { rows } = await admin.query(
      `select (select xact_commit from pg_stat_database where datname = current_database())::int as commits,
              (select wal_bytes from pg_stat_wal)::float8 / 1024 as "WAL, KiB"`,
    );
    return {
      ...Object.fromEntries(threadTimes().map(({ tid, ms }) => [`thread ${tid}`, ms])),
      'postgres ms': processTime(pids.postgres) + sum(childrenOf(pids.postgres).map(runTime)),
      'temporal ms': processTime(pids.temporal),
      ...(rows[0] as Costs),
    };
  };
  return {
    async costsOf(units, work) {
      statements.clear();
      const before = await read();
      await work();
      const after = await read();
      const costs: Costs = {};
      const own = new Map<string, number>();
      for (const [name, value] of Object.entries(after)) {
        const change = (value - (before[name] ?? 0)) / units;
        if (name.startsWith('thread ')) own.set(name, change);
        else costs[name] = change;
      }
      const main = `thread ${process.pid}`;
      costs['own ms'] = sum([...own.values()]);
      costs['main ms'] = own.get(main) ?? 0;
      own.delete(main);
      costs['code ms'] = Math.max(0, ...own.values());
      costs['all ms'] = sum(['own ms', 'postgres ms', 'temporal ms'].map((name) => costs[name] ?? 0));
      costs['statements'] = sum([...statements.values()]) / units;
      if (eachStatement) for (const [text, count] of statements) costs[`  ${text}`] = count / units;
      return costs;
    },
    close: () => admin.end(),
  };
}

function threadTimes(): { tid: string; ms: number }[] {
  return readdirSync('/proc/self/task').map((tid) => ({ tid, ms: scheduled(`/proc/self/task/${tid}`) }));
}

/** Time on a processor in milliseconds; 0 for what has ended. */
function scheduled(folder: string): number {
  try {
    return Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

function runTime(pid: number): number {
  return scheduled(`/proc/${pid}`);
}

/** User and system time of all threads, and of children that have ended. */
function processTime(pid: number): number {
  return (sum(statOf(pid).slice(11, 15)) * 1000) / TICKS_PER_SECOND;
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => statOf(child)[1] === pid);
}

/** Counts the ORM's statements by their first words. */
function countStatements(): Map<string, number> {
  const counts = new Map<string, number>();
  // The ORM may bring a copy of the driver.
  const require = createRequire(import.meta.resolve('@mikro-orm/postgresql'));
  const { Client } = require('pg') as { Client: { prototype: { query(...args: unknown[]): unknown } } };
  const { query } = Client.prototype;
  Client.prototype.query = function counting(...args) {
    const [first] = args;
    const text = typeof first === 'string' ? first : ((first as { text?: string } | null)?.text ?? '?');
    const head = text
      .replace(/'[^']*'/g, '?')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 100);
    counts.set(head, (counts.get(head) ?? 0) + 1);
    return query.apply(this, args);
  };
  return counts;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
