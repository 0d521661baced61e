/** The only way from an agent, a version or a skill to JSON. */
import * as z from 'zod';

import { configurationWarnings } from '../../../contracts/agent-configuration.ts';
import { AGENT_STATUSES, displayOf } from '../../../contracts/agent-types.ts';
import type { AgentSkill } from '../../../db/entities/agent-skill.ts';
import type { AgentVersion } from '../../../db/entities/agent-version.ts';
import type { AgentState } from '../../../domain/registry/agent-service.ts';
import { jsonObject, provenanceRecord, timestamp, uuid } from '../../schemas.ts';

const textOrNull = z.string().nullable();
const textsOrNull = z.array(z.string()).nullable();
const objectOrNull = jsonObject.nullable();

export const versionRecord = z
  .object({
    id: uuid,
    agent_id: uuid,
    version: z.string(),
    configuration: jsonObject,
    created_at: timestamp,
    created_by: z.string().meta({ description: 'Id of the user.' }),
    changelog: textOrNull,
    status: z.enum(['draft', 'published', 'deprecated']),
    input_schema: jsonObject,
    output_schema: jsonObject,
  })
  .meta({ id: 'AgentVersion' });

export const skillRecord = z
  .object({
    id: uuid,
    agent_id: uuid,
    name: z.string(),
    description: textOrNull,
    tags: textsOrNull,
    examples: textsOrNull,
    input_modes: textsOrNull,
    output_modes: textsOrNull,
  })
  .meta({ id: 'AgentSkill' });

export const agentRecord = z
  .object({
    id: uuid,
    name: z.string(),
    description: textOrNull,
    type: z.string(),
    execution_type: textOrNull,
    status: z.enum(AGENT_STATUSES),
    version: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
    last_used: timestamp.nullable(),
    owner_id: uuid,
    visibility: z.enum(['private', 'public']),
    documentation: textOrNull,
    license: textOrNull,
    repository_url: textOrNull,
    configuration: objectOrNull,
    input_schema: objectOrNull,
    output_schema: objectOrNull,
    modalities: textsOrNull,
    capabilities: textsOrNull,
    url: textOrNull,
    provider_name: textOrNull,
    provider_url: textOrNull,
    authentication_type: textOrNull,
    authentication_config: objectOrNull,
    capabilities_streaming: z.boolean(),
    capabilities_push: z.boolean(),
    capabilities_history: z.boolean(),
    tags: textsOrNull,
    provenance: provenanceRecord.nullable(),
    versions: z.array(versionRecord),
    skills: z.array(skillRecord),
    display_type: z.string(),
    display_name: z.string(),
    warnings: z
      .array(z.object({ pointer: z.string(), message: z.string() }))
      .meta({ description: 'What in `configuration` has no effect, or will fault when the agent is invoked.' }),
  })
  .meta({ id: 'Agent' });

export function presentAgent({ agent, versions, skills }: AgentState): z.input<typeof agentRecord> {
  const display = displayOf(agent.type);
  const configuration = agent.configuration ?? null;
  const executionType = agent.execution_type ?? null;
  return {
    id: agent.id,
    name: agent.name,
    description: agent.description ?? null,
    type: agent.type,
    execution_type: executionType,
    status: agent.status,
    version: agent.version,
    created_at: agent.created_at.toISOString(),
    updated_at: agent.updated_at.toISOString(),
    last_used: agent.last_used?.toISOString() ?? null,
    owner_id: agent.owner_id,
    visibility: agent.visibility,
    documentation: agent.documentation ?? null,
    license: agent.license ?? null,
    repository_url: agent.repository_url ?? null,
    configuration,
    input_schema: agent.input_schema ?? null,
    output_schema: agent.output_schema ?? null,
    modalities: agent.modalities ?? null,
    capabilities: agent.capabilities ?? null,
    url: agent.url ?? null,
    provider_name: agent.provider_name ?? null,
    provider_url: agent.provider_url ?? null,
    authentication_type: agent.authentication_type ?? null,
    authentication_config: agent.authentication_config ?? null,
    capabilities_streaming: agent.capabilities_streaming,
    capabilities_push: agent.capabilities_push,
    capabilities_history: agent.capabilities_history,
    tags: agent.tags ?? null,
    provenance: agent.provenance ?? null,
    versions: versions.map(presentVersion),
    skills: skills.map(presentSkill),
    display_type: display.type,
    display_name: display.name,
    warnings: configurationWarnings({ type: agent.type, execution_type: executionType, configuration }),
  };
}

export function presentVersion(version: AgentVersion): z.input<typeof versionRecord> {
  const { id, agent_id, status, configuration, input_schema, output_schema, created_by } = version;
  return {
    id,
    agent_id,
    version: version.version,
    configuration,
    created_at: version.created_at.toISOString(),
    created_by,
    changelog: version.changelog ?? null,
    status,
    input_schema,
    output_schema,
  };
}

export function presentSkill(skill: AgentSkill): z.input<typeof skillRecord> {
  const { id, agent_id, name } = skill;
  return {
    id,
    agent_id,
    name,
    description: skill.description ?? null,
    tags: skill.tags ?? null,
    examples: skill.examples ?? null,
    input_modes: skill.input_modes ?? null,
    output_modes: skill.output_modes ?? null,
  };
}
