/** A version that gets a share of an agent's calls, and the figures of its versions: docs/canaries.md. */
import * as z from 'zod';

import { forbidden } from '../../../domain/errors.ts';
import {
  readCanary,
  removeCanary,
  setCanary,
  versionCalls,
  type CanaryRow,
} from '../../../domain/registry/canary.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { getAgent, getAgentForChange } from '../../../domain/registry/agent-service.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { idParams, text, timestamp } from '../../schemas.ts';

const TAGS = ['agents'];
const MAX_HOURS = 168;

const canaryRecord = z
  .object({
    version: z.string(),
    percent: z.number(),
    since: timestamp,
    status: z
      .enum(['draft', 'published', 'deprecated'])
      .nullable()
      .meta({ description: 'Of the version, which takes calls only while it is published.' }),
  })
  .meta({ id: 'AgentCanary' });

const statsRecord = z
  .object({
    canary: canaryRecord.nullable(),
    versions: z.array(
      z
        .object({
          version: z.string(),
          calls: z.int(),
          faults: z.int(),
          latency_p50_ms: z.number().nullable().meta({ description: 'Of the calls that completed.' }),
          latency_p95_ms: z.number().nullable(),
          cost_usd: z.number().nullable().meta({ description: 'Null: unknown.' }),
          input_tokens: z.number(),
          output_tokens: z.number(),
        })
        .meta({ id: 'AgentVersionStats' }),
    ),
  })
  .meta({ id: 'AgentStats' });

export function canaryEndpoints(): Endpoint[] {
  return [statsEndpoint(), ...changeEndpoints()];
}

function statsEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/agents/{id}/stats',
    operationId: 'getAgentStats',
    summary: 'Get what the calls of each version of an agent have come to, and its canary',
    tags: TAGS,
    role: 'builder',
    inTeams: true,
    params: idParams,
    query: z.object({
      hours: z.coerce
        .number()
        .int()
        .min(1)
        .max(MAX_HOURS)
        .default(24)
        .meta({ description: 'Of calls that began in the last hours.' }),
    }),
    responses: { 200: statsRecord },
    errors: [403],
    handler: async (c) => {
      const agent = await getAgent(c.em, c.actor, c.params.id);
      if (!mayChangeAgent(c.actor, agent))
        throw forbidden('Only the owner and admins may see the figures of this agent.');
      const canary = await readCanary(c.em, agent.id);
      const versions = await versionCalls(c.em, agent.id, c.query.hours);
      return { status: 200, body: { canary: canary && presentCanary(canary), versions } };
    },
  });
}

function changeEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'PUT',
      path: '/agents/{id}/canary',
      operationId: 'setAgentCanary',
      summary: "Give a version a share of the agent's calls that name no version",
      description: 'It takes calls while it is published. The others go as if it were not published.',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: z.object({
        version: text({ min: 1, max: 50 }),
        percent: z.number().min(0.01).max(100),
      }),
      responses: { 200: canaryRecord },
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        const body = presentCanary(await setCanary(c.em, agent.id, c.body));
        return { status: 200, body };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}/canary',
      operationId: 'deleteAgentCanary',
      summary: "End an agent's canary: the highest published version gets all calls",
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        await removeCanary(c.em, agent.id);
        return { status: 204 };
      },
    }),
  ];
}

function presentCanary({ version, percent, since, status }: CanaryRow) {
  return { version, percent, since: new Date(since).toISOString(), status };
}
