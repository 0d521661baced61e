import type { EntityManager } from '../../db/orm.ts';
import type { CreateChildRunInput } from '../../contracts/activities.ts';
import { fault } from '../../contracts/fault.ts';
import { describeViolations, violations } from '../../language/schema/validate-json.ts';
import { handTurnOver } from '../registry/agent-turns.ts';
import { holderOf } from '../auth/ownership.ts';
import { createRun } from './create.ts';
import type { RunLimits } from './limits.ts';
import { readRetrySource } from './retry-source.ts';
import { findWorkflow, readRunnable } from './runnable.ts';

interface Parent {
  owner_id: string;
  root_run_id: string;
  rights_of: string;
  depth: number;
  workflow_id: string | null;
  workflow_revision: number | null;
  workflow_name: string;
}

/**
 * Inserts a child run for its parent's owner. With `retry_of` it continues from where that run faulted; if
 * that run left no state, it starts again at the same revision, and if that run was removed, it is a new run.
 * @throws Fault if the workflow does not exist, is not runnable, or refuses the input
 */
export async function createChildRun(
  em: EntityManager,
  input: CreateChildRunInput,
  limits: RunLimits,
): Promise<void> {
  const isNew = await createRunOfChild(em, input, limits);
  const { agent_id: agentId } = input;
  // Else an earlier attempt has done it, and the run may have ended since.
  if (isNew && agentId !== undefined) await handTurnOver(em, { ...input, agent_id: agentId });
}

/** @returns false if there is no parent, or an earlier attempt has created the run */
async function createRunOfChild(
  em: EntityManager,
  input: CreateChildRunInput,
  limits: RunLimits,
): Promise<boolean> {
  const parent = await readParent(em, input.run_id);
  if (!parent) return false;
  if (parent.depth >= limits.maxDepth)
    throw fault('runtime', `Runs may be nested at most ${limits.maxDepth} deep (RUN_MAX_DEPTH)`);
  const child = {
    id: input.child_run_id,
    owner_id: parent.owner_id,
    parent: {
      run_id: input.run_id,
      task: input.task,
      root_run_id: parent.root_run_id,
      detached: input.detached ?? false,
    },
    ...(input.agent_id === undefined ? {} : { charged_agent_id: input.agent_id }),
    limits,
  };
  const before = input.retry_of === undefined ? null : await readRetrySource(em, input.retry_of);
  if (before) {
    const retry = await createRun(em, { ...before.source, ...child, retry_of: input.retry_of ?? null });
    return retry.isNew;
  }
  if ('definition' in input.workflow) {
    const { workflow_id, workflow_revision, workflow_name, rights_of } = parent;
    const { definition } = input.workflow;
    const part = { workflow_id, workflow_revision, workflow_name, definition, rights_of, agents: [] };
    return (await createRun(em, { ...child, ...part, input: input.input })).isNew;
  }
  const found = await findWorkflow(em, input.rights_of ?? parent.rights_of, input.workflow);
  const workflow = await readRunnable(
    em,
    'id' in input.workflow ? { ...found, revision: input.workflow.revision } : found,
  );
  const mismatches = violations(workflow.input_schema, input.input);
  if (mismatches.length > 0)
    throw fault(
      'validation',
      `The input does not fit the input schema of ${workflow.name}: ${describeViolations(mismatches)}`,
    );
  const created = await createRun(em, {
    ...child,
    workflow_id: workflow.id,
    workflow_revision: workflow.revision,
    workflow_name: workflow.name,
    definition: workflow.definition,
    input: input.input,
    rights_of: holderOf(workflow),
    agents: workflow.agents,
  });
  return created.isNew;
}

async function readParent(em: EntityManager, runId: string): Promise<Parent | undefined> {
  const [parent] = await em.execute<Parent[]>(
    `with recursive up as (
       select id, parent_run_id, 1 as depth from run where id = ?
       union all select r.id, r.parent_run_id, up.depth + 1 from run r join up on r.id = up.parent_run_id)
     select r.owner_id, r.root_run_id, coalesce(w.holder_id, r.owner_id) as rights_of,
            r.workflow_id, r.workflow_revision, r.workflow_name, (select max(depth) from up) as depth
       from run r left join workflow w on w.id = r.workflow_id where r.id = ?`,
    [runId, runId],
  );
  return parent;
}

/** Whether this child of the retried run completed: then its output is used, and it does not run again. */
export async function isCompleted(em: EntityManager, runId: string): Promise<boolean> {
  const rows = await em.execute(`select from run where id = ? and status = 'completed'`, [runId]);
  return rows.length > 0;
}
