/** A tool that asks for input (MCP 2026-07-28 "Multi Round-Trip Requests"): a person answers. */
import type { InputRequiredResult } from '@modelcontextprotocol/client';
import type { RemoteAsk } from '../../../contracts/activities.ts';
import { cutTo } from '../../../contracts/cut-text.ts';
import { fault } from '../../../contracts/fault.ts';
import { isRecord } from '../../../contracts/is-record.ts';
import type { AgentCall } from '../../../domain/ports.ts';
import { jsonSchemaProblems } from '../../../language/schema/well-formed.ts';
import type { FrameworkCall } from '../framework-call.ts';

const MAX_QUESTIONS = 20;
/** What the server gets back as it was. */
const MAX_STATE_LENGTH = 256 * 1024;
const MAX_TITLE_LENGTH = 200;
const MAX_TEXT_LENGTH = 10_000;
const DECISIONS: RemoteAsk['decisions'] = [
  { id: 'answer', label: 'Answer', requires_comment: false },
  { id: 'decline', label: 'Decline', requires_comment: false },
];

interface Question {
  key: string;
  message: string;
  schema: Record<string, unknown> | null;
}

/** Several questions become one form with a part for each. Throws `Fault` for requests that are no forms. */
export function askOfServer(
  { inputRequests = {}, requestState = '' }: InputRequiredResult,
  { call, guard }: FrameworkCall,
  tool: string,
): RemoteAsk {
  const { sensitive } = guard;
  const entries = Object.entries(inputRequests);
  if (entries.length === 0 || entries.length > MAX_QUESTIONS || requestState.length > MAX_STATE_LENGTH)
    throw fault('communication', `The tool ${tool} asks for too much or for nothing`, { status: 502 });
  const questions = entries.map(([key, request]) => questionOf(key, request, tool));
  const [first] = questions;
  const single = questions.length === 1 ? first : undefined;
  const text = questions.map(({ message }) => message).join('\n\n');
  const title = sensitive.quote(first?.message ?? '', MAX_TITLE_LENGTH);
  return {
    title: title === '' ? cutTo(`${call.agent.name} asks for input`, MAX_TITLE_LENGTH) : title,
    description: text === title || text === '' ? null : text,
    subject: null,
    form_schema: single ? single.schema : formOf(questions),
    decisions: DECISIONS,
    remote: {
      task_id: tool,
      context_id: requestState,
      answer: { as: 'data' },
      mark: JSON.stringify(entries.map(([key]) => key)),
    },
  };
}

function questionOf(key: string, request: unknown, tool: string): Question {
  const { method, params } = isRecord(request) ? request : {};
  const { mode = 'form', message, requestedSchema: schema } = isRecord(params) ? params : {};
  if (method !== 'elicitation/create' || mode !== 'form')
    throw fault(
      'communication',
      `The tool ${tool} asks for something that no person can answer here: ` +
        (method === 'elicitation/create'
          ? 'a visit to an address'
          : String(method).slice(0, MAX_TITLE_LENGTH)),
      { status: 502 },
    );
  const isForm = isRecord(schema) && jsonSchemaProblems(schema).length === 0;
  return {
    key,
    message: typeof message === 'string' ? cutTo(message, MAX_TEXT_LENGTH) : '',
    schema: isForm ? schema : null,
  };
}

function formOf(questions: readonly Question[]): Record<string, unknown> {
  const parts = questions.map(({ key, message, schema }): [string, unknown] => [
    key,
    { ...schema, title: message },
  ]);
  return { type: 'object', properties: Object.fromEntries(parts), required: questions.map(({ key }) => key) };
}

/** What a repeated request for the tool carries. Throws `Fault` if nobody will answer. */
export function responsesOf({ reply, agent }: AgentCall): Record<string, unknown> {
  if (!reply) return {};
  const { decision, remote } = reply;
  if (decision === null) throw fault('authorization', `The question of ${agent.name} was not answered`);
  const keys = JSON.parse(remote.mark) as string[];
  const { payload } = decision;
  const contentOf = (key: string): unknown =>
    keys.length === 1 ? payload : isRecord(payload) ? payload[key] : undefined;
  const responseOf = (key: string): unknown => {
    if (decision.decision !== 'answer') return { action: 'decline' };
    const content = contentOf(key);
    return { action: 'accept', ...(isRecord(content) ? { content } : {}) };
  };
  return {
    inputResponses: Object.fromEntries(keys.map((key) => [key, responseOf(key)])),
    ...(remote.context_id === '' ? {} : { requestState: remote.context_id }),
  };
}
