/** Ends jobs: the outcome is stored once, and the run is told by a signal. Run and job are locked. */
import { createHash } from 'node:crypto';
import type { Invoked, TakenOutcome } from '../../contracts/activities.ts';
import { LOG_TEXT } from '../../contracts/log-texts.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { canonicalJson } from '../../contracts/canonical-json.ts';
import { standardError, type DslError } from '../../contracts/dsl-error.ts';
import type { EntityManager } from '../../db/orm.ts';
import { endHeldTurn, isAgentFailure } from '../registry/agent-turns.ts';
import { deliverSignals, type DispatchDeps } from '../runs/dispatch.ts';
import { appendEvents, serviceEvent } from '../runs/events.ts';
import { failInvocation, finishInvocation } from '../runs/invocations.ts';
import { AS_HELD, settleAsHeld, spentBy, type Spent } from '../spending/budgets.ts';
import { enqueueSignal } from '../runs/signals.ts';
import { usageOf, withAttempt, type StatedUsage } from './stated-usage.ts';
import { findJob, lockJob, JOB_COLUMNS, type JobOutcome, type JobRow } from './job.ts';

/** What is stored for the run. */
type Ended = ({ output: unknown; warnings?: string[] } | { error: DslError }) & {
  used?: StatedUsage | undefined;
};

interface HowEnded {
  digest?: string | null;
  outcome?: JobOutcome;
  /** Nobody has seen the end of the work that somebody has begun. */
  unseen?: boolean;
}

/**
 * @returns signals to deliver after the commit; null if the call has ended otherwise, and so has the job now
 */
export async function finishJob(
  em: EntityManager,
  job: JobRow,
  ended: Ended,
  { digest = null, outcome, unseen = false }: HowEnded = {},
): Promise<string[] | null> {
  const isFirst =
    'error' in ended
      ? await failInvocation(
          em,
          job.run_id,
          job.key,
          ended.error,
          unseen ? AS_HELD : await spentInVain(em, job, ended.used),
        )
      : await finishInvocation(em, job.run_id, job.key, await resultOf(em, job, ended));
  if (!isFirst) {
    await closeLeft(em, [job]);
    return null;
  }
  await closeJob(em, job, outcome ?? ('error' in ended ? 'failed' : 'completed'), digest);
  await endTurnOf(em, job, 'error' in ended ? isAgentFailure(ended.error) || null : false);
  const signal = await enqueueSignal(em, job.run_id, { kind: 'call.done', key: job.key });
  return signal === null ? [] : [signal];
}

/** Notes what a failed job has used, for its task. @returns it for its budgets, once it has said something */
async function spentInVain(
  em: EntityManager,
  job: JobRow,
  used: StatedUsage | undefined,
): Promise<Spent | undefined> {
  if (!used && !job.spent) return undefined;
  await noteSpent(em, job, used);
  return spentBy(await usageOf(em, job, used));
}

/** Adds what the attempt has used to the job. */
export async function noteSpent(
  em: EntityManager,
  job: JobRow,
  used: StatedUsage | undefined,
): Promise<void> {
  if (used)
    await em.execute('update job set spent = ?::json where id = ?', [
      JSON.stringify(await withAttempt(em, job, used)),
      job.id,
    ]);
}

async function closeJob(
  em: EntityManager,
  { id }: Pick<JobRow, 'id'>,
  outcome: JobOutcome,
  digest: string | null = null,
): Promise<void> {
  await em.execute(
    `update job set finished_at = clock_timestamp(), outcome = ?, answer_digest = ?, input = null
      where id = ? and finished_at is null`,
    [outcome, digest, id],
  );
}

/**
 * Gives the turn of the call back, and counts its end for the circuit breaker of the agent. The run is
 * locked, or the change of the circuit is not logged.
 */
async function endTurnOf(
  em: EntityManager,
  { run_id: runId, key, task, visit }: Pick<JobRow, 'run_id' | 'key' | 'task' | 'visit'>,
  failed: boolean | null,
): Promise<void> {
  const changed = await endHeldTurn(em, { runId, key }, failed);
  if (!changed) return;
  const { agent, agentId, circuit } = changed;
  const [row] = await em.execute<{ name: string }[]>(
    'select name from run_task where run_id = ? and reference = ? and visit = ?',
    [runId, task, visit],
  );
  const name = row?.name ?? '';
  const isOpen = circuit === 'open';
  const type = isOpen ? EVENT.agentCircuitOpened : EVENT.agentCircuitClosed;
  const event = serviceEvent({
    key: `${key}:${type}`,
    type,
    level: isOpen ? 'warn' : 'info',
    task,
    message: isOpen ? LOG_TEXT.agentCircuitOpened(name, agent) : LOG_TEXT.agentCircuitClosed(name, agent),
    data: { visit, agent_id: agentId, agent },
  });
  await appendEvents(em, runId, { events: [event], projection: null, acks: [] });
}

/** Closes jobs that their tasks have left behind. */
export async function closeLeft(
  em: EntityManager,
  jobs: readonly Pick<JobRow, 'id' | 'run_id' | 'key'>[],
): Promise<void> {
  for (const job of jobs) {
    await closeJob(em, job, 'cancelled');
    await endHeldTurn(em, { runId: job.run_id, key: job.key }, null);
  }
}

/** Of a call that has ended without an outcome from outside. */
export async function closeOpenJob(em: EntityManager, runId: string, key: string): Promise<void> {
  await em.execute(
    `update job set finished_at = clock_timestamp(), outcome = 'cancelled', input = null
      where run_id = ? and key = ? and finished_at is null`,
    [runId, key],
  );
}

async function resultOf(
  em: EntityManager,
  job: JobRow,
  { output, warnings, used }: { output: unknown; warnings?: string[]; used?: StatedUsage | undefined },
): Promise<Invoked> {
  const since = job.leased_at ?? job.created_at;
  return {
    agent_id: job.agent_id,
    agent_version: job.agent_version,
    output,
    usage: {
      ...(await usageOf(em, job, used)),
      requests: Math.max(job.attempt, 1),
      duration_ms: Date.now() - new Date(since).getTime(),
    },
    ...(warnings === undefined ? {} : { warnings }),
  };
}

/** Identifies an answer, to recognise it if it comes again. */
export function digestOf(answer: unknown): string {
  return createHash('sha256').update(canonicalJson(answer)).digest('base64url');
}

/**
 * The outcome for the run, in the transaction that has locked the run. With `end`, a job that has none is
 * ended here, without a signal. Both are absent if the wait was cancelled, or has no outcome yet.
 */
export async function takeOutcome(
  em: EntityManager,
  runId: string,
  key: string,
  end: 'timeout' | 'cancelled' | undefined,
): Promise<Pick<TakenOutcome, 'result' | 'error' | 'spent'>> {
  const [job] = await em.execute<JobRow[]>(
    `select ${JOB_COLUMNS} from job where run_id = ? and key = ? for update`,
    [runId, key],
  );
  if (!job) return {};
  if (job.outcome === null && end === undefined) return {};
  if (job.outcome === null && end === 'timeout') {
    const isUnseen = wasTaken(job) && (job.spent === null || job.holder !== null);
    const spent = isUnseen ? AS_HELD : await spentInVain(em, job, undefined);
    await failInvocation(em, runId, key, timedOut(job), spent);
    await closeJob(em, job, 'timed_out');
    await endTurnOf(em, job, true);
  }
  if (job.outcome === null && end === 'cancelled') {
    await closeJob(em, job, 'cancelled');
    await endTurnOf(em, job, null);
    await settleAsHeld(em, runId, key);
  }
  const [stored] = await em.execute<{ result: Invoked | null; error: DslError | null }[]>(
    `with taken as (
       update job set taken_at = coalesce(taken_at, clock_timestamp()) where id = ? returning 1)
     select i.result, i.error from invocation i, (select count(*) from taken) as all_taken
      where i.run_id = ? and i.key = ?`,
    [job.id, runId, key],
  );
  return {
    ...(stored?.result ? { result: stored.result } : {}),
    ...(stored?.error ? { error: stored.error, ...(await spentOf(em, job)) } : {}),
  };
}

/** What the attempts of a failed job have said that they used, for the log of its task. */
async function spentOf(em: EntityManager, job: JobRow): Promise<Pick<TakenOutcome, 'spent'>> {
  const { agent_id, agent_version, spent } = job;
  return spent === null ? {} : { spent: { usage: await usageOf(em, job), agent_id, agent_version } };
}

/** Whether somebody outside has begun with it. */
function wasTaken({ kind, attempt }: JobRow): boolean {
  return kind === 'callback' || attempt > 0;
}

function timedOut({ kind, attempt, holder, last_error: lastError }: JobRow): DslError {
  const why =
    kind === 'callback'
      ? 'The callback was not called in time'
      : holder !== null
        ? `The worker did not complete the job in time (attempt ${attempt})`
        : attempt > 0
          ? `No worker completed the job in time (${attempt} ${attempt === 1 ? 'attempt' : 'attempts'})`
          : 'No worker has taken the job in time';
  return standardError('timeout', lastError === null ? why : `${why}; the last error: ${lastError}`);
}

const LOST_BATCH = 100;

/**
 * Fails jobs whose worker is gone and which may not be handed out again. @returns how many
 */
export async function failLostJobs(deps: DispatchDeps): Promise<number> {
  const em = deps.orm.em.fork();
  const lost = await em.execute<{ id: string }[]>(
    `select id from job
      where finished_at is null and holder is not null and available_at < clock_timestamp()
        and (not repeatable or attempt >= max_attempts)
      order by available_at limit ${LOST_BATCH}`,
  );
  let failed = 0;
  for (const { id } of lost) {
    const signals = await em.fork().transactional((tx) => failLost(tx, id));
    if (signals === null) continue;
    failed++;
    await deliverSignals(deps, signals);
  }
  return failed;
}

async function failLost(em: EntityManager, id: string): Promise<string[] | null> {
  const found = await findJob(em, id);
  const job = found && (await lockJob(em, found));
  if (!job || job.outcome !== null || job.holder === null) return null;
  // A heartbeat may have come meanwhile.
  const stillLost = await em.execute(`select from job where id = ? and available_at < clock_timestamp()`, [
    id,
  ]);
  if (stillLost.length === 0) return null;
  const times = `${job.attempt} ${job.attempt === 1 ? 'attempt' : 'attempts'}`;
  const detail = job.repeatable
    ? `The job's worker was lost, and the job may not be handed out again (${times})`
    : 'The worker was lost, so the outcome is unknown, and the agent is not idempotent ' +
      '(configuration.retry.idempotent is false)';
  return finishJob(em, job, { error: standardError('communication', detail) }, { unseen: true });
}
