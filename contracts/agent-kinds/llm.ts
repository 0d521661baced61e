/** Configuration of agents of kind `llm`: language models. */
import * as z from 'zod';
import { jsonObjectOf } from '../json-object.ts';
import { toolKeys } from './llm-tools.ts';
import { duration, retry, scalar, type AgentKind, type KindFacts, type KindProblem } from './kind.ts';

const MODEL_PROVIDERS = [
  'openai-compatible',
  'openai',
  'anthropic',
  'google',
  'azure',
  'bedrock',
  'ollama',
] as const;

export type ModelProvider = (typeof MODEL_PROVIDERS)[number];

export const llmConfiguration = z.looseObject({
  /** Whose API serves the model. Default `openai-compatible`. */
  provider: z.enum(MODEL_PROVIDERS).optional(),
  /**
   * Base URL of the API, such as `https://api.openai.com/v1`. Default: the provider's own; for
   * `openai-compatible` the agent's `url`.
   */
  base_url: z.string().optional(),
  model: z.string().optional(),
  api_key: z.string().optional(),
  /** `openai` and `azure`: which of the provider's two APIs. Default `chat`. */
  api: z.enum(['chat', 'responses']).optional(),
  /** `azure`: name of the resource, if there is no `base_url`. */
  resource: z.string().optional(),
  /** `azure`: name of the deployment. Default: `model`. */
  deployment: z.string().optional(),
  /** `azure`: a dated version of the API, for addresses of deployments. Default: `v1`. */
  api_version: z.string().optional(),
  /** `bedrock`: such as `eu-central-1`. */
  region: z.string().optional(),
  /** `bedrock`, unless there is an `api_key`. */
  access_key_id: z.string().optional(),
  secret_access_key: z.string().optional(),
  session_token: z.string().optional(),
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
  ...toolKeys,
});

export type LlmConfiguration = z.infer<typeof llmConfiguration>;

/** Where a provider has no address of its own, or its credentials are not one `api_key`. */
const OTHER_NEEDS: ReadonlySet<ModelProvider> = new Set(['openai-compatible', 'ollama', 'bedrock']);

const providerOf = ({ provider }: Readonly<Record<string, unknown>>): ModelProvider =>
  llmConfiguration.shape.provider.safeParse(provider).data ?? 'openai-compatible';

/** Other providers have addresses of their own. */
export const isModelAtUrl = (configuration: Readonly<Record<string, unknown>>): boolean =>
  providerOf(configuration) === 'openai-compatible';

/** What is missing to reach a model. */
export function modelProblems({
  configuration,
  url,
  authentication_type: authentication,
}: KindFacts): KindProblem[] {
  const isSet = (key: string): boolean => typeof configuration[key] === 'string' && configuration[key] !== '';
  const provider = providerOf(configuration);
  const problems: KindProblem[] = [];
  const require = (key: string, instead: string, isGiven = isSet(key)): void => {
    if (!isGiven) problems.push({ key, message: `"${key}" is missing${instead}` });
  };
  require('model', '', isSet('model') || (provider === 'azure' && isSet('deployment')));
  const isElsewhere = isSet('base_url');
  const isAuthenticated = isSet('api_key') || (authentication ?? 'none') !== 'none';
  if (provider === 'openai-compatible')
    require('base_url', ', and the agent has no url', isElsewhere || (url ?? '') !== '');
  if (provider === 'azure')
    require('resource', ', and there is no "base_url"', isElsewhere || isSet('resource'));
  // Servers of one's own may want no key.
  if (!OTHER_NEEDS.has(provider)) require('api_key', '', isElsewhere || isAuthenticated);
  if (provider !== 'bedrock') return problems;
  require('region', ', and there is no "base_url"', isSet('region') || (isElsewhere && isAuthenticated));
  if (isAuthenticated) return problems;
  require('access_key_id', ', and there is no "api_key"');
  require('secret_access_key', ', and there is no "api_key"');
  return problems;
}

export const llmKind: AgentKind = {
  configuration: llmConfiguration,
  address: 'base_url',
  isCalledAtUrl: isModelAtUrl,
  keys: [],
  problems: modelProblems,
};
