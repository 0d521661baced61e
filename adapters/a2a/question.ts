/** What a remote task asks, for a person here; and that person's decision as a message to the remote task. */
import type { Part, Task } from '@a2a-js/sdk';
import { CREDENTIAL_REQUEST } from '../../contracts/a2a.ts';
import type { RemoteAsk, RemoteReply, RemoteTask } from '../../contracts/activities.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { checkJsonSchema } from '../../contracts/json-schema.ts';
import { data, text, textOf, valueOf } from './part-values.ts';
import { markOf } from './task-view.ts';

const MAX_TITLE = 200;
const MAX_DECISIONS = 20;
/** Where the agent names no decisions: to answer, or not. Not to answer cancels its task. */
const ANSWER_OR_NOT: RemoteAsk['decisions'] = [
  { id: 'answer', label: 'Answer', requires_comment: false },
  { id: 'reject', label: 'Cancel the task', requires_comment: false },
];
const CREDENTIAL_OR_NOT: RemoteAsk['decisions'] = [
  { id: 'continue', label: 'It has the credential now', requires_comment: false },
  { id: 'reject', label: 'Cancel the task', requires_comment: false },
];
const TEXT_FORM = { type: 'object', properties: { text: { type: 'string', title: 'Answer', minLength: 1 } }, required: ['text'] };

/**
 * A data part `{type: "hitl_request", id, title?, form_schema?, decisions?}` is asked as it stands; a data part with a JSON
 * Schema under `form_schema`, `form` or `schema` by that form; all else as a text that is answered by a text.
 */
export async function questionOf(task: Task, agentName: string): Promise<RemoteAsk> {
  const parts = task.status?.message?.parts ?? [];
  const said = textOf(parts).trim();
  const records = parts.flatMap(({ content }): Record<string, unknown>[] => {
    const value: unknown = content?.$case === 'data' ? content.value : null;
    return isRecord(value) ? [value] : [];
  });
  const request = records.find((record) => record['type'] === 'hitl_request');
  const form = request ? schemaIn(request['form_schema']) : (records.map((record) => schemaIn(record['form_schema']) ?? schemaIn(record['form']) ?? schemaIn(record['schema'])).find((schema) => schema !== null) ?? null);
  const decisions = request ? decisionsIn(request['decisions']) : [];
  const title = stringIn(request?.['title']) ?? firstLine(said) ?? `${agentName} asks for input`;
  const base = {
    title: title.slice(0, MAX_TITLE),
    description: stringIn(request?.['description']) ?? (said === '' || said === title ? null : said),
    subject: request ? (request['subject'] ?? null) : await subjectOf(parts),
  };
  const remote = (answer: RemoteTask['answer']): RemoteTask => ({ task_id: task.id, context_id: task.contextId, answer, mark: markOf(task) });
  if (request && decisions.length > 0) {
    return { ...base, form_schema: form, decisions, remote: remote({ as: 'decision', request_id: stringIn(request['id']) }) };
  }
  if (form !== null) return { ...base, form_schema: form, decisions: ANSWER_OR_NOT, remote: remote({ as: 'data' }) };
  return { ...base, form_schema: TEXT_FORM, decisions: ANSWER_OR_NOT, remote: remote({ as: 'text' }) };
}

/**
 * A task in AUTH_REQUIRED: a person gives the credential where the agent says, and tells here that it is done. The subject's
 * type makes our own A2A task AUTH_REQUIRED, too.
 */
export function credentialQuestionOf(task: Task, agentName: string): RemoteAsk {
  const said = textOf(task.status?.message?.parts ?? []).trim();
  return {
    title: `${agentName} asks for a credential`.slice(0, MAX_TITLE),
    description: said === '' ? null : said,
    subject: { type: CREDENTIAL_REQUEST, agent: agentName },
    form_schema: null,
    decisions: CREDENTIAL_OR_NOT,
    remote: { task_id: task.id, context_id: task.contextId, answer: { as: 'credential' }, mark: markOf(task) },
  };
}

/** null: the person refuses to answer, or nobody will. No parts: there is nothing to say to it. */
export function answerParts({ remote, decision }: RemoteReply): Part[] | null {
  if (decision === null) return null;
  const { payload, comment } = decision;
  switch (remote.answer.as) {
    case 'decision':
      return [
        data({
          type: 'hitl_request',
          ...(remote.answer.request_id === null ? {} : { id: remote.answer.request_id }),
          decision: decision.decision,
          ...(payload === null || payload === undefined ? {} : { payload }),
          ...(comment === null ? {} : { comment }),
        }),
      ];
    case 'data':
      return decision.decision === 'reject' ? null : [data(payload), ...(comment === null ? [] : [text(comment)])];
    case 'credential':
      return decision.decision === 'reject' ? null : [];
    case 'text': {
      if (decision.decision === 'reject') return null;
      const said = isRecord(payload) ? stringIn(payload['text']) : stringIn(payload);
      return [text(said ?? comment ?? '')];
    }
    default:
      return remote.answer satisfies never;
  }
}

/** What the question shows beside its text. */
async function subjectOf(parts: readonly Part[]): Promise<unknown> {
  const shown = parts.filter(({ content }) => content?.$case === 'data' || content?.$case === 'url');
  return shown.length === 0 ? null : valueOf(shown, undefined);
}

function schemaIn(value: unknown): Record<string, unknown> | null {
  if (!isRecord(value)) return null;
  const looksLikeOne = isRecord(value['properties']) || typeof value['type'] === 'string' || 'oneOf' in value || 'anyOf' in value || 'enum' in value;
  return looksLikeOne && checkJsonSchema(value).length === 0 ? value : null;
}

function decisionsIn(value: unknown): RemoteAsk['decisions'] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.slice(0, MAX_DECISIONS).flatMap((item) => {
    const id = stringIn(isRecord(item) ? item['id'] : item);
    if (id === null) return [];
    const label = isRecord(item) ? stringIn(item['label']) : null;
    return [{ id, label: label ?? id, requires_comment: isRecord(item) && item['requires_comment'] === true }];
  });
}

function firstLine(said: string): string | null {
  const line = said.split('\n')[0]?.trim() ?? '';
  return line === '' ? null : line;
}

function stringIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
