/** One completion of a language model: requested, streamed to those who follow, and read as an output. */
import {
  generateText,
  jsonSchema,
  NoObjectGeneratedError,
  Output,
  streamText,
  type CallWarning,
  type LanguageModelUsage,
  type ModelMessage,
} from 'ai';
import type { LlmConfiguration } from '../../contracts/agent-kinds/llm.ts';
import { standardErrorName } from '../../contracts/dsl-error.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import { keyOfSecondRequest } from '../../contracts/invocation-key.ts';
import { repairRequest } from '../../contracts/tool-loop.ts';
import type { AgentCall, AgentResult, PartialSink, Usage } from '../../domain/ports.ts';
import { describeViolations, violations } from '../../language/schema/validate-json.ts';
import { timeoutOf, withoutSecrets } from '../call-settings.ts';
import type { Sensitive } from '../secrets/sensitive.ts';
import { renderTemplate } from '../secrets/templates.ts';
import type { FilePart } from './llm-files.ts';
import { messagesOf } from './messages.ts';
import { busyOf, toolsOf, turnMessages, turnResult, type SaidInTurn } from './model-turn.ts';
import { modelOf, modelSecrets, type CallModel, type ModelTools } from './model.ts';
import { providerOptions } from './providers.ts';

/** Of an answer that is streamed. */
const MAX_STREAMED_LENGTH = 1024 * 1024;
const FENCE = '```';
/** Of what is said to the model of its answer. */
const MAX_PROBLEM_LENGTH = 500;

interface Completion {
  text: string;
  object: unknown;
  finishReason: string | undefined;
  usage: LanguageModelUsage | undefined;
  model: string | undefined;
  warnings: CallWarning[] | undefined;
  /** Of a turn. */
  said?: SaidInTurn;
}

/**
 * Asks the model, and once more if its answer does not fit the output schema. `partsOf` gives the files to
 * send; what they need to be loaded counts towards the time limit. The output is `{text, finish_reason,
 * model}`, or with an output schema the object that the model returned.
 */
export async function completionResult(
  call: AgentCall,
  configuration: LlmConfiguration,
  tools: ModelTools,
  partsOf: (call: AgentCall, sensitive: Sensitive) => Promise<FilePart[]>,
): Promise<AgentResult> {
  const startedAt = performance.now();
  const timeoutMs = timeoutOf(configuration.timeout, call.timeoutMs);
  const sensitive = await modelSecrets(call, configuration);
  call.partial?.redactBy(sensitive);
  let model: CallModel | undefined;
  const leftMs = (): number => Math.max(1, Math.round(timeoutMs - (performance.now() - startedAt)));
  const open = async (key: string): Promise<CallModel> => {
    const request = { ...call, idempotencyKey: key };
    model = await modelOf(request, configuration, sensitive, { ...tools, timeoutMs: leftMs() });
    return model;
  };
  let used: Usage | undefined;
  const usage = (): { usage?: Usage } =>
    used === undefined ? {} : { usage: shownUsage(used, performance.now() - startedAt, sensitive) };
  try {
    const parts = await partsOf({ ...call, timeoutMs }, sensitive);
    const request = { configuration, parts, sensitive };
    const completion = await askTwice(open, call, request, (more) => (used = sumOf(used ?? {}, more)));
    const name = model?.name ?? '';
    const output = (): unknown => outputOf(completion, call.agent.output_schema, name);
    return {
      ...(call.turn ? turnResult(completion, output, sensitive) : { output: sensitive.clean(output()) }),
      ...usage(),
      warnings: warningsOf(completion, sensitive),
    };
  } catch (error) {
    const failure = model === undefined ? withoutSecrets(error, sensitive) : model.failureOf(error);
    const busy = call.turn && busyOf(error, failure);
    if (busy) return { output: null, busy };
    // What a request has cost that nobody has seen the end of, is not known.
    if (failure instanceof Fault && standardErrorName(failure.error.type) !== 'timeout')
      Object.assign(failure, { used: usage().usage });
    throw failure;
  }
}

function shownUsage(used: Usage, durationMs: number, sensitive: Sensitive): Usage {
  const { model } = used;
  return {
    ...used,
    duration_ms: Math.round(durationMs),
    ...(model === undefined ? {} : { model: sensitive.redact(model) }),
  };
}

/** The second time only if the first answer does not fit; the turns of a loop ask again by themselves. */
async function askTwice(
  open: (key: string) => Promise<CallModel>,
  call: AgentCall,
  request: Omit<Request, 'repair'>,
  spend: (usage: Usage) => void,
): Promise<Completion> {
  const { idempotencyKey: key } = call;
  const model = await open(key);
  const { name } = model;
  const first = await complete(model, call, { ...request, repair: null });
  spend(usageOf(first, name));
  const problem = call.turn ? null : problemOf(first, call, name);
  if (problem === null) return first;
  call.partial?.restart();
  const repair = { text: first.text, problem: request.sensitive.quote(problem, MAX_PROBLEM_LENGTH) };
  const second = await complete(await open(keyOfSecondRequest(key)), call, { ...request, repair });
  spend(usageOf(second, name));
  return second;
}

/** An answer that cannot be used, and why. */
interface Repair {
  text: string;
  problem: string;
}

/** Why the model is asked once more: its answer does not fit the output schema. Null if it is not. */
function problemOf(completion: Completion, { agent }: AgentCall, model: string): string | null {
  if (completion.finishReason === 'content-filter') return null;
  try {
    const found = violations(agent.output_schema, outputOf(completion, agent.output_schema, model));
    return found.length === 0 ? null : describeViolations(found);
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

function sumOf(first: Usage, second: Usage): Usage {
  const sum: Usage = { ...first };
  for (const [name, value] of Object.entries(second))
    sum[name] = typeof value === 'number' ? value + Number(first[name] ?? 0) : value;
  return sum;
}

interface Request {
  /** What to ask again; null the first time. */
  repair: Repair | null;
  configuration: LlmConfiguration;
  parts: readonly FilePart[];
  sensitive: Sensitive;
}

async function complete(
  { model, isWhole }: CallModel,
  call: AgentCall,
  { configuration, parts, sensitive, repair }: Request,
): Promise<Completion> {
  const schema = call.agent.output_schema;
  const { structured_output: structuredOutput = 'json_schema' } = configuration;
  const structured = wantsObject(schema) && structuredOutput !== 'none';
  const prompt =
    configuration.prompt === undefined
      ? call.input
      : renderTemplate(configuration.prompt, call.input, sensitive, 'prompt');
  const sendsSchema = structured && structuredOutput === 'json_schema';
  const settings = {
    model,
    messages: [...turnMessages(messagesOf(prompt, parts), call.turn), ...repairMessages(repair)],
    ...toolsOf(call.turn),
    allowSystemInMessages: true,
    ...instructionsOf(configuration, sensitive, structured && !sendsSchema ? schema : null),
    ...samplingOf(configuration),
    providerOptions: providerOptions(configuration, sendsSchema ? schema : null),
    // The definition's `retry` repeats calls; a second layer would multiply the attempts.
    maxRetries: 0,
    abortSignal: call.signal,
  };
  const format = sendsSchema ? Output.object({ schema: jsonSchema(schema) }) : Output.json();
  const output = structured ? { output: { ...format, parsePartialOutput: textSoFar } } : {};
  try {
    if (call.partial) {
      const completion = await stream({ ...settings, ...output }, call.partial).catch((error: unknown) => {
        if (!isWhole()) throw error;
        return null;
      });
      if (completion !== null && !isWhole()) return completion;
    }
    const result = await generateText({ ...settings, ...output });
    return completionOf(result, structured && result.toolCalls.length === 0 ? result.output : undefined);
  } catch (error) {
    // The model answered without valid JSON; outputOf decides whether that is an error.
    if (!NoObjectGeneratedError.isInstance(error)) throw error;
    const { text = '', finishReason, usage, response } = error;
    return { text, object: undefined, finishReason, usage, model: response?.modelId, warnings: undefined };
  }
}

function repairMessages(repair: Repair | null): ModelMessage[] {
  if (repair === null) return [];
  const said: ModelMessage[] = repair.text === '' ? [] : [{ role: 'assistant', content: repair.text }];
  return [...said, { role: 'user', content: repairRequest(repair.problem) }];
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
  const [text, finishReason, usage, warnings, response, toolCalls, responseMessages] = await Promise.all([
    result.text,
    result.finishReason,
    result.usage,
    result.warnings,
    result.response,
    result.toolCalls,
    result.responseMessages,
  ]);
  const object = settings.output === undefined || toolCalls.length > 0 ? undefined : await result.output;
  const said = { toolCalls, responseMessages };
  return completionOf({ text, finishReason, usage, warnings, response, ...said }, object);
}

/**
 * Of an object that grows. Nobody reads its parts, and the SDK would parse all of it anew for each word, and
 * hold back words that do not change it.
 */
async function textSoFar({ text }: { text: string }): Promise<{ partial: never }> {
  return { partial: text as never };
}

/** The system prompt; with the schema, if the API does not receive it otherwise. */
function instructionsOf(
  { system }: LlmConfiguration,
  sensitive: Sensitive,
  schema: Record<string, unknown> | null,
): { instructions?: string } {
  const schemaInstructions =
    schema && `Answer with one JSON object that fits this JSON Schema:\n${JSON.stringify(schema)}`;
  const own = system === undefined ? undefined : sensitive.fill(system);
  const instructions = [own, schemaInstructions].filter((text) => typeof text === 'string').join('\n\n');
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
  result: Pick<Awaited<ReturnType<typeof generateText>>, 'text' | 'finishReason' | 'usage' | 'warnings'> &
    SaidInTurn & { response: { modelId: string } },
  object: unknown,
): Completion {
  const { text, finishReason, usage, response, warnings, toolCalls, responseMessages } = result;
  const said = { toolCalls, responseMessages };
  return { text, object, finishReason, usage, model: response.modelId, warnings, said };
}

function wantsObject(schema: Record<string, unknown>): boolean {
  return Object.keys(schema).length > 0 && (schema['type'] === undefined || schema['type'] === 'object');
}

function outputOf(completion: Completion, schema: Record<string, unknown>, model: string): unknown {
  if (completion.finishReason === 'content-filter')
    throw fault('validation', "The provider's content filter stopped the answer");
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
  // Without a regular expression: models may write endless white space.
  const trimmed = text.trim();
  const isFenced = trimmed.startsWith(FENCE) && trimmed.endsWith(FENCE) && trimmed.length > FENCE.length;
  const inside = isFenced ? trimmed.slice(FENCE.length, -FENCE.length).replace(/^json/, '') : trimmed;
  try {
    return JSON.parse(inside.trim());
  } catch {
    return undefined;
  }
}

function usageOf(completion: Completion, model: string): Usage {
  const { usage } = completion;
  const counts = {
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    total_tokens: usage?.totalTokens,
    cached_input_tokens: usage?.inputTokenDetails.cacheReadTokens,
    cache_write_tokens: usage?.inputTokenDetails.cacheWriteTokens,
    reasoning_tokens: usage?.outputTokenDetails.reasoningTokens,
  };
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)),
    requests: 1,
    model: completion.model ?? model,
  };
}

/** For the run's log. */
function warningsOf({ warnings = [] }: Completion, { redact }: Sensitive): string[] {
  // The SDK warns where an API does not receive the schema, which the configuration intends.
  return warnings
    .filter((warning) => !('feature' in warning && warning.feature === 'responseFormat'))
    .map((warning) => redact(warningText(warning)));
}

function warningText(warning: CallWarning): string {
  if (!('feature' in warning)) return `The model's API: ${warning.message}`;
  const details = warning.details === undefined ? '' : ` (${warning.details})`;
  return `The model's API: ${warning.feature} is not supported${details}`;
}
