/**
 * Language models by provider, through the packages of the AI SDK. A worker loads the package of a provider
 * when an agent of it is first called. The packages read credentials and addresses from the environment where
 * they get none, so every one is passed to them.
 */
import type { generateText } from 'ai';
import type { LlmConfiguration, ModelProvider } from '../../contracts/agent-kinds/llm.ts';
import { fault } from '../../contracts/fault.ts';

/** A model as the AI SDK calls it. */
export type Model = Exclude<Parameters<typeof generateText>[0]['model'], string>;

export interface ProviderSettings {
  configuration: LlmConfiguration;
  /** A value of the configuration with its secrets; undefined if it is not set. */
  setting: (key: string) => string | undefined;
  model: string;
  /** Without a slash at its end; undefined: the provider's own. */
  baseURL: string | undefined;
  /** Empty: the request has other credentials, or none. */
  apiKey: string;
  fetch: typeof fetch;
}

/** The name under which options for OpenAI-compatible servers are passed. */
const COMPATIBLE = 'llm';

export const PROVIDERS: Record<ModelProvider, (settings: ProviderSettings) => Promise<Model>> = {
  'openai-compatible': ({ baseURL = '', ...settings }) => compatibleModel({ ...settings, baseURL }),

  async openai({ configuration, model, baseURL = 'https://api.openai.com/v1', apiKey, fetch }) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const provider = createOpenAI({ baseURL, apiKey, fetch });
    return configuration.api === 'responses' ? provider.responses(model) : provider.chat(model);
  },

  async anthropic({ model, baseURL = 'https://api.anthropic.com/v1', apiKey, fetch }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ baseURL, apiKey, fetch })(model);
  },

  async google({ model, baseURL = 'https://generativelanguage.googleapis.com/v1beta', apiKey, fetch }) {
    const { createGoogle } = await import('@ai-sdk/google');
    return createGoogle({ baseURL, apiKey, fetch })(model);
  },

  async azure({ configuration, setting, model, baseURL, apiKey, fetch }) {
    const { createAzure } = await import('@ai-sdk/azure');
    const resource = setting('resource');
    const apiVersion = setting('api_version');
    const provider = createAzure({
      baseURL: withPath(baseURL ?? `https://${label('resource', resource)}.openai.azure.com`, '/openai'),
      apiKey,
      fetch,
      // Dated versions are served under the addresses of deployments only.
      ...(apiVersion === undefined
        ? {}
        : { apiVersion, useDeploymentBasedUrls: /^\d{4}-\d{2}/.test(apiVersion) }),
    });
    const deployment = setting('deployment') ?? model;
    return configuration.api === 'responses' ? provider.responses(deployment) : provider.chat(deployment);
  },

  async bedrock({ setting, model, baseURL, apiKey, fetch }) {
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
    const region = setting('region') ?? '';
    const accessKeyId = setting('access_key_id') ?? '';
    const secretAccessKey = setting('secret_access_key') ?? '';
    const sessionToken = setting('session_token');
    const provider = createAmazonBedrock({
      region,
      baseURL: baseURL ?? `https://bedrock-runtime.${label('region', region)}.${awsDomain(region)}`,
      // Without a key or a signature, the request has other credentials, which replace this one.
      apiKey: apiKey === '' && accessKeyId === '' ? 'none' : apiKey,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      fetch,
    });
    return provider(model);
  },

  // Ollama's OpenAI-compatible API has images, tools, schemas, streams and usage (ADR 43).
  ollama: ({ baseURL = 'http://127.0.0.1:11434', ...settings }) =>
    compatibleModel({ ...settings, baseURL: withPath(baseURL, '/v1') }),
};

async function compatibleModel({
  model,
  baseURL,
  apiKey,
  fetch,
}: ProviderSettings & { baseURL: string }): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: COMPATIBLE,
    baseURL,
    apiKey,
    supportsStructuredOutputs: true,
    includeUsage: true,
    fetch,
  });
  return provider(model);
}

/** The address with the path that its API has everywhere, if it has none. */
function withPath(baseURL: string, path: string): string {
  return URL.canParse(baseURL) && new URL(baseURL).pathname === '/' ? `${baseURL}${path}` : baseURL;
}

/** A value that becomes part of a host's name. */
function label(key: string, value: string | undefined): string {
  if (value === undefined || !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(value))
    throw fault(
      'configuration',
      `"${key}" of the agent's configuration may have letters, digits and hyphens`,
    );
  return value;
}

function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

/** Options of the AI SDK for a request, by provider. */
export function providerOptions(
  { api }: LlmConfiguration,
  schema: Record<string, unknown> | null,
): Record<string, Record<string, boolean>> {
  const strict = schema === null ? {} : { strictJsonSchema: isStrict(schema) };
  return {
    [COMPATIBLE]: strict,
    // Azure's models read the options of OpenAI's. Answers are not kept there.
    openai: { ...strict, ...(api === 'responses' ? { store: false } : {}) },
  };
}

/** Whether OpenAI takes the schema as strict: every object names all its members, and requires them. */
function isStrict(schema: unknown): boolean {
  // Iterative, because schemas may be nested deeper than the call stack allows.
  const pending = [schema];
  while (pending.length > 0) {
    const current = pending.pop();
    if (typeof current !== 'object' || current === null) continue;
    if ('properties' in current || ('type' in current && current.type === 'object')) {
      const { properties = {}, required = [], additionalProperties } = current as Record<string, unknown>;
      const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
      if (additionalProperties !== false || !Object.keys(properties ?? {}).every(isRequired)) return false;
    }
    for (const value of Object.values(current)) pending.push(value);
  }
  return true;
}
