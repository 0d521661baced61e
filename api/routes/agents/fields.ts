/** Converts validated bodies to the fields of domain functions. */
import type * as z from 'zod';

import type { AgentFields, AgentPatch, SkillFields } from '../../../domain/registry/agent-service.ts';
import type { Agent } from '../../../db/entities/agent.ts';
import type { VersionContent } from '../../../domain/registry/agent-versions.ts';
import { mergedBudget, mergedLimits } from '../../merged-fields.ts';
import { mergePatch } from '../../conditional.ts';
import { jsonObject } from '../../schemas.ts';
import type { agentPatch, newAgent, newSkill, newVersion, skillPatch } from './schemas.ts';

type ObjectPatch = Record<string, unknown> | null | undefined;

export function fieldsOfNew(body: z.output<typeof newAgent>): AgentFields {
  const { skills: _, ...given } = body;
  return {
    ...given,
    description: given.description ?? null,
    execution_type: given.execution_type ?? null,
    status: given.status ?? 'active',
    documentation: given.documentation ?? null,
    license: given.license ?? null,
    repository_url: given.repository_url ?? null,
    configuration: given.configuration ?? null,
    input_schema: given.input_schema ?? null,
    output_schema: given.output_schema ?? null,
    modalities: given.modalities ?? null,
    capabilities: given.capabilities ?? null,
    url: given.url ?? null,
    provider_name: given.provider_name ?? null,
    provider_url: given.provider_url ?? null,
    authentication_type: given.authentication_type ?? null,
    authentication_config: given.authentication_config ?? null,
    capabilities_streaming: given.capabilities_streaming ?? false,
    capabilities_push: given.capabilities_push ?? false,
    capabilities_history: given.capabilities_history ?? false,
    tags: given.tags ?? null,
    budget: given.budget ?? null,
    limits: given.limits ?? null,
  };
}

/** Values that null stands for, in fields whose column is not nullable. */
const CLEARED: Partial<AgentFields> = {
  status: 'active',
  capabilities_streaming: false,
  capabilities_push: false,
  capabilities_history: false,
};

export function patchOf(body: z.output<typeof agentPatch>, agent: Agent): AgentPatch {
  const { configuration, input_schema, output_schema, authentication_config, budget, limits, ...more } = body;
  // A move has been made before.
  const { owner_id: _, ...given } = more;
  const fields = Object.fromEntries(
    Object.entries({ ...given }).flatMap(([key, value]) => {
      if (value === undefined) return [];
      return [[key, value ?? CLEARED[key as keyof AgentFields] ?? null]];
    }),
  );
  return {
    ...fields,
    ...(budget === undefined ? {} : { budget: mergedBudget(agent.budget, budget) }),
    ...(limits === undefined ? {} : { limits: mergedLimits(agent.limits, limits) }),
    ...(authentication_config === undefined
      ? {}
      : { authentication_config: merged(agent.authentication_config ?? null, authentication_config) }),
    ...(configuration === undefined && input_schema === undefined && output_schema === undefined
      ? {}
      : { content: contentPatch({ configuration, input_schema, output_schema }) }),
  };
}

/** Merges the given parts; null clears a part. */
export function contentPatch(patch: {
  configuration?: ObjectPatch;
  input_schema?: ObjectPatch;
  output_schema?: ObjectPatch;
}): (before: VersionContent) => VersionContent {
  return (before) => ({
    configuration: merged(before.configuration, patch.configuration),
    input_schema: merged(before.input_schema, patch.input_schema),
    output_schema: merged(before.output_schema, patch.output_schema),
  });
}

/** Content of a new version: given parts replace those of the current version. */
export function contentOfNew(body: z.output<typeof newVersion>, current: VersionContent): VersionContent {
  const part = (given: ObjectPatch, current: Record<string, unknown> | null) =>
    given === undefined ? current : given;
  return {
    configuration: part(body.configuration, current.configuration),
    input_schema: part(body.input_schema, current.input_schema),
    output_schema: part(body.output_schema, current.output_schema),
  };
}

export function skillOfNew(body: z.output<typeof newSkill>): SkillFields {
  return {
    name: body.name,
    description: body.description ?? null,
    tags: body.tags ?? null,
    examples: body.examples ?? null,
    input_modes: body.input_modes ?? null,
    output_modes: body.output_modes ?? null,
  };
}

export function skillChange(body: z.output<typeof skillPatch>): Partial<SkillFields> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function merged(current: Record<string, unknown> | null, patch: ObjectPatch): Record<string, unknown> | null {
  if (patch === undefined) return current;
  return patch === null ? null : jsonObject.parse(mergePatch(current ?? {}, patch));
}
