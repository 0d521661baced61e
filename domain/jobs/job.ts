/**
 * The table `job`: calls whose outcome comes from outside, as the job of a worker (docs/external-workers.md)
 * or by a callback. The invocation's row keeps the outcome, and takes one only.
 */
import { v7 as uuidv7 } from 'uuid';
import type { AwaitedOutcome } from '../../contracts/activities.ts';
import { BROKEN_TASK_STATUSES, TERMINAL_STATUSES } from '../../contracts/run-events.ts';
import type { EntityManager } from '../../db/orm.ts';
import { isNoneOf, isOneOf } from '../../db/sql.ts';
import type { PinnedAgent } from '../ports.ts';
import { storableJson } from '../storable.ts';

export const JOB_OUTCOMES = ['completed', 'failed', 'timed_out', 'cancelled'] as const;
export type JobOutcome = (typeof JOB_OUTCOMES)[number];
export const JOB_STATUSES = ['waiting', 'leased', ...JOB_OUTCOMES] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export interface NewJob {
  run_id: string;
  /** Idempotency key of the invocation. */
  key: string;
  kind: 'worker' | 'callback';
  /** JSON pointer, visit and attempt of the task that calls. */
  task: string;
  visit: number;
  attempt: number;
  agent: PinnedAgent;
  queue: string;
  /** For workers; null for callbacks. */
  input: unknown;
  /** What is needed of the agent's configuration: a worker's settings, the rules of a callback. */
  configuration: Record<string, unknown>;
  /** Whether a lost job may be handed out again. */
  repeatable: boolean;
  maxAttempts: number;
  leaseMs: number;
  timeoutMs: number;
}

/** Who notes that a job has timed out may be late. */
const LATE_MS = 60_000;

/**
 * Stores the job, once for an invocation, and tells those who wait for one. The turn of the call lasts as
 * long as the job. In one statement, which waits for an end of the run that is under way.
 * @returns null if the run is over
 */
export async function createJob(
  em: EntityManager,
  job: NewJob,
): Promise<(AwaitedOutcome & { id: string }) | null> {
  const { agent } = job;
  const [row] = await em.execute<{ id: string; expires_at: Date | string }[]>(
    `with live as (
       select id from run where id = ? and ${isNoneOf('status', TERMINAL_STATUSES)} for share),
     added as (
       insert into job (id, run_id, key, kind, task, visit, task_attempt, agent_id, agent_version, secrets_of,
                        queue, input, configuration, output_schema, repeatable, max_attempts, lease_ms,
                        expires_at)
       select ?::uuid, live.id, ?, ?, ?, ?, ?, ?::uuid, ?, ?::uuid, ?, ?::json, ?::json, ?::json, ?, ?, ?,
              clock_timestamp() + ? * interval '1 millisecond'
         from live
       on conflict (run_id, key) do nothing
       returning id, expires_at, kind, agent_id),
     told as (select pg_notify('job', agent_id::text) from added where kind = 'worker'),
     held as (
       update agent_turn t
          set held_by = 'job', expires_at = clock_timestamp() + ? * interval '1 millisecond'
         from live where t.run_id = live.id and t.key = ?)
     select id, expires_at from added, (select count(*) from told) as all_told
     union all
     select j.id, j.expires_at from job j, live where j.run_id = live.id and j.key = ?`,
    [
      job.run_id,
      uuidv7(),
      job.key,
      job.kind,
      job.task,
      job.visit,
      job.attempt,
      agent.id,
      agent.version,
      agent.owner_id,
      job.queue,
      job.input === null ? null : storableJson(job.input),
      storableJson(job.configuration),
      JSON.stringify(agent.output_schema),
      job.repeatable,
      job.maxAttempts,
      Math.round(job.leaseMs),
      Math.round(job.timeoutMs),
      Math.round(job.timeoutMs) + LATE_MS,
      job.key,
      job.key,
    ],
  );
  const stored = row ?? (await openJob(em, job));
  return stored ? { id: stored.id, key: job.key, until: new Date(stored.expires_at).toISOString() } : null;
}

/**
 * The job of another attempt of the call, which has stored it while this one waited: no statement sees rows
 * that are committed after it has begun.
 */
async function openJob(
  em: EntityManager,
  { run_id: runId, key }: NewJob,
): Promise<Pick<JobRow, 'id' | 'expires_at'> | null> {
  const [row] = await em.execute<Pick<JobRow, 'id' | 'expires_at'>[]>(
    `select j.id, j.expires_at from job j join run r on r.id = j.run_id
      where j.run_id = ? and j.key = ? and ${isNoneOf('r.status', TERMINAL_STATUSES)}`,
    [runId, key],
  );
  return row ?? null;
}

/** What attempts of a job have used, in all. */
export interface AttemptsUsage {
  input_tokens?: number;
  output_tokens?: number;
  /** Without what an invocation costs by itself; null: nobody knows. */
  cost_usd: number | null;
  /** Of the last attempt that has named one. */
  model?: string;
}

/** A job's row, without its input. */
export interface JobRow {
  id: string;
  run_id: string;
  key: string;
  kind: 'worker' | 'callback';
  task: string;
  visit: number;
  task_attempt: number;
  agent_id: string;
  agent_version: string;
  secrets_of: string;
  queue: string;
  configuration: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  repeatable: boolean;
  max_attempts: number;
  lease_ms: number;
  attempt: number;
  holder: string | null;
  worker: string | null;
  available_at: Date | string;
  expires_at: Date | string;
  progress: string | null;
  last_error: string | null;
  created_at: Date | string;
  leased_at: Date | string | null;
  finished_at: Date | string | null;
  outcome: JobOutcome | null;
  answer_digest: string | null;
  /** What its failed attempts have said that they used. */
  spent: AttemptsUsage | null;
}

export const JOB_COLUMNS = `id, run_id, key, kind, task, visit, task_attempt, agent_id, agent_version,
  secrets_of, queue, configuration, output_schema, repeatable, max_attempts, lease_ms, attempt, holder,
  worker, available_at, expires_at, progress, last_error, created_at, leased_at, finished_at, outcome,
  answer_digest, spent`;

/**
 * SQL: whether the task of the job `j` has ended without it. A call that is cancelled before it knows that it
 * awaits an outcome leaves its job open.
 */
export const IS_LEFT = `exists (
  select from run_task t
   where t.run_id = j.run_id and t.reference = j.task and t.visit = j.visit
     and ${isOneOf('t.status', BROKEN_TASK_STATUSES)})`;

export async function isLeft(em: EntityManager, id: string): Promise<boolean> {
  const left = await em.execute<object[]>(`select from job j where j.id = ? and ${IS_LEFT}`, [id]);
  return left.length > 0;
}

export function statusOf({ outcome, holder }: Pick<JobRow, 'outcome' | 'holder'>): JobStatus {
  return outcome ?? (holder === null ? 'waiting' : 'leased');
}

/** Null if there is none. */
export async function findJob(em: EntityManager, id: string): Promise<JobRow | null> {
  const [row] = await em.execute<JobRow[]>(`select ${JOB_COLUMNS} from job where id = ?`, [id]);
  return row ?? null;
}

/** Locks run and job, in this order. Null if the job is gone. */
export async function lockJob(em: EntityManager, { id, run_id }: JobRow): Promise<JobRow | null> {
  await em.execute('select from run where id = ? for no key update', [run_id]);
  const [row] = await em.execute<JobRow[]>(`select ${JOB_COLUMNS} from job where id = ? for update`, [id]);
  return row ?? null;
}
