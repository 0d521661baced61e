import * as z from 'zod';

import { listAgents } from '../../../domain/registry/agent-lists.ts';
import { createAgent, deleteAgent, getAgent, getAgentForChange, stateOf, updateAgent, type AgentState } from '../../../domain/registry/agent-service.ts';
import type { AppDeps } from '../../app.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { idParams, pageQuery, uuid } from '../../schemas.ts';
import { agentCard, presentCard } from './card.ts';
import { fieldsOfNew, patchOf, skillOfNew } from './fields.ts';
import { agentRecord, presentAgent } from './presenter.ts';
import { agentFilters, agentPatch, newAgent } from './schemas.ts';
import { skillEndpoints } from './skill-routes.ts';
import { versionEndpoints } from './version-routes.ts';

const tags = ['agents'];

export function agentEndpoints(deps: Pick<AppDeps, 'encryption' | 'env'>): Endpoint[] {
  const { encryption, env } = deps;
  return [
    endpoint({
      method: 'GET',
      path: '/agents',
      operationId: 'listAgents',
      summary: 'Own and public agents, newest first',
      tags,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...agentFilters }),
      responses: { 200: z.array(agentRecord) },
      handler: async (c) => {
        const { limit, cursor, ...filter } = c.query;
        const before = decodeCursor(cursor, idCursor)?.[0];
        const found = await listAgents(c.em, c.actor, filter, { before, limit: limit + 1 });
        const { items, headers } = page(c, found, limit, ({ agent }) => [agent.id]);
        return { status: 200, body: items.map(presentAgent), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents',
      operationId: 'createAgent',
      summary: 'Register an agent, with the draft of its first version',
      description: 'Literal secrets in `configuration` and `authentication_config` are moved to the own secret store; the record shows placeholders.',
      tags,
      role: 'builder',
      body: newAgent,
      record: agentRecord,
      responses: { 201: agentRecord },
      handler: async (c) => {
        const state = await createAgent(c.em, encryption, c.actor, fieldsOfNew(c.body), (c.body.skills ?? []).map(skillOfNew));
        const answer = answerWith(state);
        return { ...answer, status: 201, headers: { ...answer.headers, Location: `${c.baseUrl}/agents/${state.agent.id}` } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}',
      operationId: 'getAgent',
      summary: 'One agent with its versions and skills',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: agentRecord },
      handler: async (c) => answerWith(await stateOf(c.em, await getAgent(c.em, c.actor, c.params.id))),
    }),
    endpoint({
      method: 'PATCH',
      path: '/agents/{id}',
      operationId: 'updateAgent',
      summary: 'Change an agent; configuration and schemas of a published version need a new, higher `version`',
      tags,
      role: 'builder',
      params: idParams,
      body: agentPatch,
      record: agentRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: agentRecord },
      errors: [409, 412],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        c.checkSyntax();
        if (c.ctx.get('if-match')) checkIfMatch(c.ctx, tagOf(await stateOf(c.em, agent)));
        return answerWith(await updateAgent(c.em, encryption, c.actor, agent, patchOf(c.body, agent)));
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}',
      operationId: 'deleteAgent',
      summary: 'Delete an agent with its versions and skills',
      tags,
      role: 'builder',
      params: idParams,
      responses: { 204: null },
      errors: [409, 412],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        if (c.ctx.get('if-match')) checkIfMatch(c.ctx, tagOf(await stateOf(c.em, agent)));
        await deleteAgent(c.em, agent);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{agent_id}/.well-known/agent.json',
      operationId: 'getAgentCard',
      summary: 'The agent card',
      description: 'Needs a token, unless the setting PUBLIC_AGENT_CARDS opens the cards of public agents.',
      tags,
      role: 'viewer',
      ...(env.PUBLIC_AGENT_CARDS ? { anonymousToo: true } : {}),
      params: z.object({ agent_id: uuid }),
      responses: { 200: agentCard },
      handler: async (c) => {
        const agent = await getAgent(c.em, c.actor, c.params.agent_id);
        return { status: 200, body: presentCard(await stateOf(c.em, agent), c.baseUrl) };
      },
    }),
    ...versionEndpoints(deps),
    ...skillEndpoints(),
  ];
}

/** Of the whole record but the time of last use, which changes without anybody having changed the agent. */
function tagOf(state: AgentState): string {
  return etag(JSON.stringify({ ...presentAgent(state), last_used: null }));
}

function answerWith(state: AgentState): EndpointResponse {
  return { status: 200, body: presentAgent(state), headers: { ETag: tagOf(state) } };
}
