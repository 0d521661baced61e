/**
 * Publishes a workflow together with the agents that other users could not use: each becomes an item of its
 * own, in one transaction.
 */
import { compareBuild, satisfies, validRange } from 'semver';

import { AgentVersion } from '../../db/entities/agent-version.ts';
import { Agent } from '../../db/entities/agent.ts';
import { MarketplaceItem, type RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';
import { mayPublishAgent } from '../registry/agent-policy.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { submitItem } from './submit.ts';

/** An item that installing the workflow will use. */
export interface IncludedAgent {
  agent: string;
  item_id: string;
  version: string;
  /** Status of that version. */
  status: 'submitted' | 'approved' | 'rejected';
}

/**
 * Submits the actor's own private agents among those required. Public agents need no item, and other users'
 * agents are not the actor's to publish. A version that is submitted or approved already stays unchanged.
 * @throws 409 for an agent without a fitting published version, and the errors of `submitItem`
 */
export async function submitAgents(
  em: EntityManager,
  encryption: Encryption,
  actor: Actor,
  required: readonly RequiredAgent[],
): Promise<IncludedAgent[]> {
  const included: IncludedAgent[] = [];
  // Ordered by id, so that concurrent submissions lock the items in the same order.
  for (const requiredAgent of required.toSorted((a, b) => (a.agent_id < b.agent_id ? -1 : 1))) {
    const agent = await em.findOne(Agent, { id: requiredAgent.agent_id });
    if (agent === null || !mayPublishAgent(actor, agent) || agent.visibility === 'public') continue;
    const { agent: name } = requiredAgent;
    const version = await publishedVersion(em, agent, requiredAgent);
    const submitted = await submittedVersion(em, agent, version);
    if (submitted !== null) {
      included.push({ agent: name, item_id: submitted.item_id, version, status: submitted.status });
      continue;
    }
    const item = await submitItem(em, encryption, actor, { kind: 'agent', ref_id: agent.id, version });
    included.push({ agent: name, item_id: item.id, version, status: 'submitted' });
  }
  return included;
}

async function publishedVersion(
  em: EntityManager,
  agent: Agent,
  { agent: name, version: wanted }: RequiredAgent,
): Promise<string> {
  const versions = await em.find(
    AgentVersion,
    { agent_id: agent.id, status: 'published' },
    { fields: ['version'] },
  );
  const fitting = versions.filter(
    ({ version }) =>
      wanted === null || version === wanted || (validRange(wanted) !== null && satisfies(version, wanted)),
  );
  const best = fitting.toSorted((a, b) => compareBuild(a.version, b.version)).at(-1);
  if (best === undefined) {
    throw conflict(
      'version_not_published',
      `The agent ${name} has no published version${wanted === null ? '' : ` that fits ${wanted}`}: ` +
        'publish one first.',
      { agent_id: agent.id },
    );
  }
  return best.version;
}

/** Null if the version has to be submitted (again). */
async function submittedVersion(
  em: EntityManager,
  agent: Agent,
  version: string,
): Promise<MarketplaceVersion | null> {
  const item = await em.findOne(MarketplaceItem, { kind: 'agent', ref_id: agent.id });
  if (item === null || item.status === 'withdrawn') return null;
  const found = await em.findOne(MarketplaceVersion, { item_id: item.id, version });
  return found === null || found.status === 'rejected' ? null : found;
}
