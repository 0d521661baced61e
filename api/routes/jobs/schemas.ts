/** JSON of jobs and of workers' tokens. */
import * as z from 'zod';

import { MAX_USD } from '../../../contracts/budgets.ts';
import { QUEUE_NAME } from '../../../contracts/agent-kinds/edge.ts';
import { JOB_STATUSES, statusOf, type JobRow } from '../../../domain/jobs/job.ts';
import { MAX_COUNTED, type QueueState } from '../../../domain/jobs/lists.ts';
import { MAX_POLLED, type TakenJob } from '../../../domain/jobs/work.ts';
import type { WorkerToken } from '../../../domain/jobs/worker-tokens.ts';
import { traceAttributes, traceTextsOfRun } from '../../../tracing/run-context.ts';
import { personName } from '../../person-names.ts';
import { jsonObject, text, timestamp, uuid } from '../../schemas.ts';

const MAX_WAIT_SECONDS = 60;
const DEFAULT_WAIT_SECONDS = 30;
export const MAX_PROGRESS = 500;

export const queueName = z.string().regex(QUEUE_NAME, 'must be the name of a queue');
const attempt = z
  .int()
  .min(1)
  .optional()
  .meta({ description: 'Attempt that the caller works on: 409 if the job has been handed out again.' });

export const pollBody = z
  .object({
    max: z.int().min(1).max(MAX_POLLED).default(1).meta({ description: 'The most jobs to take.' }),
    wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).default(DEFAULT_WAIT_SECONDS),
    queue: queueName.optional().meta({ description: 'Only jobs of this queue. Default: of all.' }),
    worker: text({ min: 1, max: 100 })
      .optional()
      .meta({ description: 'Name of the worker, for people. Default: the name of its token or user.' }),
  })
  .meta({ id: 'JobPoll' });

const leaseSeconds = z.number().meta({
  description: 'From this answer on, for workers whose clock may be wrong. 0: the lease is over.',
});

export const polledJob = z
  .object({
    id: uuid,
    agent_id: uuid,
    version: z.string(),
    input: z.unknown(),
    idempotency_key: z.string().meta({ description: 'The same in each attempt of the job.' }),
    traceparent: z.string().optional().meta({
      description: 'W3C Trace Context: send it on, and what the worker does belongs to the trace of the run.',
    }),
    tracestate: z.string().optional().meta({ description: 'W3C Trace Context: send it with `traceparent`.' }),
    attempt: z.int(),
    lease_expires_at: timestamp,
    lease_seconds: leaseSeconds,
    settings: jsonObject
      .optional()
      .meta({ description: "`settings` of the agent's configuration, with its secrets." }),
  })
  .meta({ id: 'PolledJob' });

export function presentPolled(
  {
    id,
    run_id,
    task,
    visit,
    traceparent,
    tracestate,
    agent_id,
    agent_version,
    input,
    key,
    attempt: number,
    lease_expires_at: until,
    lease_seconds,
  }: TakenJob,
  settings: unknown,
): Record<string, unknown> {
  const trace = traceTextsOfRun({ id: run_id, traceparent, tracestate }, { reference: task, visit });
  return {
    id,
    agent_id,
    version: agent_version,
    input,
    idempotency_key: key,
    ...traceAttributes(trace),
    attempt: number,
    lease_expires_at: new Date(until).toISOString(),
    lease_seconds: Math.max(0, lease_seconds),
    ...(settings === undefined ? {} : { settings }),
  };
}

export const heartbeatBody = z
  .object({
    progress: z
      .union([text({ max: MAX_PROGRESS }), z.number().min(0).max(100)])
      .optional()
      .meta({ description: 'What the worker does, or percent. Those who follow the run see it.' }),
    attempt,
  })
  .meta({ id: 'JobHeartbeat' });

export const heartbeatAnswer = z
  .object({
    cancelled: z.boolean().meta({ description: 'Nobody waits for the job any more: stop.' }),
    lease_expires_at: timestamp,
    lease_seconds: leaseSeconds,
  })
  .meta({ id: 'JobLease' });

const tokens = z.int().min(0).max(1e12).optional();

const jobUsage = z
  .strictObject({
    input_tokens: tokens,
    output_tokens: tokens,
    cost_usd: z
      .number()
      .min(0)
      .max(MAX_USD)
      .optional()
      .meta({ description: 'Of this job. Default: its tokens at the price of the model.' }),
    model: text({ min: 1, max: 255 }).optional(),
  })
  .meta({ id: 'JobUsage' });

export const completeBody = z
  .object({
    output: z.unknown(),
    usage: jobUsage
      .optional()
      .meta({ description: 'What the job has used; it counts in budgets and usage.' }),
    attempt,
  })
  .meta({ id: 'JobCompletion' });

export const failBody = z
  .object({
    type: text({ min: 1, max: 500 })
      .optional()
      .meta({ description: 'Name of a standard error or a URI. Default: `communication`.' }),
    title: text({ max: 500 }).optional(),
    detail: text({ max: 2_000 }).optional(),
    status: z.int().min(100).max(599).optional(),
    retry: z
      .boolean()
      .default(true)
      .meta({ description: 'Hand the job out again, if it has attempts left.' }),
    usage: jobUsage
      .optional()
      .meta({ description: 'What this attempt has used all the same; it counts in budgets and usage.' }),
    attempt,
  })
  .meta({ id: 'JobFailure' });

export const jobAnswer = z
  .object({ id: uuid, status: z.enum(['waiting', 'completed', 'failed']) })
  .meta({ id: 'JobAnswer' });

export const jobRecord = z
  .object({
    id: uuid,
    agent_id: uuid,
    version: z.string(),
    run_id: uuid,
    task: z.string(),
    queue: z.string(),
    status: z.enum(JOB_STATUSES),
    attempt: z.int(),
    max_attempts: z.int(),
    worker: z.string().nullable(),
    progress: z.string().nullable(),
    last_error: z.string().nullable(),
    created_at: timestamp,
    leased_at: timestamp.nullable(),
    lease_expires_at: timestamp.nullable(),
    expires_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Job' });

export function presentJob(job: JobRow): z.input<typeof jobRecord> {
  const status = statusOf(job);
  return {
    id: job.id,
    agent_id: job.agent_id,
    version: job.agent_version,
    run_id: job.run_id,
    task: job.task,
    queue: job.queue,
    status,
    attempt: job.attempt,
    max_attempts: job.max_attempts,
    worker: job.worker,
    progress: job.progress,
    last_error: job.last_error,
    created_at: time(job.created_at),
    leased_at: job.leased_at && time(job.leased_at),
    lease_expires_at: status === 'leased' ? time(job.available_at) : null,
    expires_at: time(job.expires_at),
    finished_at: job.finished_at && time(job.finished_at),
  };
}

export const queueRecord = z
  .object({
    waiting: z.int().meta({ description: `Jobs that no worker has, ${MAX_COUNTED} at most.` }),
    leased: z.int().meta({ description: `Jobs that workers hold, ${MAX_COUNTED} at most.` }),
    oldest_waiting_at: timestamp.nullable(),
    workers: z
      .array(
        z
          .object({
            worker: z.string(),
            token_id: uuid.nullable().meta({ description: 'Null: a person.' }),
            seen_at: timestamp,
            leased: z.int(),
          })
          .meta({ id: 'SeenWorker' }),
      )
      .meta({ description: 'Those seen in the last minutes, 50 at most, latest first.' }),
  })
  .meta({ id: 'JobQueue' });

export function presentQueue(queue: QueueState): z.input<typeof queueRecord> {
  return {
    waiting: queue.waiting,
    leased: queue.leased,
    oldest_waiting_at: queue.oldest_waiting_at && time(queue.oldest_waiting_at),
    workers: queue.workers.map((worker) => ({ ...worker, seen_at: time(worker.seen_at) })),
  };
}

export const tokenRecord = z
  .object({
    id: uuid,
    owner_id: uuid,
    owner_name: personName,
    name: z.string(),
    agent_ids: z.array(uuid).meta({ description: 'The agents that it serves.' }),
    created_at: timestamp,
    expires_at: timestamp,
    last_used: timestamp.nullable().meta({ description: 'To the minute.' }),
    awaits_second_factor: z.boolean().meta({
      description:
        'It serves no jobs until its owner has a second factor, which a role needs (`SECOND_FACTOR_ROLES`).',
    }),
  })
  .meta({ id: 'WorkerToken' });

export const newTokenRecord = tokenRecord
  .extend({ token: z.string().meta({ description: 'Shown only here.' }) })
  .meta({ id: 'NewWorkerToken' });

export function presentToken(token: WorkerToken): z.input<typeof tokenRecord> {
  return {
    ...token,
    created_at: time(token.created_at),
    expires_at: time(token.expires_at),
    last_used: token.last_used && time(token.last_used),
  };
}

function time(value: Date | string): string {
  return new Date(value).toISOString();
}
