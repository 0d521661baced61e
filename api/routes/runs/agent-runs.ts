/** Runs that invoke a single agent, outside of a workflow: docs/interface.md#invoke-an-agent. */
import * as z from 'zod';
import { MAX_SESSION_ID } from '../../../contracts/tool-loop.ts';
import { budgetSchema } from '../../../contracts/budgets.ts';
import { isVersionRange } from '../../../language/definition/version-range.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { DRAFT } from '../../../domain/registry/choose-version.ts';
import { callingRunByHeader } from '../../../domain/runs/calling-run.ts';
import { invokeAgent } from '../../../domain/runs/invoke.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { listRuns } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, text } from '../../schemas.ts';
import { presentRunSummary } from './presenter.ts';
import { replayWaiting } from './replay.ts';
import { runSchema, runSummarySchema } from './schemas.ts';
import { presenterOf, respondStarted } from './started.ts';

export function agentRunEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/agents/{id}/invoke',
      operationId: 'invokeAgent',
      scope: 'runs:write',
      summary: 'Invoke an agent, which starts a run',
      description:
        'Invoking an agent of type `workflow` starts a run of that workflow. Any other agent gets a run ' +
        "with `workflow_id: null` and the agent's name as `workflow_name`. With `Prefer: wait=N` the " +
        'response waits up to N seconds (at most 60) for the run to end.',
      tags: ['agents'],
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: z.object({
        input: z.unknown().default({}),
        version: text({ min: 1, max: 200 })
          .refine(
            (value) => value === DRAFT || isVersionRange(value),
            'must be a semantic version, a range such as ^1.2.0, or draft',
          )
          .optional()
          .meta({
            description:
              'A semantic version, a range, or `draft` (owner and admins only). Default: the highest ' +
              'published version, else the highest deprecated one, else the draft.',
          }),
        session: text({ min: 1, max: MAX_SESSION_ID })
          .optional()
          .meta({
            description:
              'For language models: the conversation that this call continues, as the caller names it. ' +
              'Of two calls at the same time, the second one fails.',
          }),
        stream: z
          .boolean()
          .optional()
          .meta({
            description:
              "Whether those who follow the run see the agent's output while it grows. Default: the " +
              "agent's `capabilities_streaming`.",
          }),
        budget: budgetSchema.optional().meta({ description: 'Of the run with all runs that it starts.' }),
      }),
      responses: { 201: runSchema },
      errors: [403, 404, 422],
      async handler(c) {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const caller_run_id = await callingRunByHeader(c.em, c.ctx.get('Idempotency-Key'));
        const limits = runLimits(deps.env);
        const runId = await invokeAgent(c.em, c.actor, agent, {
          version: c.body.version,
          session: c.body.session,
          caller_run_id,
          streams: c.body.stream ?? agent.capabilities_streaming,
          input: () => c.body.input,
          filesAt: '/input',
          budget: c.body.budget,
          limits,
        });
        return respondStarted(deps, c, runId);
      },
      headers: ['Prefer'],
      onReplay: (c, first) => replayWaiting(deps, c, first),
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/runs',
      operationId: 'listAgentRuns',
      scope: 'runs:read',
      summary: "List the caller's runs that use the agent, newest first",
      tags: ['agents'],
      role: 'viewer',
      params: idParams,
      query: z.object({ ...pageQuery, ...viewQuery }),
      responses: { 200: z.array(runSummarySchema) },
      errors: [404],
      async handler(c) {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byId, (page, { view }) =>
          listRuns(c.em, c.actor, { agent_id: agent.id, view }, page),
        );
        return {
          status: 200,
          body: items.map((run) => presentRunSummary(presenterOf(deps, c.actor), run)),
          headers,
        };
      },
    }),
  ];
}
