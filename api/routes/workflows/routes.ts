import type { Runners } from '../../../contracts/runners.ts';
import { hasRole } from '../../../domain/auth/actor.ts';
import { hasRoleInSomeTeam, holderOf } from '../../../domain/auth/ownership.ts';
import {
  bindsByName,
  copySecrets,
  destinationOf,
  moveObject,
  secretsOfWorkflow,
  teamFor,
} from '../../../domain/teams/holding.ts';
import * as z from 'zod';

import { diagramResponses, respondDiagram } from '../../diagram/respond.ts';
import { budgetPatch } from '../../../contracts/budgets.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { ResourceSession } from '../../../domain/registry/external-resources.ts';
import {
  workflowWarnings,
  type WarnedWorkflow,
  type WorkflowWarning,
} from '../../../domain/registry/workflow-warnings.ts';
import type { Ownership } from '../../../domain/registry/workflow-policy.ts';
import { peopleProblems } from '../../../domain/registry/people-problems.ts';
import { mayChangeWorkflow } from '../../../domain/registry/workflow-policy.ts';
import { resolveSecret } from '../../../domain/secrets/service.ts';
import { showUnbound, unbindRevisions } from '../../../domain/secrets/unbind.ts';
import { versionProblems } from '../../../domain/registry/version-problems.ts';
import { checkDefinition } from '../../../domain/registry/workflow-definitions.ts';
import { listRevisions, listWorkflows } from '../../../domain/registry/workflow-lists.ts';
import {
  archiveWorkflow,
  createWorkflow,
  readRevision,
  readWorkflow,
  getRevision,
  getWorkflowForChange,
  recordsOf,
  sourceOf,
  updateWorkflow,
  written,
  type WorkflowState,
  type WrittenDefinition,
} from '../../../domain/registry/workflow-service.ts';
import { checkRevisionLimit, checkSecretLimit } from '../../../domain/limits.ts';
import { checkQuota } from '../../../domain/quotas/check.ts';
import { timesOf } from '../../../language/definition/schedule.ts';
import { touchSchedule } from '../../../domain/schedules/state.ts';
import { tellTemporal } from '../../../domain/schedules/reconcile.ts';
import { writeYaml } from '../../../language/yaml/write-yaml.ts';
import type { AppDeps } from '../../deps.ts';
import { withValues } from '../../../language/definition/resources.ts';
import { shownNames } from '../../../domain/registry/workflow-agents.ts';
import { healWorkflow, mayHeal } from '../../../domain/marketplace/heal.ts';
import { mergedBudget } from '../../merged-fields.ts';
import { checkIfMatch, etag, mergePatch } from '../../conditional.ts';
import {
  endpoint,
  type EndpointContext,
  media,
  type Endpoint,
  type EndpointResponse,
  YAML,
} from '../../endpoint.ts';
import { viewQuery } from '../../listed.ts';
import { byId, orderBy, readPage } from '../../paging.ts';
import { flag, idParams, jsonObject, newOwner, pageQuery, personOrMe, uuid } from '../../schemas.ts';
import { writtenDefinition, type YamlBody } from '../../yaml-body.ts';
import { newWorkflow, runners, workflowFields } from '../new-workflow.ts';
import {
  listedRevision,
  listedWorkflow,
  mayChange,
  presentListedRevision,
  presentListedWorkflow,
  presentRevision,
  presentVerdict,
  presentWorkflow,
  revisionRecord,
  validationRecord,
  workflowRecord,
} from './presenter.ts';

const TAGS = ['workflows'];
const { name, definition, description, visibility, tags: tagList } = workflowFields;

const revisionNumber = z.int().min(1).max(2_147_483_647);
const byRevision = orderBy<{ revision: number }, number>(revisionNumber, ({ revision }) => revision);

const YAML_TEXT =
  'As `application/yaml` the body is the same object or the bare definition, which is kept as it is written.';

/**
 * Merge patch: null clears a field. A definition that is an object is merged too, and its lists are replaced;
 * a text, or a bare definition of YAML, replaces it.
 */
const workflowPatch = z.object({
  name: name.optional(),
  definition: definition.optional(),
  description: description.nullish(),
  visibility: visibility.nullish(),
  tags: tagList.nullish(),
  budget: budgetPatch.nullish(),
  team_id: uuid.nullish(),
  owner_id: newOwner,
  runners: runners.nullish(),
});

const filters = {
  q: z.string().max(255).optional().meta({ description: 'Text in the name or description.' }),
  tag: z.string().optional(),
  visibility: visibility.optional(),
  owner_id: personOrMe.optional(),
  team_id: uuid.optional(),
  valid: flag.optional(),
};

export function workflowEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workflows',
      operationId: 'listWorkflows',
      summary: 'List own and public workflows, newest first',
      tags: TAGS,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...viewQuery, ...filters }),
      responses: { 200: z.array(listedWorkflow) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) =>
          listWorkflows(c.em, c.actor, filter, page),
        );
        const problems = await versionProblems(
          c.em,
          items.map(({ holder_id, agents }) => ({ holder_id, agents: agents ?? [] })),
        );
        const ofPeople = await peopleProblems(
          c.em,
          c.actor,
          items.map((item) => (mayChange(c.actor, item) ? item.definition : null)),
        );
        const warnings = await warningsFor(c, items);
        return {
          status: 200,
          body: items.map((item, index) =>
            presentListedWorkflow(
              c.actor,
              item,
              [...(problems[index] ?? []), ...(ofPeople[index] ?? [])],
              warnings.get(item.id) ?? [],
            ),
          ),
          headers,
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/workflows',
      operationId: 'createWorkflow',
      summary: 'Create a workflow; an invalid definition is saved as a draft with its problems',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      description: YAML_TEXT,
      body: newWorkflow,
      yaml: 'definition',
      record: workflowRecord,
      responses: { 201: workflowRecord },
      prepare: async (c) => {
        const { definition: given, name: called } = c.body;
        const { definition: sent } = c.measure(() => writtenDefinition(given, c.yaml));
        const team = await teamFor(c.em, c.actor, c.body.team_id);
        const session = createSession(deps, c.em, team ?? c.actor.id);
        return session.fetchFor(sent, called, undefined, c.measure);
      },
      handler: async (c) => {
        const { body } = c;
        const team_id = await teamFor(c.em, c.actor, body.team_id);
        const given = {
          team_id,
          runners: body.runners ?? {},
          name: body.name,
          ...c.measure(() => writtenDefinition(body.definition, c.yaml)),
          description: body.description ?? null,
          visibility: body.visibility ?? ('private' as const),
          tags: body.tags ?? [],
          budget: body.budget ?? null,
        };
        const state = await createWorkflow(c.em, c.actor, given, c.prepared, c.measure);
        await checkSchedules(deps, c, state);
        tellOfSchedule(deps, c, state);
        const answer = await answerWith(c, state);
        return {
          ...answer,
          status: 201,
          headers: { ...answer.headers, Location: `${c.baseUrl}/workflows/${state.workflow.id}` },
        };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/workflows/validate',
      operationId: 'validateWorkflow',
      scope: 'workflows:read',
      audit: false,
      summary: 'Validate a definition without saving it',
      description:
        `${YAML_TEXT} Secrets are not sent: a function or schema from elsewhere whose authentication reads ` +
        'one is not fetched, with the warning `resource_not_checked`.',
      tags: TAGS,
      role: 'viewer',
      body: z.object({ definition, name: name.optional() }),
      yaml: 'definition',
      idempotent: false,
      transaction: false,
      responses: { 200: validationRecord },
      handler: async (c) => {
        const { name: called = 'workflow', ...body } = c.body;
        const sent = c.measure(() => writtenDefinition(body.definition, c.yaml));
        // Anybody may have written the definition, as when somebody opens it in the editor.
        const session = new ResourceSession({ fetcher: deps.resources, secret: null });
        const { definition: given } = sent;
        const fetched = await session.fetchFor(given, called, undefined, c.measure);
        const checked = await checkDefinition(c.em, c.actor.id, given, called, fetched, c.measure);
        const [problems = []] = await versionProblems(c.em, [
          { holder_id: c.actor.id, agents: checked.agents },
        ]);
        const isBuilder = hasRole(c.actor, 'builder') || hasRoleInSomeTeam(c.actor, 'builder');
        const [ofPeople = []] = await peopleProblems(c.em, c.actor, [isBuilder ? checked.definition : null]);
        const present = written({ ...checked, problems: [...problems, ...ofPeople] }, sent).problems;
        return { status: 200, body: presentVerdict(written(checked, sent), present) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}',
      operationId: 'getWorkflow',
      summary: 'Get a workflow with its current definition',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: workflowRecord },
      handler: async (c) => answerWith(c, await healed(c, await readWorkflow(c.em, c.actor, c.params.id))),
    }),
    endpoint({
      method: 'PATCH',
      path: '/workflows/{id}',
      operationId: 'updateWorkflow',
      summary: 'Update a workflow; changing the definition creates a revision',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      description: YAML_TEXT,
      body: workflowPatch,
      yaml: 'definition',
      record: workflowRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: workflowRecord },
      errors: [409, 412],
      prepare: async (c) => {
        const { workflow, revision } = await readWorkflow(c.em, c.actor, c.params.id);
        const { definition: changed } = c.body;
        if (!mayChangeWorkflow(c.actor, workflow) || changed === undefined) return undefined;
        return createSession(deps, c.em, holderOf(workflow)).fetchFor(
          c.measure(() => changedDefinition(c.yaml, revision, changed)).definition,
          workflow.name,
          async () => revision.resources ?? [],
          c.measure,
        );
      },
      handler: async (c) => {
        const before = await getWorkflowForChange(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkIfMatch(c.ctx, tagOf(before));
        const { definition: changed, ...fields } = c.body;
        const { revision } = before.workflow;
        const state = await moveIfAsked(deps, c, before, fields);
        const patch = {
          ...(fields.name === undefined ? {} : { name: fields.name }),
          ...(fields.description === undefined ? {} : { description: fields.description }),
          ...(fields.visibility === undefined ? {} : { visibility: fields.visibility ?? 'private' }),
          ...(fields.runners === undefined
            ? {}
            : { runners: mergedRunners(state.workflow.runners, fields.runners) }),
          ...(fields.tags === undefined ? {} : { tags: fields.tags ?? [] }),
          ...(fields.budget === undefined
            ? {}
            : { budget: mergedBudget(state.workflow.budget, fields.budget) }),
          ...(changed === undefined
            ? {}
            : c.measure(() => changedDefinition(c.yaml, state.revision, changed))),
        };
        const updated = await updateWorkflow(c.em, c.actor, state, patch, c.prepared, c.measure);
        if (updated.workflow.revision !== revision) {
          await checkRevisionLimit(c.em, deps.env, updated.workflow);
          await checkSchedules(deps, c, updated);
          tellOfSchedule(deps, c, updated);
        }
        return answerWith(c, updated);
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/workflows/{id}',
      operationId: 'deleteWorkflow',
      summary: 'Archive a workflow; its runs are kept',
      tags: TAGS,
      role: 'builder',
      inTeams: true,
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const state = await getWorkflowForChange(c.em, c.actor, c.params.id);
        checkIfMatch(c.ctx, tagOf(state));
        await archiveWorkflow(c.em, state.workflow);
        tellOfSchedule(deps, c, state);
        return { status: 204 };
      },
    }),
    ...revisionEndpoints(),
  ];
}

function revisionEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/revisions',
      operationId: 'listWorkflowRevisions',
      summary: "List a workflow's revisions, newest first",
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({ ...pageQuery, ...viewQuery }),
      responses: { 200: z.array(listedRevision) },
      handler: async (c) => {
        const { workflow } = await readWorkflow(c.em, c.actor, c.params.id);
        const { items, headers } = await readPage(c, byRevision, (page, { view }) =>
          listRevisions(c.em, workflow, page, view),
        );
        const problems = await versionProblems(
          c.em,
          items.map(({ agents }) => ({ holder_id: holderOf(workflow), agents: agents ?? [] })),
        );
        return {
          status: 200,
          body: items.map((revision, index) => presentListedRevision(revision, problems[index] ?? [])),
          headers,
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/revisions/{revision}',
      operationId: 'getWorkflowRevision',
      summary: 'Get one revision of a workflow',
      tags: TAGS,
      role: 'viewer',
      params: z.object({ ...idParams.shape, revision: z.coerce.number().int().min(1).max(2_147_483_647) }),
      responses: { 200: revisionRecord },
      handler: async (c) => {
        const { workflow } = await readWorkflow(c.em, c.actor, c.params.id);
        const revision = await readRevision(c.em, workflow, c.params.revision);
        const [problems = []] = await versionProblems(c.em, [
          { holder_id: holderOf(workflow), agents: revision.agents },
        ]);
        return { status: 200, body: presentRevision(revision, problems) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/definition',
      operationId: 'getWorkflowText',
      summary: 'Get the definition as YAML: as its author has written it, with comments, if it came as text',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      query: z.object({
        revision: z.coerce
          .number()
          .int()
          .min(1)
          .max(2_147_483_647)
          .optional()
          .meta({ description: 'Default: current.' }),
      }),
      responses: { 200: media({ [YAML]: z.string() }) },
      handler: async (c) => {
        const { workflow } = await readWorkflow(c.em, c.actor, c.params.id);
        const revision = await readRevision(c.em, workflow, c.query.revision ?? workflow.revision);
        return {
          status: 200,
          type: YAML,
          body: (await sourceOf(c.em, revision)) ?? writeYaml(revision.definition),
          headers: { 'X-Content-Type-Options': 'nosniff' },
        };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/diagram',
      operationId: 'getWorkflowDiagram',
      summary: 'Get a diagram of the current definition, as Mermaid or (by `Accept`) SVG',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: diagramResponses,
      handler: async (c) => {
        const { revision } = await readWorkflow(c.em, c.actor, c.params.id);
        const definition = withValues(revision.definition, await shownNames(c.em, c.actor, revision.agents));
        return respondDiagram(c, definition);
      },
    }),
  ];
}

/** Fetches for the definitions of one request, with the secrets of the workflow's owner. */
function createSession(
  { resources, encryption }: AppDeps,
  em: EntityManager,
  ownerId: string,
): ResourceSession {
  return new ResourceSession({
    fetcher: resources,
    secret: (name) => resolveSecret(em.fork(), encryption, ownerId, name),
  });
}

/** Merge patch: null clears all; a list that is given replaces the one before. */
function mergedRunners(before: Runners, given: Runners | null): Runners {
  return given === null ? {} : { ...before, ...given };
}

/** Moves the workflow with its secrets, if the request names another team or person. */
async function moveIfAsked(
  { encryption, env }: Pick<AppDeps, 'encryption' | 'env'>,
  { em, actor }: Pick<EndpointContext, 'em' | 'actor'>,
  state: WorkflowState,
  asked: Pick<z.output<typeof workflowPatch>, 'team_id' | 'owner_id'>,
): Promise<WorkflowState> {
  const { workflow, revision } = state;
  const to = await destinationOf(em, actor, workflow, asked);
  if (to === null) return state;
  const from = holderOf(workflow);
  const names = await secretsOfWorkflow(em, workflow.id);
  const object = { ...workflow, team_id: workflow.team_id ?? null };
  const moved = await moveObject(em, actor, 'workflow', object, to);
  Object.assign(workflow, moved);
  const handed = await copySecrets(em, encryption, { from, to: moved.holder_id, names });
  if (!bindsByName(actor, object, to.team)) {
    await unbindRevisions(em, [workflow.id], handed);
    await showUnbound(em, actor, [workflow.id], handed);
  }
  if (timesOf(revision.definition) !== null) {
    await checkQuota(em, env, 'schedules', moved.holder_id, { isMoved: true });
    await touchSchedule(em, workflow.id);
  }
  await checkSecretLimit(em, env, moved.holder_id);
  return { workflow, revision: await getRevision(em, workflow, workflow.revision) };
}

function changedDefinition(
  yaml: YamlBody | null,
  revision: WorkflowState['revision'],
  changed: Record<string, unknown> | string,
): WrittenDefinition {
  if (typeof changed === 'string' || yaml?.isBare) return writtenDefinition(changed, yaml);
  const definition = jsonObject.parse(mergePatch(revision.definition, changed));
  return { definition, source: null, placeOf: null };
}

async function checkSchedules(
  { env }: AppDeps,
  { em }: EndpointContext,
  { workflow, revision }: WorkflowState,
): Promise<void> {
  if (timesOf(revision.definition) !== null) await checkQuota(em, env, 'schedules', holderOf(workflow));
}

/** A schedule begins, changes or ends as soon as its workflow is saved. */
function tellOfSchedule(deps: AppDeps, c: EndpointContext, { workflow }: WorkflowState): void {
  c.afterCommit(() => tellTemporal(deps, workflow.id));
}

/** Reading a workflow resolves agents that were missing when it was saved or installed. */
async function healed(c: EndpointContext<{ id: string }>, state: WorkflowState): Promise<WorkflowState> {
  if (!mayHeal(state.revision) || !(await healWorkflow(c.em, state.workflow.id))) return state;
  return readWorkflow(c.em.fork(), c.actor, state.workflow.id);
}

function tagOf({ workflow }: WorkflowState): string {
  return etag(workflow.id, workflow.revision, workflow.updated_at);
}

async function answerWith(
  { em, actor }: Pick<EndpointContext, 'em' | 'actor'>,
  state: WorkflowState,
): Promise<EndpointResponse> {
  const { workflow, revision } = state;
  const [record = { ...state, version_problems: [] }] = await recordsOf(em, [state]);
  const [ofPeople = []] = await peopleProblems(em, actor, [
    mayChange(actor, workflow) ? revision.definition : null,
  ]);
  const warnings = (await warningsFor({ em, actor }, [workflow])).get(workflow.id) ?? [];
  return {
    status: 200,
    body: presentWorkflow(actor, record, ofPeople, warnings),
    headers: { ETag: tagOf(state) },
  };
}

/** By id, of those of the workflows that the caller may change. */
function warningsFor(
  { em, actor }: Pick<EndpointContext, 'em' | 'actor'>,
  workflows: readonly (Ownership & Pick<WarnedWorkflow, 'id' | 'name' | 'runners'>)[],
): Promise<ReadonlyMap<string, WorkflowWarning[]>> {
  const own = workflows.filter((workflow) => mayChange(actor, workflow));
  return workflowWarnings(
    em,
    own.map((workflow) => {
      const { id, name, runners: given } = workflow;
      return { id, name, holder: holderOf(workflow), runners: given };
    }),
  );
}
