/** Request schemas for agents: docs/interface.md#fields-of-an-agent. Length limits are in characters. */
import * as z from 'zod';

import {
  AGENT_STATUSES,
  AGENT_TYPES,
  AUTHENTICATION_TYPES,
  EXECUTION_TYPES,
} from '../../../contracts/agent-types.ts';
import { agentLimitsPatch, agentLimitsSchema } from '../../../contracts/agent-limits.ts';
import { budgetPatch, budgetSchema } from '../../../contracts/budgets.ts';
import { httpUrl, jsonObject, newOwner, personOrMe, text, uuid } from '../../schemas.ts';

/** Semantic Versioning 2.0.0: the expression that the standard suggests. */
const SEMVER = new RegExp(
  [
    String.raw`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)`,
    String.raw`(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`,
    String.raw`(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?`,
    String.raw`(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`,
  ].join(''),
);

export const semanticVersion = text({ min: 1, max: 50 })
  .refine(
    (value) =>
      SEMVER.test(value) &&
      value
        .split(/[-+]/, 1)
        .join('')
        .split('.')
        .every((part) => Number.isSafeInteger(Number(part))),
    'must be a semantic version such as 1.2.0',
  )
  .meta({ id: 'SemanticVersion', pattern: SEMVER.source });

/**
 * Bounds validation: a long list of invalid elements would give one error each and block the process for
 * seconds.
 */
const MAX_WORDS = 1_000;
/** Upper bound of the setting for the number of skills. */
const MAX_INLINE_SKILLS = 10_000;
const texts = z.array(z.string()).max(MAX_WORDS).nullable().meta({ id: 'Texts' }).optional();
/** Lists filter by these values, and an index entry has a maximum size. */
const words = z
  .array(text({ max: 500 }))
  .max(MAX_WORDS)
  .nullable()
  .meta({ id: 'Words' })
  .optional();
const object = jsonObject.nullish();
const agentName = text({ min: 1, max: 255 });
const agentType = z.enum(AGENT_TYPES);
const visibility = z.enum(['private', 'public']);

/** Optional fields; null means unset. */
const optionalFields = {
  description: z.string().nullish(),
  execution_type: z.enum(EXECUTION_TYPES).nullish(),
  status: z.enum(AGENT_STATUSES).nullish(),
  documentation: z.string().nullish(),
  license: text({ max: 100 }).nullish(),
  repository_url: httpUrl(255).nullish(),
  configuration: object,
  input_schema: object.meta({ description: 'JSON Schema 2020-12.' }),
  output_schema: object.meta({ description: 'JSON Schema 2020-12.' }),
  modalities: words,
  capabilities: words,
  url: httpUrl(255).nullish(),
  provider_name: text({ max: 100 }).nullish(),
  provider_url: httpUrl(255).nullish(),
  authentication_type: z.enum(AUTHENTICATION_TYPES).nullish(),
  authentication_config: object,
  capabilities_streaming: z.boolean().nullish(),
  capabilities_push: z.boolean().nullish(),
  capabilities_history: z.boolean().nullish(),
  tags: words,
  limits: agentLimitsSchema.nullish(),
};

const skillFields = {
  name: text({ min: 1, max: 100 }),
  description: z.string().nullish(),
  tags: texts,
  examples: texts,
  input_modes: texts,
  output_modes: texts,
};

/** `id` and `agent_id` are ignored, so that a skill may be sent back as it was read. */
const inlineSkill = z.strictObject({
  ...skillFields,
  id: z.unknown().optional(),
  agent_id: z.unknown().optional(),
});

export const newAgent = z.object({
  name: agentName,
  type: agentType,
  version: semanticVersion,
  visibility,
  ...optionalFields,
  budget: budgetSchema.nullish(),
  team_id: uuid.nullish().meta({ description: 'The team that it is for; default: the caller.' }),
  skills: z.array(inlineSkill).max(MAX_INLINE_SKILLS).nullish(),
});

/** Merge patch (RFC 7396): null clears a field, objects merge, lists are replaced. */
export const agentPatch = z.object({
  name: agentName.optional(),
  type: agentType.optional(),
  version: semanticVersion.optional(),
  visibility: visibility.optional(),
  ...optionalFields,
  budget: budgetPatch.nullish(),
  team_id: uuid.nullish(),
  owner_id: newOwner,
  limits: agentLimitsPatch.nullish(),
});

export const newVersion = z.object({
  version: semanticVersion,
  configuration: object,
  input_schema: object,
  output_schema: object,
  changelog: z.string().nullish(),
});

export const versionPatch = newVersion.omit({ version: true });

export const newSkill = z.object(skillFields);
export const skillPatch = z.object({ ...skillFields, name: skillFields.name.optional() });

export const agentFilters = {
  type: z.enum(AGENT_TYPES).optional(),
  status: z.enum(AGENT_STATUSES).optional(),
  visibility: visibility.optional(),
  owner_id: personOrMe.optional(),
  team_id: uuid.optional(),
  capability: z.string().optional(),
  modality: z.string().optional(),
  tag: z.string().optional(),
  q: z.string().max(255).optional().meta({ description: 'Text in the name or description.' }),
  name: z.string().optional(),
  version: z.string().optional().meta({ description: 'The current version.' }),
};
