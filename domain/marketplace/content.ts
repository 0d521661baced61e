/**
 * The content of an item: a snapshot of an agent version or a workflow revision, without secrets and without
 * the owner's private data.
 */
import { createHash } from 'node:crypto';

import * as z from 'zod';

import { canonicalJson } from '../../contracts/canonical-json.ts';
import { jsonObject } from '../../contracts/json-object.ts';
import { AGENT_TYPES, AUTHENTICATION_TYPES, EXECUTION_TYPES } from '../../contracts/agent-types.ts';

const object = jsonObject;
const text = z.string().nullable();
const texts = z.array(z.string()).nullable();

const skill = z.object({
  name: z.string(),
  description: text,
  tags: texts,
  examples: texts,
  input_modes: texts,
  output_modes: texts,
});

export const agentContent = z.object({
  kind: z.literal('agent'),
  name: z.string(),
  version: z.string(),
  description: text,
  type: z.enum(AGENT_TYPES),
  execution_type: z.enum(EXECUTION_TYPES).nullable(),
  documentation: text,
  license: text,
  repository_url: text,
  configuration: object,
  input_schema: object,
  output_schema: object,
  modalities: texts,
  capabilities: texts,
  url: text,
  provider_name: text,
  provider_url: text,
  authentication_type: z.enum(AUTHENTICATION_TYPES).nullable(),
  authentication_config: object.nullable(),
  capabilities_streaming: z.boolean(),
  capabilities_push: z.boolean(),
  capabilities_history: z.boolean(),
  tags: texts,
  skills: z.array(skill),
});
export type AgentContent = z.infer<typeof agentContent>;

const resource = z.object({
  kind: z.enum(['function', 'schema']),
  name: z.string(),
  url: z.string(),
  pointer: z.string(),
  digest: z.string(),
  bytes: z.int(),
  document: z.unknown(),
});

export const workflowContent = z.object({
  kind: z.literal('workflow'),
  name: z.string(),
  revision: z.int(),
  description: text,
  tags: z.array(z.string()),
  definition: object,
  /** What its revision had fetched, with its digests; absent if that is nothing. */
  resources: z.array(resource).optional(),
  /** The agents that the definition names; `pointer` leads to the name. */
  agents: z.array(z.object({ pointer: z.string(), agent: z.string(), agent_id: z.string(), version: text })),
});
export type WorkflowContent = z.infer<typeof workflowContent>;

export const itemContent = z.discriminatedUnion('kind', [agentContent, workflowContent]);
export type ItemContent = z.infer<typeof itemContent>;

/** SHA-256 of the content as canonical JSON (RFC 8785), hexadecimal. */
export function contentDigest(content: ItemContent): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}
