/** Lists of workflows and of revisions, newest first. */
import type { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import { Workflow, type Visibility } from '../../db/entities/workflow.ts';
import { listedColumns, type ListedColumn, type ListView } from '../../db/large-fields.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { containsPattern, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';

export interface WorkflowFilter {
  view?: ListView | undefined;
  /** Substring of name or description; case is ignored. */
  q?: string | undefined;
  tag?: string | undefined;
  visibility?: Visibility | undefined;
  owner_id?: string | undefined;
  valid?: boolean | undefined;
}

/** Workflows that the actor may see. */
export async function listWorkflows(
  em: EntityManager,
  actor: Actor,
  filter: WorkflowFilter,
  page: KeysetPage,
): Promise<ListedWorkflow[]> {
  const conditions: FilterQuery<Workflow>[] = [{ archived_at: null }];
  if (!isAdmin(actor)) {
    // Private workflows are the actor's own. The simpler condition lets the planner use the index on owners.
    conditions.push(
      filter.visibility === 'private'
        ? { owner_id: actor.id }
        : { $or: [{ owner_id: actor.id }, { visibility: 'public' }] },
    );
  }
  if (page.after !== undefined) conditions.push({ id: { $lt: page.after } });
  if (filter.owner_id !== undefined) conditions.push({ owner_id: filter.owner_id });
  if (filter.visibility !== undefined) conditions.push({ visibility: filter.visibility });
  if (filter.valid !== undefined) conditions.push({ valid: filter.valid });
  if (filter.tag !== undefined) conditions.push({ tags: { $contains: [filter.tag] } });
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = containsPattern(filter.q);
    conditions.push({ $or: [{ name: { $ilike: pattern } }, { description: { $ilike: pattern } }] });
  }
  const found = await em.find(
    Workflow,
    { $and: conditions },
    { fields: ['id'], orderBy: { id: 'desc' }, limit: page.limit },
  );
  return found.length === 0
    ? []
    : readListed(
        em,
        found.map(({ id }) => id),
        filter.view,
      );
}

/**
 * The parts of a revision that a list shows; null if large. This includes `agents`, because a definition may
 * name very many.
 */
type ListedParts = {
  [Key in 'definition' | 'problems' | 'input_schema' | 'agents']: WorkflowRevision[Key] | null;
};

interface Listed extends ListedParts {
  revision: number;
  valid: boolean;
  runnable: boolean;
  created_at: Date | string;
  /** The names of the omitted fields. */
  omitted: string[];
}

export interface ListedWorkflow extends Listed, Pick<Workflow, 'id' | 'name' | 'owner_id' | 'visibility'> {
  description: string | null;
  tags: string[] | null;
  provenance: Workflow['provenance'];
  budget: Workflow['budget'];
  updated_at: Date | string;
}

export interface ListedRevision extends Listed {
  workflow_id: string;
  digest: string;
  created_by: string;
}

const REVISION_COLUMNS: readonly ListedColumn[] = [
  ...['definition', 'problems', 'input_schema'].map((name) => ({ name, column: `r.${name}` })),
  // `runnable` depends on the problems of agent versions, which are found through `agents`.
  { name: 'agents', column: 'r.agents', isSource: true },
];
const WITH_AGENTS = { runnable: 'agents' };

async function readListed(
  em: EntityManager,
  ids: readonly string[],
  view: ListView | undefined,
): Promise<ListedWorkflow[]> {
  const columns = [
    { name: 'description', column: 'w.description' },
    { name: 'tags', column: 'w.tags', select: 'to_json(w.tags)' },
    ...REVISION_COLUMNS,
  ];
  return em.execute<ListedWorkflow[]>(
    `select w.id, w.name, w.owner_id, w.visibility, w.provenance, w.budget, w.created_at, w.updated_at,
            w.revision, r.valid, r.runnable,
            ${listedColumns(columns, { view, alsoOmitted: WITH_AGENTS })}
       from workflow w join workflow_revision r on r.workflow_id = w.id and r.revision = w.revision
      where w.id in (select jsonb_array_elements_text(?::jsonb)::uuid)
      order by w.id desc`,
    [JSON.stringify(ids)],
  );
}

/** Revisions of one workflow. */
export async function listRevisions(
  em: EntityManager,
  workflow: Workflow,
  page: KeysetPage<number>,
  view?: ListView,
): Promise<ListedRevision[]> {
  return em.execute<ListedRevision[]>(
    `select r.workflow_id, r.revision, r.digest, r.valid, r.runnable, r.created_by, r.created_at,
            ${listedColumns(REVISION_COLUMNS, { view, alsoOmitted: WITH_AGENTS })}
       from workflow_revision r where r.workflow_id = ? and r.revision < coalesce(?::bigint, 9999999999)
      order by r.revision desc limit ?`,
    [workflow.id, page.after ?? null, page.limit],
  );
}
