import type { Client } from '@langchain/langgraph-sdk/client';
import { isRecord } from '../../../contracts/is-record.ts';
import type { AgentCall } from '../../../domain/ports.ts';
import type { CallGuard } from '../../guarded-call.ts';

/** What the steps of one call share. */
export interface GraphCall {
  client: Client;
  call: AgentCall;
  guard: CallGuard;
  /** Of the server, for messages. */
  host: string;
  threadId: string;
}

/** The text of a message's content, which may have parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}
