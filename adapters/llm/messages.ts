/** The input of an invocation as the messages of a chat. */
import type { ModelMessage } from 'ai';
import { fault } from '../../contracts/fault.ts';
import { messageTextOf, textWithFiles, type FilePart } from './llm-files.ts';

/**
 * A string, `{prompt}`, `{text, data?}`, `{messages: [{role, content}]}`, or other JSON, sent as text.
 * `files` are added to the last message. Throws `Fault` (validation).
 */
export function messagesOf(given: unknown, files: readonly FilePart[]): ModelMessage[] {
  if (files.length === 0) return plainMessages(given);
  const messages = plainMessages(textWithFiles(given));
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content !== 'string')
    throw fault('validation', 'Files go with the last message, so it must be of the role user');
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
    const text = messageTextOf(input);
    if (text !== null) return [{ role: 'user', content: text }];
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
