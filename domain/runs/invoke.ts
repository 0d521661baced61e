/** A run of an agent by itself (interface-decisions §3): of its workflow for a `workflow` agent, else one with the agent as its one step. */
import type { EntityManager } from '@mikro-orm/postgresql';
import { describeViolations, violations } from '../../contracts/validate-json.ts';
import type { Actor } from '../auth/actor.ts';
import { invalid } from '../errors.ts';
import type { PinnedAgent } from '../ports.ts';
import { pinAgent } from '../registry/pin.ts';
import { readRunnable } from './runnable.ts';
import type { Runnable } from './runnable.ts';
import { runAgent, runWorkflow } from './service.ts';

/** @returns the run's id. @throws 422 where the input does not fit the agent's or its workflow's schema. */
export async function invokeAgent(em: EntityManager, actor: Actor, agent: { id: string; name: string; owner_id: string }, input: unknown): Promise<string> {
  const pin = await pinAgent(em, agent.owner_id, { agent: agent.id });
  if (pin.found) checkInput(pin.pinned, input);
  const workflow = pin.found && pin.pinned.type === 'workflow' && pin.status !== 'inactive' ? await workflowOf(em, pin.pinned) : null;
  return workflow ? runWorkflow(em, actor, workflow, input, { agent_id: agent.id }) : runAgent(em, actor, agent, input);
}

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
