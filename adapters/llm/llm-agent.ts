/**
 * Agents of kind `llm`: each invocation is one chat completion of an OpenAI-compatible API, through the AI
 * SDK.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  NoObjectGeneratedError,
  Output,
  generateText,
  jsonSchema,
  streamText,
  type CallWarning,
  type LanguageModelUsage,
  type ModelMessage,
} from 'ai';
import { llmConfiguration, type LlmConfiguration } from '../../contracts/agent-kinds/llm.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import type { AgentAdapter, AgentCall, AgentResult, PartialSink, Usage } from '../../domain/ports.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import { textFetch } from '../egress/text-fetch.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { headerSafe, parseConfiguration, timeoutOf, withoutSecrets } from '../call-settings.ts';
import { headersOf } from '../http/message.ts';
import type { TokenSource } from '../authentication/oauth-token.ts';
import { fileParts, textWithFiles } from './llm-files.ts';
import { streamedFetch } from './streamed-fetch.ts';
import { loadSensitive, type Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';

// Warnings go to the run's log, not to the console.
globalThis.AI_SDK_LOG_WARNINGS = false;

const MAX_MESSAGE_LENGTH = 300;
/** Of an answer that is streamed. */
const MAX_STREAMED_LENGTH = 1024 * 1024;

type Model = Parameters<typeof generateText>[0]['model'];

interface Completion {
  text: string;
  object: unknown;
  finishReason: string | undefined;
  usage: LanguageModelUsage | undefined;
  model: string | undefined;
  warnings: CallWarning[] | undefined;
}

/**
 * Configuration: `llmConfiguration`. Input: a string, `{prompt}`, `{messages: [{role, content}]}`, or other
 * JSON, which is sent as text; files in its `files` are added to the last message. Output: `{text,
 * finish_reason, model}`; with an output schema, the object that the model returned.
 */
export function createLlmAdapter(deps: { egress: EgressPolicy; tokens: TokenSource }): AgentAdapter {
  return {
    async invoke(call): Promise<AgentResult> {
      const startedAt = performance.now();
      const configuration = parseConfiguration(llmConfiguration, call.agent.configuration);
      const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
      const { baseUrl, model } = targetOf(call, configuration);
      const { api_key: apiKey, headers } = configuration;
      const sensitive = await loadSensitive(
        [baseUrl, model, apiKey, headers, call.agent.authentication_config, configuration['token']],
        call.secret,
      );
      call.partial?.redactBy(sensitive);
      const sending = createSending(
        deps.egress,
        { timeoutMs, signal: call.signal },
        call.partial !== undefined,
      );
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
          includeUsage: true,
          fetch: (resource, init) =>
            sending.fetch(typeof resource === 'string' ? credentials.withQuery(resource) : resource, init),
        });
        const request = { model: provider(sensitive.fill(model)), isWhole: sending.isWhole };
        const completion = await complete(request, call, configuration, sensitive);
        const usage = usageOf(completion, sensitive.fill(model), performance.now() - startedAt);
        return {
          output: sensitive.clean(outputOf(completion, call.agent.output_schema, sensitive.fill(model))),
          usage: { ...usage, ...(usage.model === undefined ? {} : { model: sensitive.redact(usage.model) }) },
          // This warning says that the API does not receive the schema, which the configuration intends.
          warnings: (completion.warnings ?? [])
            .filter((warning) => !('feature' in warning && warning.feature === 'responseFormat'))
            .map((warning) => sensitive.redact(warningText(warning))),
        };
      } catch (error) {
        if (call.signal.aborted) throw call.signal.reason;
        throw withoutSecrets(sending.failure() ?? modelFault(error, sensitive), sensitive);
      }
    },
  };
}

function targetOf(
  { agent }: AgentCall,
  { base_url, model }: LlmConfiguration,
): { baseUrl: string; model: string } {
  const baseUrl = base_url ?? agent.url;
  if (baseUrl === null || baseUrl === '')
    throw fault('configuration', 'The agent has no "base_url" in its configuration and no url');
  if (model === undefined || model === '')
    throw fault('configuration', 'The agent has no "model" in its configuration');
  return { baseUrl, model };
}

interface Sending {
  fetch: typeof fetch;
  isWhole: () => boolean;
  /** The original failure of a request; the SDK wraps what its fetch throws. */
  failure: () => unknown;
}

function createSending(
  egress: EgressPolicy,
  limits: { timeoutMs: number; signal: AbortSignal },
  streams: boolean,
): Sending {
  let failure: unknown;
  const note = (error: unknown): void => {
    failure = error;
  };
  const streamed = streams ? streamedFetch(egress, limits, note) : null;
  const checkedFetch = streamed?.fetch ?? textFetch(egress, limits);
  return {
    failure: () => failure,
    isWhole: () => streamed !== null && streamed.whole() !== null,
    async fetch(resource, init) {
      const whole = streamed?.whole();
      if (whole) return whole;
      try {
        return await checkedFetch(resource, init);
      } catch (error) {
        note(error);
        throw error;
      }
    },
  };
}

interface ModelRequest {
  model: Model;
  /** Whether the server has answered without streaming. */
  isWhole: () => boolean;
}

async function complete(
  { model, isWhole }: ModelRequest,
  call: AgentCall,
  configuration: LlmConfiguration,
  sensitive: Sensitive,
): Promise<Completion> {
  const schema = call.agent.output_schema;
  const { structured_output: structuredOutput } = configuration;
  const structured = wantsObject(schema) && structuredOutput !== 'none';
  const prompt =
    configuration.prompt === undefined
      ? call.input
      : renderTemplate(configuration.prompt, call.input, sensitive, 'prompt');
  const settings = {
    model,
    messages: await messagesOf(prompt, call),
    allowSystemInMessages: true,
    ...instructionsOf(configuration, structured && structuredOutput === 'json_object' ? schema : null),
    ...samplingOf(configuration),
    // The definition's `retry` repeats calls; a second layer would multiply the attempts.
    maxRetries: 0,
    abortSignal: call.signal,
  };
  const output = structured ? { output: Output.object({ schema: jsonSchema(schema) }) } : {};
  try {
    if (call.partial) {
      const completion = await stream({ ...settings, ...output }, call.partial).catch((error: unknown) => {
        if (!isWhole()) throw error;
        return null;
      });
      if (completion !== null && !isWhole()) return completion;
    }
    const result = await generateText({ ...settings, ...output });
    return completionOf(result, structured ? result.output : undefined);
  } catch (error) {
    // The model answered without valid JSON; outputOf decides whether that is an error.
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    const { text = '', finishReason, usage, response } = error;
    return { text, object: undefined, finishReason, usage, model: response?.modelId, warnings: undefined };
  }
}

/** The same answer as `generateText` gives, shown to `partial` as it arrives. */
async function stream(settings: Parameters<typeof streamText>[0], partial: PartialSink): Promise<Completion> {
  // Errors are parts of the stream, too.
  const result = streamText({ ...settings, onError() {} });
  let length = 0;
  for await (const part of result.stream) {
    if (part.type === 'error') throw part.error;
    if (part.type !== 'text-delta') continue;
    length += part.text.length;
    if (length > MAX_STREAMED_LENGTH)
      throw fault('communication', `The answer has more than ${MAX_STREAMED_LENGTH} characters`, {
        status: 502,
      });
    partial.output(part.text);
  }
  const [text, finishReason, usage, warnings, response] = await Promise.all([
    result.text,
    result.finishReason,
    result.usage,
    result.warnings,
    result.response,
  ]);
  const object = settings.output === undefined ? undefined : await result.output;
  return completionOf({ text, finishReason, usage, warnings, response }, object);
}

/** The system prompt; with the schema, if the API does not receive it otherwise. */
function instructionsOf(
  { system }: LlmConfiguration,
  schema: Record<string, unknown> | null,
): { instructions?: string } {
  const schemaInstructions =
    schema && `Answer with one JSON object that fits this JSON Schema:\n${JSON.stringify(schema)}`;
  const instructions = [system, schemaInstructions].filter((text) => typeof text === 'string').join('\n\n');
  return instructions === '' ? {} : { instructions };
}

/** How the model chooses its words, in the SDK's names; what is not configured is left to the model. */
function samplingOf(configuration: LlmConfiguration) {
  const { temperature, max_tokens, top_p, frequency_penalty, presence_penalty, seed, stop } = configuration;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { maxOutputTokens: max_tokens }),
    ...(top_p === undefined ? {} : { topP: top_p }),
    ...(frequency_penalty === undefined ? {} : { frequencyPenalty: frequency_penalty }),
    ...(presence_penalty === undefined ? {} : { presencePenalty: presence_penalty }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stopSequences: typeof stop === 'string' ? [stop] : stop }),
  };
}

function completionOf(
  result: Pick<Awaited<ReturnType<typeof generateText>>, 'text' | 'finishReason' | 'usage' | 'warnings'> & {
    response: { modelId: string };
  },
  object: unknown,
): Completion {
  const { text, finishReason, usage, response, warnings } = result;
  return { text, object, finishReason, usage, model: response.modelId, warnings };
}

function wantsObject(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).length > 0 && (schema['type'] === undefined || schema['type'] === 'object');
}

function outputOf(completion: Completion, schema: Record<string, unknown>, model: string): unknown {
  const plain = {
    text: completion.text,
    finish_reason: completion.finishReason ?? null,
    model: completion.model ?? model,
  };
  if (Object.keys(schema).length === 0) return plain;
  if (schema['type'] === 'string') return completion.text;
  const object = completion.object ?? jsonIn(completion.text);
  if (object !== undefined) return object;
  const properties = schema['properties'];
  // The plain output matches a schema that describes it.
  if (typeof properties === 'object' && properties !== null && 'text' in properties) return plain;
  throw fault(
    'validation',
    "The model did not answer with JSON, as the agent's output schema asks " +
      `(finish reason ${completion.finishReason ?? 'unknown'})`,
  );
}

/** JSON, bare or in a fenced code block, as many models write it. */
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
  const counts = {
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    total_tokens: usage?.totalTokens,
  };
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)),
    requests: 1,
    duration_ms: Math.round(durationMs),
    model: completion.model ?? model,
  };
}

function warningText(warning: CallWarning): string {
  if (!('feature' in warning)) return `The model's API: ${warning.message}`;
  const details = warning.details === undefined ? '' : ` (${warning.details})`;
  return `The model's API: ${warning.feature} is not supported${details}`;
}

async function messagesOf(given: unknown, call: AgentCall): Promise<ModelMessage[]> {
  const files = await fileParts(call);
  if (files.length === 0) return plainMessages(given);
  const messages = plainMessages(textWithFiles(given));
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content !== 'string')
    throw fault('validation', 'Files go with the last message, so it has to be of the role user');
  return [
    ...messages.slice(0, -1),
    {
      role: 'user',
      content: [...(last.content === '' ? [] : [{ type: 'text' as const, text: last.content }]), ...files],
    },
  ];
}

function plainMessages(input: unknown): ModelMessage[] {
  if (typeof input === 'object' && input !== null) {
    if ('messages' in input && Array.isArray(input.messages)) return input.messages.map(messageOf);
    if ('prompt' in input && typeof input.prompt === 'string')
      return [{ role: 'user', content: input.prompt }];
  }
  return [{ role: 'user', content: typeof input === 'string' ? input : JSON.stringify(input ?? null) }];
}

function messageOf(message: unknown, index: number): ModelMessage {
  const { role, content } =
    typeof message === 'object' && message !== null
      ? { role: undefined, content: undefined, ...message }
      : {};
  const text = textOf(content);
  if (text === null)
    throw fault('validation', `messages/${index}: the content must be text, or a list of text parts`);
  if (role === 'system' || role === 'developer') return { role: 'system', content: text };
  if (role === 'user' || role === 'assistant') return { role, content: text };
  throw fault('validation', `messages/${index}: the role must be system, user or assistant`);
}

/** Other parts are refused: the SDK would fetch images by URL, bypassing the egress policy. */
function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const parts = content.map((part: unknown) =>
    typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string'
      ? part.text
      : null,
  );
  return parts.includes(null) ? null : parts.join('\n');
}

/** An error of the SDK as a fault. Its message may quote the server, so it is redacted and cut. */
function modelFault(error: unknown, { quote }: Sensitive): unknown {
  if (error instanceof Fault) return error;
  if (!APICallError.isInstance(error)) {
    return fault('communication', 'The model gave an answer that cannot be used', {
      status: 502,
      cause: error,
    });
  }
  const { statusCode } = error;
  const reason = quote(error.message, MAX_MESSAGE_LENGTH);
  const host = URL.canParse(error.url) ? new URL(error.url).host : 'The model';
  if (statusCode === undefined || statusCode < 300)
    return fault('communication', `${host} gave an answer that cannot be used`, {
      status: 502,
      cause: error,
    });
  const name = statusCode === 401 ? 'authentication' : statusCode === 403 ? 'authorization' : 'communication';
  return fault(name, `${host} answered ${statusCode}: ${reason}`, { status: statusCode, cause: error });
}
