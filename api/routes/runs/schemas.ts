import * as z from 'zod';
import { RUN_STATUSES } from '../../../contracts/run-events.ts';
import { jsonObject, timestamp, uuid } from '../../schemas.ts';

export const runStatus = z.enum(RUN_STATUSES);
export const logLevel = z.enum(['debug', 'info', 'warn', 'error']);

/** dsl-reference.md "Error". */
export const dslErrorSchema = z
  .object({
    type: z.string(),
    status: z.int(),
    title: z.string().optional(),
    detail: z.string().optional(),
    instance: z.string().optional().meta({ description: 'JSON pointer of the task that raised it.' }),
  })
  .loose()
  .meta({ id: 'DslError' });

export const runTaskSchema = z
  .object({
    reference: z.string().meta({ description: 'JSON pointer into the definition.' }),
    name: z.string(),
    type: z.string(),
    status: z.enum(['running', 'waiting', 'suspended', 'cancelled', 'faulted', 'completed']),
    visit: z.int().meta({ description: 'How often this run has entered the task, this time included.' }),
    attempt: z.int().meta({ description: 'Attempt of the nearest `try`, from 1.' }),
    started_at: timestamp,
    finished_at: timestamp.nullable(),
    agent_id: uuid.optional(),
    agent_version: z.string().optional(),
    hitl_task_id: uuid.optional(),
    child_run_id: uuid.optional(),
    usage: jsonObject.optional(),
    error: dslErrorSchema.optional(),
  })
  .meta({ id: 'RunTask' });

export const logEntrySchema = z
  .object({
    seq: z.int().min(1).meta({ description: 'From 1, without gaps.' }),
    at: timestamp,
    level: logLevel,
    type: z.string(),
    task: z.string().nullable(),
    message: z.string(),
    data: jsonObject,
  })
  .meta({ id: 'LogEntry' });

export const runSummarySchema = z
  .object({
    id: uuid,
    workflow_id: uuid.nullable(),
    workflow_revision: z.int().nullable(),
    workflow_name: z.string(),
    status: runStatus,
    input_params: z.unknown(),
    output: z.unknown(),
    error: dslErrorSchema.nullable(),
    owner_id: uuid,
    parent_run_id: uuid.nullable(),
    retry_of: uuid.nullable(),
    waiting_on: z.array(
      z.object({ kind: z.enum(['human', 'event', 'timer']), task: z.string(), id: z.string().optional(), until: timestamp.optional() }),
    ),
    usage: jsonObject,
    temporal: z.object({ workflow_id: z.string(), run_id: z.string().nullable(), url: z.string().nullable() }),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'RunSummary' });

export const runSchema = runSummarySchema
  .extend({
    tasks: z.array(runTaskSchema).meta({ description: 'The last 500 that started, in start order; all at `/runs/{id}/tasks`.' }),
    logs: z.array(logEntrySchema).meta({ description: 'The last 200.' }),
    logs_next: z.string().nullable().meta({ description: 'Address of the log entries that come after these.' }),
  })
  .meta({ id: 'Run' });
