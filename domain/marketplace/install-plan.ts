/** Tells before an installation what it would use, and which secrets can be bound. Changes nothing. */
import type { MarketplaceItem, RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import type { EntityManager } from '../../db/orm.ts';
import { agentOf, findEarlierCopy, workflowOf, type EarlierCopy } from './earlier-copy.ts';
import { missingAgents } from './heal.ts';
import { distinct } from './install.ts';
import type { Installer } from './installer.ts';
import { boundNames, planAgents, type AgentPlan } from './required-agents.ts';

export interface InstallPlan {
  version: string;
  digest: string;
  /** The installer's copy of this content, which a repeated installation returns. */
  copy: { ref_id: string; name: string } | null;
  /** `agent`: the one that is installed with a workflow and needs the secret; null for the item itself. */
  secrets: { name: string; agent: string | null }[];
  agents: AgentPlan[];
}

export async function planInstall(
  em: EntityManager,
  installer: Installer,
  item: MarketplaceItem,
): Promise<InstallPlan> {
  const { version, digest, requires } = await em.findOneOrFail(MarketplaceVersion, {
    item_id: item.id,
    version: item.version,
  });
  const earlier = await findEarlierCopy(em, installer, item, digest);
  const { name, lacking } = earlier === null ? NO_COPY : await readCopy(em, item, earlier);
  const agents = await planAgents(em, installer, lacking ?? requires.agents, { lock: false });
  const own = earlier === null ? requires.secrets : [];
  return {
    version,
    digest,
    copy: earlier === null ? null : { ref_id: earlier.ref_id, name },
    secrets: [
      ...own.map((secret) => ({ name: secret, agent: null })),
      ...agents.flatMap((plan) =>
        boundNames(plan).map((secret) => ({ name: secret, agent: plan.required.agent })),
      ),
    ],
    agents,
  };
}

const NO_COPY = { name: '', lacking: null };

/** `lacking`: the agents that a repeated installation would add. */
async function readCopy(
  em: EntityManager,
  { kind }: MarketplaceItem,
  earlier: EarlierCopy,
): Promise<{ name: string; lacking: RequiredAgent[] }> {
  if (kind === 'agent') return { name: (await agentOf(em, earlier)).name, lacking: [] };
  const state = await workflowOf(em, earlier, { lock: false });
  return { name: state.workflow.name, lacking: distinct(await missingAgents(em, state)) };
}
