import * as z from 'zod';
import { RUN_STATUSES, RUN_TASK_STATUSES } from '../../../contracts/run-events.ts';
import { listedRecord } from '../../listed.ts';
import { RUN_ACTIONS } from '../../../domain/runs/rights.ts';
import { personName } from '../../person-names.ts';
import { jsonObject, text, timestamp, uuid } from '../../schemas.ts';

export const runStatus = z.enum(RUN_STATUSES);
export const runTaskStatus = z.enum(RUN_TASK_STATUSES);
export const logLevel = z.enum(['debug', 'info', 'warn', 'error']);

const MAX_NAMES = 20;
const LABEL_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

export const runKey = text({ min: 1, max: 200 }).meta({
  description: 'Unique for workflow and owner while the run lives.',
});
export const runTag = text({ min: 1, max: 100 }).refine((tag) => !tag.includes(','), 'has a comma');
export const runTags = z
  .array(runTag)
  .max(MAX_NAMES)
  .transform((tags) => [...new Set(tags)]);
const labelName = z.string().regex(LABEL_NAME, 'has 1 to 63 letters, digits and . _ / -');
const labelValue = text({ max: 200 }).refine((value) => !value.includes(','), 'has a comma');
export const runLabels = z
  .record(labelName, labelValue)
  .refine((labels) => Object.keys(labels).length <= MAX_NAMES, `has at most ${MAX_NAMES} labels`);

/** `name=value` pairs in a query parameter. */
export const labelFilter = z
  .string()
  .transform((value) => Object.fromEntries(value.split(',').map((pair) => pair.split(/=(.*)/s, 2))))
  .pipe(runLabels)
  .optional()
  .meta({
    description: 'Labels of the run as `name=value`, separated by commas: all of them.',
    type: 'string',
  });

/** The error of the specification's DSL reference, section "Error". */
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
    status: runTaskStatus,
    visit: z.int().meta({ description: 'How often the run has entered the task, including this time.' }),
    attempt: z.int().meta({ description: 'Attempt of the nearest `try`, from 1.' }),
    started_at: timestamp,
    finished_at: timestamp.nullable(),
    agent_id: uuid.optional(),
    agent_version: z.string().optional(),
    hitl_task_id: uuid.optional(),
    child_run_id: uuid.optional(),
    usage: jsonObject.optional(),
    error: dslErrorSchema.optional(),
    items: z.array(z.int()).optional().meta({
      description: 'Indexes of the items of `call: map` that the task belongs to, outermost first.',
    }),
  })
  .meta({ id: 'RunTask' });

export const runTaskVisitSchema = runTaskSchema
  .extend({
    input: z.unknown().optional().meta({ description: 'Input of the task, after `input.from`.' }),
    output: z.unknown().optional().meta({ description: 'Output of the task, once it has completed.' }),
    omitted: z
      .array(z.enum(['input', 'output']))
      .meta({ description: 'Which of them the log leaves out, because their JSON is larger than 8 KiB.' }),
  })
  .meta({ id: 'RunTaskVisit' });

const durationMs = z.int().min(0);

export const taskGroupSchema = z
  .object({
    reference: z.string().meta({ description: 'JSON pointer into the definition.' }),
    name: z.string(),
    type: z.string(),
    count: z.int().meta({ description: 'Number of visits.' }),
    completed: z.int(),
    faulted: z.int(),
    cancelled: z.int(),
    unfinished: z.int().meta({ description: 'Visits that run, wait or are suspended.' }),
    last_visit: z.int(),
    slowest: z
      .object({ visit: z.int(), duration_ms: durationMs })
      .nullable()
      .meta({ description: 'The finished visit that took longest.' }),
    total_ms: durationMs.meta({ description: 'Sum of the durations of the finished visits.' }),
    started_at: timestamp.meta({ description: 'When the first visit started.' }),
    finished_at: timestamp.nullable().meta({ description: 'When the last finished visit ended.' }),
  })
  .meta({ id: 'RunTaskGroup', description: 'All visits of a task of a run.' });

export const logEntrySchema = z
  .object({
    seq: z.int().min(1).meta({ description: 'Sequence number, from 1 without gaps.' }),
    at: timestamp,
    level: logLevel,
    type: z.string(),
    task: z.string().nullable(),
    message: z.string(),
    data: jsonObject,
  })
  .meta({ id: 'LogEntry' });

/** Fields of runs, both single and in lists. */
export const runFields = z.object({
  id: uuid,
  workflow_id: uuid.nullable(),
  workflow_revision: z.int().nullable(),
  workflow_name: z.string(),
  status: runStatus,
  input_params: z.unknown(),
  output: z.unknown(),
  error: dslErrorSchema.nullable(),
  owner_id: uuid,
  owner_name: personName,
  team_id: uuid.nullable().meta({ description: 'The team of its workflow.' }),
  by_grant: z.boolean().meta({
    description:
      'Its owner started it as one of the `runners` of the workflow, and sees its input, output and ' +
      'state only.',
  }),
  parent_run_id: uuid.nullable(),
  retry_of: uuid.nullable(),
  key: z.string().nullable(),
  tags: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  scheduled_at: timestamp.nullable().meta({ description: "The time of its workflow's schedule." }),
  started_by: z
    .array(uuid)
    .nullable()
    .meta({ description: 'The first 100 events that started it, as in `GET /events/received/{id}`.' }),
  waiting_on: z
    .array(
      z.object({
        kind: z.enum(['human', 'event', 'timer']),
        task: z.string(),
        id: z.string().optional(),
        until: timestamp.optional(),
        events: z
          .array(z.string())
          .optional()
          .meta({ description: 'Types of the events that it listens for; `*` is any.' }),
      }),
    )
    .meta({ description: 'The first 100 things that the run waits for.' }),
  waiting_count: z.int().meta({ description: 'Number of things that the run waits for.' }),
  usage: jsonObject,
  budget_id: uuid.nullable().meta({
    description: 'Of the budget that was given at the start, as in `GET /budgets/{id}`; null without one.',
  }),
  temporal: z.object({ workflow_id: z.string(), run_id: z.string().nullable(), url: z.string().nullable() }),
  trace_id: z.string().nullable().meta({ description: 'Of the trace (OpenTelemetry) that it is in.' }),
  trace_url: z
    .string()
    .nullable()
    .meta({ description: 'Where to look at the trace, if the installation has a place for that.' }),
  can: z.array(z.enum(RUN_ACTIONS)).meta({ description: 'What the caller can currently do with the run.' }),
  last_seq: z.int().min(0).meta({ description: 'Number of entries in its log.' }),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
});

export const runSummarySchema = listedRecord(
  runFields,
  { input_params: true, waiting_on: true, output: true, error: true },
  { id: 'RunSummary', variantOf: 'Run' },
);

export const runSchema = runFields
  .extend({
    tasks: z.array(runTaskSchema).meta({
      description: 'The last 500 started tasks in start order. `/runs/{id}/tasks` has all of them.',
    }),
    logs: z.array(logEntrySchema).meta({ description: 'The last 200 log entries.' }),
    logs_next: z.string().nullable().meta({ description: 'URL of the log entries after these.' }),
  })
  .meta({ id: 'Run' });
