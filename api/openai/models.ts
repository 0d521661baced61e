/** Agents as models: `GET /v1/models` and `/v1/models/{id}`. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import type { EntityManager } from '../../db/orm.ts';
import { isUuid } from '../../contracts/uuid.ts';
import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { teamsWith } from '../../domain/auth/ownership.ts';
import { AppError } from '../../domain/errors.ts';
import { isStorable } from '../middleware/body.ts';
import { listAgents } from '../../domain/registry/agent-lists.ts';
import { pinAgent, type Pinned } from '../../domain/registry/pin.ts';

export interface Model {
  id: string;
  object: 'model';
  /** Seconds since 1970. */
  created: number;
  owned_by: string;
}

/** This API has no pages, so this is all that a caller sees; any agent can still be called by id. */
const MAX_MODELS = 1_000;
const PAGE = 200;
/** What decides whether an agent is a model. */
type Kind = Pick<ModelAgent, 'type' | 'execution_type' | 'configuration'>;

interface ModelAgent {
  id: string;
  name: string;
  owner_id: string;
  /** Its team, else its owner. */
  holder_id: string;
  visibility: string;
  type: string;
  execution_type?: string | null | undefined;
  configuration?: Record<string, unknown> | null | undefined;
  created_at: Date | string;
}

/** Active agents that the actor may see, newest first. An agent that its name does not lead to has its id. */
export async function listModels(em: EntityManager, actor: Actor): Promise<Model[]> {
  const agents: ModelAgent[] = [];
  for (let after: string | undefined; agents.length < MAX_MODELS;) {
    const page = await listAgents(
      em,
      actor,
      { status: 'active', view: 'summary' },
      { limit: PAGE, ...(after === undefined ? {} : { after }) },
    );
    agents.push(...page.filter(chats));
    after = page.at(-1)?.id;
    if (page.length < PAGE) break;
  }
  const shown = agents.slice(0, MAX_MODELS);
  const named = Map.groupBy(shown, ({ name }) => name);
  return shown.map((agent) => modelOf(agent, isNamed(actor, agent, named.get(agent.name) ?? [])));
}

/**
 * Whether the name leads to this agent, as `pinAgent` finds it: own ones first, then those of teams where the
 * actor is a builder, then a public one if no other has the name. Other private ones, which admins see, are
 * found by id only.
 */
function isNamed(actor: Actor, agent: ModelAgent, same: readonly ModelAgent[]): boolean {
  const teams = teamsWith(actor, 'builder');
  const own = same.filter(({ holder_id }) => holder_id === actor.id);
  const ofTeams = same.filter(({ holder_id }) => teams.includes(holder_id));
  const open = same.filter(({ visibility }) => visibility === 'public');
  const meant = [own, ofTeams, open].find((found) => found.length > 0) ?? [];
  return meant.length === 1 && meant[0] === agent;
}

/** Whether an agent can answer a chat with text: a device takes none, and one that speaks gives a file. */
export function chats({ type, execution_type = null, configuration = null }: Kind): boolean {
  const kind = agentKind({ type, execution_type, configuration });
  return kind !== 'sensor' && (kind !== 'audio' || configuration?.['task'] === 'transcribe');
}

function modelOf(agent: ModelAgent, byName: boolean): Model {
  return {
    id: byName ? agent.name : agent.id,
    object: 'model',
    created: Math.floor(new Date(agent.created_at).getTime() / 1_000),
    owned_by: agent.owner_id,
  };
}

/** @throws 404 `model_not_found` */
export async function readModel(em: EntityManager, actor: Actor, name: string): Promise<Model> {
  const { pinned } = await findModel(em, actor, name);
  const [row] = await em.execute<ModelAgent[]>(
    `select id, name, owner_id, holder_id, visibility, type, execution_type, created_at
       from agent where id = ?`,
    [pinned.id],
  );
  if (row === undefined) throw noModel(name);
  return { ...modelOf(row, false), id: name };
}

/** The version that serves, by the agent's id or name. @throws 404 `model_not_found` */
export async function findModel(
  em: EntityManager,
  actor: Actor,
  name: string,
): Promise<Extract<Pinned, { found: true }>> {
  if (!isStorable(name)) throw noModel('');
  const found = await pinAgent(em, await rightsFor(em, actor, name), { agent: name });
  if (!found.found) throw noModel(name, found.reason === 'ambiguous_agent' ? found.message : undefined);
  return found;
}

/** Admins use private agents, by their ids, with the rights of who holds them. */
async function rightsFor(em: EntityManager, actor: Actor, id: string): Promise<string> {
  if (!isUuid(id) || !hasRole(actor, 'admin')) return actor.id;
  const [agent] = await em.execute<{ holder_id: string }[]>('select holder_id from agent where id = ?', [id]);
  return agent?.holder_id ?? actor.id;
}

function noModel(name: string, detail = `The model '${name.slice(0, 255)}' does not exist.`): AppError {
  return new AppError('not_found', 'model_not_found', detail, {
    errors: [{ pointer: 'model', code: 'model_not_found', message: detail }],
  });
}
