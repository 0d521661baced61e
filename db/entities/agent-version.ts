import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

export type AgentVersionStatus = 'draft' | 'published' | 'deprecated';

/**
 * docs/interface.md#versions-of-an-agent. Configuration and schemas can change only while the version is a
 * draft.
 */
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
    published_at: p.datetime().nullable(),
  },
});
export type AgentVersion = InferEntity<typeof AgentVersion>;
