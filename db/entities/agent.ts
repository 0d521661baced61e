import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { AgentLimits } from '../../contracts/agent-limits.ts';
import type { Budget } from '../../contracts/budgets.ts';
import type { SourceKind } from '../../contracts/source-kinds.ts';
import type { Provenance } from './marketplace-item.ts';
import type { Visibility } from './workflow.ts';

export type AgentStatus = 'active' | 'inactive' | 'deprecated';
type JsonObject = Record<string, unknown>;

/** Where an agent was imported from. */
export interface AgentSource {
  from: SourceKind;
  url: string;
  /** Names it at the source. */
  select: string;
  /** Of the parts of the offer, as of the import or the last refresh that was applied. */
  digests: Record<string, string>;
  imported_at: string;
  refreshed_at: string | null;
}

export interface LastCheck {
  status: 'ok' | 'failed';
  /** The kind of failure; null if there is none. */
  error: string | null;
  /** A sentence for people. */
  detail: string;
  latency_ms: number | null;
  checked_at: string;
}

/** docs/interface.md#agents. `configuration` and schemas are those of the current version; null if unset. */
export const Agent = defineEntity({
  name: 'Agent',
  tableName: 'agent',
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    description: p.text().nullable(),
    type: p.text(),
    execution_type: p.text().nullable(),
    status: p.text().$type<AgentStatus>(),
    /** The current version. */
    version: p.text(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    last_used: p.datetime().nullable(),
    owner_id: p.uuid(),
    /** The team that holds it, with its owner as a member. */
    team_id: p.uuid().nullable(),
    /** The team, else the owner; the database computes it. */
    holder_id: p.uuid().generated('coalesce(team_id, owner_id) stored'),
    visibility: p.text().$type<Visibility>(),
    documentation: p.text().nullable(),
    license: p.text().nullable(),
    repository_url: p.text().nullable(),
    configuration: p.json<JsonObject>().columnType('json').nullable(),
    input_schema: p.json<JsonObject>().columnType('json').nullable(),
    output_schema: p.json<JsonObject>().columnType('json').nullable(),
    modalities: p.array().nullable(),
    capabilities: p.array().nullable(),
    url: p.text().nullable(),
    provider_name: p.text().nullable(),
    provider_url: p.text().nullable(),
    authentication_type: p.text().nullable(),
    authentication_config: p.json<JsonObject>().columnType('json').nullable(),
    capabilities_streaming: p.boolean(),
    capabilities_push: p.boolean(),
    capabilities_history: p.boolean(),
    tags: p.array().nullable(),
    budget: p.json<Budget>().nullable(),
    limits: p.json<AgentLimits>().nullable(),
    /** Set on copies that were installed from the marketplace. */
    provenance: p.json<Provenance>().nullable(),
    /** Set on agents that were imported from elsewhere. */
    source: p.json<AgentSource>().columnType('json').nullable(),
    last_check: p.json<LastCheck>().columnType('json').nullable(),
  },
});
export type Agent = InferEntity<typeof Agent>;
