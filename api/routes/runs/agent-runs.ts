/** Runs of agents by themselves: interface-decisions §3. */
import * as z from 'zod';
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { invokeAgent } from '../../../domain/runs/invoke.ts';
import { listRuns } from '../../../domain/runs/queries.ts';
import type { AppDeps } from '../../app.ts';
import { endpoint } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, pageQuery } from '../../schemas.ts';
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
      summary: 'Invoke an agent by itself: a run',
      description:
        "An agent of type `workflow` gives a run of that workflow; any other a run with `workflow_id: null` and the agent's name as `workflow_name`. " +
        'With `Prefer: wait=N` the answer waits up to N seconds (60 at most) for the end.',
      tags: ['agents'],
      role: 'builder',
      params: idParams,
      body: z.object({ input: z.unknown().default({}) }),
      responses: { 201: runSchema },
      errors: [404, 422],
      async handler(c) {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const runId = await invokeAgent(c.em, c.actor, agent, c.body.input);
        return respondStarted(deps, c, runId);
      },
      onReplay: (c, first) => replayWaiting(deps, c, first),
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}/runs',
      operationId: 'listAgentRuns',
      summary: "The caller's runs that use the agent, newest first",
      tags: ['agents'],
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(runSummarySchema) },
      errors: [404],
      async handler(c) {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const { limit, cursor } = c.query;
        return listPage(c.em, c.actor, agent.id, limit, cursor).then((rows) => {
          const { items, headers } = page(c, rows, limit, (run) => [run.id]);
          return { status: 200, body: items.map((run) => presentRunSummary(presenterOf(deps), run)), headers };
        });
      },
    }),
  ];
}

const listPage = (em: EntityManager, actor: Actor, agentId: string, limit: number, cursor: string | undefined): ReturnType<typeof listRuns> =>
  listRuns(em, actor, { agent_id: agentId, limit, after: decodeCursor(cursor, idCursor)?.[0] });
