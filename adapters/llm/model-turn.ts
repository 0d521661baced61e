/** One turn of a model with tools: what it is sent, and what it gave (docs/llm-agents.md). */
import {
  APICallError,
  jsonSchema,
  tool,
  type ModelMessage,
  type ToolResultPart,
  type ToolSet,
  type TypedToolCall,
} from 'ai';
import type { DslError } from '../../contracts/dsl-error.ts';
import { Fault } from '../../contracts/fault.ts';
import type { AgentResult, ModelTurnCall, TurnMessages } from '../../domain/ports.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

/** What the SDK gives of a turn. */
export interface SaidInTurn {
  toolCalls: TypedToolCall<ToolSet>[];
  responseMessages: ModelMessage[];
}

/** Statuses that say "later": too many requests, unavailable, overloaded. */
const BUSY = new Set([429, 503, 529]);
const BUSY_MS = 2_000;
const MAX_BUSY_MS = 60_000;
const SECOND_MS = 1_000;
const MAX_PROBLEM_LENGTH = 500;

/** The tools without their code: the workflow runs them. */
export function toolsOf(turn: ModelTurnCall | undefined): { tools?: ToolSet } {
  if (!turn || turn.tools.length === 0) return {};
  return {
    tools: Object.fromEntries(
      turn.tools.map(({ name, description, parameters }) => [
        name,
        tool({ description, inputSchema: jsonSchema(parameters) }),
      ]),
    ),
  };
}

/** `input`: the messages of the call's input. */
export function turnMessages(input: ModelMessage[], turn: ModelTurnCall | undefined): ModelMessage[] {
  if (!turn) return input;
  const history = turn.history.map(({ role, text }): ModelMessage => ({ role, content: text }));
  const system = input.filter(({ role }) => role === 'system');
  const said = input.filter(({ role }) => role !== 'system');
  return [...system, ...history, ...said, ...turn.turns.flatMap(messagesOfTurn)];
}

function messagesOfTurn({ answers, repair, messages }: TurnMessages): ModelMessage[] {
  const content = answers.map(({ id, name, text, failed }): ToolResultPart => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: name,
    output: { type: failed ? 'error-text' : 'text', value: text },
  }));
  return [
    ...(content.length === 0 ? [] : [{ role: 'tool' as const, content }]),
    ...(repair === null ? [] : [{ role: 'user' as const, content: repair }]),
    // `turnResult` has given them.
    ...((messages ?? []) as ModelMessage[]),
  ];
}

interface Answer {
  text: string;
  said?: SaidInTurn;
}

/** Secrets are redacted. Without tool calls, `output` gives the output, or throws a `Fault`. */
export function turnResult(
  { text, said }: Answer,
  output: () => unknown,
  sensitive: Sensitive,
): Pick<AgentResult, 'output' | 'turn'> {
  const calls = (said?.toolCalls ?? []).map((call) => ({
    id: call.toolCallId,
    name: call.toolName,
    arguments: sensitive.clean(call.input),
    ...(call.invalid === true && typeof call.input === 'string'
      ? { problem: 'The arguments are not valid JSON.' }
      : {}),
  }));
  const messages = said?.responseMessages ?? [{ role: 'assistant', content: text }];
  const turn = {
    messages: sensitive.clean(messages.filter(({ role }) => role === 'assistant')) as unknown[],
    text: sensitive.redact(text),
    calls,
  };
  if (calls.length > 0) return { output: null, turn };
  try {
    return { output: sensitive.clean(output()), turn };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const problem = sensitive.quote(error.message, MAX_PROBLEM_LENGTH);
    return { output: null, turn: { ...turn, problem } };
  }
}

/**
 * `failure`: the error as a fault. Null if it says something else than "later". `Retry-After` (RFC 9110
 * 10.2.3) counts up to a minute.
 */
export function busyOf(error: unknown, failure: unknown): { after_ms: number; error: DslError } | null {
  if (!APICallError.isInstance(error) || !BUSY.has(error.statusCode ?? 0)) return null;
  if (!(failure instanceof Fault)) return null;
  const after = error.responseHeaders?.['retry-after'] ?? '';
  const wantedMs = /^\d+$/.test(after) ? Number(after) * SECOND_MS : Date.parse(after) - Date.now();
  const after_ms = Number.isFinite(wantedMs) ? Math.min(MAX_BUSY_MS, Math.max(0, wantedMs)) : BUSY_MS;
  return { after_ms, error: failure.error };
}
