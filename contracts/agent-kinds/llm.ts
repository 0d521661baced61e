/** Configuration of agents of kind `llm`: language models. */
import * as z from 'zod';
import { jsonObjectOf } from '../json-object.ts';
import { duration, retry, scalar, type AgentKind } from './kind.ts';

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
  timeout: duration.optional(),
  retry: retry.optional(),
});

export type LlmConfiguration = z.infer<typeof llmConfiguration>;

export const llmKind: AgentKind = { configuration: llmConfiguration, orUrl: 'base_url', keys: ['model'] };
