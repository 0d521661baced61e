/** Agents as A2A reaches them: every one that the caller may see. */
import { isRecord } from '../../contracts/is-record.ts';
import { AgentSkill } from '../../db/entities/agent-skill.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { notFound } from '../errors.ts';
import { getAgent } from '../registry/agent-service.ts';
import { allModes, type Modes } from './modes.ts';

export interface A2AAgent {
  agent: Agent;
  skills: AgentSkill[];
  modes: Modes;
  extensions: AgentExtension[];
}

/** `configuration.a2a.extensions`: declared on the card; a required one must be named by every client. */
export interface AgentExtension {
  uri: string;
  description: string;
  required: boolean;
  params?: Record<string, unknown>;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** 404 for what is not there or may not be seen. */
export async function findA2AAgent(em: EntityManager, actor: Actor, id: string): Promise<A2AAgent> {
  if (!UUID.test(id)) throw notFound('agent');
  const agent = await getAgent(em, actor, id.toLowerCase());
  const skills = await em.find(AgentSkill, { agent_id: agent.id }, { orderBy: { id: 'asc' } });
  const modes = allModes({
    modalities: agent.modalities ?? null,
    skills: skills.map(({ input_modes, output_modes }) => ({ input_modes: input_modes ?? null, output_modes: output_modes ?? null })),
  });
  return { agent, skills, modes, extensions: extensionsOf(agent) };
}

function extensionsOf({ configuration }: Agent): AgentExtension[] {
  const a2a = configuration?.['a2a'];
  const listed: unknown = isRecord(a2a) ? a2a['extensions'] : undefined;
  if (!Array.isArray(listed)) return [];
  return listed.filter(isRecord).flatMap(({ uri, description, required, params }) =>
    typeof uri === 'string' && uri !== ''
      ? [{ uri, description: typeof description === 'string' ? description : '', required: required === true, ...(isRecord(params) ? { params } : {}) }]
      : []);
}
