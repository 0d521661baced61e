/** Lists of workflows and of revisions, newest first. */
import { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import { Workflow, type Visibility } from '../../db/entities/workflow.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import type { WorkflowState } from './workflow-service.ts';

export interface WorkflowFilter {
  /** In name or description, whatever the case. */
  q?: string | undefined;
  tag?: string | undefined;
  visibility?: Visibility | undefined;
  owner_id?: string | undefined;
  valid?: boolean | undefined;
}

/** What the actor may see, after the id `before`, at most `limit`. */
export async function listWorkflows(em: EntityManager, actor: Actor, filter: WorkflowFilter, paging: { before?: string | undefined; limit: number }): Promise<WorkflowState[]> {
  const conditions: FilterQuery<Workflow>[] = [{ archived_at: null }];
  if (!isAdmin(actor)) {
    // Private ones are the actor's own: said to the planner, which cannot know.
    conditions.push(filter.visibility === 'private' ? { owner_id: actor.id } : { $or: [{ owner_id: actor.id }, { visibility: 'public' }] });
  }
  if (paging.before !== undefined) conditions.push({ id: { $lt: paging.before } });
  if (filter.owner_id !== undefined) conditions.push({ owner_id: filter.owner_id });
  if (filter.visibility !== undefined) conditions.push({ visibility: filter.visibility });
  if (filter.valid !== undefined) conditions.push({ valid: filter.valid });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = `%${filter.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    conditions.push({ $or: [{ name: { $ilike: pattern } }, { description: { $ilike: pattern } }] });
  }
  const workflows = await em.find(Workflow, { $and: conditions }, { orderBy: { id: 'desc' }, limit: paging.limit });
  return withRevisions(em, workflows);
}

async function withRevisions(em: EntityManager, workflows: readonly Workflow[]): Promise<WorkflowState[]> {
  if (workflows.length === 0) return [];
  const revisions = await em.find(WorkflowRevision, { $or: workflows.map(({ id, revision }) => ({ workflow_id: id, revision })) });
  const byWorkflow = new Map(revisions.map((revision) => [revision.workflow_id, revision]));
  return workflows.flatMap((workflow) => {
    const revision = byWorkflow.get(workflow.id);
    return revision === undefined ? [] : [{ workflow, revision }];
  });
}

/** Revisions of one workflow below the number `before`, at most `limit`. */
export async function listRevisions(em: EntityManager, workflow: Workflow, paging: { before?: number | undefined; limit: number }): Promise<WorkflowRevision[]> {
  return em.find(
    WorkflowRevision,
    { workflow_id: workflow.id, ...(paging.before === undefined ? {} : { revision: { $lt: paging.before } }) },
    { orderBy: { revision: 'desc' }, limit: paging.limit },
  );
}
