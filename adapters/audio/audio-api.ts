/** Requests of one call to an OpenAI-compatible API for audio. */
import type { AudioConfiguration } from '../../contracts/agent-kinds/audio.ts';
import { fault } from '../../contracts/fault.ts';
import { withoutEnd } from '../../contracts/text-end.ts';
import type { AgentCall } from '../../domain/ports.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import { headerSafe, timeoutOf } from '../call-settings.ts';
import type { EgressRequest, EgressResponse } from '../egress/egress.ts';
import { headersOf } from '../http/message.ts';
import { answerFault } from '../llm/model-fault.ts';
import type { ModelTools } from '../llm/model.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';

interface AudioRequest {
  path: '/audio/transcriptions' | '/audio/speech';
  body: NonNullable<EgressRequest['body']>;
  contentType: string;
  /** From 0; of a call that needs several requests. Each has an idempotency key of its own. */
  part: number | null;
  take?: EgressRequest['take'];
}

export interface AudioApi {
  model: string;
  /** A setting of the configuration, with secrets and `${ … }` filled in; undefined if it is not set. */
  setting: (key: 'voice' | 'language' | 'prompt' | 'text' | 'instructions') => string | undefined;
  /** Throws `Fault` for every answer outside 200–299. */
  send: (request: AudioRequest) => Promise<EgressResponse>;
  /** A copy that can be kept: without secrets. */
  clean: (value: unknown) => unknown;
  /** Milliseconds until the call's time limit, at least 1. */
  leftMs: () => number;
}

export async function audioApi(
  call: AgentCall,
  configuration: AudioConfiguration,
  sensitive: Sensitive,
  { egress, tokens }: ModelTools,
): Promise<AudioApi> {
  const { agent, input, signal } = call;
  const startedAt = performance.now();
  const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
  const leftMs = (): number => Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt)));
  const { api_key: apiKey } = configuration;
  const baseUrl = withoutEnd(sensitive.fill(configuration.base_url ?? agent.url ?? ''), '/');
  if (baseUrl === '')
    throw fault('configuration', 'The agent has no "base_url" in its configuration and no url');
  if (!configuration.model) throw fault('configuration', 'The agent has no "model" in its configuration');
  const credentials = await agentCredentials({ agent, signal, timeoutMs }, sensitive, tokens);
  const headers = {
    'user-agent': 'Cadenza',
    ...(apiKey === undefined || apiKey === '' ? {} : { authorization: `Bearer ${sensitive.fill(apiKey)}` }),
    ...credentials.headers,
    ...headersOf(renderTemplate(configuration.headers, input, sensitive, 'headers')),
  };
  return {
    model: sensitive.fill(configuration.model),
    leftMs,
    clean: sensitive.clean,
    setting(key) {
      const value = renderTemplate(configuration[key], input, sensitive, key);
      if (value === undefined || value === null || value === '') return undefined;
      return typeof value === 'string' ? value : JSON.stringify(value);
    },
    async send({ path, body, contentType, part, take }) {
      // The number comes first, because long keys are cut.
      const key = part === null ? call.idempotencyKey : `${part + 1}/${call.idempotencyKey}`;
      const answer = await egress.request({
        url: credentials.withQuery(`${baseUrl}${path}`),
        method: 'POST',
        headers: { ...headers, 'content-type': contentType, 'idempotency-key': headerSafe(key) },
        body,
        timeoutMs: leftMs(),
        signal,
        ...(take === undefined ? {} : { take }),
      });
      if (answer.status === 401) credentials.refused();
      if (answer.status < 200 || answer.status > 299) throw answerFault(answer, sensitive);
      return answer;
    },
  };
}

/**
 * An agent with `idempotent: false` is not asked again for a part that it may have answered. Parts that are
 * kept are not asked for anyway.
 */
export function checkRepeat({ progress }: AgentCall, { retry }: AudioConfiguration): void {
  if (progress?.repeated === true && retry?.idempotent === false)
    throw fault(
      'communication',
      'The outcome of an earlier request is unknown, and the agent is not idempotent ' +
        '(configuration.retry.idempotent is false)',
    );
}
