/**
 * Where the agents of an installed workflow come from. An agent that the new owner may use as it is, their own or a public one,
 * is used: it works at once, with its owner's secrets. Else a copy of its item that they have installed before; else the item is
 * installed with the workflow. What is neither is missing, and named.
 */
import { compareBuild, satisfies, validRange } from 'semver';

import { MarketplaceItem, type RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { Agent } from '../../db/entities/agent.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { agentContent, type AgentContent } from './content.ts';
import { mayInstall } from './policy.ts';

export type AgentPlan = { required: RequiredAgent } & (
  | { use: 'existing'; agent_id: string }
  | { use: 'item'; item: MarketplaceItem; version: MarketplaceVersion; content: AgentContent }
  | { use: 'missing' }
);

/** Locks the items that will be installed, in the order of their ids. */
export async function planAgents(em: EntityManager, actor: Actor, required: readonly RequiredAgent[]): Promise<AgentPlan[]> {
  if (required.length === 0) return [];
  const items = await em.find(MarketplaceItem, { kind: 'agent', ref_id: { $in: required.map(({ agent_id }) => agent_id) } }, { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE });
  const plans: AgentPlan[] = [];
  for (const one of required) {
    const item = items.find(({ ref_id }) => ref_id === one.agent_id);
    const existing = (await usable(em, actor, one)) ?? (item === undefined ? null : await installedBefore(em, actor, item, one));
    const version = existing === null && item !== undefined && mayInstall(actor, item) ? await bestVersion(em, item, one) : null;
    if (existing !== null) plans.push({ required: one, use: 'existing', agent_id: existing });
    else if (item === undefined || version === null) plans.push({ required: one, use: 'missing' });
    else plans.push({ required: one, use: 'item', item, version, content: agentContent.parse(version.content) });
  }
  return plans;
}

/** Seen as a workflow of the actor's would see it, in a version that fits. */
async function usable(em: EntityManager, actor: Actor, { agent_id, version }: RequiredAgent): Promise<string | null> {
  const agent = await em.findOne(Agent, { id: agent_id });
  if (agent === null || (agent.owner_id !== actor.id && agent.visibility !== 'public')) return null;
  return (await hasVersion(em, agent.id, version)) ? agent.id : null;
}

async function installedBefore(em: EntityManager, actor: Actor, item: MarketplaceItem, { version }: RequiredAgent): Promise<string | null> {
  const copies = await em.execute<{ id: string }[]>(`select id from agent where owner_id = ? and provenance is not null and provenance ->> 'item_id' = ? order by id desc limit 20`, [actor.id, item.id]);
  for (const { id } of copies) if (await hasVersion(em, id, version)) return id;
  return null;
}

async function hasVersion(em: EntityManager, agentId: string, wanted: string | null): Promise<boolean> {
  if (wanted === null) return true;
  const versions = await em.find(AgentVersion, { agent_id: agentId }, { fields: ['version'] });
  return versions.some(({ version }) => fits(version, wanted));
}

/** The highest approved version that fits; the publisher's own may wait for its approval. */
async function bestVersion(em: EntityManager, item: MarketplaceItem, { version: wanted }: RequiredAgent): Promise<MarketplaceVersion | null> {
  const status = item.status === 'approved' ? { status: 'approved' as const } : {};
  const versions = await em.find(MarketplaceVersion, { item_id: item.id, ...status }, { populate: ['content'] });
  const fitting = versions.filter(({ version }) => wanted === null || fits(version, wanted));
  return fitting.toSorted((a, b) => compareBuild(a.version, b.version)).at(-1) ?? null;
}

function fits(version: string, wanted: string): boolean {
  return version === wanted || (validRange(wanted) !== null && satisfies(version, wanted));
}
