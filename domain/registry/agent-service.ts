/** Agents: registering, reading, changing and deleting them. `em` is in the caller's transaction. */
import { v7 as uuidv7 } from 'uuid';

import { AgentSkill } from '../../db/entities/agent-skill.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import type { Provenance } from '../../db/entities/marketplace-item.ts';
import { Agent, type AgentSource, type AgentStatus } from '../../db/entities/agent.ts';
import { Secret } from '../../db/entities/secret.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { columnsOf, plainRows } from '../../db/plain-rows.ts';
import { Prepared } from '../../db/prepared.ts';
import { escapeLike } from '../../db/sql.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import { conflict, forbidden, notFound } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { checkNoUnfinishedRuns, mayChangeAgent, maySeeAgent } from './agent-policy.ts';
import { versionsExceed } from '../limits.ts';
import {
  addDraft,
  checkHigher,
  checkSchemas,
  contentOf,
  findVersion,
  makeCurrent,
  listVersions,
  sameContent,
  updateDraft,
  type ListedVersion,
  type VersionContent,
} from './agent-versions.ts';
import { checkAgentHeaders } from './agent-headers.ts';
import { checkAgentSize } from './agent-size.ts';
import { missingReferences, type MissingReference } from './agent-warnings.ts';
import { readCircuit, type Circuit } from './agent-turns.ts';
import { createSecretMover, prefixOf, type SecretMover } from './literal-secrets.ts';

/** The highest possible value of AGENT_MAX_BYTES. */
const LARGEST_RECORD_BYTES = 32 * 1024 * 1024;

/** An agent with everything that its record shows. Versions newest first, skills in order of creation. */
export interface AgentState {
  agent: Agent;
  versions: (AgentVersion | ListedVersion)[];
  /** Secrets and workflows that the agent names and its owner does not have. */
  warnings: MissingReference[];
  skills: AgentSkill[];
  /** Of its circuit breaker, if it has one. */
  circuit: Circuit | null;
}

/** The fields that clients set. */
export type AgentFields = Omit<
  Agent,
  | 'id'
  | 'created_at'
  | 'updated_at'
  | 'last_used'
  | 'owner_id'
  | 'team_id'
  | 'holder_id'
  | 'provenance'
  | 'source'
  | 'last_check'
>;
/** The fields to set; `content` computes the new content from that of the version to change. */
export interface AgentPatch extends Partial<Omit<AgentFields, keyof VersionContent>> {
  content?: (before: VersionContent) => VersionContent;
}
export type SkillFields = Pick<
  AgentSkill,
  'name' | 'description' | 'tags' | 'examples' | 'input_modes' | 'output_modes'
>;

export async function createAgent(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  fields: AgentFields & { team_id?: string | null; provenance?: Provenance; source?: AgentSource },
  skills: readonly SkillFields[],
): Promise<AgentState> {
  // Copies of what others have published are as they were.
  if (!fields.provenance) checkAgentSize(fields);
  checkSchemas(contentOf(fields));
  checkAgentHeaders(fields);
  const now = new Date();
  const team_id = fields.team_id ?? null;
  const identity = { id: uuidv7(), owner_id: actor.id, team_id, holder_id: team_id ?? actor.id };
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
    source: fields.source ?? null,
    last_check: null,
  });
  em.persist(agent);
  await em.flush();
  await addDraft(em, actor, agent, agent.version, contentOf(agent), null);
  for (const skill of skills)
    em.persist(em.create(AgentSkill, { ...skill, id: uuidv7(), agent_id: agent.id }));
  await em.flush();
  return stateOf(em, agent);
}

/** As `getAgent`, for who only shows it: the ORM does not manage it. */
export async function readAgent(em: EntityManager, actor: Actor, id: string): Promise<Agent> {
  const [row] = await AGENT.execute<Agent>(em, [id]);
  if (row === undefined || !maySeeAgent(actor, row)) throw notFound('agent');
  return plainAgent(row);
}

/** 404 for an agent that does not exist or that the actor may not see. */
export async function getAgent(em: EntityManager, actor: Actor, id: string): Promise<Agent> {
  const [row] = await AGENT.execute(em, [id]);
  const agent = row && em.map(Agent, row);
  if (agent === undefined || !maySeeAgent(actor, agent)) throw notFound('agent');
  return agent;
}

const plainAgent = plainRows<Agent>(Agent);
const plainVersion = plainRows<AgentVersion>(AgentVersion);
const AGENT = new Prepared(`select ${columnsOf(Agent)} from agent where id = ?`);
const SKILLS = new Prepared(
  `select ${columnsOf(AgentSkill)} from agent_skill where agent_id = ? order by id`,
);
const VERSIONS = new Prepared(
  `select ${columnsOf(AgentVersion)} from agent_version
    where agent_id = ? and not ${versionsExceed('?::uuid', String(LARGEST_RECORD_BYTES))} order by id desc`,
);

/** Locks the row; 404 as for `getAgent`, 403 for users who may only read it. */
export async function getAgentForChange(em: EntityManager, actor: Actor, id: string): Promise<Agent> {
  const agent = await em.findOne(Agent, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (agent === null || !maySeeAgent(actor, agent)) throw notFound('agent');
  if (!mayChangeAgent(actor, agent))
    throw forbidden('Only its owner, builders of its team and admins may change this agent.');
  return agent;
}

/**
 * The whole agent; its size is bounded by the limits on saving. For agents saved before those limits existed,
 * the versions omit large fields as in a list.
 */
export async function stateOf(em: EntityManager, agent: Agent): Promise<AgentState> {
  // Statements of our own do not write what has changed before, as the ORM's do.
  if (em.isInTransaction()) await em.flush();
  const skills = await SKILLS.execute<AgentSkill>(em, [agent.id]);
  const whole = (await versionRows(em, agent)).map(plainVersion);
  // An agent has at least one.
  const versions = whole.length > 0 ? whole : await listVersions(em, agent, { limit: 10_000 });
  const warnings = (await missingReferences(em, [agent])).get(agent.id) ?? [];
  const circuit = agent.limits?.breaker ? await readCircuit(em, agent.id) : null;
  return { agent, versions, skills, warnings, circuit };
}

/** Newest first; none if they are too large together. Their times are texts. */
function versionRows(em: EntityManager, { id }: Agent): Promise<AgentVersion[]> {
  return VERSIONS.execute<AgentVersion>(em, [id, id, id]);
}

/**
 * Changes the given fields. A change of configuration or schemas edits the current version if it is a draft.
 * Otherwise it needs a new, higher `version`, which becomes a draft and the current version. Naming an
 * existing `version` makes it the current one.
 */
export async function updateAgent(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  agent: Agent,
  patch: AgentPatch,
): Promise<AgentState> {
  const { version: named = agent.version, content, ...fields } = patch;
  if (fields.status !== undefined) checkStatusChange(agent.status, fields.status);

  const target = await findVersion(em, agent, named);
  if (target === null && named !== agent.version) checkHigher(agent, named);
  // The agent's own fields distinguish unset from empty.
  const before = contentOf(target === null || named === agent.version ? agent : target);
  const after = content?.(before) ?? before;
  if (target !== null && target.status !== 'draft' && !sameContent(before, after)) {
    throw conflict(
      'version_immutable',
      `Version ${target.version} is ${target.status}: ` +
        'a change of configuration or schemas must name a new, higher version.',
    );
  }
  checkAgentSize({ ...fields, ...after }, { ...agent, ...before });
  checkSchemas(after);
  checkAgentHeaders(
    { ...agent, ...fields, configuration: after.configuration },
    { ...agent, configuration: before.configuration },
  );

  const mover = createSecretMover(em, encryption, agent);
  // Only drafts are stored, so for other versions no secrets are created.
  const moved =
    target === null || target.status === 'draft'
      ? { ...after, configuration: await mover.move(after.configuration, 'configuration') }
      : after;
  if (fields.authentication_config !== undefined)
    fields.authentication_config = await mover.move(fields.authentication_config, 'authentication_config');
  Object.assign(agent, fields, { updated_at: new Date() });
  if (target === null) {
    Object.assign(agent, moved, { version: named });
    await addDraft(em, actor, agent, named, moved, null);
  } else {
    if (named !== agent.version) makeCurrent(agent, target);
    if (target.status === 'draft') await updateDraft(em, agent, target, moved);
  }
  await em.flush();
  await moveStoredLiterals(em, mover, agent);
  return stateOf(em, agent);
}

/**
 * Moves literals that were stored before they were recognised as credentials, out of published versions too:
 * the versions mean the same, but no longer contain the values. Skipped for agents whose versions exceed the
 * size of a record.
 */
async function moveStoredLiterals(em: EntityManager, mover: SecretMover, agent: Agent): Promise<void> {
  const authentication = agent.authentication_config ?? null;
  const movedAuthentication = await mover.move(authentication, 'authentication_config');
  if (!sameJson(authentication, movedAuthentication)) agent.authentication_config = movedAuthentication;
  // The secrets of the oldest get the lowest numbers.
  for (const row of (await versionRows(em, agent)).toReversed()) {
    const version = em.map(AgentVersion, row);
    const moved = await mover.move(version.configuration, 'configuration');
    if (sameJson(version.configuration, moved)) continue;
    version.configuration = moved;
    if (version.version === agent.version) agent.configuration = moved;
  }
  await em.flush();
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** active ⇄ inactive; both → deprecated, which is final. */
function checkStatusChange(from: AgentStatus, to: AgentStatus): void {
  if (from === 'deprecated' && to !== 'deprecated')
    throw conflict('agent_deprecated', 'A deprecated agent stays deprecated.');
}

/**
 * Deletes the agent with its versions, its skills and the secrets moved out of its configuration. @throws 409
 * while unfinished runs use it
 */
export async function deleteAgent(em: EntityManager, agent: Agent): Promise<void> {
  await checkNoUnfinishedRuns(em, agent.id);
  await em.nativeDelete(Secret, {
    owner_id: holderOf(agent),
    name: { $like: `${escapeLike(prefixOf(agent.id))}%` },
  });
  // Pending push notifications need their configs, which contain the receivers' tokens, so both are deleted.
  await em.execute(
    `delete from delivery_target where id in (
       select c.target_id from a2a_push_config c join a2a_task t on t.id = c.task_id where t.agent_id = ?)`,
    [agent.id],
  );
  await em.nativeDelete(Agent, { id: agent.id });
}
