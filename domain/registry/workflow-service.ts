/**
 * Workflows: creating, reading, changing (a new revision) and archiving them. `em` is in the caller's
 * transaction.
 */
import { v7 as uuidv7 } from 'uuid';

import type { Budget } from '../../contracts/budgets.ts';
import type { Problem } from '../../language/definition/validate.ts';
import type { Resource } from '../../language/definition/resources.ts';
import type { Provenance } from '../../db/entities/marketplace-item.ts';
import { WorkflowRevision } from '../../db/entities/workflow-revision.ts';
import { Workflow, type Visibility } from '../../db/entities/workflow.ts';
import { LockMode, type EntityManager } from '../../db/orm.ts';
import { columnsOf, plainRows } from '../../db/plain-rows.ts';
import { Prepared } from '../../db/prepared.ts';
import { timesOf } from '../../language/definition/schedule.ts';
import { readYaml, type Place } from '../../language/yaml/read-yaml.ts';
import type { Actor } from '../auth/actor.ts';
import { holderOf } from '../auth/ownership.ts';
import { forbidden, notFound } from '../errors.ts';
import type { Measure } from '../measure.ts';
import { noteSchedule, touchSchedule } from '../schedules/state.ts';
import { REFRESH_CODES, type FetchedResources } from './external-resources.ts';
import type { Runners } from '../../contracts/runners.ts';
import { keptRunners, type KeptRunners } from './runners.ts';
import { versionProblems } from './version-problems.ts';
import { checkDefinition, type CheckedDefinition } from './workflow-definitions.ts';
import { mayChangeWorkflow, maySeeWorkflow } from './workflow-policy.ts';

/** Why a new schedule of the workflow begins paused: a copy from the marketplace does not begin by itself. */
function pausedBy({ provenance }: Workflow): string | null {
  return provenance === null ? null : 'Installed from the marketplace: resume it when it may start runs.';
}

/** A workflow with one of its revisions, as a record shows them. */
export interface WorkflowState {
  workflow: Workflow;
  revision: WorkflowRevision;
}

/** With the problems of the agent versions that the revision requests. */
export interface WorkflowRecord extends WorkflowState {
  version_problems: Problem[];
}

export async function recordsOf(
  em: EntityManager,
  states: readonly WorkflowState[],
): Promise<WorkflowRecord[]> {
  const problems = await versionProblems(
    em,
    states.map(({ workflow, revision }) => ({ holder_id: holderOf(workflow), agents: revision.agents })),
  );
  return states.map((state, index) => ({ ...state, version_problems: problems[index] ?? [] }));
}

/** A definition as its author sent it. */
export interface WrittenDefinition {
  definition: Record<string, unknown>;
  /** Its text, which is kept beside it; null if it came as an object. */
  source: string | null;
  /** Where a pointer leads to in what was sent; null if that has no lines. */
  placeOf: ((pointer: string) => Place) | null;
}

export interface NewWorkflow extends Text {
  name: string;
  definition: Record<string, unknown>;
  description: string | null;
  visibility: Visibility;
  tags: string[];
  budget?: Budget | null;
  team_id?: string | null;
  runners?: Runners;
}

export async function createWorkflow(
  em: EntityManager,
  actor: Actor,
  given: NewWorkflow & { provenance?: Provenance },
  fetched?: FetchedResources,
  measure?: Measure,
): Promise<WorkflowState> {
  const holder = given.team_id ?? actor.id;
  const found = await checkDefinition(em, holder, given.definition, given.name, fetched, measure);
  const checked = written(found, given);
  const now = new Date();
  const workflow = em.create(Workflow, {
    id: uuidv7(),
    owner_id: actor.id,
    team_id: given.team_id ?? null,
    holder_id: holder,
    ...(await keptRunners(em, given.runners ?? {})),
    name: given.name,
    description: given.description,
    visibility: given.visibility,
    tags: given.tags,
    budget: given.budget ?? null,
    revision: 1,
    valid: checked.valid,
    runnable: checked.runnable,
    provenance: given.provenance ?? null,
    archived_at: null,
    created_at: now,
    updated_at: now,
  });
  em.persist(workflow);
  await em.flush();
  const revision = await addRevision(em, actor, workflow, checked);
  const times = timesOf(checked.definition);
  if (times !== null && checked.valid) await noteSchedule(em, workflow.id, times, pausedBy(workflow));
  return { workflow, revision };
}

const plainWorkflow = plainRows<Workflow>(Workflow);
const plainRevision = plainRows<WorkflowRevision>(WorkflowRevision);
const WORKFLOW = new Prepared(
  `select ${columnsOf(Workflow)} from workflow where id = ? and archived_at is null`,
);
const REVISION = new Prepared(
  `select ${columnsOf(WorkflowRevision)} from workflow_revision where workflow_id = ? and revision = ?`,
);

/**
 * For who only shows it: the ORM does not manage it. 404 for a workflow that does not exist, is archived, or
 * that the actor may not see.
 */
export async function readWorkflow(em: EntityManager, actor: Actor, id: string): Promise<WorkflowState> {
  const [row] = await WORKFLOW.execute<Workflow>(em, [id]);
  if (row === undefined || !maySeeWorkflow(actor, row)) throw notFound('workflow');
  const workflow = plainWorkflow(row);
  return { workflow, revision: await readRevision(em, workflow, workflow.revision) };
}

/** As `getRevision`, for who only shows it. */
export async function readRevision(
  em: EntityManager,
  { id }: Workflow,
  revision: number,
): Promise<WorkflowRevision> {
  const [row] = await REVISION.execute<WorkflowRevision>(em, [id, revision]);
  if (row === undefined) throw notFound('revision');
  return plainRevision(row);
}

/** Locks the row; 404 as for `readWorkflow`, 403 for users who may only read it. */
export async function getWorkflowForChange(
  em: EntityManager,
  actor: Actor,
  id: string,
): Promise<WorkflowState> {
  const workflow = await em.findOne(
    Workflow,
    { id, archived_at: null },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (workflow === null || !maySeeWorkflow(actor, workflow)) throw notFound('workflow');
  if (!mayChangeWorkflow(actor, workflow))
    throw forbidden('Only its owner, builders of its team and admins may change this workflow.');
  return { workflow, revision: await getRevision(em, workflow, workflow.revision) };
}

export async function getRevision(
  em: EntityManager,
  workflow: Workflow,
  revision: number,
): Promise<WorkflowRevision> {
  const found = await em.findOne(WorkflowRevision, { workflow_id: workflow.id, revision });
  if (found === null) throw notFound('revision');
  return found;
}

/**
 * Changes the given fields. A definition is checked again with the owner's rights. It becomes a new revision
 * if it, or what it resolves to, has changed. `fetched`: what it takes from elsewhere; by default what the
 * last revision has. `kept`: its runners, if they are known as they are stored.
 */
export async function updateWorkflow(
  em: EntityManager,
  actor: Actor,
  state: WorkflowState,
  patch: Partial<NewWorkflow> & { kept?: KeptRunners | undefined },
  fetched?: FetchedResources,
  measure?: Measure,
): Promise<WorkflowState> {
  const { workflow } = state;
  const { definition, source, placeOf, runners, kept, team_id: _team, ...fields } = patch;
  const started = kept ?? (runners === undefined ? {} : await keptRunners(em, runners));
  Object.assign(workflow, fields, started, { updated_at: new Date() });
  let { revision } = state;
  if (definition !== undefined) {
    const resources = fetched ?? { resources: revision.resources ?? [], problems: [] };
    const holder = holderOf(workflow);
    const found = await checkDefinition(em, holder, definition, workflow.name, resources, measure);
    const before = await sourceOf(em, revision);
    const checked = written(found, textAfter(found, revision, before, { source, placeOf }));
    if (definitionHasChanged(revision, checked, before)) {
      workflow.revision += 1;
      workflow.valid = checked.valid;
      workflow.runnable = checked.runnable;
      revision = await addRevision(em, actor, workflow, checked);
      if (checked.valid) await noteSchedule(em, workflow.id, timesOf(checked.definition), pausedBy(workflow));
      else await touchSchedule(em, workflow.id);
    }
  }
  await em.flush();
  return { workflow, revision };
}

/** Removes it from all lists; its runs and their pins stay. */
export async function archiveWorkflow(em: EntityManager, workflow: Workflow): Promise<void> {
  workflow.archived_at = new Date();
  workflow.updated_at = workflow.archived_at;
  await em.flush();
  await noteSchedule(em, workflow.id, null);
}

/** The text of a revision, if its author sent one. It can be large, so it is only read where it is needed. */
export async function sourceOf(
  em: EntityManager,
  { workflow_id, revision }: Pick<WorkflowRevision, 'workflow_id' | 'revision'>,
): Promise<string | null> {
  const [row] = await em.execute<{ source: string | null }[]>(
    'select source from workflow_revision where workflow_id = ? and revision = ?',
    [workflow_id, revision],
  );
  return row?.source ?? null;
}

/** What is known of a definition besides its value. */
interface Text {
  source?: WrittenDefinition['source'] | undefined;
  placeOf?: WrittenDefinition['placeOf'] | undefined;
}
interface CheckedText extends CheckedDefinition {
  source: string | null;
}

/** With its text, and the problems with their places in what was sent. */
export function written(checked: CheckedDefinition, { source, placeOf }: Text): CheckedText {
  const problems = placeOf
    ? checked.problems.map((problem) => ({ ...problem, ...placeOf(problem.pointer) }))
    : checked.problems;
  return { ...checked, problems, source: source ?? null };
}

/** A definition that is saved again without a text keeps the one that it has. */
function textAfter(
  { digest }: CheckedDefinition,
  revision: WorkflowRevision,
  before: string | null,
  given: Text,
): Text {
  if (typeof given.source === 'string' || before === null || digest !== revision.digest) return given;
  return { source: before, placeOf: readYaml(before).placeOf };
}

async function addRevision(
  em: EntityManager,
  actor: Actor,
  workflow: Workflow,
  checked: CheckedText,
): Promise<WorkflowRevision> {
  const revision = em.create(WorkflowRevision, {
    ...checked,
    workflow_id: workflow.id,
    revision: workflow.revision,
    created_by: actor.id,
    created_at: new Date(),
  });
  em.persist(revision);
  await em.flush();
  return revision;
}

/**
 * Whether the definition, its text, or what it resolves to, differs from the revision.
 * @param source the revision's text
 */
export function definitionHasChanged(
  before: WorkflowRevision,
  now: CheckedText,
  source: string | null,
): boolean {
  const problems = lastingProblems(now);
  return (
    before.digest !== now.digest ||
    (now.source !== null && now.source !== source) ||
    JSON.stringify(digestsOf(now.resources)) !== JSON.stringify(digestsOf(before.resources ?? [])) ||
    JSON.stringify([problems, now.agents]) !==
      JSON.stringify([inOrder(lastingProblems(before), problems), inOrder(before.agents, now.agents)])
  );
}

/** A problem stays the same wherever it moves to in the text. */
function lastingProblems({ problems }: { problems: readonly Problem[] }): Problem[] {
  return problems
    .filter(({ code }) => !REFRESH_CODES.includes(code))
    .map(({ line: _line, column: _column, ...problem }) => problem);
}

function digestsOf(resources: readonly Resource[]): string[][] {
  return resources.map(({ kind, name, digest }) => [kind, name, digest]);
}

/** `jsonb` does not keep the order of keys: puts them into the order of the new value. */
function inOrder(before: readonly object[], now: readonly object[]): unknown {
  const keys = Object.keys(now[0] ?? before[0] ?? {});
  return before.map((item) =>
    Object.fromEntries(
      keys.flatMap((key) => (Object.hasOwn(item, key) ? [[key, Reflect.get(item, key)]] : [])),
    ),
  );
}
