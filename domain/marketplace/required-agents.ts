/**
 * Chooses the agents of an installed workflow. First choice is the required agent itself, if the new owner
 * may use it (their own or a public one): it works at once, with its owner's secrets. Second is a copy of its
 * item that they have installed before; third, the item is installed with the workflow. Otherwise the agent
 * is reported as missing.
 */
import { compareBuild, satisfies, validRange } from 'semver';

import { MarketplaceItem, type RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import { Agent } from '../../db/entities/agent.ts';
import { AgentVersion } from '../../db/entities/agent-version.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { mayUse } from '../auth/ownership.ts';
import { agentContent, type AgentContent } from './content.ts';
import type { Installer } from './installer.ts';
import { mayInstall } from './policy.ts';

export type AgentPlan = { required: RequiredAgent } & (
  | { use: 'existing'; agent_id: string }
  | { use: 'item'; item: MarketplaceItem; version: MarketplaceVersion; content: AgentContent }
  | { use: 'missing' }
);

/** The names under which the secrets of an agent are bound that is installed with a workflow. */
export function boundNames(plan: AgentPlan): string[] {
  if (plan.use !== 'item') return [];
  return plan.version.requires.secrets.map((name) => prefixOf(plan.required) + name);
}

/** Tells the secrets of several agents apart. */
export function prefixOf({ agent }: Pick<RequiredAgent, 'agent'>): string {
  return `${agent}/`;
}

/** With `lock`, locks the items to be installed, in the order of their ids. */
export async function planAgents(
  em: EntityManager,
  installer: Installer,
  required: readonly RequiredAgent[],
  { lock }: { lock: boolean },
): Promise<AgentPlan[]> {
  if (required.length === 0) return [];
  const items = await em.find(
    MarketplaceItem,
    { kind: 'agent', ref_id: { $in: required.map(({ agent_id }) => agent_id) } },
    { orderBy: { id: 'asc' }, ...(lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {}) },
  );
  const plans: AgentPlan[] = [];
  for (const agent of required) {
    const item = items.find(({ ref_id }) => ref_id === agent.agent_id);
    const existing =
      (await usable(em, installer, agent)) ??
      (item === undefined ? null : await installedBefore(em, installer, item, agent));
    const version =
      existing === null && item !== undefined && mayInstall(installer.actor, item)
        ? await bestVersion(em, item, agent)
        : null;
    if (existing !== null) plans.push({ required: agent, use: 'existing', agent_id: existing });
    else if (item === undefined || version === null) plans.push({ required: agent, use: 'missing' });
    else {
      const content = agentContent.parse(version.content);
      plans.push({ required: agent, use: 'item', item, version, content });
    }
  }
  return plans;
}

/** The agent itself if the installer may use it, else a copy of its item that they hold. */
export async function existingAgent(
  em: EntityManager,
  installer: Installer,
  required: RequiredAgent,
): Promise<string | null> {
  const own = await usable(em, installer, required);
  if (own !== null) return own;
  const item = await em.findOne(MarketplaceItem, { kind: 'agent', ref_id: required.agent_id });
  return item === null ? null : installedBefore(em, installer, item, required);
}

/** The agent's id if a workflow of the installer could use it in a fitting version, else null. */
async function usable(
  em: EntityManager,
  { rights }: Installer,
  { agent_id, version }: RequiredAgent,
): Promise<string | null> {
  const agent = await em.findOne(Agent, { id: agent_id });
  if (agent === null || !mayUse(rights, agent)) return null;
  return (await hasVersion(em, agent.id, version)) ? agent.id : null;
}

async function installedBefore(
  em: EntityManager,
  { holder_id: holderId }: Installer,
  item: MarketplaceItem,
  { version }: RequiredAgent,
): Promise<string | null> {
  const copies = await em.execute<{ id: string }[]>(
    `select id from agent
      where holder_id = ? and provenance is not null and provenance ->> 'item_id' = ?
      order by id desc limit 20`,
    [holderId, item.id],
  );
  for (const { id } of copies) if (await hasVersion(em, id, version)) return id;
  return null;
}

async function hasVersion(em: EntityManager, agentId: string, wanted: string | null): Promise<boolean> {
  if (wanted === null) return true;
  const versions = await em.find(AgentVersion, { agent_id: agentId }, { fields: ['version'] });
  return versions.some(({ version }) => fits(version, wanted));
}

/** The highest fitting version that is approved; publishers may also use their own unapproved ones. */
async function bestVersion(
  em: EntityManager,
  item: MarketplaceItem,
  { version: wanted }: RequiredAgent,
): Promise<MarketplaceVersion | null> {
  const status = item.status === 'approved' ? { status: 'approved' as const } : {};
  const versions = await em.find(
    MarketplaceVersion,
    { item_id: item.id, ...status },
    { populate: ['content'] },
  );
  const fitting = versions.filter(({ version }) => wanted === null || fits(version, wanted));
  return fitting.toSorted((a, b) => compareBuild(a.version, b.version)).at(-1) ?? null;
}

function fits(version: string, wanted: string): boolean {
  return version === wanted || (validRange(wanted) !== null && satisfies(version, wanted));
}
