/** The keys of an agent's `configuration` that the platform knows, by kind (interface-decisions §3). Any other key is kept. */
import * as z from 'zod';
import { jsonObject, jsonObjectOf } from './json-object.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

export const apiConfiguration = z.looseObject({
  /** Absolute URL; `{name}` is filled from the input's top level. Default: the agent's `url`. */
  endpoint: z.string().optional(),
  /** Default POST. */
  method: z.string().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  query: jsonObject.optional(),
  /** JSON whose strings may hold `${ … }` on the input. Default: the input itself, as query for methods without a body. */
  body: z.unknown().optional(),
  /** How files in the input are sent: with a link, with their content in base64, as a form's parts, or the one file as the body. Default `link`. */
  files: z.enum(['link', 'base64', 'multipart', 'body']).optional(),
  /** What becomes of the answer's content: a file where it is neither JSON nor text (`auto`, default), always (`file`), never (`inline`). */
  output: z.enum(['auto', 'file', 'inline']).optional(),
  /** jq on the answer's content, with `$response` = `{status, headers, body}`; or an object whose strings hold `${ … }`. */
  response: z.union([z.string(), jsonObject]).optional(),
  /** Milliseconds, ISO 8601, or the DSL's inline duration. */
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  /** `idempotent: false`: an invocation whose outcome is unknown is never repeated. */
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

export const llmConfiguration = z.looseObject({
  /** Of an OpenAI-compatible API, such as `https://api.openai.com/v1`. Default: the agent's `url`. */
  base_url: z.string().optional(),
  model: z.string().optional(),
  api_key: z.string().optional(),
  system: z.string().optional(),
  /** Text with `${ … }` on the input. Default: the input itself. */
  prompt: z.string().optional(),
  temperature: z.number().min(0).optional(),
  max_tokens: z.int().positive().optional(),
  top_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  /** Where an output schema is set: `json_schema` (default) sends it, `json_object` asks for JSON only, `none` asks for nothing. */
  structured_output: z.enum(['json_schema', 'json_object', 'none']).optional(),
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

export const a2aConfiguration = z.looseObject({
  /** Of the agent card. Default: looked for under the agent's `url`. */
  card_url: z.string().optional(),
  /** Default: the card's first that we speak. */
  binding: z.enum(['JSONRPC', 'HTTP+JSON', 'GRPC']).optional(),
  /** False: poll, even where the card says that the agent streams. */
  streaming: z.boolean().optional(),
  headers: jsonObjectOf(scalar.nullable()).optional(),
  /** Goes with each message. */
  metadata: jsonObject.optional(),
  /** URIs of protocol extensions to be announced. */
  extensions: z.array(z.string()).optional(),
  /** Media types. Default: all. */
  accepted_output_modes: z.array(z.string()).optional(),
  /** Between two looks at the task, where it is not streamed. Default: from 0.25 s, growing to 10 s. */
  poll_interval: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  timeout: z.union([z.number().positive(), z.string(), z.record(z.string(), z.number())]).optional(),
  retry: z.looseObject({ idempotent: z.boolean().optional() }).optional(),
});

export const workflowConfiguration = z.looseObject({
  workflow_id: z.string().optional(),
  revision: z.int().positive().optional(),
});

export type ApiConfiguration = z.infer<typeof apiConfiguration>;
export type LlmConfiguration = z.infer<typeof llmConfiguration>;
export type A2aConfiguration = z.infer<typeof a2aConfiguration>;

const BY_KIND: Record<string, z.ZodObject> = { api: apiConfiguration, llm: llmConfiguration, a2a: a2aConfiguration, workflow: workflowConfiguration };

/** Names under which a literal value is a secret: moved to the store on save, whatever the kind. */
export const SECRET_KEYS: ReadonlySet<string> = new Set([
  'api_key', 'apikey', 'token', 'access_token', 'refresh_token', 'secret', 'client_secret', 'password', 'authorization', 'private_key', 'credentials',
]);

/** Whole key, any case, `-` as `_`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEYS.has(key.toLowerCase().replaceAll('-', '_'));
}

export interface ConfigurationWarning {
  /** JSON pointer into the agent's record. */
  pointer: string;
  message: string;
}

/** Which adapter serves an agent: `execution_type`, else `type`. An `llm` that is configured as one stays one when it is executed by `api`. */
export function agentKind(agent: { type: string; execution_type: string | null; configuration: Record<string, unknown> | null }): string {
  const { type, execution_type: executionType, configuration } = agent;
  if (type === 'llm' && executionType === 'api' && configuration?.['endpoint'] === undefined && configuration?.['base_url'] !== undefined) return 'llm';
  return executionType ?? type;
}

/** What will be ignored, or fault when the agent is invoked; saving is never refused for it. */
export function configurationWarnings(agent: Parameters<typeof agentKind>[0]): ConfigurationWarning[] {
  const schema = BY_KIND[agentKind(agent)];
  if (schema === undefined || agent.configuration === null) return [];
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(agent.configuration)
    .filter((key) => !known.includes(key) && !isSecretKey(key))
    .map((key) => ({
      pointer: `/configuration/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      message: `"${key}" is not a key that agents of this kind use; it is kept and has no effect (known: ${known.join(', ')})`,
    }));
  const invalid = (schema.safeParse(agent.configuration).error?.issues ?? []).map((issue) => ({
    pointer: ['/configuration', ...issue.path.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/'),
    message: `${issue.message}; invoking the agent will fault`,
  }));
  return [...invalid, ...unknown];
}
