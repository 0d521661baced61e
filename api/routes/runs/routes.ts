/** Runs: docs/interface.md#runs. */
import * as z from 'zod';
import { budgetSchema } from '../../../contracts/budgets.ts';
import { isTerminal } from '../../../contracts/run-events.ts';
import { hasRole, type Actor } from '../../../domain/auth/actor.ts';
import { hasRoleInSomeTeam } from '../../../domain/auth/ownership.ts';
import { AppError, forbidden } from '../../../domain/errors.ts';
import { callingRunByHeader } from '../../../domain/runs/calling-run.ts';
import { deliverCommands, deliverSignals } from '../../../domain/runs/dispatch.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import {
  getRun,
  getRunInside,
  getRunTask,
  listEvents,
  listRuns,
  listRunTasks,
  listTaskGroups,
  type PagedEvent,
} from '../../../domain/runs/queries.ts';
import { healWorkflow, mayHeal } from '../../../domain/marketplace/heal.ts';
import { getStartable } from '../../../domain/runs/runnable.ts';
import { retryRun } from '../../../domain/runs/retry.ts';
import { commandRun, runWorkflow, terminateRun } from '../../../domain/runs/service.ts';
import type { CommandKind } from '../../../domain/runs/rights.ts';
import { TemporalUnavailable } from '../../../domain/ports.ts';
import type { RunRow } from '../../../domain/runs/row.ts';
import type { AppDeps } from '../../deps.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, orderBy, readPage, type ListOrder } from '../../paging.ts';
import {
  emptyBody,
  idParams,
  instant,
  jsonObject,
  pageQuery,
  personOrMe,
  serverSentEvent,
  text,
  uuid,
} from '../../schemas.ts';
import {
  presentEvent,
  presentRun,
  presentRunSummary,
  presentTask,
  presentTaskGroup,
  presentTaskVisit,
} from './presenter.ts';
import {
  labelFilter,
  logEntrySchema,
  logLevel,
  runKey,
  runLabels,
  runSchema,
  runStatus,
  runSummarySchema,
  runTag,
  runTags,
  runTaskSchema,
  runTaskStatus,
  taskGroupSchema,
  runTaskVisitSchema,
} from './schemas.ts';
import { agentRunEndpoints } from './agent-runs.ts';
import { batchEndpoint } from './batch.ts';
import { runDiagramEndpoint } from './diagram.ts';
import { replayWaiting } from './replay.ts';
import { runStatsEndpoint } from './stats.ts';
import { streamRun } from './stream.ts';
import { presenterOf, respondStarted, waitForEnd, wholeRun } from './started.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
/** Characters of a task's JSON pointer. */
const MAX_REFERENCE = 2000;
/** The largest integer of a column. */
const MAX_INT = 2 ** 31 - 1;
const bySeq = orderBy<{ seq: number }, number>(z.int32(), ({ seq }) => seq);
const ofLog: ListOrder<PagedEvent, number> = { ...bySeq, isCutAfter: ({ is_full: isFull }) => isFull };

/** One or more words in a query parameter. */
function listOf<T extends z.ZodType<string, string>>(word: T) {
  return z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(word))
    .optional()
    .meta({ description: 'One or more, separated by commas.', type: 'string' });
}

/** `seq` of an entry of a run's log, in a query. */
const sequenceNumber = z.coerce.number().int().min(0).max(MAX_INT).optional();

const listQuery = z.object({
  ...pageQuery,
  ...viewQuery,
  status: listOf(runStatus),
  workflow_id: uuid.optional(),
  agent_id: uuid.optional(),
  parent_run_id: uuid.optional(),
  created_after: instant.optional(),
  created_before: instant.optional(),
  owner_id: personOrMe.optional(),
  team_id: uuid.optional().meta({ description: "The team of the run's workflow." }),
  tag: text({ min: 1, max: 100 }).optional().meta({ description: "A tag of the run's workflow." }),
  run_tag: listOf(runTag).meta({ description: 'Tags of the run itself, separated by commas: all of them.' }),
  label: labelFilter,
  key: runKey.optional().meta({ description: 'The key that the run was started with.' }),
  q: text({ max: 200 }).optional().meta({ description: "Text in the workflow's name, or a run's whole id." }),
});

const WAIT_DESCRIPTION =
  'With `Prefer: wait=N` the response waits up to N seconds (at most 60) for the run to end.';
const runBody = z.object({
  input_params: jsonObject.default({}),
  key: runKey.optional(),
  tags: runTags.optional(),
  labels: runLabels.optional(),
  budget: budgetSchema.optional().meta({ description: 'Of the run with all runs that it starts.' }),
});
const retryBody = z.object({
  revision: z.int().min(1).max(MAX_INT).optional().meta({
    description: "A revision of the run's workflow. Default: that of the run.",
  }),
  input: z.unknown().optional().meta({
    description: 'Input of the task that the run continues with. Default: what it had.',
  }),
  from: text({ min: 1, max: MAX_REFERENCE }).optional().meta({
    description: 'JSON pointer of the task to continue with. Default: the task that failed.',
  }),
});

/** Turns 404 into 403 for callers who are builders nowhere. */
async function roleFirst<T>(actor: Actor, found: Promise<T>): Promise<T> {
  try {
    return await found;
  } catch (error) {
    const isMissing = error instanceof AppError && error.kind === 'not_found';
    if (!isMissing || hasRole(actor, 'builder') || hasRoleInSomeTeam(actor, 'builder')) throw error;
    throw forbidden('This requires the role builder.', 'role_required');
  }
}

export function runsEndpoints(deps: AppDeps): Endpoint[] {
  const runRoute = (path: string, operationId: string, summary: string): Endpoint =>
    endpoint({
      method: 'POST',
      path,
      operationId,
      summary,
      description:
        `For builders, and for those who are among the workflow's \`runners\`. ` + WAIT_DESCRIPTION,
      tags: ['runs'],
      role: 'viewer',
      clientRole: 'builder',
      inTeams: true,
      params: idParams,
      body: runBody,
      responses: { 200: runSchema, 201: runSchema },
      errors: [404, 409, 422],
      async handler(c) {
        const startable = getStartable(c.em, c.actor, c.params.id);
        const { workflow: found, byGrant } = await roleFirst(c.actor, startable);
        const { workflow } =
          mayHeal(found) && (await healWorkflow(c.em, found.id))
            ? await getStartable(c.em, c.actor, found.id)
            : { workflow: found };
        const caller_run_id = await callingRunByHeader(c.em, c.ctx.get('Idempotency-Key'));
        const { input_params: input, ...names } = c.body;
        const { id, isNew } = await runWorkflow(c.em, c.actor, workflow, input, {
          ...names,
          by_grant: byGrant,
          caller_run_id,
          filesAt: '/input_params',
          limits: runLimits(deps.env),
        });
        return respondStarted(deps, c, id, isNew ? 201 : 200);
      },
      headers: ['Prefer'],
      onReplay: (c, first) => replayWaiting(deps, c, first),
    });

  const command = (kind: CommandKind, summary: string): Endpoint =>
    endpoint({
      method: 'POST',
      path: `/runs/{id}/${kind}`,
      operationId: `${kind}Run`,
      summary,
      tags: ['runs'],
      ...(kind === 'cancel' ? { role: 'viewer', clientRole: 'builder' } : { role: 'builder' }),
      inTeams: true,
      params: idParams,
      body: emptyBody,
      responses: { 200: runSchema },
      errors: [404, 409],
      async handler(c) {
        await roleFirst(c.actor, getRun(c.em, c.actor, c.params.id));
        c.checkSyntax();
        const commanded = await commandRun(c.em, c.actor, c.params.id, kind);
        c.afterCommit(() => deliverCommands(deps, [commanded]));
        return {
          status: 200,
          body: await wholeRun(deps, c),
        };
      },
    });

  return [
    ...agentRunEndpoints(deps),
    runRoute('/workflows/{id}/run', 'runWorkflow', 'Run a workflow'),
    runRoute('/workflows/{id}/execute', 'executeWorkflow', 'Run a workflow (alias)'),

    endpoint({
      method: 'GET',
      path: '/runs',
      operationId: 'listRuns',
      summary: "List the caller's runs, newest first",
      tags: ['runs'],
      role: 'viewer',
      query: listQuery,
      responses: { 200: z.array(runSummarySchema) },
      async handler(c) {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listRuns(c.em, c.actor, filter, page),
        );
        return {
          status: 200,
          body: items.map((run) => presentRunSummary(presenterOf(deps, c.actor), run)),
          headers,
        };
      },
    }),

    runStatsEndpoint(),

    endpoint({
      method: 'GET',
      path: '/runs/{id}',
      operationId: 'getRun',
      headers: ['Prefer'],
      summary: 'Get the status, tasks and log of a run',
      description: WAIT_DESCRIPTION,
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      responses: { 200: runSchema },
      errors: [404],
      async handler(c) {
        const seconds = preferredWaitSeconds(c.ctx);
        if (seconds === null) return { status: 200, body: await wholeRun(deps, c) };
        const run = await getRun(c.em, c.actor, c.params.id);
        if (isTerminal(run.status))
          return { status: 200, body: await presentRun(c.em, presenterOf(deps, c.actor), run) };
        return {
          status: 200,
          body: await waitForEnd(deps, c, run.id, seconds),
          headers: { 'Preference-Applied': `wait=${seconds}` },
        };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/tasks',
      operationId: 'listRunTasks',
      summary: 'List the started tasks of a run in start order',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      query: z.object({
        ...pageQuery,
        reference: text({ max: MAX_REFERENCE })
          .optional()
          .meta({ description: 'JSON pointer of a task: only its visits.' }),
        status: listOf(runTaskStatus),
        before: sequenceNumber.meta({
          description: 'Only tasks that started before the log entry with this `seq`, newest first.',
        }),
      }),
      responses: { 200: z.array(runTaskSchema) },
      errors: [404],
      async handler(c) {
        const run = await getRunInside(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, bySeq, (page, filter) =>
          listRunTasks(c.em, run.id, filter, page),
        );
        return { status: 200, body: items.map(presentTask), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/tasks/groups',
      operationId: 'listRunTaskGroups',
      summary: 'List the tasks of a run in start order, all visits of a task as one record',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(taskGroupSchema) },
      errors: [404],
      async handler(c) {
        const run = await getRunInside(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, bySeq, (page) => listTaskGroups(c.em, run.id, page));
        return { status: 200, body: items.map(presentTaskGroup), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/tasks/{reference}',
      operationId: 'getRunTask',
      summary: 'Get a task of a run with its input and output',
      tags: ['runs'],
      role: 'viewer',
      params: z.object({
        ...idParams.shape,
        reference: z
          .string()
          .max(MAX_REFERENCE)
          .meta({ description: 'JSON pointer of the task, percent-encoded: `%2Fdo%2F0%2Fask`.' }),
      }),
      query: z.object({
        visit: z.coerce.number().int().min(-MAX_INT).max(MAX_INT).optional().meta({
          description:
            'Which visit of the task; default: the last. Below 1: what a retry with changes has asked again.',
        }),
      }),
      responses: { 200: runTaskVisitSchema },
      errors: [404],
      async handler(c) {
        const run = await getRunInside(c.em, c.actor, c.params.id);
        const task = await getRunTask(c.em, run.id, c.params.reference, c.query.visit);
        return { status: 200, body: presentTaskVisit(task) };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/logs',
      operationId: 'listRunLogs',
      summary: 'List the log entries of a run, oldest first, or newest first with `before`',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      query: z.object({
        ...pageQuery,
        level: logLevel.optional().meta({ description: 'This level and more severe ones.' }),
        task: text({ max: MAX_REFERENCE }).optional().meta({ description: 'JSON pointer of a task.' }),
        after: sequenceNumber.meta({ description: 'Only entries with a higher `seq`.' }),
        before: sequenceNumber.meta({ description: 'Only entries with a lower `seq`, newest first.' }),
      }),
      responses: { 200: z.array(logEntrySchema) },
      errors: [404],
      async handler(c) {
        const run = await getRunInside(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, ofLog, (page, { level, task, after, before }) =>
          listEvents(c.em, run.id, {
            after: after ?? 0,
            before,
            cursor: page.after,
            limit: page.limit,
            levels: level === undefined ? undefined : LEVELS.slice(LEVELS.indexOf(level)),
            task,
          }),
        );
        return { status: 200, body: items.map(presentEvent), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/events',
      operationId: 'streamRunEvents',
      headers: ['Last-Event-ID'],
      summary: "Stream a run's log as Server-Sent Events",
      description:
        '`id:` is `seq`. The stream resumes after `Last-Event-ID` and ends after the terminal event; ' +
        'a client that already has that event gets a 204. Events without `id:` are transient: with ' +
        '`stream: true` of `call: agent`, `io.cadenza.task.output.v1` and `io.cadenza.task.progress.v1` ' +
        'show what a call produces while it runs, as `{type, task, visit, attempt, offset, text}`.',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      responses: { 200: media({ 'text/event-stream': serverSentEvent }), 204: null },
      errors: [404],
      handler: (c) => streamRun(deps, c),
    }),

    runDiagramEndpoint(),
    batchEndpoint(deps),
    command('cancel', 'Cancel a run'),
    command('suspend', 'Suspend a run: running tasks finish, but no new ones start'),
    command('resume', 'Resume a suspended run'),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/terminate',
      operationId: 'terminateRun',
      summary: 'Terminate a stuck run immediately',
      tags: ['runs'],
      role: 'admin',
      params: idParams,
      body: z.object({ reason: text({ max: 500 }).optional() }),
      responses: { 200: runSchema },
      errors: [404, 409],
      async handler(c) {
        await roleFirst(c.actor, getRun(c.em, c.actor, c.params.id));
        c.checkSyntax();
        const { id } = c.params;
        const reason = c.body.reason ?? null;
        c.afterCommit(() => deps.temporal.terminate(id, reason ?? 'terminated by an admin'));
        if (!(await isOrphaned(deps, await getRun(c.em, c.actor, id)))) {
          const signals = await terminateRun(c.em, c.actor, id, reason);
          c.afterCommit(async () => void (await deliverSignals(deps, signals)));
        }
        return {
          status: 200,
          body: await wholeRun(deps, c),
        };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/retry',
      operationId: 'retryRun',
      summary: 'Retry a failed run: start a new run that continues from the failed task',
      tags: ['runs'],
      role: 'builder',
      inTeams: true,
      params: idParams,
      description:
        'With `revision`, `input` or `from`, which only the owner of the workflow and admins may give, ' +
        'people are asked again what they have decided: 409 if that is too much, or if the revision lacks ' +
        'the place.',
      body: retryBody,
      responses: { 201: runSchema },
      errors: [404, 409, 422],
      async handler(c) {
        await getRun(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const runId = await retryRun(c.em, c.actor, c.params.id, runLimits(deps.env), c.body);
        return respondStarted(deps, c, runId);
      },
      headers: ['Prefer'],
      onReplay: (c, first) => replayWaiting(deps, c, first),
    }),
  ];
}

/** An execution normally closes within moments of its run; after this it counts as orphaned. */
const ORPHANED_AFTER_MS = 10_000;

async function isOrphaned({ temporal }: AppDeps, run: Pick<RunRow, 'id' | 'finished_at'>): Promise<boolean> {
  if (run.finished_at === null || Date.now() - new Date(run.finished_at).getTime() < ORPHANED_AFTER_MS)
    return false;
  const status = await temporal.describe(run.id).catch((error: unknown) => {
    if (error instanceof TemporalUnavailable) return null;
    throw error;
  });
  return status === 'running';
}
