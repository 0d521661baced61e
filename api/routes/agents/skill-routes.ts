import * as z from 'zod';

import { getAgent, getAgentForChange } from '../../../domain/registry/agent-service.ts';
import {
  addSkill,
  deleteSkill,
  getSkill,
  listSkills,
  updateSkill,
} from '../../../domain/registry/agent-skills.ts';
import { checkSkillLimit } from '../../../domain/limits.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, pageQuery, uuid } from '../../schemas.ts';
import { skillChange, skillOfNew } from './fields.ts';
import { listedSkill, presentListedSkill, presentSkill, skillRecord } from './presenter.ts';
import { newSkill, skillPatch } from './schemas.ts';

const TAGS = ['agents'];
const skillParams = z.object({ ...idParams.shape, skill_id: uuid });

export function skillEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/agents/{id}/skills',
      operationId: 'listAgentSkills',
      summary: "List an agent's skills, oldest first",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(listedSkill) },
      handler: async (c) => {
        const agent = await getAgent(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listSkills(c.em, agent, page));
        return { status: 200, body: items.map(presentListedSkill), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/agents/{id}/skills',
      operationId: 'createAgentSkill',
      summary: 'Add a skill',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      body: newSkill,
      record: skillRecord,
      responses: { 201: skillRecord },
      errors: [409],
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        const skill = await addSkill(c.em, agent, skillOfNew(c.body));
        await checkSkillLimit(c.em, env, agent.id);
        return {
          status: 201,
          body: presentSkill(skill),
          headers: { Location: `${c.baseUrl}/agents/${agent.id}/skills/${skill.id}` },
        };
      },
    }),
    endpoint({
      method: 'PATCH',
      path: '/agents/{id}/skills/{skill_id}',
      operationId: 'updateAgentSkill',
      summary: 'Update a skill',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: skillParams,
      body: skillPatch,
      record: skillRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: skillRecord },
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        const skill = await getSkill(c.em, agent, c.params.skill_id);
        return {
          status: 200,
          body: presentSkill(await updateSkill(c.em, agent, skill, skillChange(c.body))),
        };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/agents/{id}/skills/{skill_id}',
      operationId: 'deleteAgentSkill',
      summary: 'Delete a skill',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: skillParams,
      responses: { 204: null },
      handler: async (c) => {
        const agent = await getAgentForChange(c.em, c.actor, c.params.id);
        await deleteSkill(c.em, agent, await getSkill(c.em, agent, c.params.skill_id));
        return { status: 204 };
      },
    }),
  ];
}
