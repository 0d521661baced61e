/**
 * Installs an item: copies a version into a person's or a team's registry, with its provenance. Each
 * installation is counted once.
 */
import { v7 as uuidv7 } from 'uuid';

import { Agent } from '../../db/entities/agent.ts';
import { MarketplaceInstall } from '../../db/entities/marketplace-install.ts';
import type {
  ItemKind,
  MarketplaceItem,
  Provenance,
  RequiredAgent,
} from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { Bindings } from './bindings.ts';
import { getVersion } from '../registry/agent-versions.ts';
import { itemContent, type AgentContent, type WorkflowContent } from './content.ts';
import { copyAgent, copyWorkflow, missingWorkflows, workflowsMissingIn, type Copy } from './copies.ts';
import {
  agentOf,
  findEarlierCopy,
  refuseBinding,
  unboundIn,
  workflowOf,
  type EarlierCopy,
} from './earlier-copy.ts';
import { missingAgents, useAgents, type MissingAgent } from './heal.ts';
import type { Installer } from './installer.ts';
import { usernames } from './items.ts';
import { mayInstall } from './policy.ts';
import { existingAgent, planAgents, prefixOf, type AgentPlan } from './required-agents.ts';

export interface Installed {
  id: string;
  item: Pick<MarketplaceItem, 'id' | 'kind'>;
  kind: ItemKind;
  ref_id: string;
  name: string;
  version: string;
  digest: string;
  installed_at: Date;
  /** What the copy still lacks. Secrets are listed by the names that a repeated installation would bind. */
  missing: { secrets: string[]; agents: RequiredAgent[]; workflows: string[] };
  /** The agents that were installed together with a workflow. */
  agents: Installed[];
  /** The copy existed already. */
  repeated: boolean;
}

interface Context {
  em: EntityManager;
  encryption: Encryption;
  installer: Installer;
  bindings: Bindings;
}

/** 409 for an item that the actor may see but not install. */
export function checkInstallable(actor: Actor, item: MarketplaceItem): void {
  if (!mayInstall(actor, item))
    throw conflict('not_approved', `The item is ${item.status}: only approved ones are installed.`);
}

/**
 * Installs an item, or returns the existing copy of the same content by the same publisher. `secrets` maps
 * names of `requires.secrets` to secrets of the person or team for whom it is installed; for an agent
 * installed with a workflow the name is `<agent>/<NAME>`. Equal names are never bound automatically. The
 * caller has locked the item's row.
 * @throws 422 for unknown names
 */
export async function installItem(
  em: EntityManager,
  encryption: Encryption,
  installer: Installer,
  item: MarketplaceItem,
  secrets: Record<string, string>,
): Promise<Installed> {
  const version = await em.findOneOrFail(
    MarketplaceVersion,
    { item_id: item.id, version: item.version },
    { populate: ['content'] },
  );
  const content = itemContent.parse(version.content);
  const earlier = await findEarlierCopy(em, installer, item, version.digest);
  if (earlier !== null)
    return installAgain(
      { em, encryption, installer, bindings: new Bindings(secrets) },
      version,
      content,
      earlier,
    );
  const plans =
    content.kind === 'workflow'
      ? await planAgents(em, installer, version.requires.agents, { lock: true })
      : [];
  const bindings = new Bindings(secrets);
  bindings.offer('', version.requires.secrets, content.kind);
  offerAgents(bindings, plans);
  await bindings.check(em, installer);

  const context = { em, encryption, installer, bindings };
  if (content.kind === 'agent') {
    const provenance = await provenanceOf(em, item, version);
    return record(
      context,
      item,
      version,
      await copyAgent(em, encryption, installer, { content, provenance, bound: bindings.of('') }),
      bindings.missing(''),
      [],
    );
  }
  return installWorkflow(context, item, version, content, plans);
}

async function installAgain(
  context: Context,
  version: MarketplaceVersion,
  content: AgentContent | WorkflowContent,
  earlier: EarlierCopy,
): Promise<Installed> {
  const { kind } = content;
  context.bindings.offer('', version.requires.secrets, kind);
  const copy =
    content.kind === 'agent'
      ? await agentAgain(context, version, content, earlier)
      : await workflowAgain(context, version, earlier);
  return {
    id: earlier.id,
    item: { id: earlier.item_id, kind },
    kind,
    ref_id: earlier.ref_id,
    digest: version.digest,
    version: version.version,
    installed_at: earlier.installed_at,
    repeated: true,
    ...copy,
  };
}

type CopyAgain = Pick<Installed, 'name' | 'missing' | 'agents'>;

async function agentAgain(
  { em, installer, bindings }: Context,
  version: MarketplaceVersion,
  content: AgentContent,
  earlier: EarlierCopy,
): Promise<CopyAgain> {
  await bindings.check(em, installer);
  const agent = await agentOf(em, earlier);
  const { configuration } = await getVersion(em, agent, agent.version);
  const secrets = unboundIn([configuration, agent.authentication_config], version.requires.secrets, 'agent');
  refuseBinding(
    secrets.filter((name) => bindings.of('')(name) !== null),
    earlier,
    'agent',
  );
  return {
    name: agent.name,
    missing: { secrets, agents: [], workflows: await missingWorkflows(em, installer, content) },
    agents: [],
  };
}

/** Installs the agents that the copy still lacks, and uses them in it. */
async function workflowAgain(
  context: Context,
  version: MarketplaceVersion,
  earlier: EarlierCopy,
): Promise<CopyAgain> {
  const { em, installer, bindings } = context;
  const before = await workflowOf(em, earlier, { lock: true });
  const missing = await missingAgents(em, before);
  const plans = await planAgents(em, installer, distinct(missing), { lock: true });
  offerAgents(bindings, plans);
  for (const { agent } of version.requires.agents) bindings.tolerate(prefixOf({ agent }));
  await bindings.check(em, installer);
  await refuseAgentBindings(context, version.requires.agents);
  const secrets = unboundIn(before.revision.definition, version.requires.secrets, 'workflow');
  refuseBinding(
    secrets.filter((name) => bindings.of('')(name) !== null),
    earlier,
    'workflow',
  );
  const { ids, agents, missing: stillMissing } = await takeAgents(context, plans);
  const found = missing.filter((agent) => !stillMissing.some((other) => keyOf(other) === keyOf(agent)));
  const { workflow, revision } = await useAgents(
    em,
    installer.actor,
    before,
    new Map(found.map((agent) => [agent.pointer, ids.get(keyOf(agent)) ?? agent.agent_id])),
  );
  return {
    name: workflow.name,
    missing: { secrets, agents: stillMissing, workflows: workflowsMissingIn(revision) },
    agents,
  };
}

/** The secrets of the agents that are installed with a workflow, under `<agent>/<NAME>`. */
function offerAgents(bindings: Bindings, plans: readonly AgentPlan[]): void {
  for (const plan of plans)
    if (plan.use === 'item') bindings.offer(prefixOf(plan.required), plan.version.requires.secrets, 'agent');
}

/**
 * As for the copy itself: refuses a secret for an agent that was installed earlier and lacks it, instead of
 * ignoring the secret silently.
 */
async function refuseAgentBindings(
  { em, installer, bindings }: Context,
  required: readonly RequiredAgent[],
): Promise<void> {
  for (const requiredAgent of required) {
    const names = bindings.unused(prefixOf(requiredAgent));
    const id = names.length === 0 ? null : await existingAgent(em, installer, requiredAgent);
    const agent = id === null ? null : await em.findOne(Agent, { id, holder_id: installer.holder_id });
    if (agent === null) continue;
    const { configuration } = await getVersion(em, agent, agent.version);
    refuseBinding(
      unboundIn([configuration, agent.authentication_config], names, 'agent'),
      { ref_id: agent.id },
      'agent',
      agent.name,
    );
  }
}

export function distinct(missing: readonly MissingAgent[]): RequiredAgent[] {
  return [
    ...new Map(
      missing.map((needed) => [
        keyOf(needed),
        { agent: needed.agent, agent_id: needed.agent_id, version: needed.version },
      ]),
    ).values(),
  ];
}

async function installWorkflow(
  context: Context,
  item: MarketplaceItem,
  version: MarketplaceVersion,
  content: WorkflowContent,
  plans: readonly AgentPlan[],
): Promise<Installed> {
  const { em, installer, bindings } = context;
  const { ids, agents, missing } = await takeAgents(context, plans);
  const provenance = await provenanceOf(em, item, version);
  const copy = await copyWorkflow(em, installer, {
    content,
    provenance,
    bound: bindings.of(''),
    agentId: (agent) => ids.get(keyOf(agent)) ?? agent.agent_id,
  });
  const installed = await record(context, item, version, copy, bindings.missing(''), missing);
  return { ...installed, agents };
}

/** `ids`: by the agent that the publisher meant. `agents`: those that were installed now. */
async function takeAgents(
  context: Context,
  plans: readonly AgentPlan[],
): Promise<{ ids: Map<string, string>; agents: Installed[]; missing: RequiredAgent[] }> {
  const { em, encryption, installer, bindings } = context;
  const agents: Installed[] = [];
  const ids = new Map<string, string>();
  const missing: RequiredAgent[] = [];
  for (const plan of plans) {
    const { required } = plan;
    const key = keyOf(required);
    if (plan.use === 'existing') {
      ids.set(key, plan.agent_id);
    } else if (plan.use === 'missing') {
      missing.push(required);
      // By its id, so that another agent of the same name cannot be used by mistake.
      ids.set(key, required.agent_id);
    } else {
      const provenance = await provenanceOf(em, plan.item, plan.version);
      const prefix = prefixOf(required);
      const agentCopy = await copyAgent(em, encryption, installer, {
        content: plan.content,
        provenance,
        bound: bindings.of(prefix),
      });
      agents.push(await record(context, plan.item, plan.version, agentCopy, bindings.missing(prefix), []));
      ids.set(key, agentCopy.ref_id);
    }
  }
  return { ids, agents, missing };
}

function keyOf({ agent_id, version }: Pick<RequiredAgent, 'agent_id' | 'version'>): string {
  return JSON.stringify([agent_id, version]);
}

async function provenanceOf(
  em: EntityManager,
  item: MarketplaceItem,
  version: MarketplaceVersion,
): Promise<Provenance> {
  const names = await usernames(em, [item.publisher_id]);
  return {
    item_id: item.id,
    version: version.version,
    digest: version.digest,
    publisher: { id: item.publisher_id, username: names.get(item.publisher_id) ?? '' },
    installed_at: new Date().toISOString(),
  };
}

async function record(
  { em, installer }: Context,
  item: MarketplaceItem,
  version: MarketplaceVersion,
  copy: Copy,
  secrets: string[],
  agents: RequiredAgent[],
): Promise<Installed> {
  const install = {
    id: uuidv7(),
    item_id: item.id,
    version: version.version,
    digest: version.digest,
    user_id: installer.actor.id,
    team_id: installer.team_id,
    ref_id: copy.ref_id,
    installed_at: new Date(),
  };
  em.persist(em.create(MarketplaceInstall, install));
  item.installs += 1;
  await em.flush();
  const { id, ref_id, digest, installed_at } = install;
  return {
    id,
    item,
    kind: item.kind,
    ref_id,
    name: copy.name,
    version: version.version,
    digest,
    installed_at,
    missing: { secrets, agents, workflows: copy.missing_workflows },
    agents: [],
    repeated: false,
  };
}
