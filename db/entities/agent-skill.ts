import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

/** A skill of an agent (docs/interface.md#agents). */
export const AgentSkill = defineEntity({
  name: 'AgentSkill',
  tableName: 'agent_skill',
  properties: {
    id: p.uuid().primary(),
    agent_id: p.uuid(),
    name: p.text(),
    description: p.text().nullable(),
    tags: p.array().nullable(),
    examples: p.array().nullable(),
    input_modes: p.array().nullable(),
    output_modes: p.array().nullable(),
  },
});
export type AgentSkill = InferEntity<typeof AgentSkill>;
