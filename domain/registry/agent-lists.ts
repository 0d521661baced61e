import { Agent, type AgentStatus } from '../../db/entities/agent.ts';
import type { Visibility } from '../../db/entities/workflow.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { statesOf, type AgentState } from './agent-service.ts';

export interface AgentFilter {
  type?: string | undefined;
  status?: AgentStatus | undefined;
  visibility?: Visibility | undefined;
  owner_id?: string | undefined;
  capability?: string | undefined;
  modality?: string | undefined;
  tag?: string | undefined;
  /** In name or description, whatever the case. */
  q?: string | undefined;
  name?: string | undefined;
  version?: string | undefined;
}

/** Agents that the actor may see, newest first, after the id `before`, at most `limit`. */
export async function listAgents(em: EntityManager, actor: Actor, filter: AgentFilter, paging: { before?: string | undefined; limit: number }): Promise<AgentState[]> {
  const conditions: FilterQuery<Agent>[] = [];
  if (!isAdmin(actor)) conditions.push({ $or: [{ owner_id: actor.id }, { visibility: 'public' }] });
  if (paging.before !== undefined) conditions.push({ id: { $lt: paging.before } });
  for (const key of ['type', 'status', 'visibility', 'owner_id', 'name', 'version'] as const) {
    if (filter[key] !== undefined) conditions.push({ [key]: filter[key] });
  }
  if (filter.capability !== undefined) conditions.push({ capabilities: { $contains: [filter.capability] } });
  if (filter.modality !== undefined) conditions.push({ modalities: { $contains: [filter.modality] } });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = `%${filter.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    conditions.push({ $or: [{ name: { $ilike: pattern } }, { description: { $ilike: pattern } }] });
  }
  return statesOf(em, await em.find(Agent, { $and: conditions }, { orderBy: { id: 'desc' }, limit: paging.limit }));
}
