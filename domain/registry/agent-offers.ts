/** Agents that come from elsewhere: importing what a source offers, and what has changed there since. */
import { createHash } from 'node:crypto';

import { canonicalJson } from '../../contracts/canonical-json.ts';
import { AgentSkill } from '../../db/entities/agent-skill.ts';
import type { Agent, AgentSource } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../auth/actor.ts';
import type { SourceKind } from '../../contracts/source-kinds.ts';
import type { PinnedAgent, SourceOffer } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { createAgent, updateAgent, type AgentFields, type AgentState } from './agent-service.ts';

/** Parts of an offer that a refresh compares. The name is the owner's, because definitions use it. */
const COMPARED = [
  'description',
  'url',
  'configuration',
  'input_schema',
  'output_schema',
  'capabilities_streaming',
  'provider_name',
  'skills',
] as const;
type Compared = (typeof COMPARED)[number];

/** How the source is read: with the credentials that the agents get. */
export interface SourceAccess {
  authentication_type: string | null;
  authentication_config: Record<string, unknown> | null;
}

/** The caller of a source, as if it were an agent of the user. */
export function readerOf(ownerId: string, url: string, access: SourceAccess): PinnedAgent {
  return {
    id: '',
    owner_id: ownerId,
    name: 'The source',
    version: '',
    type: 'api',
    execution_type: null,
    url,
    configuration: {},
    input_schema: {},
    output_schema: {},
    ...access,
    capabilities_streaming: false,
  };
}

export interface NewImport extends SourceAccess {
  from: SourceKind;
  url: string;
  version: string;
  visibility: 'private' | 'public';
  /** Whether schemas of answers are taken over, and compared later. */
  outputs: boolean;
}

/** Other imports of the user from there wait until the transaction ends, so none makes the same agents. */
export async function lockImports(
  em: EntityManager,
  ownerId: string,
  { from, url }: Pick<NewImport, 'from' | 'url'>,
): Promise<void> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    JSON.stringify(['import', ownerId, from, url]),
  ]);
}

/** The user's agents that were imported from there before, by what they were selected by. */
export async function findImported(
  em: EntityManager,
  ownerId: string,
  { from, url }: Pick<NewImport, 'from' | 'url'>,
): Promise<Map<string, string>> {
  const rows = await em.execute<{ id: string; selected: string }[]>(
    `select id, source ->> 'select' as selected from agent
      where owner_id = ? and source ->> 'from' = ? and source ->> 'url' = ? order by id limit 1000`,
    [ownerId, from, url],
  );
  return new Map(rows.map(({ id, selected }) => [selected, id]));
}

export async function importOffer(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  offer: SourceOffer,
  { from, url, version, visibility, outputs, authentication_type, authentication_config }: NewImport,
): Promise<AgentState> {
  const { fields, skills } = offer;
  const source: AgentSource = {
    from,
    url,
    select: offer.select,
    digests: digestsOf(offer, outputs),
    imported_at: new Date().toISOString(),
    refreshed_at: null,
  };
  const unset = {
    documentation: null,
    license: null,
    repository_url: null,
    modalities: null,
    capabilities: null,
    provider_url: null,
    tags: null,
    capabilities_push: false,
    capabilities_history: false,
    budget: null,
    limits: null,
  };
  const agent: AgentFields & { source: AgentSource } = {
    ...unset,
    ...fields,
    status: 'active',
    version,
    visibility,
    authentication_type,
    authentication_config,
    source,
  };
  return createAgent(em, encryption, actor, agent, skills);
}

export interface SourceChange {
  field: Compared;
  /** As the agent has it, which its owner may have changed. */
  before: unknown;
  after: unknown;
}

/** What the source has changed since the import or the last refresh that was applied. */
export function changesAt(state: AgentState, source: AgentSource, offer: SourceOffer): SourceChange[] {
  const digests = digestsOf(offer, comparesOutputs(source));
  return COMPARED.filter((field) => digests[field] !== source.digests[field]).map((field) => ({
    field,
    before: field === 'skills' ? state.skills.map(({ name }) => name) : (state.agent[field] ?? null),
    after: field === 'skills' ? offer.skills.map(({ name }) => name) : (offer.fields[field] ?? null),
  }));
}

export function comparesOutputs({ digests }: AgentSource): boolean {
  return Object.hasOwn(digests, 'output_schema');
}

/** A change of configuration or schema becomes a new draft, `version`; the rest belongs to the agent. */
export async function applyChanges(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  agent: Agent & { source: AgentSource },
  { offer, changes, version }: { offer: SourceOffer; changes: readonly SourceChange[]; version: string },
): Promise<AgentState> {
  const has = (field: Compared): boolean => changes.some((change) => change.field === field);
  const { fields, skills } = offer;
  const drafts = has('configuration') || has('input_schema') || has('output_schema');
  const digests = digestsOf(offer, comparesOutputs(agent.source));
  agent.source = { ...agent.source, digests, refreshed_at: new Date().toISOString() };
  if (has('skills')) {
    await em.nativeDelete(AgentSkill, { agent_id: agent.id });
    for (const skill of skills)
      em.persist(em.create(AgentSkill, { ...skill, id: uuidv7(), agent_id: agent.id }));
  }
  return updateAgent(em, encryption, actor, agent, {
    ...(has('description') ? { description: fields.description } : {}),
    ...(has('url') ? { url: fields.url } : {}),
    ...(has('capabilities_streaming') ? { capabilities_streaming: fields.capabilities_streaming } : {}),
    ...(has('provider_name') ? { provider_name: fields.provider_name } : {}),
    ...(drafts
      ? {
          version,
          content: (before) => ({
            ...before,
            ...(has('configuration')
              ? { configuration: { ...before.configuration, ...fields.configuration } }
              : {}),
            ...(has('input_schema') ? { input_schema: fields.input_schema } : {}),
            ...(has('output_schema') ? { output_schema: fields.output_schema } : {}),
          }),
        }
      : {}),
  });
}

/** Digests in place of values: what a source sends may hold credentials, and is only compared. */
function digestsOf({ fields, skills }: SourceOffer, outputs: boolean): Record<string, string> {
  const all = { ...fields, skills };
  return Object.fromEntries(
    COMPARED.filter((field) => outputs || field !== 'output_schema').map((field) => [
      field,
      createHash('sha256')
        .update(canonicalJson(all[field] ?? null))
        .digest('hex'),
    ]),
  );
}
