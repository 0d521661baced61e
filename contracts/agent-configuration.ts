/**
 * Keys of an agent's `configuration` that the platform uses, by agent kind (docs/agents.md). Other keys are
 * kept.
 */
import { escapeToken } from './json-pointer.ts';
import * as z from 'zod';
import { didYouMean } from './suggest.ts';
import { credentialProblems } from './credential-keys.ts';
import { credentialsIn, namesCredential } from './credentials.ts';
import { jsonObject, jsonObjectOf } from './json-object.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

export const apiConfiguration = z.looseObject({
  /** Absolute URL. `{name}` is replaced with the input's top-level field. Default: the agent's `url`. */
  endpoint: z.string().optional(),
  /** Default POST. */
  method: z.string().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  query: jsonObject.optional(),
  /**
   * JSON whose strings may contain `${ … }` over the input. Default: the input, sent as query for methods
   * without a body.
   */
  body: z.unknown().optional(),
  /**
   * How input files are sent: as links, as base64 content, as multipart form parts, or a single file as the
   * body. Default `link`.
   */
  files: z.enum(['link', 'base64', 'multipart', 'body']).optional(),
  /**
   * Whether the response content becomes a file: unless it is JSON or text (`auto`, default), always
   * (`file`), or never (`inline`).
   */
  output: z.enum(['auto', 'file', 'inline']).optional(),
  /**
   * jq on the response content, with `$response` = `{status, headers, body}`; or an object whose strings
   * contain `${ … }`.
   */
  response: z.union([z.string(), jsonObject]).optional(),
  /** Milliseconds, ISO 8601, or the DSL's inline duration. */
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  /** With `idempotent: false`, an invocation with an unknown outcome is never repeated. */
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

export const llmConfiguration = z.looseObject({
  /**
   * Base URL of an OpenAI-compatible API, such as `https://api.openai.com/v1`. Default: the agent's `url`.
   */
  base_url: z.string().optional(),
  model: z.string().optional(),
  api_key: z.string().optional(),
  system: z.string().optional(),
  /** Text with `${ … }` over the input. Default: the input itself. */
  prompt: z.string().optional(),
  temperature: z.number().min(0).optional(),
  max_tokens: z.int().positive().optional(),
  top_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  /**
   * How to request output that matches the output schema: `json_schema` (default) sends the schema,
   * `json_object` requests JSON only, `none` requests nothing.
   */
  structured_output: z.enum(['json_schema', 'json_object', 'none']).optional(),
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

export const a2aConfiguration = z.looseObject({
  /** URL of the agent card. Default: discovered below the agent's `url`. */
  card_url: z.string().optional(),
  /** Default: the first binding of the card that is supported here. */
  binding: z.enum(['JSONRPC', 'HTTP+JSON', 'GRPC']).optional(),
  /** If false, poll even if the card declares streaming. */
  streaming: z.boolean().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  /** Metadata sent with each message. */
  metadata: jsonObject.optional(),
  /** URIs of protocol extensions to announce. */
  extensions: z.array(z.string()).optional(),
  /** Accepted media types. Default: all. */
  accepted_output_modes: z.array(z.string()).optional(),
  /** Interval between polls of a task that is not streamed. Default: from 0.25 s, growing to 10 s. */
  poll_interval: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

const workflowConfiguration = z.looseObject({
  workflow_id: z.string().optional(),
  revision: z.int().positive().optional(),
});

export type ApiConfiguration = z.infer<typeof apiConfiguration>;
export type LlmConfiguration = z.infer<typeof llmConfiguration>;
export type A2aConfiguration = z.infer<typeof a2aConfiguration>;

const BY_KIND: Record<string, z.ZodObject> = {
  api: apiConfiguration,
  llm: llmConfiguration,
  a2a: a2aConfiguration,
  workflow: workflowConfiguration,
};

export interface ConfigurationWarning {
  /** JSON pointer into the agent's record. */
  pointer: string;
  message: string;
}

/**
 * The adapter kind of an agent: `execution_type`, else `type`. An agent of type `llm` with an LLM
 * configuration remains one, even with `execution_type: api`.
 */
export function agentKind(agent: {
  type: string;
  execution_type: string | null;
  configuration: Record<string, unknown> | null;
}): string {
  const { type, execution_type: executionType, configuration } = agent;
  if (
    type === 'llm' &&
    executionType === 'api' &&
    configuration?.['endpoint'] === undefined &&
    configuration?.['base_url'] !== undefined
  )
    return 'llm';
  return executionType ?? type;
}

export interface CheckedAgent {
  type: string;
  execution_type: string | null;
  configuration: Record<string, unknown> | null;
  url?: string | null | undefined;
  authentication_type?: string | null | undefined;
  authentication_config?: Record<string, unknown> | null | undefined;
}

/** Required keys by kind. The agent's `url` can replace `orUrl`. */
const REQUIRED: Record<string, { orUrl?: string; keys: readonly string[] }> = {
  api: { orUrl: 'endpoint', keys: [] },
  llm: { orUrl: 'base_url', keys: ['model'] },
  a2a: { orUrl: 'card_url', keys: [] },
  workflow: { keys: ['workflow_id'] },
};

/** Warnings about keys that are ignored or make invocations fault. They never prevent saving. */
export function configurationWarnings(agent: CheckedAgent): ConfigurationWarning[] {
  const kind = agentKind(agent);
  const schema = BY_KIND[kind];
  if (schema === undefined) {
    return [
      {
        pointer: agent.execution_type === null ? '/type' : '/execution_type',
        message: `agents of kind "${kind}" can be registered, but invoking them is not available yet`,
      },
    ];
  }
  const configuration = agent.configuration ?? {};
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(configuration)
    .filter((key) => !known.includes(key) && !namesCredential(key) && key !== 'a2a')
    .map((key) => ({
      pointer: `/configuration/${escapeToken(key)}`,
      message:
        `"${key}" is not a key that agents of this kind use${didYouMean(key, known) || ';'} ` +
        `it is kept and has no effect (known: ${known.join(', ')})`,
    }));
  const invalid = (schema.safeParse(configuration).error?.issues ?? []).map((issue) => ({
    pointer: ['/configuration', ...issue.path.map((key) => escapeToken(String(key)))].join('/'),
    message: `${issue.message}; invoking the agent will fault`,
  }));
  const credentials =
    kind === 'workflow'
      ? []
      : credentialProblems(agent.authentication_type, agent.authentication_config, configuration);
  return [
    ...missingKeys(kind, agent.url ?? null, configuration),
    ...badAddress(kind, configuration),
    ...invalid,
    ...credentials,
    ...unknown,
  ];
}

/** An address that can never be called; `<NAME>` and `{name}` in it are known when it is. */
function badAddress(kind: string, configuration: Record<string, unknown>): ConfigurationWarning[] {
  const key = REQUIRED[kind]?.orUrl ?? '';
  const address = configuration[key];
  if (typeof address !== 'string' || address === '' || /^[<{]/.test(address)) return [];
  const filled = address.replace(/<[A-Z][A-Z0-9_]*>|\{[^{}]*\}/g, '1');
  if (/^https?:\/\//i.test(filled) && URL.canParse(filled)) return [];
  return [
    {
      pointer: `/configuration/${key}`,
      message: `${JSON.stringify(address)} is no http or https URL; invoking the agent will fault`,
    },
  ];
}

function missingKeys(
  kind: string,
  url: string | null,
  configuration: Record<string, unknown>,
): ConfigurationWarning[] {
  const { orUrl, keys } = REQUIRED[kind] ?? { keys: [] };
  const isUnset = (key: string): boolean =>
    [undefined, null, ''].some((unset) => configuration[key] === unset);
  const missing = (key: string, more = ''): ConfigurationWarning => ({
    pointer: `/configuration/${key}`,
    message: `"${key}" is missing${more}; invoking the agent will fault`,
  });
  return [
    ...(orUrl !== undefined && isUnset(orUrl) && !url ? [missing(orUrl, ', and the agent has no url')] : []),
    ...keys.filter(isUnset).map((key) => missing(key)),
  ];
}

/** Parts of an agent that everybody who can see the agent can read. */
export interface ReadableParts {
  configuration?: unknown;
  authentication_config?: unknown;
  url?: string | null | undefined;
  description?: string | null | undefined;
  documentation?: string | null | undefined;
}

/** Warnings about text that looks like a credential and was not moved to the secret store. */
export function credentialWarnings(parts: ReadableParts): ConfigurationWarning[] {
  return (['configuration', 'authentication_config', 'url', 'description', 'documentation'] as const).flatMap(
    (part) =>
      credentialsIn(parts[part], `/${part}`).map((pointer) => ({
        pointer,
        message:
          'looks like a credential, which everybody who sees the agent can read: ' +
          'store it with PUT /secrets/{name}, and write <NAME> in its place',
      })),
  );
}
