/** A workflow's revision with everything that a run needs. */
import type { EntityManager } from '../../db/orm.ts';
import { Prepared } from '../../db/prepared.ts';
import type { Problem } from '../../language/definition/validate.ts';
import { fault } from '../../contracts/fault.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { usableBy } from '../auth/ownership.ts';
import { AppError, conflict, forbidden, invalid, notFound } from '../errors.ts';
import { maySeeWorkflow, startRight } from '../registry/workflow-policy.ts';
import { requireMembership } from '../teams/holding.ts';
import { findByReference, type WorkflowReference } from '../registry/workflow-references.ts';
import type { AgentReference } from './pins.ts';

export interface Runnable {
  id: string;
  owner_id: string;
  team_id: string | null;
  visibility: 'private' | 'public';
  runner_keys: string[];
  name: string;
  revision: number;
  definition: unknown;
  valid: boolean;
  runnable: boolean;
  problems: Problem[];
  input_schema: Record<string, unknown> | boolean | null;
  agents: AgentReference[];
}

interface Row extends Omit<Runnable, 'agents'> {
  agents: { pointer: string; agent: string; agent_id: string; version: string | null }[];
}

const RUNNABLE = new Prepared(
  `select w.id, w.owner_id, w.team_id, w.visibility, to_json(w.runner_keys) as runner_keys, w.name,
          v.revision,
          coalesce(v.executable, v.definition) as definition, v.valid, v.runnable, v.problems,
          v.input_schema, v.agents
     from workflow w join workflow_revision v
            on v.workflow_id = w.id and v.revision = coalesce(?::int, w.revision)
    where w.id = ? and w.archived_at is null`,
);

async function read(
  em: EntityManager,
  workflowId: string,
  revision: number | null,
): Promise<Runnable | null> {
  const [row] = await RUNNABLE.execute<Row>(em, [revision, workflowId]);
  if (!row) return null;
  const agents = row.agents.map(({ pointer, agent, agent_id, version }) => ({
    pointer,
    agent,
    agent_id,
    ...(version === null ? {} : { version }),
  }));
  return { ...row, agents };
}

/** The current or given revision, for a caller who may see the workflow. @throws 404 */
export async function getRunnable(
  em: EntityManager,
  actor: Actor,
  workflowId: string,
  revision: number | null = null,
): Promise<Runnable> {
  const maySee = (one: Runnable | null): one is Runnable => one !== null && maySeeWorkflow(actor, one);
  const workflow = await read(em, workflowId, revision);
  if (maySee(workflow)) return workflow;
  const lacksRevision = revision !== null && maySee(await read(em, workflowId, null));
  throw notFound(lacksRevision ? `revision of the workflow: ${revision}` : 'workflow');
}

/**
 * The workflow, for a caller who may start it. `byGrant`: only as one of its runners.
 * @throws 404 for those who may not see it, 403 for others
 */
export async function getStartable(
  em: EntityManager,
  actor: Actor,
  workflowId: string,
): Promise<{ workflow: Runnable; byGrant: boolean }> {
  const workflow = await read(em, workflowId, null);
  const right = workflow === null ? null : startRight(actor, workflow);
  if (workflow?.team_id && right === 'builder' && !isAdmin(actor) && workflow.visibility === 'private')
    await requireMembership(em, actor, workflow.team_id, 'builder');
  if (workflow !== null && right !== null) return { workflow, byGrant: right === 'runner' };
  if (workflow === null || !maySeeWorkflow(actor, workflow)) throw notFound('workflow');
  throw forbidden(
    'Starting this workflow requires the role builder (of its team if it is private), or to be a runner.',
    'role_required',
  );
}

/** What a runner is told instead of problems of a definition that they do not see. */
export function errorForRunner(actor: Actor, workflow: Runnable, error: unknown): unknown {
  const isOfDefinition = error instanceof AppError && error.kind === 'invalid';
  return isOfDefinition && !maySeeWorkflow(actor, workflow)
    ? conflict('workflow_not_ready', 'The workflow cannot be started now: ask who is responsible for it.')
    : error;
}

/** @throws 422 with the definition's problems */
export function requireRunnable(workflow: Runnable): void {
  if (workflow.runnable) return;
  const blocking = workflow.problems.filter(
    ({ severity }) => severity === (workflow.valid ? 'unsupported' : 'error'),
  );
  throw invalid(
    blocking.map(({ pointer, code, message }) => ({ pointer, code, message })),
    workflow.valid
      ? 'The workflow uses features that are not available yet.'
      : 'The definition of the workflow is not valid.',
    workflow.valid ? 'workflow_not_runnable' : 'workflow_invalid',
  );
}

/** Finds a workflow by id or by its DSL reference. @throws Fault if `ownerId` may use no such workflow */
export async function findWorkflow(
  em: EntityManager,
  ownerId: string,
  reference: { id: string } | WorkflowReference,
): Promise<{ id: string; revision: number | null }> {
  if ('id' in reference) {
    const [row] = await em.execute<{ id: string }[]>(
      `select id from workflow
        where id::text = ? and archived_at is null and ${usableBy('workflow')}`,
      [reference.id, ownerId],
    );
    if (!row) throw fault('configuration', `There is no workflow ${reference.id}`);
    return { id: row.id, revision: null };
  }
  const found = await findByReference(em, ownerId, reference);
  if (!found)
    throw fault(
      'configuration',
      `There is no workflow ${reference.name} in ${reference.namespace} with version ${reference.version}`,
    );
  return { id: found.workflow_id, revision: found.revision };
}

/** @throws Fault if the workflow does not exist or cannot run */
export async function readRunnable(
  em: EntityManager,
  workflow: { id: string; revision: number | null },
): Promise<Runnable> {
  const found = await read(em, workflow.id, workflow.revision);
  if (!found)
    throw fault(
      'configuration',
      `There is no workflow ${workflow.id}` +
        (workflow.revision === null ? '' : `, revision ${workflow.revision}`),
    );
  if (!found.runnable) {
    const problem = found.problems.find(({ severity }) => severity !== 'warning');
    throw fault('configuration', `The workflow ${found.name} cannot run: ${problem?.message ?? ''}`);
  }
  return found;
}

/** The input schema of the workflow behind an agent of kind `workflow`; null if there is none. */
export async function readWorkflowInputSchema(
  em: EntityManager,
  agent: { owner_id: string; configuration: Record<string, unknown> },
): Promise<Runnable['input_schema']> {
  const { workflow_id: id, revision } = agent.configuration;
  if (typeof id !== 'string') return null;
  const [row] = await em.execute<{ input_schema: Runnable['input_schema'] }[]>(
    `select v.input_schema
       from workflow w join workflow_revision v
              on v.workflow_id = w.id and v.revision = coalesce(?::int, w.revision)
      where w.id::text = ? and w.archived_at is null and ${usableBy('w')}`,
    [typeof revision === 'number' ? revision : null, id, agent.owner_id],
  );
  return row?.input_schema ?? null;
}
