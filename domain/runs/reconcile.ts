/**
 * One pass of the reconciler (docs/architecture.md#signals-and-the-reconciler): starts pending runs, repeats
 * signals that were not received, closes rows whose execution is gone, and reports stuck runs. It uses
 * indexes to read only the few affected rows. Each part works in batches until nothing is left or its time
 * is up; the next pass continues.
 */
import { UNDER_WAY_STATUSES } from '../../contracts/run-events.ts';
import { isLowercaseUuid } from '../../contracts/uuid.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, isOneOf } from '../../db/sql.ts';
import { inParallel } from '../in-parallel.ts';
import { TemporalUnavailable } from '../ports.ts';
import { closeLostRun, sendSignals, startRun, type DispatchDeps } from './dispatch.ts';
import { takeDueSignals, takeUnappliedSignals, type OpenSignal } from './signals.ts';
import { takePendingRuns } from './start.ts';
import { watchStuckRuns } from './stuck.ts';

const BATCH = 200;
/** Enough calls to hide Temporal's latency, and few enough to leave connections in the pool. */
const AT_ONCE = 10;
/**
 * When each part must stop, in ms from the start of the pass. The activity has further steps after these, and
 * 110 s for all (workflows/reconcile.ts).
 */
const START_UNTIL_MS = 15_000;
const SIGNAL_UNTIL_MS = 30_000;
const SWEEP_UNTIL_MS = 40_000;
const CLOSED_SINCE_MS = 6 * 60_000;

export interface Reconciled {
  started: number;
  signalled: number;
  closed: number;
  /** Ids of runs that became stuck, and of those that recovered. */
  stuck: string[];
  recovered: string[];
}

export interface PassOptions {
  now: Date;
  heartbeat(): void;
}

/** Whether a part may take another batch. */
type InTime = () => boolean;

export async function reconcile(deps: DispatchDeps, options: PassOptions): Promise<Reconciled> {
  const result: Reconciled = { started: 0, signalled: 0, closed: 0, stuck: [], recovered: [] };
  const begun = performance.now();
  const within =
    (untilMs: number): InTime =>
    () =>
      performance.now() - begun < untilMs;
  try {
    result.started = await startPending(deps, options, within(START_UNTIL_MS));
    result.signalled = await repeatSignals(deps, options, within(SIGNAL_UNTIL_MS));
    const ended = await deps.temporal.abnormallyClosed(new Date(options.now.getTime() - CLOSED_SINCE_MS));
    result.closed = await closeLost(
      deps,
      options,
      await openAmong(
        deps,
        ended.map((execution) => execution.runId),
      ),
    );
    result.closed += await sweep(deps, options, within(SWEEP_UNTIL_MS));
    Object.assign(result, await watchStuckRuns(deps, options));
  } catch (error) {
    if (!(error instanceof TemporalUnavailable)) throw error;
  }
  return result;
}

/** @throws TemporalUnavailable */
async function startPending(deps: DispatchDeps, options: PassOptions, inTime: InTime): Promise<number> {
  let started = 0;
  let taken: string[];
  do {
    taken = await takePendingRuns(deps.orm.em.fork(), BATCH);
    await inParallel(taken, AT_ONCE, async (runId) => {
      options.heartbeat();
      if (await startRun(deps, runId)) started++;
      // If only this run fails, for example because its large input cannot be stored, continue with the
      // others.
      else if (!(await deps.temporal.ping())) throw new TemporalUnavailable('Temporal does not answer');
    });
  } while (taken.length === BATCH && inTime());
  return started;
}

async function repeatSignals(deps: DispatchDeps, options: PassOptions, inTime: InTime): Promise<number> {
  let sent = 0;
  for (const take of [takeDueSignals, takeUnappliedSignals]) {
    let taken: OpenSignal[];
    do {
      taken = await take(deps.orm.em.fork(), BATCH);
      // Signals of one run are sent in order, several runs in parallel.
      const byRun = [...Map.groupBy(taken, ({ run_id }) => run_id).values()];
      await inParallel(byRun, AT_ONCE, async (signals) => {
        // `sent += await …` would read the sum before waiting and lose the counts of the other runs.
        const { length } = await sendSignals(deps, signals);
        sent += length;
        options.heartbeat();
      });
      // A batch of large signals has fewer.
    } while (taken.length > 0 && inTime());
  }
  return sent;
}

/** The runs among these whose rows are open. Few are, so runs that ended normally cost no statement each. */
async function openAmong({ orm }: DispatchDeps, runIds: readonly string[]): Promise<string[]> {
  const ids = runIds.filter(isLowercaseUuid);
  if (ids.length === 0) return [];
  const rows = await orm.em
    .fork()
    .execute<{ id: string }[]>(
      `select id from run where id = any(?::uuid[]) and ${isOneOf('status', UNDER_WAY_STATUSES)}`,
      [arrayLiteral(ids)],
    );
  return rows.map(({ id }) => id);
}

/**
 * Checks every live run with Temporal about once an hour. It goes page by page in the order of ids; the
 * database stores the position, so any process can continue and the number of runs is not limited.
 */
async function sweep(deps: DispatchDeps, options: PassOptions, inTime: InTime): Promise<number> {
  let closed = 0;
  let page: string[];
  do {
    page = await deps.orm.em.fork().transactional((em) => nextPage(em));
    closed += await closeLost(deps, options, page);
  } while (page.length > 0 && inTime());
  return closed;
}

async function nextPage(em: EntityManager): Promise<string[]> {
  const [round] = await em.execute<{ sweep_after: string | null }[]>(
    `select sweep_after from maintenance
      where sweep_after is not null or sweep_begun_at is null
         or sweep_begun_at < clock_timestamp() - interval '1 hour' for update`,
  );
  if (!round) return [];
  if (round.sweep_after === null)
    await em.execute(`update maintenance set sweep_begun_at = clock_timestamp()`);
  // Recent runs are skipped: a run that is just starting has a row before its execution.
  const rows = await em.execute<{ id: string }[]>(
    `select id from run
      where ${isOneOf('status', UNDER_WAY_STATUSES)}
        and id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
        and created_at < clock_timestamp() - interval '10 minutes' order by id limit ?`,
    [round.sweep_after, BATCH],
  );
  await em.execute(`update maintenance set sweep_after = ?::uuid`, [
    rows.length < BATCH ? null : (rows.at(-1)?.id ?? null),
  ]);
  return rows.map(({ id }) => id);
}

async function closeLost(
  deps: DispatchDeps,
  options: PassOptions,
  runIds: readonly string[],
): Promise<number> {
  let closed = 0;
  await inParallel(runIds, AT_ONCE, async (id) => {
    if (await closeLostRun(deps, id)) closed++;
    options.heartbeat();
  });
  return closed;
}
