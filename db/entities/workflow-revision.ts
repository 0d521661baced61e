import { defineEntity, p, type InferEntity } from '@mikro-orm/postgresql';

import type { Resource } from '../../language/definition/resources.ts';
import type { Problem } from '../../language/definition/validate.ts';

/**
 * An agent that a definition names, as resolved when it was saved; `pointer` leads to the name in the
 * definition.
 */
export interface ResolvedAgent {
  pointer: string;
  agent: string;
  agent_id: string;
  version: string | null;
}

/** One revision of a definition. Written once, never changed. */
export const WorkflowRevision = defineEntity({
  name: 'WorkflowRevision',
  tableName: 'workflow_revision',
  properties: {
    workflow_id: p.uuid().primary(),
    revision: p.integer().primary(),
    /** As the author wrote it, with `document` completed; keys keep their order. */
    definition: p.json<Record<string, unknown>>().columnType('json'),
    /** What runs, with what it takes from elsewhere; null if it is the definition as it is written. */
    executable: p.json<Record<string, unknown>>().columnType('json').nullable(),
    /** The functions and schemas that were fetched for it; null for revisions from before there were any. */
    resources: p.json<Resource[]>().columnType('json').nullable(),
    /** Its text as the author sent it, with comments; only read by SQL, because it can be large. */
    source: p.text().nullable().lazy(),
    /** SHA-256 of the definition as canonical JSON, hexadecimal. */
    digest: p.text(),
    valid: p.boolean(),
    runnable: p.boolean(),
    problems: p.json<Problem[]>(),
    input_schema: p.json<Record<string, unknown> | boolean>().columnType('json').nullable(),
    agents: p.json<ResolvedAgent[]>(),
    dsl_namespace: p.text().nullable(),
    dsl_name: p.text().nullable(),
    dsl_version: p.text().nullable(),
    created_by: p.uuid(),
    created_at: p.datetime(),
  },
});
export type WorkflowRevision = InferEntity<typeof WorkflowRevision>;
