/** Lists of workflows and of revisions, newest first. */
import type { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import { Workflow, type Visibility } from '../../db/entities/workflow.ts';
import { listedColumns, type ListedColumn, type ListView } from '../../db/large-fields.ts';
import type { EntityManager, FilterQuery } from '../../db/orm.ts';
import { arrayLiteral, Conditions, containsPattern, type KeysetPage } from '../../db/sql.ts';
import { isAdmin, userIdOf, type Actor } from '../auth/actor.ts';
import { holdersOf } from '../auth/ownership.ts';
import { grantedTo, startableBy } from './workflow-policy.ts';

export interface WorkflowFilter {
  view?: ListView | undefined;
  /** Substring of name or description; case is ignored. */
  q?: string | undefined;
  tag?: string | undefined;
  visibility?: Visibility | undefined;
  owner_id?: string | undefined;
  team_id?: string | undefined;
  valid?: boolean | undefined;
}

/** What those who may start a workflow see of it. */
export interface StartableWorkflow {
  id: string;
  name: string;
  input_schema: Record<string, unknown> | boolean | null;
}

/** Schemas above this are read with the workflow itself. */
const MAX_LISTED_SCHEMA_BYTES = 16 * 1024;

/** Workflows that the actor may start, as a builder or as one of their runners, newest first. */
export async function listStartable(
  em: EntityManager,
  actor: Actor,
  { q, granted = false }: { q?: string | undefined; granted?: boolean | undefined },
  page: KeysetPage,
): Promise<StartableWorkflow[]> {
  const where = new Conditions().add('w.archived_at is null and w.runnable');
  const may = granted ? grantedTo(actor) : startableBy(actor);
  where.add(may.sql, ...may.values);
  if (q !== undefined) where.add('w.name ilike ?', containsPattern(q));
  if (page.after !== undefined) where.add('w.id < ?', page.after);
  return em.execute<StartableWorkflow[]>(
    `select w.id, w.name, case when octet_length(v.input_schema::text) <= ${MAX_LISTED_SCHEMA_BYTES}
                               then v.input_schema end as input_schema
       from workflow w join workflow_revision v on v.workflow_id = w.id and v.revision = w.revision
      where ${where.sql} order by w.id desc limit ?`,
    [...where.values, page.limit],
  );
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
    // Private workflows are those of the actor and of their teams. The simpler condition lets the planner
    // use the index on owners.
    conditions.push(
      filter.visibility === 'private'
        ? { holder_id: { $in: holdersOf(actor) } }
        : { $or: [{ holder_id: { $in: holdersOf(actor) } }, { visibility: 'public' }] },
    );
  }
  if (page.after !== undefined) conditions.push({ id: { $lt: page.after } });
  if (filter.owner_id !== undefined) conditions.push({ owner_id: userIdOf(actor, filter.owner_id) });
  if (filter.team_id !== undefined) conditions.push({ team_id: filter.team_id });
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

export interface ListedWorkflow
  extends
    Listed,
    Pick<
      Workflow,
      'id' | 'name' | 'owner_id' | 'team_id' | 'holder_id' | 'visibility' | 'runners' | 'runner_keys'
    > {
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

/** Each revision by its key: a join may read those of all workflows, while these are few. */
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
    `select w.id, w.name, w.owner_id, w.team_id, w.holder_id, w.visibility, w.runners,
            to_json(w.runner_keys) as runner_keys, w.provenance, w.budget, w.created_at, w.updated_at,
            w.revision, r.valid, r.runnable,
            ${listedColumns(columns, { view, alsoOmitted: WITH_AGENTS })}
       from workflow w cross join lateral (
              select v.* from workflow_revision v
               where v.workflow_id = w.id and v.revision = w.revision limit 1) r
      where w.id = any(?::uuid[])
      order by w.id desc`,
    [arrayLiteral(ids)],
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
