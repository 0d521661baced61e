/** Runs of agents by themselves: interface-decisions §3. */
import * as z from 'zod';
import { describeViolations, violations } from '../../../contracts/validate-json.ts';
import type { EntityManager } from '../../../db/orm.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { invalid } from '../../../domain/errors.ts';
import type { PinnedAgent } from '../../../domain/ports.ts';
import { getAgent } from '../../../domain/registry/agent-service.ts';
import { pinAgent } from '../../../domain/registry/pin.ts';
import { listRuns } from '../../../domain/runs/queries.ts';
import { readRunnable } from '../../../domain/runs/runnable.ts';
import type { Runnable } from '../../../domain/runs/runnable.ts';
import { runAgent, runWorkflow } from '../../../domain/runs/service.ts';
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
        const { input } = c.body;
        const pin = await pinAgent(c.em, agent.owner_id, { agent: agent.id });
        if (pin.found) checkInput(pin.pinned, input);
        const workflow = pin.found && pin.pinned.type === 'workflow' && pin.status !== 'inactive' ? await workflowOf(c.em, pin.pinned) : null;
        const runId = workflow
          ? await runWorkflow(c.em, c.actor, workflow, input, { agent_id: agent.id })
          : await runAgent(c.em, c.actor, agent, input);
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

/** Told at once rather than by a run that faults. */
function checkInput(agent: PinnedAgent, input: unknown): void {
  const wrong = violations(agent.input_schema, input);
  if (wrong.length === 0) return;
  throw invalid(
    wrong.map(({ pointer, message }) => ({ pointer: `/input${pointer}`, code: 'schema', message })),
    `The input does not fit the agent's input_schema: ${describeViolations(wrong)}`,
  );
}

/** The workflow behind an agent of type `workflow`, with the rights of the agent's owner; null leaves it to the run to fault. */
async function workflowOf(em: EntityManager, agent: PinnedAgent): Promise<Runnable | null> {
  const { workflow_id: id, revision } = agent.configuration;
  if (typeof id !== 'string') return null;
  const [row] = await em.execute<{ id: string }[]>(
    `select id from workflow where id::text = ? and archived_at is null and (owner_id = ? or visibility = 'public')`,
    [id, agent.owner_id],
  );
  return row ? readRunnable(em, { id: row.id, revision: typeof revision === 'number' ? revision : null }).catch(() => null) : null;
}
