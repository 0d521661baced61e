/**
 * Divides the log of a database from before there were partitions, after the migration has made its table the
 * only partition: it gets a bound, and months follow. To read the table for the bound takes a second for some
 * million events, while appends go on; the lock afterwards takes milliseconds, however much there is.
 */
import {
  DEFAULT_PARTITION,
  EARLIER_PARTITION,
  END_OF_IDS_MS,
  firstIdOf,
  isLogBusy,
  makeLogPartitions,
  monthStartMs,
  readLogState,
  timeOfId,
  type RunSql,
} from './log-partitions.ts';

/** The check of the bound ends before the first month begins, even if `migrate` is killed and repeated. */
const LEAST_DAYS_BEFORE = 7;
const DAY_MS = 24 * 3_600_000;
/** Longer than PostgreSQL lets its own vacuum hinder others. */
const LOCK_TIMEOUT = '2s';
const ATTEMPTS = 20;
const PAUSE_MS = 500;
const BOUND = `${EARLIER_PARTITION}_bound`;

/** Call on one connection outside a transaction, from one process at a time. Does what is left to do. */
export async function divideLog(run: RunSql): Promise<void> {
  const { nowMs, partitions, hasDefault } = await readLogState(run);
  if (partitions.length === 0 && !hasDefault) return;
  await run(`set lock_timeout = '${LOCK_TIMEOUT}'`);
  if (!hasDefault) await patiently(() => divide(run, nowMs));
  await patiently(() => makeLogPartitions(run));
}

async function divide(run: RunSql, nowMs: number): Promise<void> {
  const bound = await boundOf(run, nowMs);
  if (bound === null) return;
  // With this check, which an earlier attempt may have left, nothing is read under the lock.
  await run(`alter table ${EARLIER_PARTITION} drop constraint if exists ${BOUND}`);
  await run(`alter table ${EARLIER_PARTITION} add constraint ${BOUND} check (run_id < '${bound}') not valid`);
  await run(`alter table ${EARLIER_PARTITION} validate constraint ${BOUND}`);
  await run('begin');
  try {
    for (const statement of replacing(bound)) await run(statement);
    // A new database has nothing from before.
    const events = await run(`select from ${EARLIER_PARTITION} limit 1`);
    if (events.length === 0) await run(`drop table ${EARLIER_PARTITION}`);
    await run('commit');
  } catch (error) {
    await run('rollback');
    throw error;
  }
}

/** The first month that no event is of; null if there is none, with ids that do not begin with a time. */
async function boundOf(run: RunSql, nowMs: number): Promise<string | null> {
  const [newest] = await run<{ id: string }>(
    `select run_id as id from ${EARLIER_PARTITION} order by run_id desc limit 1`,
  );
  const lastMs = Math.max(nowMs + LEAST_DAYS_BEFORE * DAY_MS, newest ? timeOfId(newest.id) : 0);
  const boundMs = monthStartMs(lastMs, 1);
  return boundMs < END_OF_IDS_MS ? firstIdOf(boundMs) : null;
}

function replacing(bound: string): string[] {
  return [
    'lock table run_event in access exclusive mode',
    `alter table run_event detach partition ${EARLIER_PARTITION}`,
    `alter table run_event attach partition ${EARLIER_PARTITION} for values from (minvalue) to ('${bound}')`,
    `alter table ${EARLIER_PARTITION} drop constraint ${BOUND}`,
    `create table ${DEFAULT_PARTITION} partition of run_event default`,
  ];
}

/** Appends that have waited for the lock go on before it is asked for again. */
async function patiently(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isLogBusy(error) || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
