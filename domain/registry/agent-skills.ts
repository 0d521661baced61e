/** Skills of an agent. Whoever may change the agent may change them; it counts as an update of the agent. */
import { v7 as uuidv7 } from 'uuid';

import { AgentSkill } from '../../db/entities/agent-skill.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { notFound } from '../errors.ts';
import type { SkillFields } from './agent-service.ts';

export async function listSkills(em: EntityManager, agent: Agent, paging: { after?: string | undefined; limit: number }): Promise<AgentSkill[]> {
  return em.find(
    AgentSkill,
    { agent_id: agent.id, ...(paging.after === undefined ? {} : { id: { $gt: paging.after } }) },
    { orderBy: { id: 'asc' }, limit: paging.limit },
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

export async function updateSkill(em: EntityManager, agent: Agent, skill: AgentSkill, change: Partial<SkillFields>): Promise<AgentSkill> {
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
