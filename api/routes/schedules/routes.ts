/** The schedule of a workflow: its state, its times, and what a person may do with it. */
import * as z from 'zod';

import type { Workflow } from '../../../db/entities/workflow.ts';
import { budgetPatch, budgetSchema } from '../../../contracts/budgets.ts';
import { OVERLAPS, START_CAUSES, START_OUTCOMES } from '../../../contracts/schedules.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import { holderOf } from '../../../domain/auth/ownership.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { startRun } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { mayChangeWorkflow } from '../../../domain/registry/workflow-policy.ts';
import { getWorkflowForChange, readWorkflow } from '../../../domain/registry/workflow-service.ts';
import {
  blockedBy,
  changeSchedule,
  fillTimes,
  getSchedule,
  MAX_BACKFILL,
  nextTimes,
  pastStarts,
  timesToFill,
  triggerSchedule,
  type PastStart,
  type Scheduled,
} from '../../../domain/schedules/service.ts';
import { tellTemporal } from '../../../domain/schedules/reconcile.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { mergedBudget } from '../../merged-fields.ts';
import { endpoint, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { personName } from '../../person-names.ts';
import { emptyBody, idParams, instant, text, timestamp, uuid } from '../../schemas.ts';
import { replayWaiting } from '../runs/replay.ts';
import { respondStarted } from '../runs/started.ts';
import { runSchema } from '../runs/schemas.ts';

const TAGS = ['schedules'];
const MAX_CATCH_UP_SECONDS = 7 * 24 * 3_600;
const MAX_JITTER_SECONDS = 3_600;

const overlap = z.enum(OVERLAPS).meta({
  description:
    'At a time at which an earlier run of the schedule has not ended: `skip` it, start it once that run ' +
    'has ended (`buffer_one`), or `allow` both.',
});
const catchUpSeconds = z
  .int()
  .min(0)
  .max(MAX_CATCH_UP_SECONDS)
  .meta({ description: 'How late a run may still start, such as after an outage.' });
const jitterSeconds = z
  .int()
  .min(0)
  .max(MAX_JITTER_SECONDS)
  .meta({ description: 'Each start is delayed by a random time of at most this.' });

const pastStart = z
  .object({
    scheduled_at: timestamp,
    cause: z.enum(START_CAUSES),
    outcome: z.enum(START_OUTCOMES),
    run_id: uuid.nullable(),
    detail: z.string().nullable().meta({ description: 'Why there is no run.' }),
    at: timestamp.meta({ description: 'When this was decided.' }),
  })
  .meta({ id: 'ScheduledStart' });

const scheduleRecord = z
  .object({
    workflow_id: uuid,
    kind: z.enum(['every', 'cron', 'after', 'on']),
    cron: z.string().nullable().meta({ description: 'With its time zone; UTC if it names none.' }),
    every_seconds: z.number().nullable(),
    after_seconds: z.number().nullable().meta({ description: 'After the end of the last run.' }),
    events: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Types of the events that start runs; `*` is any.' }),
    state: z.enum(['active', 'paused', 'blocked']),
    reason: z.string().nullable().meta({ description: 'Why it is blocked.' }),
    paused_at: timestamp.nullable(),
    paused_by: uuid.nullable(),
    paused_by_name: personName,
    note: z.string().nullable(),
    overlap,
    catch_up_seconds: catchUpSeconds,
    jitter_seconds: jitterSeconds,
    budget: budgetSchema.nullable().meta({ description: 'Of each run that it starts.' }),
    next: z
      .array(timestamp)
      .nullable()
      .meta({
        description:
          'At most ten times; null if they are not known at the moment. Those of `after` are for the ' +
          'owner and admins.',
      }),
    last: z.array(pastStart).meta({
      description: 'The last ten times, newest first. Only the owner and admins see them.',
    }),
    can: z.array(z.enum(['update', 'trigger', 'backfill'])),
  })
  .meta({ id: 'Schedule' });

const schedulePatch = z.object({
  paused: z.boolean().optional(),
  note: text({ max: 500 }).nullish(),
  overlap: overlap.optional(),
  catch_up_seconds: catchUpSeconds.optional(),
  jitter_seconds: jitterSeconds.optional(),
  budget: budgetPatch.nullish().meta({ description: 'Of each run that it starts; null takes it away.' }),
});

const backfillBody = z.object({
  from: instant.meta({ description: 'The first time, included.' }),
  to: instant.meta({ description: 'The last time, included; not in the future.' }),
});

export function scheduleEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/schedule',
      operationId: 'getSchedule',
      summary: "Get a workflow's schedule with its last and next times",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: scheduleRecord },
      handler: async (c) => {
        const { workflow } = await readWorkflow(c.em, c.actor, c.params.id);
        return respond(deps, c, workflow, await getSchedule(c.em, c.params.id));
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/workflows/{id}/schedule',
      operationId: 'updateSchedule',
      summary: 'Pause or resume a schedule, or change how it starts runs',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: schedulePatch,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: scheduleRecord },
      errors: [409, 412],
      handler: async (c) => {
        const { workflow } = await getWorkflowForChange(c.em, c.actor, c.params.id);
        const before = await getSchedule(c.em, c.params.id, { lock: true });
        c.checkSyntax();
        checkIfMatch(c.ctx, tagOf(before));
        const { budget, ...changes } = c.body;
        const changed = await changeSchedule(c.em, c.actor.id, before, {
          ...changes,
          ...(budget === undefined ? {} : { budget: mergedBudget(before.budget, budget) }),
        });
        if (c.body.paused === false) await checkQuota(c.em, deps.env, 'schedules', holderOf(workflow));
        // The next times are those of the changed schedule.
        c.afterCommit(async () => {
          await tellTemporal(deps, c.params.id);
          const em = deps.orm.em.fork();
          return respond(deps, { ...c, em }, workflow, await getSchedule(em, c.params.id));
        });
        return respond(deps, c, workflow, changed, null);
      },
    }),
    endpoint({
      method: 'POST',
      path: '/workflows/{id}/schedule/trigger',
      operationId: 'triggerSchedule',
      scope: 'runs:write',
      summary: 'Start a run of the schedule now, also while it is paused',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: emptyBody,
      responses: { 201: runSchema },
      errors: [409, 422],
      headers: ['Prefer'],
      onReplay: (c, first) => replayWaiting(deps, c, first),
      handler: async (c) => {
        await getWorkflowForChange(c.em, c.actor, c.params.id);
        c.checkSyntax();
        return respondStarted(
          deps,
          c,
          await triggerSchedule(c.em, c.actor, c.params.id, runLimits(deps.env)),
        );
      },
    }),
    backfillEndpoint(deps),
  ];
}

function backfillEndpoint(deps: AppDeps): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/workflows/{id}/schedule/backfill',
    operationId: 'backfillSchedule',
    scope: 'runs:write',
    summary: 'Start the runs of past times',
    description:
      `At most ${MAX_BACKFILL} times. A time that has a start keeps it, so a repeated request starts ` +
      'nothing twice. The runs may overlap.',
    tags: TAGS,
    role: 'builder',
    inTeams: true,
    params: idParams,
    body: backfillBody,
    transaction: false,
    responses: {
      200: z.array(
        pastStart.pick({ scheduled_at: true, outcome: true, run_id: true }).meta({ id: 'BackfilledStart' }),
      ),
    },
    errors: [409, 422],
    handler: async (c) => {
      const { id } = c.params;
      const schedule = await c.em.transactional(async (em) => {
        await getWorkflowForChange(em, c.actor, id);
        return getSchedule(em, id);
      });
      c.checkSyntax();
      const range = { from: new Date(c.body.from), to: new Date(c.body.to) };
      const times = await timesToFill(deps, schedule, range);
      const starts = await c.em.transactional(async (em) => {
        await getWorkflowForChange(em, c.actor, id);
        await c.audit.write(em);
        return fillTimes(em, c.actor, id, times, runLimits(deps.env));
      });
      // The reconciler starts those that do not arrive.
      for (const { run_id: runId } of starts) if (runId !== null) await startRun(deps, runId);
      return {
        status: 200,
        body: starts.map(({ scheduled_at, outcome, run_id }) => ({
          scheduled_at: scheduled_at.toISOString(),
          outcome,
          run_id,
        })),
      };
    },
  });
}

function tagOf({ workflow_id, generation }: Scheduled): string {
  return etag('schedule', workflow_id, generation);
}

async function respond(
  deps: AppDeps,
  c: Pick<EndpointContext<{ id: string }>, 'em' | 'actor' | 'params'>,
  workflow: Workflow,
  schedule: Scheduled,
  known?: null,
): Promise<EndpointResponse> {
  const mayChange = mayChangeWorkflow(c.actor, workflow);
  const [next, last] = [
    known === null || (schedule.times.kind === 'after' && !mayChange)
      ? null
      : await nextTimes(c.em, deps.temporal, schedule),
    mayChange ? await pastStarts(c.em, c.params.id) : [],
  ];
  return {
    status: 200,
    body: presentSchedule(schedule, { next, last, mayChange }),
    headers: { ETag: tagOf(schedule) },
  };
}

function typesOf({ one, any, all }: Record<string, unknown>): string[] {
  const filters = [one ?? any ?? all ?? []].flat();
  const types = filters.map((filter) =>
    isRecord(filter) && isRecord(filter['with']) ? filter['with']['type'] : null,
  );
  return [
    ...new Set(types.length === 0 ? ['*'] : types.map((type) => (typeof type === 'string' ? type : '*'))),
  ];
}

function presentSchedule(
  schedule: Scheduled,
  { next, last, mayChange }: { next: Date[] | null; last: PastStart[]; mayChange: boolean },
): Record<string, unknown> {
  const { times, paused_at: pausedAt } = schedule;
  const reason = blockedBy(schedule);
  return {
    workflow_id: schedule.workflow_id,
    kind: times.kind,
    cron: times.kind === 'cron' ? times.cron : null,
    every_seconds: times.kind === 'every' ? times.ms / 1_000 : null,
    after_seconds: times.kind === 'after' ? times.ms / 1_000 : null,
    events: times.kind === 'on' ? typesOf(times.on) : null,
    state: pausedAt !== null ? 'paused' : reason === null ? 'active' : 'blocked',
    reason,
    paused_at: pausedAt === null ? null : new Date(pausedAt).toISOString(),
    paused_by: mayChange ? schedule.paused_by : null,
    note: mayChange ? schedule.note : null,
    overlap: schedule.overlap,
    catch_up_seconds: schedule.catch_up_seconds,
    jitter_seconds: schedule.jitter_seconds,
    budget: schedule.budget,
    next: next?.map((at) => at.toISOString()) ?? null,
    last: last.map((start) => ({
      ...start,
      scheduled_at: new Date(start.scheduled_at).toISOString(),
      at: new Date(start.at).toISOString(),
    })),
    can: mayChange ? ['update', 'trigger', 'backfill'] : [],
  };
}
