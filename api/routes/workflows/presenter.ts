/** The only way from a workflow to JSON. */
import * as z from 'zod';

import type { WorkflowRevision } from '../../../db/entities/workflow-revision.ts';
import type { WorkflowState } from '../../../domain/registry/workflow-service.ts';
import { jsonObject, provenanceRecord, timestamp, uuid } from '../../schemas.ts';

export const problemOfDefinition = z
  .object({
    pointer: z.string().meta({ description: 'RFC 6901, into the definition.' }),
    code: z.string(),
    message: z.string(),
    severity: z.enum(['error', 'unsupported', 'warning']),
  })
  .meta({ id: 'DefinitionProblem' });

const verdict = {
  valid: z.boolean(),
  runnable: z.boolean().meta({ description: 'Valid, and nothing in it is unsupported.' }),
  problems: z.array(problemOfDefinition),
};

export const validationRecord = z.object(verdict).meta({ id: 'DefinitionValidation' });

const inputSchema = z.union([jsonObject, z.boolean()]).nullable();

export const workflowRecord = z
  .object({
    id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    definition: jsonObject.meta({ description: 'Open Workflow Specification DSL 1.0.x.' }),
    revision: z.int(),
    ...verdict,
    input_schema: inputSchema,
    owner_id: uuid,
    visibility: z.enum(['private', 'public']),
    tags: z.array(z.string()),
    provenance: provenanceRecord.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Workflow' });

export const revisionRecord = z
  .object({
    workflow_id: uuid,
    revision: z.int(),
    definition: jsonObject,
    digest: z.string(),
    ...verdict,
    input_schema: inputSchema,
    created_by: uuid,
    created_at: timestamp,
  })
  .meta({ id: 'WorkflowRevision' });

export function presentWorkflow({ workflow, revision }: WorkflowState): z.input<typeof workflowRecord> {
  return {
    id: workflow.id,
    name: workflow.name,
    description: workflow.description ?? null,
    definition: revision.definition,
    revision: workflow.revision,
    valid: revision.valid,
    runnable: revision.runnable,
    problems: presentProblems(revision),
    input_schema: revision.input_schema ?? null,
    owner_id: workflow.owner_id,
    visibility: workflow.visibility,
    tags: workflow.tags,
    provenance: workflow.provenance ?? null,
    created_at: workflow.created_at.toISOString(),
    updated_at: workflow.updated_at.toISOString(),
  };
}

export function presentRevision(revision: WorkflowRevision): z.input<typeof revisionRecord> {
  return {
    workflow_id: revision.workflow_id,
    revision: revision.revision,
    definition: revision.definition,
    digest: revision.digest,
    valid: revision.valid,
    runnable: revision.runnable,
    problems: presentProblems(revision),
    input_schema: revision.input_schema ?? null,
    created_by: revision.created_by,
    created_at: revision.created_at.toISOString(),
  };
}

/** In the order that people read. */
export function presentProblems({ problems }: Pick<WorkflowRevision, 'problems'>): z.input<typeof problemOfDefinition>[] {
  return problems.map(({ pointer, code, message, severity }) => ({ pointer, code, message, severity }));
}
