import { closeCircuit } from '../../../domain/registry/agent-turns.ts';
import { getAgentForChange, stateOf } from '../../../domain/registry/agent-service.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { emptyBody, idParams } from '../../schemas.ts';
import { agentRecord, presentAgent } from './presenter.ts';

/** The circuit breaker of an agent: docs/agents.md#limits. */
export function circuitEndpoint({ calledAddresses }: Pick<AppDeps, 'calledAddresses'>): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/agents/{id}/circuit/close',
    operationId: 'closeAgentCircuit',
    summary: "Close an agent's circuit breaker, so that it is called again",
    tags: ['agents'],
    role: 'builder',
    params: idParams,
    body: emptyBody,
    responses: { 200: agentRecord },
    handler: async (c) => {
      const agent = await getAgentForChange(c.em, c.actor, c.params.id);
      await closeCircuit(c.em, agent.id);
      const refusalOf = await calledAddresses.refusalsOfAgents();
      return { status: 200, body: presentAgent(c.actor, await stateOf(c.em, agent), refusalOf) };
    },
  });
}
