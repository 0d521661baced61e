/**
 * Pins an agent version for a run (docs/interface.md#what-a-run-keeps-from-its-start): the version's
 * content, together with the agent's address and authentication.
 */
import { isUuid } from '../../contracts/uuid.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { Agent, type AgentStatus } from '../../db/entities/agent.ts';
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { PinnedAgent } from '../ports.ts';
import { holderOf, usableBy } from '../auth/ownership.ts';
import { readCanary, type Canary } from './canary.ts';
import {
  chooseVersion,
  describeRefusal,
  SERVED_VERSION,
  type VersionRefusal,
  type VersionState,
} from './choose-version.ts';
import { nameOne, type Reader } from './name-warnings.ts';

export interface AgentReference {
  /** Id or name. */
  agent: string;
  /** Semantic version, range or `draft`. Default: the highest published version (`chooseVersion`). */
  version?: string | undefined;
}

export type Pinned =
  | {
      found: true;
      pinned: PinnedAgent;
      status: AgentStatus;
      version_status: AgentVersion['status'];
      owner_id: string;
    }
  | { found: false; reason: 'unknown_agent' | 'ambiguous_agent' | VersionRefusal; message: string };

/** Whether a call that names no version goes to the canary. */
export type Share = (agentId: string, canary: Canary) => Promise<boolean> | boolean;

/**
 * Uses the rights of `ownerId`: the holder of the workflow (its team, else its owner), or the user who
 * invokes an agent directly. A name means their own agent first, then one of a team where they are a
 * builder, then a public one if the name is unique among those. In a transaction, the agent cannot be
 * deleted until it ends. Without a share the call does not go to the canary. `reader`: who is told why no
 * agent was found.
 */
export async function pinAgent(
  em: EntityManager,
  ownerId: string,
  reference: AgentReference,
  share: Share = () => false,
  reader: Reader = () => ownerId,
): Promise<Pinned> {
  if (reference.version === undefined && isUuid(reference.agent)) {
    const served = await pinServed(em, ownerId, reference.agent, share);
    if (served) return served;
  }
  const agents = await candidates(em, ownerId, reference.agent);
  const [agent] = agents;
  if (agent === undefined)
    return {
      found: false,
      reason: 'unknown_agent',
      message: `There is no agent ${JSON.stringify(reference.agent)}.`,
    };
  if (agents.length > 1) {
    const which = await nameOne(em, 'agent', reference.agent, ownerId, reader);
    return {
      found: false,
      reason: 'ambiguous_agent',
      message: `There are several agents ${JSON.stringify(reference.agent)}: ${which}.`,
    };
  }
  if (!(await lockExisting(em, agent.id)))
    return {
      found: false,
      reason: 'unknown_agent',
      message: `There is no agent ${JSON.stringify(reference.agent)}.`,
    };
  const version = await findChosen(em, ownerId, agent, reference.version, share);
  if (typeof version === 'string')
    return {
      found: false,
      reason: version,
      message: describeRefusal(version, agent.name, reference.version),
    };
  return {
    found: true,
    pinned: snapshot(agent, version),
    status: agent.status,
    version_status: version.status,
    owner_id: holderOf(agent),
  };
}

type ServedRow = Pick<
  Agent,
  | 'id'
  | 'owner_id'
  | 'team_id'
  | 'name'
  | 'type'
  | 'execution_type'
  | 'url'
  | 'authentication_type'
  | 'authentication_config'
  | 'capabilities_streaming'
  | 'status'
> &
  Pick<AgentVersion, 'version' | 'configuration' | 'input_schema' | 'output_schema'> & {
    version_status: AgentVersion['status'];
    canary: Canary | null;
  };

const SERVED = new Prepared(
  `select a.id, a.owner_id, a.team_id, a.name, a.type, a.execution_type, a.url, a.authentication_type,
            a.authentication_config, a.capabilities_streaming, a.status,
            v.version, v.configuration, v.input_schema, v.output_schema, v.status as version_status,
            (select json_build_object('version', k.version, 'percent', k.percent)
               from agent_canary k where k.agent_id = a.id) as canary
       from agent a join agent_version v on v.agent_id = a.id and v.version = ${SERVED_VERSION}
      where a.id = ? and ${usableBy('a')} for key share of a`,
);

/** The common case in one statement: by id and without a version. Null if the general lookup is needed. */
async function pinServed(
  em: EntityManager,
  ownerId: string,
  id: string,
  share: Share,
): Promise<Pinned | null> {
  const [row] = await SERVED.execute<ServedRow>(em, [id.toLowerCase(), ownerId]);
  return row && !(row.canary && (await share(row.id, row.canary)))
    ? {
        found: true,
        pinned: snapshot(row, { ...row, status: row.version_status }),
        status: row.status,
        version_status: row.version_status,
        owner_id: holderOf(row),
      }
    : null;
}

/** Within a transaction: nobody can delete the agent until it ends, so a later deletion sees the run. */
async function lockExisting(em: EntityManager, agentId: string): Promise<boolean> {
  if (!em.isInTransaction()) return true;
  const rows = await em.execute('select 1 from agent where id = ? for key share', [agentId]);
  return rows.length > 0;
}

async function candidates(em: EntityManager, ownerId: string, agent: string): Promise<Agent[]> {
  if (isUuid(agent)) {
    const found = await em.findOne(Agent, { id: agent.toLowerCase() });
    if (found !== null)
      return found.visibility === 'public' ||
        (await rightsHeld(em, ownerId)).includes(found.holder_id) ||
        (await isAdminId(em, ownerId))
        ? [found]
        : [];
  }
  const two = { orderBy: { id: 'desc' }, limit: 2 } as const;
  const own = await em.find(Agent, { name: agent, holder_id: ownerId }, two);
  if (own.length > 0) return own;
  const held = { $in: await rightsHeld(em, ownerId) };
  const ofTeams = await em.find(Agent, { name: agent, holder_id: held }, two);
  if (ofTeams.length > 0) return ofTeams;
  return em.find(Agent, { name: agent, visibility: 'public' }, two);
}

/** Those whose objects a user or a team uses as its own. */
async function rightsHeld(em: EntityManager, principal: string): Promise<string[]> {
  const [row] = await em.execute<{ held: string[] }[]>(`select to_json(rights_held(?::uuid)) as held`, [
    principal,
  ]);
  return row?.held ?? [];
}

async function isAdminId(em: EntityManager, userId: string): Promise<boolean> {
  const [row] = await em.execute<{ admin: boolean }[]>(
    `select 'admin' = any(roles) as admin from user_account where id = ?`,
    [userId],
  );
  return row?.admin ?? false;
}

/** Reads the content of the chosen version only. */
async function findChosen(
  em: EntityManager,
  ownerId: string,
  agent: Agent,
  wanted: string | undefined,
  share: Share,
): Promise<AgentVersion | VersionRefusal> {
  const trial = wanted === undefined ? await readCanary(em, agent.id) : null;
  const canary = trial ? { version: trial.version, takes: await share(agent.id, trial) } : undefined;
  const versions = await em.execute<VersionState[]>(
    `select version, status from agent_version where agent_id = ?`,
    [agent.id],
  );
  let chosen = chooseVersion(wanted, {
    current: agent.version,
    versions,
    mayUseDrafts: (await rightsHeld(em, ownerId)).includes(agent.holder_id),
    canary,
  });
  if (chosen === 'draft_forbidden' && (await isAdminId(em, ownerId))) {
    chosen = chooseVersion(wanted, { current: agent.version, versions, mayUseDrafts: true });
  }
  if (typeof chosen === 'string') return chosen;
  return (
    (await em.findOne(AgentVersion, { agent_id: agent.id, version: chosen.version })) ?? 'unknown_version'
  );
}

type Content = Pick<AgentVersion, 'version' | 'configuration' | 'input_schema' | 'output_schema'>;

/**
 * `type`, `execution_type`, `url` and `authentication_*` belong to the agent, not the version, and are pinned
 * with their current values.
 */
function snapshot(
  agent: Omit<ServedRow, 'version_status' | 'canary' | keyof Content>,
  version: Content & Pick<AgentVersion, 'status'>,
): PinnedAgent {
  return {
    id: agent.id,
    owner_id: holderOf(agent),
    name: agent.name,
    version: version.version,
    version_status: version.status,
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
