/** Agents as A2A clients see them: every agent that the caller may read. */
import { isRecord } from '../../contracts/is-record.ts';
import { isUuid } from '../../contracts/uuid.ts';
import type { AgentSkill } from '../../db/entities/agent-skill.ts';
import type { Agent } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { notFound } from '../errors.ts';
import { SERVED_VERSION } from '../registry/choose-version.ts';
import { getAgent } from '../registry/agent-service.ts';
import { allModes, type Modes } from '../../contracts/a2a/modes.ts';

export interface A2AAgent {
  agent: Agent;
  /** Of the version that messages invoke. */
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  skills: AgentSkill[];
  modes: Modes;
  extensions: AgentExtension[];
}

/** `configuration.a2a.extensions`, declared on the agent card. Every client has to name the required ones. */
interface AgentExtension {
  uri: string;
  description: string;
  required: boolean;
  params?: Record<string, unknown>;
}

/** 404 for an agent that does not exist or that the caller may not see. */
export async function findA2AAgent(em: EntityManager, actor: Actor, id: string): Promise<A2AAgent> {
  if (!isUuid(id)) throw notFound('agent');
  const agent = await getAgent(em, actor, id.toLowerCase());
  const { skills, configuration, input_schema, output_schema } = await readServed(em, agent.id);
  const modes = allModes({ modalities: agent.modalities ?? null, skills });
  return { agent, input_schema, output_schema, skills, modes, extensions: extensionsOf(configuration) };
}

type Skill = { [Key in keyof AgentSkill]: Exclude<AgentSkill[Key], undefined> };

interface Served {
  configuration: Record<string, unknown>;
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  skills: Skill[];
}

/**
 * The content of the version that messages invoke, and the agent's skills in order of creation, in one
 * statement.
 */
async function readServed(em: EntityManager, agentId: string): Promise<Served> {
  const [row] = await em.execute<Served[]>(
    `select v.configuration, v.input_schema, v.output_schema,
            coalesce((select json_agg(s order by s.id) from agent_skill s where s.agent_id = a.id),
                     '[]') as skills
       from agent a join agent_version v on v.agent_id = a.id and v.version = ${SERVED_VERSION}
      where a.id = ?`,
    [agentId],
  );
  if (row === undefined) throw notFound('agent');
  return row;
}

function extensionsOf(configuration: Record<string, unknown>): AgentExtension[] {
  const a2a = configuration['a2a'];
  const listed: unknown = isRecord(a2a) ? a2a['extensions'] : undefined;
  if (!Array.isArray(listed)) return [];
  return listed.filter(isRecord).flatMap(({ uri, description, required, params }) =>
    typeof uri === 'string' && uri !== ''
      ? [
          {
            uri,
            description: typeof description === 'string' ? description : '',
            required: required === true,
            ...(isRecord(params) ? { params } : {}),
          },
        ]
      : [],
  );
}
