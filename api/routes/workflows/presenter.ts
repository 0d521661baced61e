/** Converts workflows and their revisions to JSON. Nothing else does. */
import type { Runners } from '../../../contracts/runners.ts';
import { acting } from '../../../domain/auth/ownership.ts';
import { runnerProblems } from '../../../domain/registry/runner-problems.ts';
import { mayChangeWorkflow, type Ownership } from '../../../domain/registry/workflow-policy.ts';
import { runners } from '../new-workflow.ts';
import * as z from 'zod';

import { budgetSchema } from '../../../contracts/budgets.ts';
import type { Problem } from '../../../language/definition/validate.ts';
import type { WorkflowRevision } from '../../../db/entities/workflow-revision.ts';
import type { ListedRevision, ListedWorkflow } from '../../../domain/registry/workflow-lists.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { WORKFLOW_ACTIONS, workflowActions } from '../../../domain/registry/workflow-rights.ts';
import type { WorkflowRecord } from '../../../domain/registry/workflow-service.ts';
import type { WorkflowWarning } from '../../../domain/registry/workflow-warnings.ts';
import { listedRecord, presentListed } from '../../listed.ts';
import { listOfNames, personName } from '../../person-names.ts';
import { jsonObject, provenanceRecord, timestamp, uuid } from '../../schemas.ts';
import { time } from '../../times.ts';

const problemOfDefinition = z
  .object({
    pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) into the definition.' }),
    code: z.string(),
    message: z.string(),
    severity: z.enum(['error', 'unsupported', 'warning']),
    line: z.int().optional().meta({
      description: 'If the definition was sent as YAML: where it is in this text, from 1; so is `column`.',
    }),
    column: z.int().optional(),
  })
  .meta({ id: 'DefinitionProblem' });

const verdict = {
  valid: z.boolean(),
  runnable: z.boolean().meta({
    description:
      'Whether the definition is valid, nothing in it is unsupported, and every agent has a matching ' +
      'version.',
  }),
  problems: z.array(problemOfDefinition),
};

export const validationRecord = z.object(verdict).meta({ id: 'DefinitionValidation' });

const pinnedResource = z
  .object({
    kind: z.enum(['function', 'schema']),
    pointer: z.string().meta({ description: 'Where the definition names it first.' }),
    url: z.string(),
    digest: z.string().meta({ description: '`sha256:` and the digest of the content.' }),
    bytes: z.int(),
  })
  .meta({ id: 'PinnedResource' });

const resources = z
  .array(pinnedResource)
  .optional()
  .meta({
    description:
      'What the revision took from elsewhere when it was saved, and runs with. Lists leave it out; a ' +
      'record without any has none.',
  });

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
    resources,
    owner_id: uuid,
    owner_name: personName,
    team_id: uuid.nullable(),
    runners: runners.nullable().meta({ description: 'Null for those who may not change the workflow.' }),
    runner_names: listOfNames,
    visibility: z.enum(['private', 'public']),
    tags: z.array(z.string()),
    budget: budgetSchema.nullable(),
    provenance: provenanceRecord.nullable(),
    can: z.array(z.enum(WORKFLOW_ACTIONS)).meta({
      description: 'What the caller may do with the workflow. `publish` means publishing to the marketplace.',
    }),
    warnings: z
      .array(
        z.object({ pointer: z.string(), code: z.enum(['name_taken', 'empty_group']), message: z.string() }),
      )
      .meta({
        description:
          'About what is beside the definition, for those who may change the workflow: a name that another ' +
          'workflow of the same owner has, and groups of `runners` that nobody is in.',
      }),
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
    resources,
    created_by: uuid,
    created_by_name: personName,
    created_at: timestamp,
  })
  .meta({ id: 'WorkflowRevision' });

const listedParts = { definition: true, runnable: true, problems: true, input_schema: true } as const;

/** A workflow in a list. */
export const listedWorkflow = listedRecord(
  workflowRecord,
  { ...listedParts, description: true, tags: true },
  { id: 'ListedWorkflow', variantOf: 'Workflow' },
);

/** A revision in a list. */
export const listedRevision = listedRecord(revisionRecord, listedParts, {
  id: 'ListedWorkflowRevision',
  variantOf: 'WorkflowRevision',
});

/** @param presentProblems those of agent versions and of the people whom human tasks name */
export function presentListedWorkflow(
  actor: Actor,
  workflow: ListedWorkflow,
  presentProblems: readonly Problem[],
  warnings: readonly WorkflowWarning[],
): Record<string, unknown> {
  const runners = shownRunners(actor, workflow);
  const ofRunners = runnerProblems(runners, workflow.definition);
  const parts = presentParts(workflow, [...presentProblems, ...ofRunners]);
  const {
    id,
    name,
    description,
    owner_id,
    team_id = null,
    visibility,
    tags,
    provenance,
    budget,
    updated_at,
  } = workflow;
  const record = {
    id,
    name,
    description,
    owner_id,
    team_id,
    runners,
    visibility,
    tags,
    budget: budget ?? null,
    provenance: provenance ?? null,
    warnings,
    updated_at: time(updated_at),
  };
  return presentListed<typeof workflowRecord>(
    { ...record, ...parts, can: workflowActions(actor, workflow, parts) },
    recordNames(workflow.omitted),
  );
}

function shownRunners(actor: Actor, workflow: Ownership & { runners: Runners }): Runners | null {
  return mayChange(actor, workflow) ? workflow.runners : null;
}

/** Whether the actor may know its runners, and whom of the people that it names there are. */
export function mayChange(actor: Actor, workflow: Ownership): boolean {
  return mayChangeWorkflow(acting(actor, 'builder'), workflow);
}

export function presentListedRevision(
  listed: ListedRevision,
  versionProblems: readonly Problem[],
): Record<string, unknown> {
  const { workflow_id, digest, created_by } = listed;
  return presentListed<typeof revisionRecord>(
    { workflow_id, digest, created_by, ...presentParts(listed, versionProblems) },
    recordNames(listed.omitted),
  );
}

function presentParts(listed: ListedWorkflow | ListedRevision, presentProblems: readonly Problem[]) {
  const { definition, revision, valid, runnable, input_schema, problems } = listed;
  const verdict = presentVerdict({ valid, runnable, problems: problems ?? [] }, presentProblems);
  return { definition, revision, ...verdict, input_schema, created_at: time(listed.created_at) };
}

/** `agents` is not a field of the record. */
function recordNames(omitted: readonly string[]): string[] {
  return omitted.filter((name) => name !== 'agents');
}

export function presentWorkflow(
  actor: Actor,
  { workflow, revision, version_problems }: WorkflowRecord,
  ofPeople: readonly Problem[],
  warnings: readonly WorkflowWarning[],
): z.input<typeof workflowRecord> {
  const runners = shownRunners(actor, workflow);
  const ofRunners = runnerProblems(runners, revision.definition);
  const verdict = presentVerdict(revision, [...version_problems, ...ofPeople, ...ofRunners]);
  return {
    id: workflow.id,
    name: workflow.name,
    description: workflow.description ?? null,
    definition: revision.definition,
    revision: workflow.revision,
    ...verdict,
    input_schema: revision.input_schema ?? null,
    ...presentResources(revision),
    owner_id: workflow.owner_id,
    team_id: workflow.team_id ?? null,
    runners,
    visibility: workflow.visibility,
    tags: workflow.tags,
    budget: workflow.budget ?? null,
    provenance: workflow.provenance ?? null,
    can: workflowActions(actor, workflow, verdict),
    warnings: [...warnings],
    created_at: workflow.created_at.toISOString(),
    updated_at: workflow.updated_at.toISOString(),
  };
}

export function presentRevision(
  revision: WorkflowRevision,
  versionProblems: readonly Problem[],
): z.input<typeof revisionRecord> {
  return {
    workflow_id: revision.workflow_id,
    revision: revision.revision,
    definition: revision.definition,
    digest: revision.digest,
    ...presentVerdict(revision, versionProblems),
    input_schema: revision.input_schema ?? null,
    ...presentResources(revision),
    created_by: revision.created_by,
    created_at: revision.created_at.toISOString(),
  };
}

function presentResources({ resources: pinned }: WorkflowRevision): {
  resources?: z.input<typeof pinnedResource>[];
} {
  if (!pinned?.length) return {};
  return {
    resources: pinned.map(({ kind, pointer, url, digest, bytes }) => ({ kind, pointer, url, digest, bytes })),
  };
}

/** The stored result of validation, with the problems that change without the definition as they are now. */
export function presentVerdict(
  { valid, runnable, problems }: Pick<WorkflowRevision, 'valid' | 'runnable' | 'problems'>,
  presentProblems: readonly Problem[],
): z.input<typeof validationRecord> {
  return {
    valid,
    runnable: runnable && !presentProblems.some(({ severity }) => severity !== 'warning'),
    // Fixed key order for readability.
    problems: [...problems, ...presentProblems].map(({ pointer, code, message, severity, line, column }) => ({
      pointer,
      code,
      message,
      severity,
      ...(line === undefined ? {} : { line, column }),
    })),
  };
}
