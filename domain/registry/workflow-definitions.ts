/** Definitions on their way into the database: validated, their agents resolved, their digest taken. */
import { createHash } from 'node:crypto';

import { validateDefinition, type Problem, type References } from '../../contracts/definition/validate.ts';
import type { ResolvedAgent } from '../../db/entities/workflow-revision.ts';
import type { EntityManager } from '../../db/orm.ts';
import { resolveAgents } from './workflow-agents.ts';
import { findByReference } from './workflow-references.ts';

export interface CheckedDefinition {
  definition: Record<string, unknown>;
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

/** Checks a definition with the rights of the workflow's owner; `name` completes a missing `document`. Saves nothing. */
export async function checkDefinition(em: EntityManager, ownerId: string, definition: Record<string, unknown>, name: string): Promise<CheckedDefinition> {
  const validation = validateDefinition(definition, { name });
  const resolved = await resolveAgents(em, ownerId, validation.references.agents);
  const problems = [...validation.problems, ...resolved.problems, ...(await missingWorkflows(em, ownerId, validation.references.workflows))];
  const valid = !problems.some(({ severity }) => severity === 'error');
  const document = validation.valid ? validation.definition.document : null;
  return {
    // JSON as it came, with a document.
    definition: { ...validation.definition },
    digest: digestOf(validation.definition),
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

/** A workflow may be saved before the one that it runs: a warning. */
async function missingWorkflows(em: EntityManager, ownerId: string, references: References['workflows']): Promise<Problem[]> {
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

/** SHA-256, hexadecimal, of the JSON with sorted keys: the same for definitions that say the same. */
export function digestOf(definition: unknown): string {
  return createHash('sha256').update(JSON.stringify(sorted(definition))).digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]));
}
