/** Agents: register, read, change, delete. `em` is the caller's transaction. */
import { v7 as uuidv7 } from 'uuid';

import { AgentSkill } from '../../db/entities/agent-skill.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import type { Provenance } from '../../db/entities/marketplace-item.ts';
import { Agent, type AgentStatus } from '../../db/entities/agent.ts';
import { Secret } from '../../db/entities/secret.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict, forbidden, notFound } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { checkNoUnfinishedRuns, mayChangeAgent, maySeeAgent } from './agent-policy.ts';
import { addDraft, checkHigher, checkSchemas, contentOf, findVersion, makeCurrent, sameContent, updateDraft, type VersionContent } from './agent-versions.ts';
import { createSecretMover, prefixOf } from './literal-secrets.ts';

/** An agent with what belongs to it: what a record is made of. Versions newest first, skills in order of creation. */
export interface AgentState {
  agent: Agent;
  versions: AgentVersion[];
  skills: AgentSkill[];
}

/** The fields of 2.1 that clients set. */
export type AgentFields = Omit<Agent, 'id' | 'created_at' | 'updated_at' | 'last_used' | 'owner_id' | 'provenance'>;
/** Fields to set; `content` makes the new content from that of the version that is changed. */
export interface AgentPatch extends Partial<Omit<AgentFields, keyof VersionContent>> {
  content?: (before: VersionContent) => VersionContent;
}
export type SkillFields = Pick<AgentSkill, 'name' | 'description' | 'tags' | 'examples' | 'input_modes' | 'output_modes'>;

export async function createAgent(em: EntityManager, encryption: Encryption, actor: Actor, fields: AgentFields & { provenance?: Provenance }, skills: readonly SkillFields[]): Promise<AgentState> {
  checkSchemas(contentOf(fields));
  const now = new Date();
  const identity = { id: uuidv7(), owner_id: actor.id };
  const mover = createSecretMover(em, encryption, identity);
  const agent = em.create(Agent, {
    ...fields,
    ...identity,
    configuration: await mover.move(fields.configuration ?? null, 'configuration'),
    authentication_config: await mover.move(fields.authentication_config ?? null, 'authentication_config'),
    created_at: now,
    updated_at: now,
    last_used: null,
    provenance: fields.provenance ?? null,
  });
  em.persist(agent);
  await em.flush();
  await addDraft(em, actor, agent, agent.version, contentOf(agent), null);
  for (const skill of skills) em.persist(em.create(AgentSkill, { ...skill, id: uuidv7(), agent_id: agent.id }));
  await em.flush();
  return stateOf(em, agent);
}

/** 404 for what is not there or may not be seen. */
export async function getAgent(em: EntityManager, actor: Actor, id: string): Promise<Agent> {
  const agent = await em.findOne(Agent, { id });
  if (agent === null || !maySeeAgent(actor, agent)) throw notFound('agent');
  return agent;
}

/** Locks the row. 404 as above, 403 for those who may only read it. */
export async function getAgentForChange(em: EntityManager, actor: Actor, id: string): Promise<Agent> {
  const agent = await em.findOne(Agent, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (agent === null || !maySeeAgent(actor, agent)) throw notFound('agent');
  if (!mayChangeAgent(actor, agent)) throw forbidden('Only the owner and admins change this agent.');
  return agent;
}

export async function stateOf(em: EntityManager, agent: Agent): Promise<AgentState> {
  const [state] = await statesOf(em, [agent]);
  return state ?? { agent, versions: [], skills: [] };
}

export async function statesOf(em: EntityManager, agents: readonly Agent[]): Promise<AgentState[]> {
  if (agents.length === 0) return [];
  const ids = agents.map(({ id }) => id);
  const versions = await em.find(AgentVersion, { agent_id: { $in: ids } }, { orderBy: { id: 'desc' } });
  const skills = await em.find(AgentSkill, { agent_id: { $in: ids } }, { orderBy: { id: 'asc' } });
  return agents.map((agent) => ({
    agent,
    versions: versions.filter(({ agent_id }) => agent_id === agent.id),
    skills: skills.filter(({ agent_id }) => agent_id === agent.id),
  }));
}

/**
 * Changes what is given. A change of configuration or schemas edits the current draft; where the current version is no draft,
 * it needs a new, higher `version`, which becomes a draft and the current one. A `version` that exists becomes the current one.
 */
export async function updateAgent(em: EntityManager, encryption: Encryption, actor: Actor, agent: Agent, patch: AgentPatch): Promise<AgentState> {
  const { version: named = agent.version, content, ...fields } = patch;
  if (fields.status !== undefined) checkStatusChange(agent.status, fields.status);

  const target = await findVersion(em, agent, named);
  if (target === null && named !== agent.version) checkHigher(agent, named);
  // The agent's own fields tell what is unset from what is empty.
  const before = contentOf(target === null || named === agent.version ? agent : target);
  const after = content?.(before) ?? before;
  if (target !== null && target.status !== 'draft' && !sameContent(before, after)) {
    throw conflict('version_immutable', `Version ${target.version} is ${target.status}: a change of configuration or schemas must name a new, higher version.`);
  }
  checkSchemas(after);

  const mover = createSecretMover(em, encryption, agent);
  const moved = { ...after, configuration: await mover.move(after.configuration, 'configuration') };
  if (fields.authentication_config !== undefined) fields.authentication_config = await mover.move(fields.authentication_config, 'authentication_config');
  Object.assign(agent, fields, { updated_at: new Date() });
  if (target === null) {
    Object.assign(agent, moved, { version: named });
    await addDraft(em, actor, agent, named, moved, null);
  } else {
    if (named !== agent.version) makeCurrent(agent, target);
    if (target.status === 'draft') await updateDraft(em, agent, target, moved);
  }
  await em.flush();
  return stateOf(em, agent);
}

/** active ⇄ inactive, both → deprecated, which is the end. */
function checkStatusChange(from: AgentStatus, to: AgentStatus): void {
  if (from === 'deprecated' && to !== 'deprecated') throw conflict('agent_deprecated', 'A deprecated agent stays deprecated.');
}

/** Removes versions, skills, and the secrets that were moved out of it. 409 with unfinished runs. */
export async function deleteAgent(em: EntityManager, agent: Agent): Promise<void> {
  await checkNoUnfinishedRuns(em, agent.id);
  await em.nativeDelete(Secret, { owner_id: agent.owner_id, name: { $like: `${prefixOf(agent.id).replaceAll('_', String.raw`\_`)}%` } });
  // What is still to be pushed of its tasks goes with their configs: nobody is told without the token that he gave.
  await em.execute(
    `delete from delivery_target where id in (select c.target_id from a2a_push_config c join a2a_task t on t.id = c.task_id where t.agent_id = ?)`,
    [agent.id],
  );
  await em.nativeDelete(Agent, { id: agent.id });
}
