/** Prepares definitions for storage: validates them, resolves their agents and computes their digest. */
import { createHash } from 'node:crypto';

import { firstProblems } from '../../language/definition/problems.ts';
import { refusals } from '../../contracts/process-policy.ts';
import { readProcessPolicy } from '../operations/process-policy.ts';
import { functionPlace, type Resource } from '../../language/definition/resources.ts';
import { credentialsInDefinition } from '../../contracts/credentials.ts';
import { secretEndpoints } from '../../contracts/secret-endpoint.ts';
import { validateDefinition, type Problem, type References } from '../../language/definition/validate.ts';
import type { ResolvedAgent } from '../../db/entities/workflow-revision.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { FetchedResources } from './external-resources.ts';
import { unmeasured, type Measure } from '../measure.ts';
import { resolveAgents } from './workflow-agents.ts';
import { findByReference } from './workflow-references.ts';

export interface CheckedDefinition {
  definition: Record<string, unknown>;
  /** What runs; null if it is the definition. */
  executable: Record<string, unknown> | null;
  resources: Resource[];
  digest: string;
  valid: boolean;
  runnable: boolean;
  problems: Problem[];
  input_schema: Record<string, unknown> | boolean | null;
  agents: ResolvedAgent[];
  dsl_namespace: string | null;
  dsl_name: string | null;
  dsl_version: string | null;
}

/**
 * Checks a definition with the rights of the workflow's owner; `name` completes a missing `document`. Stores
 * nothing. What takes long counts by `measure`.
 */
export async function checkDefinition(
  em: EntityManager,
  ownerId: string,
  definition: Record<string, unknown>,
  name: string,
  { resources, problems: unfetched }: FetchedResources = { resources: [], problems: [] },
  measure: Measure = unmeasured,
): Promise<CheckedDefinition> {
  const validation = measure(() => validateDefinition(definition, { name, resources }));
  // Nothing else looks into a definition that is too big.
  const isTooBig = validation.problems.some(({ code }) => code === 'too_big');
  const resolved = await resolveAgents(em, ownerId, validation.references.agents);
  const missing = await missingWorkflows(em, ownerId, validation.references.workflows);
  const problems = firstProblems([
    ...validation.problems,
    ...unfetched,
    ...neverFetched(validation.references.resources, unfetched),
    ...resolved.problems.map((problem) => atCall(problem, resources)),
    ...missing,
    ...(await refusedProcesses(em, validation.references.processes)),
    ...(isTooBig ? [] : measure(() => writtenCredentials(validation.definition))),
  ]);
  const valid = !problems.some(({ severity }) => severity === 'error');
  const document = validation.valid ? validation.definition.document : null;
  return {
    // The submitted JSON, with `document` completed.
    definition: { ...validation.definition },
    executable: valid && validation.executable !== null ? { ...validation.executable } : null,
    resources,
    digest: measure(() => digestOf(isTooBig ? validation.definition : sorted(validation.definition))),
    valid,
    runnable: valid && !problems.some(({ severity }) => severity === 'unsupported'),
    problems,
    input_schema: validation.input_schema,
    agents: resolved.agents,
    dsl_namespace: document?.namespace ?? null,
    dsl_name: document?.name ?? null,
    dsl_version: document?.version ?? null,
  };
}

/** Resources for which nobody has asked, because the definition has changed in the meantime. */
function neverFetched(references: References['resources'], problems: readonly Problem[]): Problem[] {
  return references
    .filter(({ pointer }) => !problems.some((known) => known.pointer === pointer))
    .map(({ pointer, url }) => ({
      pointer,
      code: 'resource_refused',
      message: `${url} was not fetched: save the definition again`,
      severity: 'error',
    }));
}

/** An agent that a fetched function names is reported where the function is called. */
function atCall(problem: Problem, resources: readonly Resource[]): Problem {
  const called = resources.find(
    ({ kind, name }) => kind === 'function' && problem.pointer.startsWith(`${functionPlace(name)}/`),
  );
  if (called === undefined) return problem;
  return { ...problem, pointer: called.pointer, message: `${called.url}: ${problem.message}` };
}

/** A warning only, because a workflow may be saved before those that it runs. */
async function missingWorkflows(
  em: EntityManager,
  ownerId: string,
  references: References['workflows'],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { pointer, ...reference } of references.slice(0, 50)) {
    if ((await findByReference(em, ownerId, reference)) !== null) continue;
    const { namespace, name, version } = reference;
    problems.push({
      pointer,
      code: 'unknown_workflow',
      message: `there is no workflow ${namespace}/${name} ${version} yet: create it before this one runs`,
      severity: 'warning',
    });
  }
  return problems;
}

/** Processes that this installation does not run. A worker refuses those that a setting forbids later. */
async function refusedProcesses(em: EntityManager, processes: References['processes']): Promise<Problem[]> {
  if (processes.length === 0) return [];
  const policy = await readProcessPolicy(em);
  return processes.flatMap(({ pointer, kind, configured }) =>
    refusals(kind, configured, policy).map(({ key, message }): Problem => ({
      pointer: key === '' ? pointer : `${pointer}/${key}`,
      code: 'process_refused',
      message,
      severity: 'unsupported',
    })),
  );
}

/**
 * Warns about credentials: a definition is stored as written, and everyone who sees the workflow can read it.
 */
function writtenCredentials(definition: unknown): Problem[] {
  const message =
    'a credential is written here, where everyone who sees the workflow can read it: ' +
    `store it with ${secretEndpoints('{name}')}, and read it as $secrets.<name>`;
  return credentialsInDefinition(definition).map((pointer) => ({
    pointer,
    code: 'literal_secret',
    message,
    severity: 'warning',
  }));
}

/** SHA-256 in hexadecimal of the JSON. */
function digestOf(definition: unknown): string {
  return createHash('sha256').update(JSON.stringify(definition)).digest('hex');
}

/** With sorted keys, so that equal definitions have equal digests. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
