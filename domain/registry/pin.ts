/** Fixes an agent version for a run (interface-decisions §4): the version's content, with the agent's ways to reach it. */
import { maxSatisfying, valid, validRange } from 'semver';

import { AgentVersion } from '../../db/entities/agent-version.ts';
import { Agent, type AgentStatus } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { PinnedAgent } from '../ports.ts';

export interface AgentReference {
  /** Id or name. */
  agent: string;
  /** Semantic version or range. Default: the current one. */
  version?: string | undefined;
}

export type Pinned =
  | { found: true; pinned: PinnedAgent; status: AgentStatus; version_status: AgentVersion['status']; owner_id: string }
  | { found: false; reason: 'unknown_agent' | 'ambiguous_agent' | 'unknown_version'; message: string };

const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * `ownerId` is whose rights count: the workflow's owner, or who invokes an agent by itself. A name means their own agent first,
 * then a public one if only one has it. In a transaction the agent cannot be deleted until its end. A range takes the highest published version in it, then a deprecated one, then a draft.
 */
export async function pinAgent(em: EntityManager, ownerId: string, reference: AgentReference): Promise<Pinned> {
  if (reference.version === undefined && uuidPattern.test(reference.agent)) {
    const current = await pinCurrent(em, ownerId, reference.agent);
    if (current) return current;
  }
  const agents = await candidates(em, ownerId, reference.agent);
  const [agent] = agents;
  if (agent === undefined) return { found: false, reason: 'unknown_agent', message: `There is no agent ${JSON.stringify(reference.agent)}.` };
  if (agents.length > 1) {
    return { found: false, reason: 'ambiguous_agent', message: `There are several public agents ${JSON.stringify(reference.agent)}: name it by its id.` };
  }
  if (!(await keepsExisting(em, agent.id))) return { found: false, reason: 'unknown_agent', message: `There is no agent ${JSON.stringify(reference.agent)}.` };
  const version = await chooseVersion(em, agent, reference.version);
  if (version === null) {
    return { found: false, reason: 'unknown_version', message: `Agent ${JSON.stringify(agent.name)} has no version ${JSON.stringify(reference.version)}.` };
  }
  return { found: true, pinned: snapshot(agent, version), status: agent.status, version_status: version.status, owner_id: agent.owner_id };
}

type CurrentRow = Pick<Agent, 'id' | 'owner_id' | 'name' | 'type' | 'execution_type' | 'url' | 'authentication_type' | 'authentication_config' | 'capabilities_streaming' | 'status'> &
  Pick<AgentVersion, 'version' | 'configuration' | 'input_schema' | 'output_schema'> & { version_status: AgentVersion['status'] };

/** The usual case in one statement: by id, the current version; null where it is not so simple. */
async function pinCurrent(em: EntityManager, ownerId: string, id: string): Promise<Pinned | null> {
  const [row] = await em.execute<CurrentRow[]>(
    `select a.id, a.owner_id, a.name, a.type, a.execution_type, a.url, a.authentication_type, a.authentication_config, a.capabilities_streaming, a.status,
            v.version, v.configuration, v.input_schema, v.output_schema, v.status as version_status
       from agent a join agent_version v on v.agent_id = a.id and v.version = a.version
      where a.id = ? and (a.visibility = 'public' or a.owner_id = ?) for key share of a`,
    [id.toLowerCase(), ownerId],
  );
  return row ? { found: true, pinned: snapshot(row, row), status: row.status, version_status: row.version_status, owner_id: row.owner_id } : null;
}

/** In a transaction: nobody deletes the agent until it ends, so that who deletes it then sees the run. */
async function keepsExisting(em: EntityManager, agentId: string): Promise<boolean> {
  if (!em.isInTransaction()) return true;
  const rows = await em.execute('select 1 from agent where id = ? for key share', [agentId]);
  return rows.length > 0;
}

async function candidates(em: EntityManager, ownerId: string, agent: string): Promise<Agent[]> {
  if (uuidPattern.test(agent)) {
    const found = await em.findOne(Agent, { id: agent.toLowerCase() });
    if (found !== null) return found.visibility === 'public' || found.owner_id === ownerId || (await isAdminId(em, ownerId)) ? [found] : [];
  }
  const own = await em.find(Agent, { name: agent, owner_id: ownerId }, { orderBy: { id: 'desc' }, limit: 2 });
  if (own.length > 0) return own;
  return em.find(Agent, { name: agent, visibility: 'public' }, { orderBy: { id: 'desc' }, limit: 2 });
}

async function isAdminId(em: EntityManager, userId: string): Promise<boolean> {
  const [row] = await em.execute<{ admin: boolean }[]>(`select 'admin' = any(roles) as admin from user_account where id = ?`, [userId]);
  return row?.admin ?? false;
}

async function chooseVersion(em: EntityManager, agent: Agent, wanted: string | undefined): Promise<AgentVersion | null> {
  const exact = wanted === undefined ? agent.version : valid(wanted) === null ? null : wanted;
  if (exact !== null) {
    const found = await em.findOne(AgentVersion, { agent_id: agent.id, version: exact });
    if (found !== null || wanted === undefined) return found;
  }
  if (wanted === undefined || validRange(wanted) === null) return null;
  const versions = await em.find(AgentVersion, { agent_id: agent.id });
  for (const status of ['published', 'deprecated', 'draft'] as const) {
    const ofStatus = versions.filter((version) => version.status === status);
    const highest = maxSatisfying(ofStatus.map(({ version }) => version), wanted);
    const found = ofStatus.find(({ version }) => version === highest);
    if (found !== undefined) return found;
  }
  return null;
}

function snapshot(agent: Omit<CurrentRow, 'version' | 'version_status' | 'configuration' | 'input_schema' | 'output_schema'>, version: Pick<AgentVersion, 'version' | 'configuration' | 'input_schema' | 'output_schema'>): PinnedAgent {
  return {
    id: agent.id,
    owner_id: agent.owner_id,
    name: agent.name,
    version: version.version,
    type: agent.type,
    execution_type: agent.execution_type ?? null,
    url: agent.url ?? null,
    configuration: version.configuration,
    input_schema: version.input_schema,
    output_schema: version.output_schema,
    authentication_type: agent.authentication_type ?? null,
    authentication_config: agent.authentication_config ?? null,
    capabilities_streaming: agent.capabilities_streaming,
  };
}
