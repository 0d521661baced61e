/** Tokens of external workers: docs/external-workers.md#tokens. */
import * as z from 'zod';

import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import {
  createWorkerToken,
  deleteWorkerToken,
  listWorkerTokens,
} from '../../../domain/jobs/worker-tokens.ts';
import { getAgent, getAgentForChange } from '../../../domain/registry/agent-service.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { forbidden } from '../../../domain/errors.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, instant, pageQuery, text, uuid } from '../../schemas.ts';
import { newTokenRecord, presentToken, tokenRecord } from './schemas.ts';

const TAGS = ['external workers'];
const MAX_AGENTS_OF_TOKEN = 100;

export function workerTokenEndpoints({ env, knownWorkers }: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/agents/{id}/worker-tokens',
      operationId: 'listWorkerTokens',
      summary: "List the tokens of an agent's external workers, oldest first",
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(tokenRecord) },
      handler: async (c) => {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        if (!mayChangeAgent(c.actor, agent))
          throw forbidden('Only the owner and admins may see the tokens of this agent.');
        const { items, headers } = await readPage(c, byId, (page) => listWorkerTokens(c.em, agent.id, page));
        return { status: 200, body: items.map(presentToken), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents/{id}/worker-tokens',
      operationId: 'createWorkerToken',
      scope: 'person',
      summary: 'Create a token for external workers of an agent',
      description:
        'It takes and ends jobs of its agents, and nothing else. Requires a log-in at most 5 minutes ago, ' +
        'else 401 `login_too_old`. It ends at `expires_at` (default: after `CLIENT_MAX_DAYS`), when its ' +
        "maker's password is changed or reset, and when its maker is disabled. While it waits for a second " +
        'factor of its maker (`awaits_second_factor`), its requests are 403 `second_factor_required`.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: z.object({
        name: text({ min: 1, max: 100 }),
        expires_at: instant.optional(),
        agent_ids: z
          .array(uuid)
          .max(MAX_AGENTS_OF_TOKEN)
          .optional()
          .meta({ description: 'Further agents that it serves.' }),
      }),
      record: tokenRecord,
      responses: { 201: newTokenRecord },
      errors: [403, 409],
      idempotent: false,
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        checkFreshLogin(claimsOf(c.ctx));
        const { name, expires_at, agent_ids: more = [] } = c.body;
        const { token, record } = await createWorkerToken(c.em, c.actor, {
          name,
          agentIds: [agent.id, ...more.map((id) => id.toLowerCase())],
          expiresAt: expires_at === undefined ? undefined : new Date(expires_at),
          maxDays: env.CLIENT_MAX_DAYS,
          secondFactorRoles: env.SECOND_FACTOR_ROLES,
        });
        return {
          status: 201,
          body: { ...presentToken(record), token },
          headers: { 'Cache-Control': 'no-store' },
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}/worker-tokens/{token_id}',
      operationId: 'deleteWorkerToken',
      scope: 'person',
      summary: 'End a token of external workers for an agent, at once',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: z.object({ id: uuid, token_id: uuid }),
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        checkPerson(claimsOf(c.ctx));
        await deleteWorkerToken(c.em, agent.id, c.params.token_id);
        c.afterCommit(async () => knownWorkers.clear());
        return { status: 204 };
      },
    }),
  ];
}
