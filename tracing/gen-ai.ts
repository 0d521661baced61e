/** Attributes of OpenTelemetry's semantic conventions for generative AI, without contents. */
import { isRecord } from '../contracts/is-record.ts';
import { describeSpan, type Attributes } from './context.ts';

interface CalledAgent {
  id: string;
  name: string;
  version: string;
  /** As of `agentKind`. */
  kind: string;
  configuration: Record<string, unknown>;
}

/** `gen_ai.operation.name` of the kinds that are models. */
const OPERATIONS: Readonly<Record<string, string>> = {
  llm: 'chat',
  vision: 'chat',
  audio: 'generate_content',
};

/** `gen_ai.provider.name` where it is not the name that agents use. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
};

/** Says of the caller's span whom it calls. `tool`: a language model calls the agent by this name. */
export function describeAgentCall(agent: CalledAgent, tool?: string): void {
  const { id, name, version, kind, configuration } = agent;
  const operation = OPERATIONS[kind];
  const model = textOf(configuration['model']);
  const of = {
    'gen_ai.agent.id': id,
    'gen_ai.agent.name': name,
    'gen_ai.agent.version': version,
    'cadenza.agent.kind': kind,
    ...(operation === undefined ? {} : modelAttributes(configuration, model)),
  };
  if (tool !== undefined) return describeToolCall(tool, of);
  if (operation === undefined)
    return describeSpan(`invoke_agent ${name}`, { ...of, 'gen_ai.operation.name': 'invoke_agent' });
  describeSpan(`${operation} ${model ?? name}`, { ...of, 'gen_ai.operation.name': operation });
}

/** Says of the caller's span that it is the call of a model's tool. */
export function describeToolCall(tool: string, more: Attributes = {}): void {
  describeSpan(`execute_tool ${tool}`, {
    ...more,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
  });
}

function modelAttributes(configuration: Record<string, unknown>, model: string | undefined): Attributes {
  const provider = textOf(configuration['provider']) ?? 'openai-compatible';
  const number = (key: string): number | undefined => {
    const value = configuration[key];
    return typeof value === 'number' ? value : undefined;
  };
  return {
    'gen_ai.provider.name': PROVIDER_NAMES[provider] ?? provider,
    'gen_ai.request.model': model,
    'gen_ai.request.temperature': number('temperature'),
    'gen_ai.request.top_p': number('top_p'),
    'gen_ai.request.max_tokens': number('max_tokens'),
  };
}

/** What a call has used. Of its output only why a model has ended. */
export function usageAttributes(usage: unknown, output: unknown): Attributes {
  if (!isRecord(usage)) return {};
  const number = (key: string): number | undefined => {
    const value = usage[key];
    return typeof value === 'number' ? value : undefined;
  };
  const reason = isRecord(output) ? textOf(output['finish_reason']) : undefined;
  const isOfModel = number('input_tokens') !== undefined || number('output_tokens') !== undefined;
  return {
    'gen_ai.usage.input_tokens': number('input_tokens'),
    'gen_ai.usage.output_tokens': number('output_tokens'),
    'gen_ai.response.model': textOf(usage['model']),
    ...(isOfModel && reason !== undefined && reason.length <= 50
      ? { 'gen_ai.response.finish_reasons': [reason] }
      : {}),
    'cadenza.usage.cost_usd': number('cost_usd'),
    'cadenza.usage.requests': number('requests'),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
