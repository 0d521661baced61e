/** Installing: copies an item's version into the actor's registry, with its provenance. Counted once an installation. */
import { v7 as uuidv7 } from 'uuid';

import { MarketplaceInstall } from '../../db/entities/marketplace-install.ts';
import type { ItemKind, MarketplaceItem, Provenance, RequiredAgent } from '../../db/entities/marketplace-item.ts';
import { MarketplaceVersion } from '../../db/entities/marketplace-version.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { conflict } from '../errors.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { Bindings } from './bindings.ts';
import { itemContent, type WorkflowContent } from './content.ts';
import { copyAgent, copyWorkflow, type Copy } from './copies.ts';
import { usernames } from './items.ts';
import { mayInstall } from './policy.ts';
import { planAgents, type AgentPlan } from './required-agents.ts';

export interface Installed {
  id: string;
  item: MarketplaceItem;
  kind: ItemKind;
  ref_id: string;
  name: string;
  version: string;
  digest: string;
  installed_at: Date;
  /** What the copy still needs. Secrets by the names that a repeated installation would bind. */
  missing: { secrets: string[]; agents: RequiredAgent[]; workflows: string[] };
  /** Agents of a workflow: those that were installed with it. */
  agents: Installed[];
}

interface Context {
  em: EntityManager;
  encryption: Encryption;
  actor: Actor;
  bindings: Bindings;
}

/** 409 for what the actor may see and not install. */
export function checkInstallable(actor: Actor, item: MarketplaceItem): void {
  if (!mayInstall(actor, item)) throw conflict('not_approved', `The item is ${item.status}: only approved ones are installed.`);
}

/**
 * `secrets` binds names of `requires.secrets` to the actor's own secrets; those of an agent that comes with a workflow are
 * `<agent>/<NAME>`. Nothing is bound by an equal name. The item's row is locked. @throws 422 for names that are not there.
 */
export async function installItem(em: EntityManager, encryption: Encryption, actor: Actor, item: MarketplaceItem, secrets: Record<string, string>): Promise<Installed> {
  const version = await em.findOneOrFail(MarketplaceVersion, { item_id: item.id, version: item.version }, { populate: ['content'] });
  const content = itemContent.parse(version.content);
  const plans = content.kind === 'workflow' ? await planAgents(em, actor, version.requires.agents) : [];
  const bindings = new Bindings(secrets);
  bindings.offer('', version.requires.secrets, content.kind);
  for (const plan of plans) if (plan.use === 'item') bindings.offer(`${plan.required.agent}/`, plan.version.requires.secrets, 'agent');
  await bindings.check(em, actor);

  const context = { em, encryption, actor, bindings };
  if (content.kind === 'agent') {
    const provenance = await provenanceOf(em, item, version);
    return record(context, item, version, await copyAgent(em, encryption, actor, { content, provenance, bound: bindings.of('') }), bindings.missing(''), []);
  }
  return installWorkflow(context, item, version, content, plans);
}

async function installWorkflow(context: Context, item: MarketplaceItem, version: MarketplaceVersion, content: WorkflowContent, plans: readonly AgentPlan[]): Promise<Installed> {
  const { em, encryption, actor, bindings } = context;
  const agents: Installed[] = [];
  /** By the agent that the publisher meant. */
  const ids = new Map<string, string>();
  const missing: RequiredAgent[] = [];
  for (const plan of plans) {
    const { required } = plan;
    const key = keyOf(required);
    if (plan.use === 'existing') {
      ids.set(key, plan.agent_id);
    } else if (plan.use === 'missing') {
      missing.push(required);
      // By its id, so that no other agent of an equal name takes its place.
      ids.set(key, required.agent_id);
    } else {
      const provenance = await provenanceOf(em, plan.item, plan.version);
      const prefix = `${required.agent}/`;
      const agentCopy = await copyAgent(em, encryption, actor, { content: plan.content, provenance, bound: bindings.of(prefix) });
      agents.push(await record(context, plan.item, plan.version, agentCopy, bindings.missing(prefix), []));
      ids.set(key, agentCopy.ref_id);
    }
  }
  const provenance = await provenanceOf(em, item, version);
  const copy = await copyWorkflow(em, actor, { content, provenance, bound: bindings.of(''), agentId: (agent) => ids.get(keyOf(agent)) ?? agent.agent_id });
  const done = await record(context, item, version, copy, bindings.missing(''), missing);
  return { ...done, agents };
}

function keyOf({ agent_id, version }: Pick<RequiredAgent, 'agent_id' | 'version'>): string {
  return JSON.stringify([agent_id, version]);
}

async function provenanceOf(em: EntityManager, item: MarketplaceItem, version: MarketplaceVersion): Promise<Provenance> {
  const names = await usernames(em, [item.publisher_id]);
  return {
    item_id: item.id,
    version: version.version,
    digest: version.digest,
    publisher: { id: item.publisher_id, username: names.get(item.publisher_id) ?? '' },
    installed_at: new Date().toISOString(),
  };
}

async function record({ em, actor }: Context, item: MarketplaceItem, version: MarketplaceVersion, copy: Copy, secrets: string[], agents: RequiredAgent[]): Promise<Installed> {
  const install = { id: uuidv7(), item_id: item.id, version: version.version, digest: version.digest, user_id: actor.id, ref_id: copy.ref_id, installed_at: new Date() };
  em.persist(em.create(MarketplaceInstall, install));
  item.installs += 1;
  await em.flush();
  const { id, ref_id, digest, installed_at } = install;
  return { id, item, kind: item.kind, ref_id, name: copy.name, version: version.version, digest, installed_at, missing: { secrets, agents, workflows: copy.missing_workflows }, agents: [] };
}

