/** Agents of kind `llm`: one chat completion of an OpenAI-compatible API an invocation, by the AI SDK. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, NoObjectGeneratedError, Output, generateText, jsonSchema } from 'ai';
import type { CallWarning, LanguageModelUsage, ModelMessage } from 'ai';
import { llmConfiguration } from '../contracts/agent-configuration.ts';
import type { LlmConfiguration } from '../contracts/agent-configuration.ts';
import { Fault, fault } from '../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult, Usage } from '../domain/ports.ts';
import { agentCredentials } from './agent-authentication.ts';
import { egressFetch } from './egress-fetch.ts';
import type { EgressPolicy } from './egress.ts';
import { headerSafe, parseConfiguration, timeoutOf, withoutSecrets } from './call-settings.ts';
import { headersOf } from './http-message.ts';
import type { TokenSource } from './oauth-token.ts';
import { fileParts, textWithFiles } from './llm-files.ts';
import { loadSensitive } from './sensitive.ts';
import type { Sensitive } from './sensitive.ts';
import { renderTemplate } from './templates.ts';

// Warnings go into the run's log, not to the console.
globalThis.AI_SDK_LOG_WARNINGS = false;

interface Completion {
  text: string;
  object: unknown;
  finishReason: string | undefined;
  usage: LanguageModelUsage | undefined;
  model: string | undefined;
  warnings: CallWarning[] | undefined;
}

/**
 * Configuration: `llmConfiguration`. Input: a string, `{prompt}`, `{messages: [{role, content}]}`, or any JSON, which is sent as text; the
 * files in its `files` go along with the last message.
 * Output: `{text, finish_reason, model}`; where the agent has an output schema, the object that the model gave.
 */
export function createLlmAdapter(deps: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(llmConfiguration, call.agent.configuration);
      const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
      const { base_url: baseUrl = call.agent.url, model, api_key: apiKey, headers } = configuration;
      if (baseUrl === null || baseUrl === '') throw fault('configuration', 'The agent has no "base_url" in its configuration and no url');
      if (model === undefined || model === '') throw fault('configuration', 'The agent has no "model" in its configuration');
      const sensitive = await loadSensitive([baseUrl, model, apiKey, headers, call.agent.authentication_config, configuration['token']], call.secret);
      // Failures of the way out, kept as they were: the SDK wraps what its fetch throws.
      let failure: unknown;
      const limits = { timeoutMs, signal: call.signal };
      const checkedFetch = egressFetch(deps.egress, limits);
      try {
        const credentials = await agentCredentials({ ...call, timeoutMs }, sensitive, deps.tokens);
        const provider = createOpenAICompatible({
          name: 'llm',
          baseURL: sensitive.fill(baseUrl).replace(/\/+$/, ''),
          headers: {
            'user-agent': 'Cadenza',
            'idempotency-key': headerSafe(call.idempotencyKey),
            ...(apiKey === undefined ? {} : { authorization: `Bearer ${sensitive.fill(apiKey)}` }),
            ...credentials.headers,
            ...headersOf(renderTemplate(headers, call.input, sensitive, 'headers')),
          },
          supportsStructuredOutputs: configuration.structured_output !== 'json_object',
          fetch: async (resource, init) => {
            try {
              return await checkedFetch(typeof resource === 'string' ? credentials.withQuery(resource) : resource, init);
            } catch (error) {
              failure = error;
              throw error;
            }
          },
        });
        const completion = await complete(provider(sensitive.fill(model)), call, configuration, sensitive);
        return {
          output: sensitive.clean(outputOf(completion, call.agent.output_schema, sensitive.fill(model))),
          usage: usageOf(completion, sensitive.fill(model), performance.now() - startedAt),
          // That the API is not given the schema is what such a configuration asks for.
          warnings: (completion.warnings ?? []).filter((warning) => !('feature' in warning && warning.feature === 'responseFormat')).map(warningText),
        };
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        throw withoutSecrets(failure ?? modelFault(error), sensitive);
      }
    },
  };
}

async function complete(
  model: Parameters<typeof generateText>[0]['model'],
  call: AgentCall,
  configuration: LlmConfiguration,
  sensitive: Sensitive,
): Promise<Completion> {
  const { system, temperature, max_tokens: maxTokens, top_p: topP, frequency_penalty: frequency, presence_penalty: presence, seed, stop } = configuration;
  const schema = call.agent.output_schema;
  const structured = wantsObject(schema) && configuration.structured_output !== 'none';
  // Where the API is not given the schema, the model is.
  const told = structured && configuration.structured_output === 'json_object' ? `Answer with one JSON object that fits this JSON Schema:\n${JSON.stringify(schema)}` : undefined;
  const instructions = [system, told].filter((text) => text !== undefined).join('\n\n');
  const settings = {
    model,
    messages: await messagesOf(configuration.prompt === undefined ? call.input : renderTemplate(configuration.prompt, call.input, sensitive, 'prompt'), call),
    allowSystemInMessages: true,
    ...(instructions === '' ? {} : { instructions }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(topP === undefined ? {} : { topP }),
    ...(frequency === undefined ? {} : { frequencyPenalty: frequency }),
    ...(presence === undefined ? {} : { presencePenalty: presence }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stopSequences: typeof stop === 'string' ? [stop] : stop }),
    // Repeating is the definition's business; two layers of it would multiply.
    maxRetries: 0,
    abortSignal: call.signal,
  };
  if (!structured) {
    const result = await generateText(settings);
    return { text: result.text, object: undefined, finishReason: result.finishReason, usage: result.usage, model: result.response.modelId, warnings: result.warnings };
  }
  try {
    const result = await generateText({ ...settings, output: Output.object({ schema: jsonSchema(schema) }) });
    return { text: result.text, object: result.output, finishReason: result.finishReason, usage: result.usage, model: result.response.modelId, warnings: result.warnings };
  } catch (error) {
    // The model answered, but not with JSON: outputOf judges it.
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    return { text: error.text ?? '', object: undefined, finishReason: error.finishReason, usage: error.usage, model: error.response?.modelId, warnings: undefined };
  }
}

function wantsObject(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).length > 0 && (schema['type'] === undefined || schema['type'] === 'object');
}

function outputOf(completion: Completion, schema: Record<string, unknown>, model: string): unknown {
  const plain = { text: completion.text, finish_reason: completion.finishReason ?? null, model: completion.model ?? model };
  if (Object.keys(schema).length === 0) return plain;
  if (schema['type'] === 'string') return completion.text;
  const object = completion.object ?? jsonIn(completion.text);
  if (object !== undefined) return object;
  const properties = schema['properties'];
  // A schema that describes this very output is met by it.
  if (typeof properties === 'object' && properties !== null && 'text' in properties) return plain;
  throw fault('validation', `The model did not answer with JSON, as the agent's output schema asks (finish reason ${completion.finishReason ?? 'unknown'})`);
}

/** JSON, bare or in a fenced block as many models write it. */
function jsonIn(text: string): unknown {
  const candidate = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text)?.[1] ?? text;
  try {
    return JSON.parse(candidate);
  } catch {
    return undefined;
  }
}

function usageOf(completion: Completion, model: string, durationMs: number): Usage {
  const { usage } = completion;
  const counts = { input_tokens: usage?.inputTokens, output_tokens: usage?.outputTokens, total_tokens: usage?.totalTokens };
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)),
    requests: 1,
    duration_ms: Math.round(durationMs),
    model: completion.model ?? model,
  };
}

function warningText(warning: CallWarning): string {
  if (!('feature' in warning)) return `The model's API: ${warning.message}`;
  return `The model's API: ${warning.feature} is not supported${warning.details === undefined ? '' : ` (${warning.details})`}`;
}

async function messagesOf(given: unknown, call: AgentCall): Promise<ModelMessage[]> {
  const files = await fileParts(call);
  if (files.length === 0) return plainMessages(given);
  const messages = plainMessages(textWithFiles(given));
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content !== 'string') throw fault('validation', 'Files go with the last message, so it has to be of the role user');
  return [...messages.slice(0, -1), { role: 'user', content: [...(last.content === '' ? [] : [{ type: 'text' as const, text: last.content }]), ...files] }];
}

function plainMessages(input: unknown): ModelMessage[] {
  if (typeof input === 'object' && input !== null) {
    if ('messages' in input && Array.isArray(input.messages)) return input.messages.map(messageOf);
    if ('prompt' in input && typeof input.prompt === 'string') return [{ role: 'user', content: input.prompt }];
  }
  return [{ role: 'user', content: typeof input === 'string' ? input : JSON.stringify(input ?? null) }];
}

function messageOf(message: unknown, index: number): ModelMessage {
  const { role, content } = typeof message === 'object' && message !== null ? { role: undefined, content: undefined, ...message } : {};
  const text = textOf(content);
  if (text === null) throw fault('validation', `messages/${index}: the content must be text, or a list of text parts`);
  if (role === 'system' || role === 'developer') return { role: 'system', content: text };
  if (role === 'user' || role === 'assistant') return { role, content: text };
  throw fault('validation', `messages/${index}: the role must be system, user or assistant`);
}

/** Other parts, such as images by address, would be fetched around the egress policy. */
function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const parts = content.map((part: unknown) => (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? part.text : null));
  return parts.includes(null) ? null : parts.join('\n');
}

/** What the SDK throws, as the DSL sees it. Its messages may hold what the server said, so they are cut. */
function modelFault(error: unknown): unknown {
  if (error instanceof Fault) return error;
  if (!APICallError.isInstance(error)) {
    return fault('communication', 'The model gave an answer that cannot be used', { status: 502, cause: error });
  }
  const { statusCode } = error;
  const said = error.message.replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ').slice(0, 300);
  const host = URL.canParse(error.url) ? new URL(error.url).host : 'The model';
  if (statusCode === undefined || statusCode < 300) return fault('communication', `${host} gave an answer that cannot be used`, { status: 502, cause: error });
  const name = statusCode === 401 ? 'authentication' : statusCode === 403 ? 'authorization' : 'communication';
  return fault(name, `${host} answered ${statusCode}: ${said}`, { status: statusCode, cause: error });
}
