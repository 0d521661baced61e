import type { Agent } from '../../../db/entities/agent.ts';
import { heldBy } from '../../../domain/audit/write.ts';
import { holderOf } from '../../../domain/auth/ownership.ts';
import { boundBy, rebindAgents } from '../../../domain/secrets/unbind.ts';
import {
  bindsByName,
  copySecrets,
  destinationOf,
  moveObject,
  secretsOfAgent,
  teamFor,
} from '../../../domain/teams/holding.ts';
import * as z from 'zod';

import type { Actor } from '../../../domain/auth/actor.ts';
import { listAgents } from '../../../domain/registry/agent-lists.ts';
import { savingMs } from '../../../domain/registry/agent-size.ts';
import {
  createAgent,
  deleteAgent,
  getAgent,
  readAgent,
  getAgentForChange,
  stateOf,
  updateAgent,
  type AgentState,
} from '../../../domain/registry/agent-service.ts';
import { checkSecretLimit, checkSkillLimit, checkVersionLimits } from '../../../domain/limits.ts';
import type { AppDeps } from '../../deps.ts';
import { checkIfMatch, etag } from '../../conditional.ts';
import { endpoint, type Endpoint, type EndpointContext, type EndpointResponse } from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, uuid } from '../../schemas.ts';
import { agentCard, presentCard } from './card.ts';
import { fieldsOfNew, patchOf, skillOfNew } from './fields.ts';
import { agentRecord, listedAgent, presentAgent, presentListedAgent } from './presenter.ts';
import { agentFilters, agentPatch, newAgent } from './schemas.ts';
import { sessionEndpoints } from './session-routes.ts';
import { canaryEndpoints } from './canary.ts';
import { circuitEndpoint } from './circuit.ts';
import { skillEndpoints } from './skill-routes.ts';
import { agentSourceEndpoints } from './source-routes.ts';
import { versionEndpoints } from './version-routes.ts';

const TAGS = ['agents'];

export function agentEndpoints(deps: AppDeps): Endpoint[] {
  const { encryption, env, calledAddresses } = deps;
  return [
    endpoint({
      method: 'GET',
      path: '/agents',
      operationId: 'listAgents',
      summary: 'List own and public agents, newest first',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...viewQuery, ...agentFilters }),
      responses: { 200: z.array(listedAgent) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listAgents(c.em, c.actor, filter, page),
        );
        const refusalOf = await calledAddresses.refusalsOfAgents();
        const body = items.map((agent) => presentListedAgent(c.actor, agent, refusalOf));
        return { status: 200, body, headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents',
      operationId: 'createAgent',
      summary: 'Register an agent and draft its first version',
      description:
        "Literal secrets in `configuration` and `authentication_config` are moved to the owner's secrets; " +
        'the record shows placeholders.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      body: newAgent,
      record: agentRecord,
      responses: { 201: agentRecord },
      handler: async (c) => {
        c.count(savingMs(c.body));
        const state = await createAgent(
          c.em,
          encryption,
          c.actor,
          { ...fieldsOfNew(c.body), team_id: await teamFor(c.em, c.actor, c.body.team_id) },
          (c.body.skills ?? []).map(skillOfNew),
        );
        await checkVersionLimits(c.em, env, state.agent.id, { added: true });
        await checkSkillLimit(c.em, env, state.agent.id);
        await checkSecretLimit(c.em, env, holderOf(state.agent));
        const answer = await answerWith(deps, c.actor, state);
        return {
          ...answer,
          status: 201,
          headers: { ...answer.headers, Location: `${c.baseUrl}/agents/${state.agent.id}` },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{id}',
      operationId: 'getAgent',
      summary: 'Get an agent with its versions and skills',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: agentRecord },
      handler: async (c) =>
        answerWith(deps, c.actor, await stateOf(c.em, await readAgent(c.em, c.actor, c.params.id))),
    }),
    endpoint({
      method: 'PATCH',
      path: '/agents/{id}',
      operationId: 'updateAgent',
      summary:
        'Update an agent; changing the configuration or schemas of a published version needs a higher ' +
        '`version`',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: agentPatch,
      record: agentRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: agentRecord },
      errors: [409, 412],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        c.checkSyntax();
        await checkTag(c, agent);
        const { version } = agent;
        await moveIfAsked(deps, c, agent, c.body);
        c.count(savingMs(c.body));
        const state = await updateAgent(c.em, encryption, c.actor, agent, patchOf(c.body, agent));
        const { configuration, input_schema: input, output_schema: output } = c.body;
        const changed = [configuration, input, output].some((part) => part !== undefined);
        if (changed || agent.version !== version)
          await checkVersionLimits(c.em, env, agent.id, { added: agent.version !== version });
        await checkSecretLimit(c.em, env, holderOf(agent));
        return answerWith(deps, c.actor, state);
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}',
      operationId: 'deleteAgent',
      summary: 'Delete an agent with its versions and skills',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [409, 412],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        await checkTag(c, agent);
        c.audit.note(heldBy(agent.team_id));
        await deleteAgent(c.em, agent);
        return { status: 204 };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/agents/{agent_id}/.well-known/agent.json',
      operationId: 'getAgentCard',
      summary: "Get the agent's card",
      description:
        'Requires a token, unless PUBLIC_AGENT_CARDS makes the cards of public agents available to anyone.',
      tags: TAGS,
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
    ...skillEndpoints(deps),
    ...agentSourceEndpoints(deps),
    ...sessionEndpoints(),
    circuitEndpoint(deps),
    ...canaryEndpoints(),
  ];
}

/**
 * ETag of the whole record, except for parts that change without an edit: last use, circuit breaker,
 * warnings, the caller's rights.
 */
function tagOf(record: Record<string, unknown>): string {
  const live = { last_used: null, warnings: null, can: null, last_check: null, circuit: null };
  return etag(JSON.stringify({ ...record, ...live }));
}

/** Moves the agent with its secrets, if the request names another team or person. */
async function moveIfAsked(
  { encryption }: Pick<AppDeps, 'encryption'>,
  { em, actor }: Pick<EndpointContext, 'em' | 'actor'>,
  agent: Agent,
  asked: Pick<z.output<typeof agentPatch>, 'team_id' | 'owner_id'>,
): Promise<void> {
  const to = await destinationOf(em, actor, agent, asked);
  if (to === null) return;
  const from = holderOf(agent);
  const names = await secretsOfAgent(em, agent.id);
  const object = { ...agent, team_id: agent.team_id ?? null };
  const moved = await moveObject(em, actor, 'agent', object, to);
  Object.assign(agent, moved);
  const handed = await copySecrets(em, encryption, { from, to: moved.holder_id, names });
  if (!bindsByName(actor, object, to.team)) await rebindAgents(em, [agent.id], boundBy(handed));
}

async function checkTag({ ctx, em, actor }: EndpointContext, agent: Agent): Promise<void> {
  if (!ctx.get('if-match')) return;
  // Warnings are no part of the tag.
  checkIfMatch(ctx, tagOf(presentAgent(actor, await stateOf(em, agent), () => null)));
}

async function answerWith(
  { calledAddresses }: Pick<AppDeps, 'calledAddresses'>,
  actor: Actor,
  state: AgentState,
): Promise<EndpointResponse> {
  const body = presentAgent(actor, state, await calledAddresses.refusalsOfAgents());
  return { status: 200, body, headers: { ETag: tagOf(body) } };
}
