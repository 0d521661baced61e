/** What workers do with jobs: take, keep, complete and fail them. */
import type { DslError } from '../../contracts/dsl-error.ts';
import { PARTIAL } from '../../contracts/partial-output.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict, invalid, notFound } from '../errors.ts';
import { mayChangeAgent, type Ownership } from '../registry/agent-policy.ts';
import { followedAmong, notificationOf, notify } from '../runs/partial-output.ts';
import { schemaViolations } from '../schema-check.ts';
import type { Actor } from '../auth/actor.ts';
import { closeLeft, digestOf, finishJob, noteSpent } from './finish.ts';
import { findJob, IS_LEFT, isLeft, lockJob, type JobRow, type JobStatus } from './job.ts';
import type { StatedUsage } from './stated-usage.ts';
import { MAY_HOLD, type WorkerCaller } from './worker-tokens.ts';

/** The most jobs of one poll, and the bytes of input after which it gets no further one. */
export const MAX_POLLED = 10;
const MAX_POLLED_BYTES = 16 * 1024 * 1024;
/** Pauses before a failed job is handed out again: they double from the first to the last. */
const FIRST_PAUSE_SECONDS = 1;
const LAST_PAUSE_SECONDS = 60;

export interface Poll {
  agentId: string;
  /** Undefined: of all queues. */
  queue: string | undefined;
  max: number;
  holder: string;
  worker: string;
}

/** A job that a worker has just taken. */
export interface TakenJob {
  id: string;
  agent_id: string;
  agent_version: string;
  run_id: string;
  key: string;
  input: unknown;
  configuration: Record<string, unknown>;
  secrets_of: string;
  task: string;
  visit: number;
  /** Of the run. */
  traceparent: string | null;
  tracestate: string | null;
  attempt: number;
  lease_expires_at: string;
  /** From when it was handed out until then. */
  lease_seconds: number;
  /** Another team or owner holds the agent than the one whose secrets the job's settings name. */
  is_transferred: boolean;
}

/** SQL: whether the job `j` may be handed out now. No index is searched by `clock_timestamp()`. */
const IS_DUE = `j.finished_at is null and j.kind = 'worker'
  and j.available_at <= statement_timestamp() and j.expires_at > statement_timestamp()`;
/** SQL: whether somebody has held it, whose lease has run out. */
const IS_LOST = `j.holder is not null and j.repeatable and j.attempt < j.max_attempts`;

/**
 * Those that were lost come first, then the oldest. Each is found by an index that has only such jobs, in
 * this order.
 */
const takeSql = (ofQueue: boolean): string => {
  const inQueue = ofQueue ? 'and j.queue = ?' : '';
  const columns = `j.id, coalesce(octet_length(j.input::text), 0) as bytes`;
  return `with allowed as (select ${MAY_HOLD} as yes),
     lost as (
       select ${columns} from job j
        where (select yes from allowed) and j.agent_id = ? ${inQueue} and ${IS_DUE} and ${IS_LOST}
        order by j.available_at limit ? for update of j skip locked),
     free as (
       select ${columns} from job j
        where (select yes from allowed) and j.agent_id = ? ${inQueue} and ${IS_DUE} and j.holder is null
        order by j.id limit ? - (select count(*) from lost) for update of j skip locked),
     found as (select * from lost union all select * from free),
     chosen as (
       select f.id from (select id, sum(bytes) over (order by id) - bytes as before from found) f
        where f.before = 0 or f.before < ${MAX_POLLED_BYTES}),
     taken as (
       update job j
          set holder = ?, worker = ?, attempt = j.attempt + 1, progress = null,
              leased_at = clock_timestamp(),
              available_at = least(clock_timestamp() + j.lease_ms * interval '1 millisecond', j.expires_at)
        -- Not a join, because nobody can guess how few there are.
        where j.id = any(array(select id from chosen))
       returning j.id, j.agent_id, j.agent_version, j.run_id, j.key, j.input, j.configuration, j.secrets_of,
                 j.task, j.visit, j.attempt,
                 (select r.traceparent from run r where r.id = j.run_id) as traceparent,
                 (select r.tracestate from run r where r.id = j.run_id) as tracestate,
                 j.available_at as lease_expires_at,
                 extract(epoch from j.available_at - clock_timestamp())::float8 as lease_seconds,
                 (select a.holder_id <> j.secrets_of from agent a where a.id = j.agent_id) as is_transferred,
                 ${IS_LEFT} as is_left)
     select (select yes from allowed) as allowed, (select json_agg(t order by t.id) from taken t) as jobs`;
};
const TAKE = { any: takeSql(false), ofQueue: takeSql(true) };

/** The oldest free jobs. Null if the holder may not have any (any more). */
export async function takeJobs(em: EntityManager, poll: Poll): Promise<TakenJob[] | null> {
  const { agentId, queue, max, holder, worker } = poll;
  const from = queue === undefined ? [agentId] : [agentId, queue];
  const [row] = await em.execute<{ allowed: boolean; jobs: (TakenJob & { is_left: boolean })[] | null }[]>(
    queue === undefined ? TAKE.any : TAKE.ofQueue,
    [holder, agentId, ...from, max, ...from, max, holder, worker],
  );
  if (!row?.allowed) return null;
  const jobs = row.jobs ?? [];
  const wanted = jobs.filter(({ is_left: isLeft }) => !isLeft);
  if (wanted.length === jobs.length) return jobs;
  const left = jobs.filter(({ is_left: isLeft }) => isLeft);
  await closeLeft(em, left);
  return wanted.length > 0 ? wanted : takeJobs(em, poll);
}

/** Gives jobs back that their taker did not get: as if they had not been taken. */
export async function giveBack(em: EntityManager, jobs: readonly TakenJob[], holder: string): Promise<void> {
  for (const { id, attempt, agent_id: agentId } of jobs) {
    const rows = await em.execute<object[]>(
      `update job set holder = null, worker = null, attempt = attempt - 1, available_at = created_at
        where id = ? and attempt = ? and holder = ? and finished_at is null returning 1`,
      [id, attempt, holder],
    );
    if (rows.length > 0) await em.execute(`select pg_notify('job', ?)`, [agentId]);
  }
}

/** The agents among these that may have a job for somebody. */
export async function agentsWithJobs(em: EntityManager, agentIds: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select a.id from unnest(?::uuid[]) as a (id)
      where exists (select from job j where j.agent_id = a.id and ${IS_DUE} and j.holder is null)
         or exists (select from job j where j.agent_id = a.id and ${IS_DUE} and ${IS_LOST})`,
    [agentIds],
  );
  return rows.map(({ id }) => id);
}

/** @throws 404 if there is no such job, or none that the caller may serve */
export async function getJob(
  em: EntityManager,
  caller: WorkerCaller,
  actor: Actor,
  id: string,
): Promise<JobRow> {
  const job = await findJob(em, id);
  if (job === null || job.kind !== 'worker') throw notFound('job');
  if (caller.agentIds !== null) {
    if (!caller.agentIds.has(job.agent_id)) throw notFound('job');
    return job;
  }
  const [agent] = await em.execute<Ownership[]>(
    'select owner_id, team_id, visibility from agent where id = ?',
    [job.agent_id],
  );
  if (!agent || !mayChangeAgent(actor, agent)) throw notFound('job');
  return job;
}

const LATE: Partial<Record<JobStatus, string>> = {
  timed_out: 'The job has timed out: its run went on without it.',
  cancelled: 'Nobody waits for the job any more: its run, or the task, was cancelled or has ended.',
  completed: 'The job is completed.',
  failed: 'The job has failed.',
};

/**
 * Whether the caller holds the job's lease; with `attempt`, that of this attempt.
 * @returns `ended` if the caller has ended it in the same way before. @throws 409
 */
export function checkHeld(
  job: JobRow,
  { holder }: WorkerCaller,
  attempt: number | undefined,
  ends?: 'completed' | 'failed',
): 'held' | 'ended' {
  const isMine = job.holder === holder && (attempt === undefined || attempt === job.attempt);
  if (job.outcome !== null) {
    if (isMine && job.outcome === ends) return 'ended';
    const isLost = !isMine && (job.outcome === 'completed' || job.outcome === 'failed');
    throw conflict(
      isLost ? 'lease_lost' : `job_${job.outcome}`,
      isLost ? 'Another worker has ended the job.' : (LATE[job.outcome] ?? ''),
      { job_status: job.outcome },
    );
  }
  if (isMine) return 'held';
  throw conflict(
    'lease_lost',
    job.holder === null
      ? 'The job is not leased: it waits for the next worker.'
      : `Another worker has the job (attempt ${job.attempt}).`,
    { job_status: job.holder === null ? 'waiting' : 'leased' },
  );
}

/** Extends the lease. @throws 409 if the caller has it no longer */
export async function keepJob(
  em: EntityManager,
  caller: WorkerCaller,
  job: JobRow,
  { progress, attempt }: { progress: string | null; attempt: number | undefined },
): Promise<{ cancelled: boolean; lease_expires_at: string; lease_seconds: number }> {
  const isMine = job.holder === caller.holder && (attempt === undefined || attempt === job.attempt);
  if (isMine && (job.outcome === 'cancelled' || job.outcome === 'timed_out'))
    return { cancelled: true, lease_expires_at: new Date(job.available_at).toISOString(), lease_seconds: 0 };
  checkHeld(job, caller, attempt);
  if (await isLeft(em, job.id)) {
    await closeLeft(em, [job]);
    return { cancelled: true, lease_expires_at: new Date(job.available_at).toISOString(), lease_seconds: 0 };
  }
  const [kept] = await em.execute<{ at: Date | string; seconds: number }[]>(
    `update job set progress = coalesce(?, progress),
            available_at = least(clock_timestamp() + lease_ms * interval '1 millisecond', expires_at)
      where id = ? and finished_at is null and holder = ? and attempt = ?
     returning available_at as at,
               extract(epoch from available_at - clock_timestamp())::float8 as seconds`,
    [progress, job.id, caller.holder, job.attempt],
  );
  if (!kept) {
    const now = await findJob(em, job.id);
    if (now === null) throw notFound('job');
    return keepJob(em, caller, now, { progress, attempt });
  }
  if (progress !== null) await showProgress(em, job, progress);
  return {
    cancelled: false,
    lease_expires_at: new Date(kept.at).toISOString(),
    lease_seconds: Math.max(0, kept.seconds),
  };
}

/** For those who follow the run. */
async function showProgress(em: EntityManager, job: JobRow, text: string): Promise<void> {
  const { run_id: runId, task, visit, task_attempt: attempt } = job;
  if (!(await followedAmong(em, [runId])).has(runId)) return;
  const partial = { type: PARTIAL.progress, task, visit, attempt, offset: null, text };
  await notify(em, [notificationOf(runId, partial)]);
}

/** @throws 422 with pointers into the body: the job stays leased */
export async function checkOutput(job: JobRow, output: unknown, pointer = '/output'): Promise<void> {
  const mismatches = await schemaViolations(job.secrets_of, job.output_schema, output);
  if (mismatches.length === 0) return;
  throw invalid(
    mismatches.map((mismatch) => ({
      pointer: `${pointer}${mismatch.pointer}`,
      code: 'schema',
      message: mismatch.message,
    })),
    "The output does not fit the agent's output schema.",
  );
}

/** In a transaction. @returns signals to deliver after the commit. @throws 409 */
export async function completeJob(
  em: EntityManager,
  caller: WorkerCaller,
  found: JobRow,
  { output, attempt, used }: { output: unknown; attempt: number | undefined; used: StatedUsage | undefined },
): Promise<string[]> {
  const job = await lockJob(em, found);
  if (job === null) throw notFound('job');
  if (checkHeld(job, caller, attempt, 'completed') === 'ended') return [];
  return (await finishJob(em, job, { output, used }, { digest: digestOf(output) })) ?? [];
}

interface FailedAttempt {
  error: DslError;
  retry: boolean;
  attempt: number | undefined;
  used: StatedUsage | undefined;
}

/**
 * In a transaction. With `retry`, the job is handed out again, if it has attempts left and may be repeated.
 * @returns the job's status, and signals to deliver after the commit. @throws 409
 */
export async function failJob(
  em: EntityManager,
  caller: WorkerCaller,
  found: JobRow,
  { error, retry, attempt, used }: FailedAttempt,
): Promise<{ status: 'failed' | 'waiting'; signals: string[] }> {
  const job = await lockJob(em, found);
  if (job === null) throw notFound('job');
  if (checkHeld(job, caller, attempt, 'failed') === 'ended') return { status: 'failed', signals: [] };
  if (!retry || !job.repeatable || job.attempt >= job.max_attempts)
    return { status: 'failed', signals: (await finishJob(em, job, { error, used })) ?? [] };
  await noteSpent(em, job, used);
  const pause = Math.min(LAST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (job.attempt - 1));
  await em.execute(
    `update job set holder = null, worker = null, progress = null, last_error = ?,
            available_at = clock_timestamp() + ? * interval '1 second'
      where id = ?`,
    [error.detail ?? error.title ?? error.type, pause, job.id],
  );
  return { status: 'waiting', signals: [] };
}
