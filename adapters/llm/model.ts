/** The language model of a call: the one place that knows providers, credentials, addresses and errors. */
import { modelProblems, type LlmConfiguration, type ModelProvider } from '../../contracts/agent-kinds/llm.ts';
import { fault } from '../../contracts/fault.ts';
import type { AgentCall } from '../../domain/ports.ts';
import { CREDENTIAL_KEYS } from '../../contracts/credential-keys.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { headerSafe, withoutSecrets } from '../call-settings.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { headersOf } from '../http/message.ts';
import { loadSensitive, type Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';
import { modelFetch } from './model-fetch.ts';
import { modelFault } from './model-fault.ts';
import { PROVIDERS, type Model } from './providers.ts';

// Warnings go to the run's log, not to the console.
globalThis.AI_SDK_LOG_WARNINGS = false;

export interface ModelTools {
  egress: EgressPolicy;
  tokens: TokenSource;
}

/** A model, ready for `generateText` and `streamText`. */
export interface CallModel {
  model: Model;
  /** As configured, for answers that name none. */
  name: string;
  /** Whether the server has answered without streaming. Then `generateText` takes that answer. */
  isWhole: () => boolean;
  /**
   * What to throw for an error of the SDK, without secrets: the signal's reason, the failure of the
   * request, or a fault that says what the provider said.
   */
  failureOf(error: unknown): unknown;
}

/**
 * The secrets that a model's configuration names. Throws `Fault` (configuration) for an unknown one, except
 * in the texts for the model.
 */
export function modelSecrets(call: AgentCall, configuration: LlmConfiguration): Promise<Sensitive> {
  const { base_url, model, api_key, headers, resource, deployment, api_version } = configuration;
  const { region, access_key_id, secret_access_key, session_token } = configuration;
  const { agent, secret } = call;
  return loadSensitive(
    [
      [base_url ?? agent.url, model, api_key, headers, resource, deployment, api_version],
      [region, access_key_id, secret_access_key, session_token],
      [agent.authentication_config, configuration['token']],
    ],
    secret,
    [configuration.system, configuration.prompt],
  );
}

/**
 * `timeoutMs` is for each request. Throws `Fault` (configuration) if something is missing, and what the login
 * of `authentication_type` throws.
 */
export async function modelOf(
  call: AgentCall,
  configuration: LlmConfiguration,
  sensitive: Sensitive,
  { egress, tokens, timeoutMs }: ModelTools & { timeoutMs: number },
): Promise<CallModel> {
  const { agent, signal } = call;
  checkComplete(call, configuration);
  const { provider = 'openai-compatible' } = configuration;
  const setting = (key: string): string | undefined => {
    const value = configuration[key];
    return typeof value === 'string' && value !== '' ? sensitive.fill(value) : undefined;
  };
  const name = setting('model') ?? setting('deployment') ?? '';
  const url = provider === 'openai-compatible' ? sensitive.fill(agent.url ?? '') : undefined;
  const address = setting('base_url') ?? url;
  const baseURL = address && withoutEnd(address, '/');
  const loginKey = loginKeyOf(call, provider, sensitive);
  const apiKey = setting('api_key') ?? loginKey ?? '';
  const credentials =
    loginKey === null ? await agentCredentials({ agent, signal, timeoutMs }, sensitive, tokens) : NO_LOGIN;
  const requests = modelFetch(
    egress,
    { timeoutMs, signal },
    {
      headers: {
        'user-agent': 'Cadenza',
        'idempotency-key': headerSafe(call.idempotencyKey),
        ...credentials.headers,
        ...headersOf(renderTemplate(configuration.headers, call.input, sensitive, 'headers')),
      },
      withQuery: credentials.withQuery,
      withoutKey: apiKey === '' && setting('access_key_id') === undefined,
    },
    call.partial !== undefined,
  );
  const model = await PROVIDERS[provider]({
    configuration,
    setting,
    model: name,
    baseURL,
    apiKey,
    fetch: requests.fetch,
  });
  return {
    model,
    name,
    isWhole: requests.isWhole,
    failureOf(error) {
      if (signal.aborted) return signal.reason;
      const failure = requests.failure() ?? modelFault(error, sensitive);
      return withoutSecrets(failure, sensitive);
    },
  };
}

const NO_LOGIN = { headers: {}, withQuery: (url: string) => url };

function checkComplete({ agent }: AgentCall, configuration: LlmConfiguration): void {
  const { url, authentication_type } = agent;
  const problems = modelProblems({ configuration, url, authentication_type });
  if (problems.length === 0) return;
  const messages = problems.map(({ message }) => message);
  throw fault('configuration', `The agent's configuration is not complete: ${messages.join('; ')}`);
}

/**
 * An API key of `authentication_config` goes where the provider expects one, unless it names a place. For
 * `openai-compatible` it always goes where `authentication_config` says.
 */
function loginKeyOf({ agent }: AgentCall, provider: ModelProvider, sensitive: Sensitive): string | null {
  const { authentication_type: type, authentication_config: config } = agent;
  if (provider === 'openai-compatible' || type !== 'api_key' || config === null) return null;
  if (['in', 'name', 'prefix'].some((key) => config[key] !== undefined)) return null;
  const key = CREDENTIAL_KEYS.api_key[0]
    .map((name) => config[name])
    .find((value) => typeof value === 'string');
  return typeof key === 'string' && key !== '' ? sensitive.fill(key) : null;
}
