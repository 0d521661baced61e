/** Creates the content of an item from the publisher's agent or workflow. */
import { AgentSkill } from '../../db/entities/agent-skill.ts';
import { Agent } from '../../db/entities/agent.ts';
import { Workflow } from '../../db/entities/workflow.ts';
import type { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import type { RequiredAgent, Requirements } from '../../db/entities/marketplace-item.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import type { Actor } from '../auth/actor.ts';
import { AppError, conflict, forbidden, invalid } from '../errors.ts';
import { mayPublishAgent, maySeeAgent } from '../registry/agent-policy.ts';
import { findVersion } from '../registry/agent-versions.ts';
import { mayPublishWorkflow, maySeeWorkflow } from '../registry/workflow-policy.ts';
import { getRevision } from '../registry/workflow-service.ts';
import { withoutSecrets } from './agent-configuration.ts';
import {
  agentContent,
  workflowContent,
  type AgentContent,
  type ItemContent,
  type WorkflowContent,
} from './content.ts';
import { bindSecrets, secretsOf } from '../registry/definition-secrets.ts';
import { literalsIn, type FoundLiteral, type OwnSecret } from './literals.ts';

export interface Snapshot {
  content: ItemContent;
  requires: Requirements;
  /** The default texts of the item, from the agent or workflow. */
  defaults: { name: string; description: string | null; license: string | null; tags: string[] };
}

type Published = { ref_id: string; version: string };

/**
 * A published version of the actor's own agent. @throws 403 for another user's agent, 409 for a draft or
 * deprecated version, 422 for an unknown agent or version
 */
export async function snapshotAgent(
  em: EntityManager,
  actor: Actor,
  own: readonly OwnSecret[],
  { ref_id, version: wanted }: Published,
): Promise<Snapshot> {
  const agent = await em.findOne(Agent, { id: ref_id }, { lockMode: LockMode.PESSIMISTIC_READ });
  if (agent === null || !maySeeAgent(actor, agent)) throw unknownReference('agent');
  if (!mayPublishAgent(actor, agent)) throw forbidden('Only its owner may publish an agent.');
  const version = await findVersion(em, agent, wanted);
  if (version === null)
    throw invalid([
      {
        pointer: '/version',
        code: 'unknown_version',
        message: `the agent has no version ${JSON.stringify(wanted)}`,
      },
    ]);
  if (version.status !== 'published')
    throw conflict(
      'version_not_published',
      `Version ${version.version} is ${version.status}: only a published one can be an item.`,
    );
  const skills = await em.find(AgentSkill, { agent_id: agent.id }, { orderBy: { id: 'asc' } });
  const { secrets, ...parts } = withoutSecrets(
    { configuration: version.configuration, authentication_config: agent.authentication_config ?? null },
    own,
  );
  const content: AgentContent = agentContent.parse({
    kind: 'agent',
    ...nulled({ ...agent }),
    version: version.version,
    ...parts,
    input_schema: version.input_schema,
    output_schema: version.output_schema,
    skills: skills.map((skill) => nulled({ ...skill })),
  });
  refuseLiterals(
    literalsIn(content, own, { byKey: false }),
    'replace it by a placeholder such as <API_KEY> in the configuration, and publish a new version',
  );
  const { name, description, license, tags } = content;
  return {
    content,
    requires: { secrets, agents: [] },
    defaults: { name, description, license, tags: tags ?? [] },
  };
}

/**
 * A valid revision of the actor's own workflow. @throws 403 for another user's workflow, 422 for an unknown
 * or invalid revision
 */
export async function snapshotWorkflow(
  em: EntityManager,
  actor: Actor,
  own: readonly OwnSecret[],
  { ref_id, version: wanted }: Published,
): Promise<Snapshot> {
  const workflow = await publishableWorkflow(em, actor, ref_id);
  const revision = await getRevision(em, workflow, revisionNumber(wanted, workflow.revision));
  refuseInvalid(revision);
  refuseHiddenSecrets(revision);
  const content: WorkflowContent = workflowContent.parse({
    kind: 'workflow',
    name: workflow.name,
    revision: revision.revision,
    description: workflow.description ?? null,
    tags: workflow.tags,
    definition: revision.definition,
    ...(revision.resources?.length ? { resources: revision.resources } : {}),
    agents: revision.agents.map(({ pointer, agent, agent_id, version }) => ({
      pointer,
      agent,
      agent_id,
      version,
    })),
  });
  refuseLiterals(
    literalsIn({ ...content, definition: withoutSecretNames(content.definition) }, own, { byKey: true }),
    'read it as $secrets.<name>',
  );
  const { name, description, tags } = content;
  return {
    content,
    requires: { secrets: secretsOf(content.definition), agents: distinct(content.agents) },
    defaults: { name, description, license: null, tags },
  };
}

async function publishableWorkflow(em: EntityManager, actor: Actor, id: string): Promise<Workflow> {
  const workflow = await em.findOne(
    Workflow,
    { id, archived_at: null },
    { lockMode: LockMode.PESSIMISTIC_READ },
  );
  if (workflow === null || !maySeeWorkflow(actor, workflow)) throw unknownReference('workflow');
  if (!mayPublishWorkflow(actor, workflow)) throw forbidden('Only its owner may publish a workflow.');
  return workflow;
}

function revisionNumber(wanted: string, current: number): number {
  const number = /^[1-9]\d{0,9}$/.test(wanted) ? Number(wanted) : 0;
  if (number >= 1 && number <= current) return number;
  throw invalid([
    {
      pointer: '/version',
      code: 'unknown_version',
      message: `the workflow has no revision ${JSON.stringify(wanted)}: its current one is ${current}`,
    },
  ]);
}

function refuseInvalid({ valid, problems }: WorkflowRevision): void {
  if (valid) return;
  throw new AppError('invalid', 'workflow_invalid', 'This revision of the workflow is not valid.', {
    errors: problems
      .filter(({ severity }) => severity === 'error')
      .map(({ pointer, code, message }) => ({ pointer, code, message })),
  });
}

function refuseHiddenSecrets({ definition }: WorkflowRevision): void {
  if (bindSecrets(definition, () => null) !== null) return;
  throw invalid([
    {
      pointer: '/version',
      code: 'secret_hidden',
      message: 'a secret is read in a way that cannot be bound to another name: write $secrets.<name>',
    },
  ]);
}

/** @throws 422 that lists each place with a literal secret */
export function refuseLiterals(found: readonly FoundLiteral[], advice: string): void {
  if (found.length === 0) return;
  throw invalid(
    found.map(({ pointer, secret }) => {
      const finding =
        secret === null ? 'holds what looks like a secret' : `holds the value of the secret ${secret}`;
      return { pointer, code: 'literal_secret', message: `${finding}: ${advice}` };
    }),
    'An item must not contain secrets, and this one does.',
    'literal_secret',
  );
}

/** `use.secrets` lists names, not values, although its key looks like a credential's. */
function withoutSecretNames(definition: Record<string, unknown>): Record<string, unknown> {
  const { use } = definition;
  return typeof use === 'object' && use !== null
    ? { ...definition, use: { ...use, secrets: [] } }
    : definition;
}

function distinct(agents: WorkflowContent['agents']): RequiredAgent[] {
  const found = new Map(
    agents.map(({ agent, agent_id, version }) => [
      JSON.stringify([agent_id, version]),
      { agent, agent_id, version },
    ]),
  );
  return [...found.values()];
}

function unknownReference(kind: string): AppError {
  return invalid([{ pointer: '/ref_id', code: `unknown_${kind}`, message: `there is no such ${kind}` }]);
}

/** Restores the nulls, which the ORM leaves out. */
function nulled<T extends object>(entity: T): Record<string, unknown> {
  const fields = [
    'description',
    'execution_type',
    'documentation',
    'license',
    'repository_url',
    'modalities',
    'capabilities',
    'url',
    'provider_name',
    'provider_url',
    'authentication_type',
    'tags',
    'examples',
    'input_modes',
    'output_modes',
  ];
  return {
    ...Object.fromEntries(fields.map((field) => [field, null])),
    ...Object.fromEntries(Object.entries(entity).filter(([, value]) => value !== undefined)),
  };
}
