/**
 * Copies an item's content into a person's or a team's registry: private, published unchanged, with its
 * provenance.
 */
import { isUuid } from '../../contracts/uuid.ts';
import { Agent } from '../../db/entities/agent.ts';
import type { Provenance } from '../../db/entities/marketplace-item.ts';
import type { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import type { EntityManager } from '../../db/orm.ts';
import { mayUse } from '../auth/ownership.ts';
import { createAgent } from '../registry/agent-service.ts';
import { getVersion, publishVersion } from '../registry/agent-versions.ts';
import { createWorkflow } from '../registry/workflow-service.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { withBindings } from './agent-configuration.ts';
import type { AgentContent, WorkflowContent } from './content.ts';
import type { Installer } from './installer.ts';
import { withValues } from '../../language/definition/resources.ts';
import { bindSecrets } from '../registry/definition-secrets.ts';

export interface Copy {
  ref_id: string;
  name: string;
  /** Workflows that the copy runs and that its owner may not use. */
  missing_workflows: string[];
}

interface Source<C> {
  content: C;
  provenance: Provenance;
  /** The holder's secret that a name is bound to; null if none. */
  bound: (name: string) => string | null;
}

/**
 * The copy's version is published at once. To bind a secret later, the owner creates and publishes a new
 * version.
 */
export async function copyAgent(
  em: EntityManager,
  encryption: Encryption,
  installer: Installer,
  { content, provenance, bound }: Source<AgentContent>,
): Promise<Copy> {
  const { kind: _kind, skills, configuration, authentication_config: authentication, ...fields } = content;
  const name = await freeName(em, installer, content.name);
  const { agent } = await createAgent(
    em,
    encryption,
    installer.actor,
    {
      ...fields,
      name,
      team_id: installer.team_id,
      status: 'active',
      visibility: 'private',
      budget: null,
      limits: null,
      configuration: withBindings(configuration, bound),
      authentication_config: withBindings(authentication, bound),
      provenance,
    },
    skills,
  );
  const version = await getVersion(em, agent, content.version);
  version.changelog =
    `Installed from the marketplace: item ${provenance.item_id}, ` + `digest ${provenance.digest}.`;
  await publishVersion(em, agent, version);
  return { ref_id: agent.id, name, missing_workflows: await missingWorkflows(em, installer, content) };
}

/** Names the agents by id, so that another agent of the same name cannot be used by mistake. */
export async function copyWorkflow(
  em: EntityManager,
  { actor, team_id }: Installer,
  {
    content,
    provenance,
    bound,
    agentId,
  }: Source<WorkflowContent> & { agentId: (agent: WorkflowContent['agents'][number]) => string },
): Promise<Copy> {
  const named = withValues(
    content.definition,
    new Map(content.agents.map((agent) => [agent.pointer, agentId(agent)])),
  );
  const definition = bindSecrets(named, bound);
  // Submission has checked that the secrets can be bound, and replacing agent names by ids does not change
  // that.
  if (definition === null) throw new Error(`the secrets of item ${provenance.item_id} cannot be bound`);
  const copy = {
    name: content.name,
    description: content.description,
    definition,
    visibility: 'private' as const,
    team_id,
    tags: content.tags,
    provenance,
  };
  const fetched = { resources: content.resources ?? [], problems: [] };
  const { workflow, revision } = await createWorkflow(em, actor, copy, fetched);
  return { ref_id: workflow.id, name: workflow.name, missing_workflows: workflowsMissingIn(revision) };
}

/** Workflows that the definition runs and that its owner may not use. */
export function workflowsMissingIn({ problems }: Pick<WorkflowRevision, 'problems'>): string[] {
  return problems
    .filter(({ code }) => code === 'unknown_workflow')
    .map(({ message }) => /there is no workflow (.*) yet/.exec(message)?.[1] ?? message);
}

export async function missingWorkflows(
  em: EntityManager,
  { rights }: Installer,
  { type, configuration }: AgentContent,
): Promise<string[]> {
  const id = configuration['workflow_id'];
  if (type !== 'workflow' || typeof id !== 'string') return [];
  const found = isUuid(id) ? await em.findOne(Workflow, { id: id.toLowerCase(), archived_at: null }) : null;
  return found !== null && mayUse(rights, found) ? [] : [id];
}

/**
 * Adds ` (2)` and so on to a name that the holder already uses: two agents of one name would be ambiguous in
 * definitions.
 */
async function freeName(em: EntityManager, { holder_id }: Installer, wanted: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const suffix = count === 1 ? '' : ` (${count})`;
    const name = `${[...wanted].slice(0, 255 - suffix.length).join('')}${suffix}`;
    if ((await em.count(Agent, { holder_id, name })) === 0) return name;
  }
}
