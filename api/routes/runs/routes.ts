/** Runs: interface-decisions §4. */
import * as z from 'zod';
import { isTerminal } from '../../../contracts/run-events.ts';
import { deliverSignals } from '../../../domain/runs/dispatch.ts';
import { eventsAfter, getRun, listRuns, tasksAfter } from '../../../domain/runs/queries.ts';
import { getRunnable } from '../../../domain/runs/runnable.ts';
import { commandRun, retryRun, runWorkflow, terminateRun } from '../../../domain/runs/service.ts';
import type { CommandKind } from '../../../domain/runs/service.ts';
import type { AppDeps } from '../../app.ts';
import { preferredWaitSeconds } from '../../conditional.ts';
import { endpoint, media } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, instant, jsonObject, pageQuery, serverSentEvent, text, uuid } from '../../schemas.ts';
import { presentEvent, presentRun, presentRunSummary, presentTask } from './presenter.ts';
import { logEntrySchema, logLevel, runSchema, runStatus, runSummarySchema, runTaskSchema } from './schemas.ts';
import { agentRunEndpoints } from './agent-runs.ts';
import { replayWaiting } from './replay.ts';
import { streamRun } from './stream.ts';
import { presenterOf, respondStarted, waitForEnd } from './started.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const seqCursor = z.tuple([z.int()]);
const emptyBody = z.object({});

const listQuery = z.object({
  ...pageQuery,
  status: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(runStatus))
    .optional()
    .meta({ description: 'One or several, with commas.', type: 'string' }),
  workflow_id: uuid.optional(),
  agent_id: uuid.optional(),
  parent_run_id: uuid.optional(),
  created_after: instant.optional(),
  created_before: instant.optional(),
  q: text({ max: 200 }).optional(),
});

const runBody = z.object({ input_params: jsonObject.default({}) });

export function runsEndpoints(deps: AppDeps): Endpoint[] {
  const runRoute = (path: string, operationId: string, summary: string): Endpoint =>
    endpoint({
      method: 'POST',
      path,
      operationId,
      summary,
      description: 'With `Prefer: wait=N` the answer waits up to N seconds (60 at most) for the end of the run.',
      tags: ['runs'],
      role: 'builder',
      params: idParams,
      body: runBody,
      responses: { 201: runSchema },
      errors: [404, 422],
      async handler(c) {
        const workflow = await getRunnable(c.em, c.actor, c.params.id);
        const runId = await runWorkflow(c.em, c.actor, workflow, c.body.input_params);
        return respondStarted(deps, c, runId);
      },
      onReplay: (c, first) => replayWaiting(deps, c, first),
    });

  const command = (kind: CommandKind, summary: string): Endpoint =>
    endpoint({
      method: 'POST',
      path: `/runs/{id}/${kind}`,
      operationId: `${kind}Run`,
      summary,
      tags: ['runs'],
      role: 'builder',
      params: idParams,
      body: emptyBody,
      responses: { 200: runSchema },
      errors: [404, 409],
      async handler(c) {
        await getRun(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const signals = await commandRun(c.em, c.actor, c.params.id, kind);
        c.afterCommit(async () => void (await deliverSignals(deps, signals)));
        return { status: 200, body: await presentRun(c.em, presenterOf(deps), await getRun(c.em, c.actor, c.params.id)) };
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
        const { limit, cursor, ...filter } = c.query;
        const rows = await listRuns(c.em, c.actor, { ...filter, limit, after: decodeCursor(cursor, idCursor)?.[0] });
        const { items, headers } = page(c, rows, limit, (run) => [run.id]);
        return { status: 200, body: items.map((run) => presentRunSummary(presenterOf(deps), run)), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}',
      operationId: 'getRun',
      summary: 'Status, tasks and logs of a run',
      description: 'With `Prefer: wait=N` the answer waits up to N seconds (60 at most) for the end of the run.',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      responses: { 200: runSchema },
      errors: [404],
      async handler(c) {
        const run = await getRun(c.em, c.actor, c.params.id);
        const seconds = preferredWaitSeconds(c.ctx);
        if (seconds === null || isTerminal(run.status)) return { status: 200, body: await presentRun(c.em, presenterOf(deps), run) };
        return { status: 200, body: await waitForEnd(deps, c.actor, run.id, seconds), headers: { 'Preference-Applied': `wait=${seconds}` } };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/tasks',
      operationId: 'listRunTasks',
      summary: 'All tasks of a run that started, in start order',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(runTaskSchema) },
      errors: [404],
      async handler(c) {
        const run = await getRun(c.em, c.actor, c.params.id);
        const { limit, cursor } = c.query;
        const rows = await tasksAfter(c.em, run.id, decodeCursor(cursor, seqCursor)?.[0] ?? 0, limit + 1);
        const { items, headers } = page(c, rows, limit, (task) => [task.seq]);
        return { status: 200, body: items.map(presentTask), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/logs',
      operationId: 'listRunLogs',
      summary: 'The log of a run, from its first entry on',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      query: z.object({
        ...pageQuery,
        level: logLevel.optional().meta({ description: 'This level and graver ones.' }),
        task: text({ max: 2000 }).optional().meta({ description: 'JSON pointer of a task.' }),
        after: z.coerce.number().int().min(0).optional().meta({ description: 'Only entries with a higher `seq`.' }),
      }),
      responses: { 200: z.array(logEntrySchema) },
      errors: [404],
      async handler(c) {
        const run = await getRun(c.em, c.actor, c.params.id);
        const { limit, cursor, level, task, after } = c.query;
        const rows = await eventsAfter(c.em, run.id, {
          after: decodeCursor(cursor, seqCursor)?.[0] ?? after ?? 0,
          limit: limit + 1,
          levels: level === undefined ? undefined : LEVELS.slice(LEVELS.indexOf(level)),
          task,
        });
        const { items, headers } = page(c, rows, limit, (event) => [event.seq]);
        return { status: 200, body: items.map(presentEvent), headers };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}/events',
      operationId: 'streamRunEvents',
      summary: "The run's log as Server-Sent Events",
      description: '`id:` is `seq`; resumes after `Last-Event-ID`; ends after the terminal event; 204 to a client that has it already.',
      tags: ['runs'],
      role: 'viewer',
      params: idParams,
      responses: { 200: media({ 'text/event-stream': serverSentEvent }), 204: null },
      errors: [404],
      handler: (c) => streamRun(deps, c),
    }),

    command('cancel', 'Cancel a run'),
    command('suspend', 'Suspend a run: nothing new starts, what runs finishes'),
    command('resume', 'Resume a suspended run'),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/terminate',
      operationId: 'terminateRun',
      summary: 'End a stuck run at once',
      tags: ['runs'],
      role: 'admin',
      params: idParams,
      body: z.object({ reason: text({ max: 500 }).optional() }),
      responses: { 200: runSchema },
      errors: [404, 409],
      async handler(c) {
        await getRun(c.em, c.actor, c.params.id);
        c.checkSyntax();
        const signals = await terminateRun(c.em, c.actor, c.params.id, c.body.reason ?? null);
        c.afterCommit(async () => {
          await deps.temporal.terminate(c.params.id, c.body.reason ?? 'terminated by an admin');
        });
        c.afterCommit(async () => void (await deliverSignals(deps, signals)));
        return { status: 200, body: await presentRun(c.em, presenterOf(deps), await getRun(c.em, c.actor, c.params.id)) };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/retry',
      operationId: 'retryRun',
      summary: 'A new run that goes on from the failed task',
      tags: ['runs'],
      role: 'builder',
      params: idParams,
      body: emptyBody,
      responses: { 201: runSchema },
      errors: [404, 409],
      async handler(c) {
        await getRun(c.em, c.actor, c.params.id);
        c.checkSyntax();
        return respondStarted(deps, c, await retryRun(c.em, c.actor, c.params.id));
      },
      onReplay: (c, first) => replayWaiting(deps, c, first),
    }),
  ];
}
