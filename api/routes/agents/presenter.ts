/** Converts agents, versions and skills to JSON. Nothing else does. */
import * as z from 'zod';

import type { ConfigurationWarning } from '../../../contracts/agent-configuration.ts';
import { agentLimitsSchema, CIRCUIT_STATES } from '../../../contracts/agent-limits.ts';
import { budgetSchema } from '../../../contracts/budgets.ts';
import { AGENT_STATUSES, displayOf } from '../../../contracts/agent-types.ts';
import { SOURCE_KINDS } from '../../../contracts/source-kinds.ts';
import type { AgentSource } from '../../../db/entities/agent.ts';
import type { AgentSkill } from '../../../db/entities/agent-skill.ts';
import type { AgentVersion } from '../../../db/entities/agent-version.ts';
import type { ListedSkill } from '../../../domain/registry/agent-skills.ts';
import type { ListedVersion } from '../../../domain/registry/agent-versions.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { mayChangeAgent } from '../../../domain/registry/agent-policy.ts';
import { AGENT_ACTIONS, agentActions } from '../../../domain/registry/agent-rights.ts';
import { agentWarnings, type RefusalOfAddress } from '../../../domain/registry/agent-warnings.ts';
import type { Circuit } from '../../../domain/registry/agent-turns.ts';
import type { AgentState } from '../../../domain/registry/agent-service.ts';
import type { AgentRow, ListedAgent } from '../../../domain/registry/agent-lists.ts';
import { publishedVersion, type VersionState } from '../../../domain/registry/choose-version.ts';
import { listedRecord, presentListed } from '../../listed.ts';
import { personName } from '../../person-names.ts';
import { jsonObject, provenanceRecord, timestamp, uuid } from '../../schemas.ts';
import { optionalTime, time } from '../../times.ts';

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
    published_at: timestamp.nullable(),
    created_by: z.string().meta({ description: 'Id of the user.' }),
    changelog: textOrNull,
    status: z.enum(['draft', 'published', 'deprecated']),
    input_schema: jsonObject,
    output_schema: jsonObject,
  })
  .meta({ id: 'AgentVersion' });

const versionSummary = versionRecord
  .pick({ version: true, status: true, created_at: true, published_at: true })
  .meta({ id: 'AgentVersionSummary' });

export const listedVersion = listedRecord(
  versionRecord,
  { configuration: true, input_schema: true, output_schema: true, changelog: true },
  { id: 'ListedAgentVersion', variantOf: 'AgentVersion' },
);

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

export const listedSkill = listedRecord(
  skillRecord,
  { description: true, tags: true, examples: true, input_modes: true, output_modes: true },
  { id: 'ListedAgentSkill', variantOf: 'AgentSkill' },
);

const circuitRecord = z
  .object({
    state: z.enum(CIRCUIT_STATES),
    since: timestamp,
    failures: z.int().meta({ description: 'Since the last success.' }),
    trial_at: timestamp.nullable().meta({ description: 'When an open circuit lets a call try the agent.' }),
  })
  .meta({
    id: 'Circuit',
    description: 'The circuit breaker of an agent that has one. Lists leave it out.',
  });

const sourceRecord = z
  .object({
    from: z.enum(SOURCE_KINDS),
    url: z.string(),
    select: z.string(),
    imported_at: timestamp,
    refreshed_at: timestamp.nullable(),
  })
  .meta({ id: 'AgentSource' });

export const checkRecord = z
  .object({
    status: z.enum(['ok', 'failed']),
    error: textOrNull.meta({ description: 'The kind of failure, such as `communication`.' }),
    detail: z.string(),
    latency_ms: z.number().nullable(),
    checked_at: timestamp,
  })
  .meta({ id: 'AgentCheck' });

export const agentRecord = z
  .object({
    id: uuid,
    name: z.string(),
    description: textOrNull,
    type: z.string(),
    execution_type: textOrNull,
    status: z.enum(AGENT_STATUSES),
    version: z
      .string()
      .meta({ description: 'The current version, to which `configuration` and the schemas belong.' }),
    published_version: textOrNull.meta({
      description: 'The highest published version, which invocations use unless they name a version.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
    last_used: timestamp.nullable(),
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
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
    budget: budgetSchema.nullable(),
    limits: agentLimitsSchema.nullable(),
    circuit: circuitRecord.optional(),
    provenance: provenanceRecord.nullable(),
    source: sourceRecord.nullable().meta({ description: 'Where the agent was imported from.' }),
    last_check: checkRecord
      .nullable()
      .meta({ description: "The last check of the agent's counterpart; for its owner and admins." }),
    versions: z.array(z.union([listedVersion, versionRecord])).meta({
      description:
        'Newest first. Versions have `omitted` only if the agent predates AGENT_MAX_BYTES ' +
        'and has more than 32 MiB of versions.',
    }),
    skills: z.array(skillRecord),
    display_type: z.string(),
    display_name: z.string(),
    can: z.array(z.enum(AGENT_ACTIONS)).meta({
      description:
        'What the caller may do with the agent. `publish` means publishing to the marketplace. ' +
        '`delete` is possible once no active run uses the agent.',
    }),
    warnings: z.array(z.object({ pointer: z.string(), message: z.string() })).meta({
      description:
        'Parts of `configuration` that have no effect, or that will fail when the agent is invoked, and a ' +
        'name that another agent of the same owner has.',
    }),
  })
  .meta({ id: 'Agent' });

/** An agent in a list. */
export const listedAgent = listedRecord(
  agentRecord.extend({
    versions: z
      .array(versionSummary)
      .meta({ description: 'Newest first. Get a single version for its content.' }),
  }),
  {
    description: true,
    documentation: true,
    configuration: true,
    input_schema: true,
    output_schema: true,
    authentication_config: true,
    modalities: true,
    capabilities: true,
    tags: true,
    skills: true,
    warnings: true,
  },
  { id: 'ListedAgent', variantOf: 'Agent' },
);

export function presentAgent(
  actor: Actor,
  { agent, versions, skills, warnings, circuit }: AgentState,
  refusalOf: RefusalOfAddress,
): Record<string, unknown> {
  return {
    ...presentFields(actor, agent, versions, skills, agentWarnings(actor, agent, warnings, refusalOf)),
    ...(circuit ? { circuit: presentCircuit(circuit) } : {}),
    versions: versions.map(presentStateVersion),
  };
}

function presentStateVersion(
  version: AgentState['versions'][number],
): z.input<typeof versionRecord> | Record<string, unknown> {
  return 'omitted' in version ? presentListedVersion(version) : presentVersion(version);
}

export function presentListedAgent(
  actor: Actor,
  { omitted, versions, skills, warnings, ...agent }: ListedAgent,
  refusalOf: RefusalOfAddress,
): Record<string, unknown> {
  const summaries = versions.map(({ version, status, created_at, published_at }) => ({
    version,
    status,
    created_at: time(created_at),
    published_at: optionalTime(published_at),
  }));
  const all = agentWarnings(actor, agent, warnings, refusalOf);
  // authentication_config was not loaded, so its references cannot be checked.
  const known = omitted?.includes('authentication_config')
    ? all.filter(({ pointer }) => !pointer.startsWith('/authentication_config/'))
    : all;
  const fields = presentFields(actor, agent, versions, skills, known);
  return presentListed<typeof agentRecord>({ ...fields, versions: summaries }, omitted);
}

function presentFields(
  actor: Actor,
  agent: AgentRow,
  versions: readonly VersionState[],
  skills: readonly AgentSkill[] | null,
  warnings: readonly ConfigurationWarning[],
): Omit<z.input<typeof agentRecord>, 'versions'> {
  const display = displayOf(agent.type);
  return {
    id: agent.id,
    name: agent.name,
    description: agent.description ?? null,
    type: agent.type,
    execution_type: agent.execution_type ?? null,
    status: agent.status,
    version: agent.version,
    published_version: publishedVersion(versions),
    created_at: time(agent.created_at),
    updated_at: time(agent.updated_at),
    last_used: optionalTime(agent.last_used),
    owner_id: agent.owner_id,
    team_id: agent.team_id ?? null,
    visibility: agent.visibility,
    documentation: agent.documentation ?? null,
    license: agent.license ?? null,
    repository_url: agent.repository_url ?? null,
    configuration: agent.configuration ?? null,
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
    budget: agent.budget ?? null,
    limits: agent.limits ?? null,
    provenance: agent.provenance ?? null,
    source: sourceOf(agent.source),
    last_check: mayChangeAgent(actor, agent) ? (agent.last_check ?? null) : null,
    skills: (skills ?? []).map(presentSkill),
    display_type: display.type,
    display_name: display.name,
    can: agentActions(actor, agent, versions),
    warnings: [...warnings],
  };
}

function presentCircuit({ state, since, failures, trial_at }: Circuit): z.input<typeof circuitRecord> {
  return { state, since: time(since), failures, trial_at: optionalTime(trial_at) };
}

export function presentVersion(version: AgentVersion): z.input<typeof versionRecord> {
  const { configuration, input_schema, output_schema } = version;
  return {
    ...presentVersionSummary(version),
    configuration,
    changelog: version.changelog ?? null,
    input_schema,
    output_schema,
  };
}

export function presentListedVersion(version: ListedVersion): Record<string, unknown> {
  const { configuration, input_schema, output_schema, changelog, omitted } = version;
  return presentListed<typeof versionRecord>(
    { ...presentVersionSummary(version), configuration, changelog, input_schema, output_schema },
    omitted,
  );
}

function presentVersionSummary(from: AgentVersion | ListedVersion) {
  const { id, agent_id, version, status, created_by } = from;
  return {
    id,
    agent_id,
    version,
    created_at: time(from.created_at),
    published_at: optionalTime(from.published_at),
    created_by,
    status,
  };
}

export function presentListedSkill({ omitted, ...skill }: ListedSkill): Record<string, unknown> {
  return presentListed<typeof skillRecord>(presentSkill(skill), omitted);
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

/** Without the digests, which only a refresh compares. */
function sourceOf(source: AgentSource | null | undefined): z.input<typeof sourceRecord> | null {
  if (!source) return null;
  const { digests: _, ...shown } = source;
  return shown;
}
