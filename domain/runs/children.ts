import type { EntityManager } from '@mikro-orm/postgresql';
import type { CreateChildRunInput } from '../../contracts/activities.ts';
import { fault } from '../../contracts/fault.ts';
import { describeViolations, violations } from '../../contracts/validate-json.ts';
import { createRun } from './create.ts';
import { findWorkflow, readRunnable } from './runnable.ts';

/** A run may have so many ancestors; a workflow that calls itself ends here. */
const MAX_DEPTH = 20;

/** Inserts a child run under its parent's owner. Faults (DSL) where the workflow is not there, not runnable, or refuses the input. */
export async function createChildRun(em: EntityManager, input: CreateChildRunInput): Promise<void> {
  const [parent] = await em.execute<{ owner_id: string; root_run_id: string; rights_of: string; depth: number }[]>(
    `with recursive up as (
       select id, parent_run_id, 1 as depth from run where id = ?
       union all select r.id, r.parent_run_id, up.depth + 1 from run r join up on r.id = up.parent_run_id)
     select r.owner_id, r.root_run_id, coalesce(w.owner_id, r.owner_id) as rights_of, (select max(depth) from up) as depth
       from run r left join workflow w on w.id = r.workflow_id where r.id = ?`,
    [input.run_id, input.run_id],
  );
  if (!parent) return;
  if (parent.depth >= MAX_DEPTH) throw fault('runtime', `Runs may be nested at most ${MAX_DEPTH} deep`);
  const found = await findWorkflow(em, parent.rights_of, input.workflow);
  const workflow = await readRunnable(em, 'id' in input.workflow ? { ...found, revision: input.workflow.revision } : found);
  const wrong = violations(workflow.input_schema, input.input);
  if (wrong.length > 0) throw fault('validation', `The input does not fit the input schema of ${workflow.name}: ${describeViolations(wrong)}`);
  await createRun(em, {
    id: input.child_run_id,
    workflow_id: workflow.id,
    workflow_revision: workflow.revision,
    workflow_name: workflow.name,
    definition: workflow.definition,
    input: input.input,
    owner_id: parent.owner_id,
    rights_of: workflow.owner_id,
    agents: workflow.agents,
    parent: { run_id: input.run_id, task: input.task, root_run_id: parent.root_run_id },
  });
}
