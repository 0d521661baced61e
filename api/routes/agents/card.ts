/** The agent card, with a fixed set of keys: docs/interface.md#agent-card. */
import * as z from 'zod';

import type { AgentState } from '../../../domain/registry/agent-service.ts';
import { jsonObject } from '../../schemas.ts';

const texts = z.array(z.string());

export const agentCard = z
  .object({
    name: z.string(),
    description: z.string(),
    url: z.string(),
    provider: z.object({ name: z.string(), url: z.string().nullable() }).nullable(),
    version: z.string(),
    documentationUrl: z.string().nullable(),
    capabilities: z.object({
      streaming: z.boolean(),
      pushNotifications: z.boolean(),
      stateTransitionHistory: z.boolean(),
    }),
    authentication: z.object({ type: z.string(), config: jsonObject.nullable() }).nullable(),
    defaultInputModes: texts,
    defaultOutputModes: texts,
    skills: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        tags: texts,
        examples: texts,
        inputModes: texts,
        outputModes: texts,
      }),
    ),
  })
  .meta({ id: 'AgentCard' });

export function presentCard({ agent, skills }: AgentState, baseUrl: string): z.input<typeof agentCard> {
  return {
    name: agent.name,
    description: agent.description ?? '',
    url: agent.url ?? `${baseUrl}/api/v1/a2a/${agent.id}`,
    provider: agent.provider_name ? { name: agent.provider_name, url: agent.provider_url ?? null } : null,
    version: agent.version,
    documentationUrl: agent.documentation ? `${baseUrl}/docs/agents/${agent.id}` : null,
    capabilities: {
      streaming: agent.capabilities_streaming,
      pushNotifications: agent.capabilities_push,
      stateTransitionHistory: agent.capabilities_history,
    },
    authentication: agent.authentication_type
      ? { type: agent.authentication_type, config: agent.authentication_config ?? null }
      : null,
    defaultInputModes: agent.modalities ?? [],
    defaultOutputModes: agent.modalities ?? [],
    skills: skills.map((skill) => ({
      id: skill.id,
      name: skill.name,
      description: skill.description ?? '',
      tags: skill.tags ?? [],
      examples: skill.examples ?? [],
      inputModes: skill.input_modes ?? [],
      outputModes: skill.output_modes ?? [],
    })),
  };
}
