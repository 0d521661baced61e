/** Skills of an agent. They need the permission to change the agent, and each change updates the agent. */
import { v7 as uuidv7 } from 'uuid';

import { AgentSkill } from '../../db/entities/agent-skill.ts';
import { listedColumns } from '../../db/large-fields.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { KeysetPage } from '../../db/sql.ts';
import { notFound } from '../errors.ts';
import type { SkillFields } from './agent-service.ts';

/** A skill in a list: large fields are null and named in `omitted`. */
export type ListedSkill = AgentSkill & { omitted: string[] };

/** In order of creation, after the id `after`, at most `limit`. */
export async function listSkills(em: EntityManager, agent: Agent, page: KeysetPage): Promise<ListedSkill[]> {
  const arrays = ['tags', 'examples', 'input_modes', 'output_modes'].map((name) => ({
    name,
    column: `s.${name}`,
    select: `to_json(s.${name})`,
  }));
  return em.execute<ListedSkill[]>(
    `select s.id, s.agent_id, s.name,
            ${listedColumns([{ name: 'description', column: 's.description' }, ...arrays])}
       from agent_skill s
      where s.agent_id = ? and s.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
      order by s.id limit ?`,
    [agent.id, page.after ?? null, page.limit],
  );
}

export async function getSkill(em: EntityManager, agent: Agent, id: string): Promise<AgentSkill> {
  const skill = await em.findOne(AgentSkill, { id, agent_id: agent.id });
  if (skill === null) throw notFound('skill');
  return skill;
}

export async function addSkill(em: EntityManager, agent: Agent, fields: SkillFields): Promise<AgentSkill> {
  const skill = em.create(AgentSkill, { ...fields, id: uuidv7(), agent_id: agent.id });
  em.persist(skill);
  agent.updated_at = new Date();
  await em.flush();
  return skill;
}

export async function updateSkill(
  em: EntityManager,
  agent: Agent,
  skill: AgentSkill,
  change: Partial<SkillFields>,
): Promise<AgentSkill> {
  Object.assign(skill, change);
  agent.updated_at = new Date();
  await em.flush();
  return skill;
}

export async function deleteSkill(em: EntityManager, agent: Agent, skill: AgentSkill): Promise<void> {
  em.remove(skill);
  agent.updated_at = new Date();
  await em.flush();
}
