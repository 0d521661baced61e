/**
 * Detects runs whose workflow task fails repeatedly, which their log would not show. It asks Temporal about
 * the few runs that should have progressed and did not. Each episode is reported once in the run's log, and
 * counted until it ends.
 */
import type { EntityManager } from '../../db/orm.ts';
import { isOneOf } from '../../db/sql.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import {
  ADVANCING_STATUSES,
  EVENT,
  UNDER_WAY_STATUSES,
  isTerminal,
  type NewRunEvent,
} from '../../contracts/run-events.ts';
import type { DispatchDeps } from './dispatch.ts';
import { appendEvents, lockRun, serviceEvent } from './events.ts';

/**
 * The attempt of a workflow task at which its run counts as stuck: three have failed in a row, which takes
 * about 20 s.
 */
const STUCK_ATTEMPT = 4;
/** The most candidates of each kind in one pass. */
const BATCH = 100;
/**
 * A pass examines a twelfth of the runs that should have moved, so each is examined about every two minutes.
 */
const SHARES = 12;
const PASS_MS = 10_000;

export interface StuckRuns {
  /** Ids of runs that became stuck. */
  stuck: string[];
  /** Ids of runs that recovered. */
  recovered: string[];
}

export async function watchStuckRuns(
  deps: DispatchDeps,
  options: { now: Date; heartbeat(): void },
): Promise<StuckRuns> {
  const em = deps.orm.em.fork();
  const known = new Set(await knownStuck(em));
  const candidates = new Set([
    ...known,
    ...(await deps.temporal.troubled()),
    ...(await unmoved(em, options.now)),
  ]);
  const result: StuckRuns = { stuck: [], recovered: [] };
  for (const runId of candidates) {
    const attempt = await deps.temporal.workflowTaskAttempt(runId);
    options.heartbeat();
    if (attempt >= STUCK_ATTEMPT) {
      const noted = await noteStuck(deps, runId, attempt);
      if (noted === 'new') result.stuck.push(runId);
      // It would try for ever, and nobody could reach it any more.
      if (noted === 'over') await deps.temporal.terminate(runId, 'the run has ended');
    } else if (known.has(runId)) {
      await noteRecovered(deps, runId);
      result.recovered.push(runId);
    }
  }
  return result;
}

/** The number of stuck runs. */
export async function countStuckRuns(em: EntityManager): Promise<number> {
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from run_stuck s join run r on r.id = s.run_id
       where ${isOneOf('r.status', UNDER_WAY_STATUSES)}`,
  );
  return row?.count ?? 0;
}

/** Those checked longest ago come first. */
async function knownStuck(em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ run_id: string }[]>(
    `select run_id from run_stuck order by checked_at limit ?`,
    [BATCH],
  );
  return rows.map(({ run_id }) => run_id);
}

/**
 * Runs that have not taken in a signal delivered to Temporal, and a share of those without a new event for a
 * minute or with a timer that should have fired. Of more than fit, a random hundred, so that each has its
 * turn.
 */
async function unmoved(em: EntityManager, now: Date): Promise<string[]> {
  const at = now.toISOString();
  const rows = await em.execute<{ id: string }[]>(
    `(select s.run_id as id from run_signal s
       where s.received_at is null and s.delivered_at < ?::timestamptz - interval '30 seconds'
        order by s.next_at limit ?)
     union
     (select r.id from run r
       where ${isOneOf('r.status', ADVANCING_STATUSES)}
         and mod(abs(hashtext(r.id::text)::bigint), ?) = ?
         and case r.status
               when 'running' then (select e.at from events_before(r.id, null, 0, null, null, 1) e)
                                   < ?::timestamptz - interval '1 minute'
               else exists (select from jsonb_array_elements(r.waiting_on) w
                             where (w ->> 'until')::timestamptz
                                   < ?::timestamptz - interval '30 seconds')
             end
       order by random()
       limit ?)`,
    [at, BATCH, SHARES, Math.floor(now.getTime() / PASS_MS) % SHARES, at, at, BATCH],
  );
  return rows.map(({ id }) => id);
}

/** @returns `new`: the run became stuck just now; `over`: it has ended, and only its execution goes on */
async function noteStuck(
  { orm }: DispatchDeps,
  runId: string,
  attempt: number,
): Promise<'new' | 'known' | 'over'> {
  return orm.em.fork().transactional(async (em) => {
    const run = await lockRun(em, runId);
    if (run === null || isTerminal(run.status)) return 'over';
    const [row] = await em.execute<{ since: Date; fresh: boolean }[]>(
      `insert into run_stuck as s (run_id, attempts) values (?, ?)
       on conflict (run_id) do update set attempts = excluded.attempts, checked_at = clock_timestamp()
       returning s.since, s.xmax = 0 as fresh`,
      [runId, attempt],
    );
    if (!row?.fresh) return 'known';
    await appendWarning(em, runId, {
      key: `stuck:${new Date(row.since).toISOString()}`,
      level: 'warn',
      message: LOG_TEXT.runWarning.stuck(attempt - 1),
      data: { attempts: attempt - 1 },
    });
    return 'new';
  });
}

async function noteRecovered({ orm }: DispatchDeps, runId: string): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    await lockRun(em, runId);
    const [row] = await em.execute<{ since: Date }[]>(
      `delete from run_stuck where run_id = ? returning since`,
      [runId],
    );
    if (row)
      await appendWarning(em, runId, {
        key: `stuck-over:${new Date(row.since).toISOString()}`,
        level: 'info',
        message: LOG_TEXT.runWarning.recovered(),
        data: {},
      });
  });
}

/** Appends a warning to the run's log; ignored if the run has ended. */
async function appendWarning(
  em: EntityManager,
  runId: string,
  event: Pick<NewRunEvent, 'key' | 'level' | 'message' | 'data'>,
): Promise<void> {
  await appendEvents(em, runId, {
    events: [serviceEvent({ type: EVENT.runWarning, ...event })],
    projection: null,
    acks: [],
  });
}
