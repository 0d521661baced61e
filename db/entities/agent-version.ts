import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

export type AgentVersionStatus = 'draft' | 'published' | 'deprecated';

/** interface-spec 2.2. Its three objects change while it is a draft only. */
export const AgentVersion = defineEntity({
  name: 'AgentVersion',
  tableName: 'agent_version',
  properties: {
    id: p.uuid().primary(),
    agent_id: p.uuid(),
    version: p.text(),
    configuration: p.json<Record<string, unknown>>().columnType('json'),
    input_schema: p.json<Record<string, unknown>>().columnType('json'),
    output_schema: p.json<Record<string, unknown>>().columnType('json'),
    status: p.text().$type<AgentVersionStatus>(),
    changelog: p.text().nullable(),
    created_by: p.uuid(),
    created_at: p.datetime(),
  },
});
export type AgentVersion = InferEntity<typeof AgentVersion>;
