/** A chat as the input of an agent. */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { FileReference, PinnedAgent } from '../../domain/ports.ts';
import type { ChatMessage } from './request.ts';

export interface TextMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface Conversation {
  messages: TextMessage[];
  /** The text of the last message of the user. */
  text: string;
  files: FileReference[];
}

/** `developer` is the newer name of `system`. */
export function textMessages(messages: readonly ChatMessage[]): TextMessage[] {
  return messages.map(({ role, content }) => ({
    role: role === 'developer' ? 'system' : role,
    content: textOf(content),
  }));
}

function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? [])
    .flatMap((part) => {
      if (part.type === 'text') return [part.text];
      return part.type === 'refusal' ? [part.refusal] : [];
    })
    .join('\n');
}

/** Names under which agents take a text, the likeliest first. */
const TEXT_NAMES = ['text', 'prompt', 'input', 'question', 'query', 'message', 'task', 'topic', 'content'];

type Schema = Record<string, unknown> | boolean | null;

/**
 * What the agent gets. Language models take the messages as they are, and one that transcribes takes the
 * last recording. Others get what their input schema has room for: the last text of the user, the earlier
 * messages as `history`, all of them as `messages`, and `files`. Null if the schema has no place for a
 * text.
 * @param workflowSchema the input schema of the workflow behind an agent of kind `workflow`
 */
export function agentInput(
  agent: Pick<PinnedAgent, 'type' | 'execution_type' | 'configuration' | 'input_schema'>,
  conversation: Conversation,
  workflowSchema: Schema = null,
): unknown {
  const { messages, text, files } = conversation;
  const attached = files.length === 0 ? {} : { files };
  const kind = agentKind(agent);
  const own = isEmptySchema(agent.input_schema) ? workflowSchema : agent.input_schema;
  if (isRecord(own) && !isEmptySchema(own)) return bySchema(own, conversation);
  const isTemplate = typeof agent.configuration['prompt'] === 'string';
  if (kind === 'audio') return { files: files.slice(-1) };
  if ((kind === 'llm' || kind === 'vision') && !isTemplate) return { messages, ...attached };
  const history = messages.slice(0, -1);
  if (kind === 'a2a') return { text: history.length === 0 ? text : asTranscript(messages), ...attached };
  return { text, ...(history.length === 0 ? {} : { history }), ...attached };
}

/** Other platforms know neither roles nor our history, so the chat becomes one text. */
function asTranscript(messages: readonly TextMessage[]): string {
  return messages.map(({ role, content }) => `${role}: ${content}`).join('\n\n');
}

function isEmptySchema(schema: Schema): boolean {
  return !isRecord(schema) || Object.keys(schema).length === 0;
}

function bySchema(schema: Record<string, unknown>, { messages, text, files }: Conversation): unknown {
  const { type, required } = schema;
  if (type === 'string') return text;
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(properties);
  const takesAny = names.length === 0 && schema['additionalProperties'] !== false;
  if (type !== undefined && type !== 'object') return null;
  const takes = (name: string): boolean => names.includes(name) || takesAny;
  const required_ = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const isText = (name: string): boolean => {
    const property = properties[name];
    return isRecord(property) && (property['type'] === 'string' || property['type'] === undefined);
  };
  const place =
    TEXT_NAMES.find((name) => names.includes(name) && isText(name)) ??
    required_.find((name) => isText(name)) ??
    names.find((name) => isText(name) && name !== 'messages' && name !== 'history') ??
    (takesAny ? 'text' : undefined);
  if (place === undefined && !takes('messages')) return null;
  return {
    ...(place === undefined ? {} : { [place]: text }),
    ...(names.includes('messages') ? { messages } : {}),
    ...(takes('history') && messages.length > 1 ? { history: messages.slice(0, -1) } : {}),
    ...(takes('files') && files.length > 0 ? { files } : {}),
  };
}

/** An agent's output as the text of a message. */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  if (output === null || output === undefined) return '';
  if (isRecord(output) && typeof output['text'] === 'string') {
    const others = Object.keys(output).filter((key) => !['text', 'finish_reason', 'model'].includes(key));
    if (others.length === 0) return output['text'];
  }
  return JSON.stringify(output);
}

/** OpenAI's word for why the text ends. */
export function finishReason(output: unknown): 'stop' | 'length' | 'content_filter' {
  const reason = isRecord(output) ? output['finish_reason'] : undefined;
  if (reason === 'length') return 'length';
  return reason === 'content-filter' || reason === 'content_filter' ? 'content_filter' : 'stop';
}
