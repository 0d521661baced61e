import * as z from 'zod';

import { toMermaid } from '../../../contracts/definition/diagram/mermaid.ts';
import { toSvg } from '../../../contracts/definition/diagram/svg.ts';
import { checkDefinition } from '../../../domain/registry/workflow-definitions.ts';
import { listRevisions, listWorkflows } from '../../../domain/registry/workflow-lists.ts';
import {
  archiveWorkflow,
  createWorkflow,
  getRevision,
  getWorkflow,
  getWorkflowForChange,
  updateWorkflow,
  type WorkflowState,
} from '../../../domain/registry/workflow-service.ts';
import { checkIfMatch, etag, mergePatch } from '../../conditional.ts';
import { endpoint, media, type Endpoint, type EndpointResponse } from '../../endpoint.ts';
import { decodeCursor, idCursor, page } from '../../paging.ts';
import { flag, idParams, jsonObject, pageQuery, text } from '../../schemas.ts';
import { presentProblems, presentRevision, presentWorkflow, revisionRecord, validationRecord, workflowRecord } from './presenter.ts';

const tags = ['workflows'];
const visibility = z.enum(['private', 'public']);
const name = text({ min: 1, max: 255 });
const description = text({ max: 100_000 });
const tagList = z.array(text({ min: 1, max: 100 })).max(50);
const definition = jsonObject.meta({ description: 'Open Workflow Specification DSL 1.0.x as JSON; a missing `document` is completed from `name`.' });

const revisionNumber = z.int().min(1).max(2_147_483_647);

const newWorkflow = z.object({
  name,
  definition,
  description: description.nullish(),
  visibility: visibility.nullish(),
  tags: tagList.nullish(),
});

/** Merge patch: null clears; the definition is merged too, lists in it are replaced. */
const workflowPatch = z.object({
  name: name.optional(),
  definition: definition.optional(),
  description: description.nullish(),
  visibility: visibility.nullish(),
  tags: tagList.nullish(),
});

const filters = {
  q: z.string().max(255).optional().meta({ description: 'In name or description.' }),
  tag: z.string().optional(),
  visibility: visibility.optional(),
  owner_id: z.guid().optional(),
  valid: flag.optional(),
};

export function workflowEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workflows',
      operationId: 'listWorkflows',
      summary: 'Own and public workflows, newest first',
      tags,
      role: 'viewer',
      query: z.object({ ...pageQuery, ...filters }),
      responses: { 200: z.array(workflowRecord) },
      handler: async (c) => {
        const { limit, cursor, ...filter } = c.query;
        const before = decodeCursor(cursor, idCursor)?.[0];
        const found = await listWorkflows(c.em, c.actor, filter, { before, limit: limit + 1 });
        const { items, headers } = page(c, found, limit, ({ workflow }) => [workflow.id]);
        return { status: 200, body: items.map(presentWorkflow), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/workflows',
      operationId: 'createWorkflow',
      summary: 'Create a workflow; an invalid definition is kept as a draft with its problems',
      tags,
      role: 'builder',
      body: newWorkflow,
      record: workflowRecord,
      responses: { 201: workflowRecord },
      handler: async (c) => {
        const { body } = c;
        const state = await createWorkflow(c.em, c.actor, {
          name: body.name,
          definition: body.definition,
          description: body.description ?? null,
          visibility: body.visibility ?? 'private',
          tags: body.tags ?? [],
        });
        const answer = answerWith(state);
        return { ...answer, status: 201, headers: { ...answer.headers, Location: `${c.baseUrl}/workflows/${state.workflow.id}` } };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/workflows/validate',
      operationId: 'validateWorkflow',
      summary: 'Check a definition without saving it',
      tags,
      role: 'viewer',
      body: z.object({ definition, name: name.optional() }),
      idempotent: false,
      transaction: false,
      responses: { 200: validationRecord },
      handler: async (c) => {
        const checked = await checkDefinition(c.em, c.actor.id, c.body.definition, c.body.name ?? 'workflow');
        return { status: 200, body: { valid: checked.valid, runnable: checked.runnable, problems: presentProblems(checked) } };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}',
      operationId: 'getWorkflow',
      summary: 'One workflow with its current definition',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: workflowRecord },
      handler: async (c) => answerWith(await getWorkflow(c.em, c.actor, c.params.id)),
    }),
    endpoint({
      method: 'PATCH',
      path: '/workflows/{id}',
      operationId: 'updateWorkflow',
      summary: 'Change a workflow; another definition is a new revision',
      tags,
      role: 'builder',
      params: idParams,
      body: workflowPatch,
      record: workflowRecord,
      consumes: ['application/json', 'application/merge-patch+json'],
      responses: { 200: workflowRecord },
      errors: [412],
      handler: async (c) => {
        const state = await getWorkflowForChange(c.em, c.actor, c.params.id);
        c.checkSyntax();
        checkIfMatch(c.ctx, tagOf(state));
        const { definition: changed, ...fields } = c.body;
        return answerWith(
          await updateWorkflow(c.em, c.actor, state, {
            ...(fields.name === undefined ? {} : { name: fields.name }),
            ...(fields.description === undefined ? {} : { description: fields.description }),
            ...(fields.visibility === undefined ? {} : { visibility: fields.visibility ?? 'private' }),
            ...(fields.tags === undefined ? {} : { tags: fields.tags ?? [] }),
            ...(changed === undefined ? {} : { definition: jsonObject.parse(mergePatch(state.revision.definition, changed)) }),
          }),
        );
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/workflows/{id}',
      operationId: 'deleteWorkflow',
      summary: 'Archive a workflow; its runs stay',
      tags,
      role: 'builder',
      params: idParams,
      responses: { 204: null },
      errors: [412],
      handler: async (c) => {
        const state = await getWorkflowForChange(c.em, c.actor, c.params.id);
        checkIfMatch(c.ctx, tagOf(state));
        await archiveWorkflow(c.em, state.workflow);
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
      summary: 'The revisions of a workflow, newest first',
      tags,
      role: 'viewer',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(revisionRecord) },
      handler: async (c) => {
        const { workflow } = await getWorkflow(c.em, c.actor, c.params.id);
        const { limit, cursor } = c.query;
        const before = decodeCursor(cursor, z.tuple([revisionNumber]))?.[0];
        const { items, headers } = page(c, await listRevisions(c.em, workflow, { before, limit: limit + 1 }), limit, ({ revision }) => [revision]);
        return { status: 200, body: items.map(presentRevision), headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/revisions/{revision}',
      operationId: 'getWorkflowRevision',
      summary: 'One revision of a workflow',
      tags,
      role: 'viewer',
      params: z.object({ ...idParams.shape, revision: z.coerce.number().int().min(1).max(2_147_483_647) }),
      responses: { 200: revisionRecord },
      handler: async (c) => {
        const { workflow } = await getWorkflow(c.em, c.actor, c.params.id);
        return { status: 200, body: presentRevision(await getRevision(c.em, workflow, c.params.revision)) };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/workflows/{id}/diagram',
      operationId: 'getWorkflowDiagram',
      summary: 'The current definition as a picture: Mermaid, or SVG by `Accept`',
      tags,
      role: 'viewer',
      params: idParams,
      responses: { 200: media({ 'text/vnd.mermaid': z.string(), 'text/plain': z.string(), 'image/svg+xml': z.string() }) },
      handler: async (c) => {
        const { revision } = await getWorkflow(c.em, c.actor, c.params.id);
        const type = c.ctx.accepts(['text/vnd.mermaid', 'text/plain', 'image/svg+xml']) || 'text/vnd.mermaid';
        const svg = type === 'image/svg+xml';
        return {
          status: 200,
          type: String(type),
          body: svg ? toSvg(revision.definition) : toMermaid(revision.definition),
          headers: {
            Vary: 'Accept',
            'X-Content-Type-Options': 'nosniff',
            ...(svg ? { 'Content-Security-Policy': "default-src 'none'; sandbox" } : {}),
          },
        };
      },
    }),
  ];
}

function tagOf({ workflow }: WorkflowState): string {
  return etag(workflow.id, workflow.revision, workflow.updated_at);
}

function answerWith(state: WorkflowState): EndpointResponse {
  return { status: 200, body: presentWorkflow(state), headers: { ETag: tagOf(state) } };
}
