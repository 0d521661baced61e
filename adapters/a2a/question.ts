/** Presents a remote task's question to a person, and sends the person's decision to the remote task. */
import type { Part, Task } from '@a2a-js/sdk';
import { CREDENTIAL_REQUEST } from '../../contracts/a2a/objects.ts';
import type { RemoteAsk, RemoteReply, RemoteTask } from '../../contracts/activities.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { jsonSchemaProblems } from '../../language/schema/well-formed.ts';
import type { Words } from '../http/message.ts';
import { data, text, textOf, valueOf } from './part-values.ts';
import { markOf } from './task-view.ts';

const MAX_TITLE_LENGTH = 200;
const MAX_DECISIONS = 20;
/** Used if the agent names no decisions. Rejecting cancels the agent's task. */
const ANSWER_OR_NOT: RemoteAsk['decisions'] = [
  { id: 'answer', label: 'Answer', requires_comment: false },
  { id: 'reject', label: 'Cancel the task', requires_comment: false },
];
const CREDENTIAL_OR_NOT: RemoteAsk['decisions'] = [
  { id: 'continue', label: 'It has the credential now', requires_comment: false },
  { id: 'reject', label: 'Cancel the task', requires_comment: false },
];
const TEXT_FORM = {
  type: 'object',
  properties: { text: { type: 'string', title: 'Answer', minLength: 1 } },
  required: ['text'],
};

/**
 * A data part `{type: "hitl_request", id, title?, form_schema?, decisions?}` is presented unchanged. A data
 * part with a JSON Schema under `form_schema`, `form` or `schema` becomes that form. Anything else is a text
 * that is answered with a text.
 */
export async function questionOf(task: Task, agentName: string, words: Words): Promise<RemoteAsk> {
  const parts = task.status?.message?.parts ?? [];
  const data = parts.flatMap(({ content }): Record<string, unknown>[] => {
    const value: unknown = content?.$case === 'data' ? content.value : null;
    return isRecord(value) ? [value] : [];
  });
  const question = { text: textOf(parts).trim(), data, subject: await subjectOf(parts) };
  const remote = { task_id: task.id, context_id: task.contextId, mark: markOf(task) };
  return askOf(question, remote, agentName, words);
}

interface Question {
  text: string;
  /** One of them may describe the request or its form. */
  data: readonly Record<string, unknown>[];
  /** What is shown beside the text. */
  subject: unknown;
}

/** The human task of a counterpart's question. */
export function askOf(
  { text: question, data, subject }: Question,
  remote: Omit<RemoteTask, 'answer'>,
  agentName: string,
  { redact }: Words,
): RemoteAsk {
  const request = data.find((record) => record['type'] === 'hitl_request');
  const form = request
    ? schemaIn(request['form_schema'])
    : (data
        .map(
          (record) =>
            schemaIn(record['form_schema']) ?? schemaIn(record['form']) ?? schemaIn(record['schema']),
        )
        .find((schema) => schema !== null) ?? null);
  const decisions = request ? decisionsIn(request['decisions']) : [];
  const title = stringIn(request?.['title']) ?? firstLine(question) ?? `${agentName} asks for input`;
  const base = {
    title: cutTo(redact(title), MAX_TITLE_LENGTH),
    description:
      stringIn(request?.['description']) ?? (question === '' || question === title ? null : question),
    subject: request ? (request['subject'] ?? null) : subject,
  };
  const answered = (answer: RemoteTask['answer']): RemoteTask => ({ ...remote, answer });
  if (request && decisions.length > 0) {
    return {
      ...base,
      form_schema: form,
      decisions,
      remote: answered({ as: 'decision', request_id: stringIn(request['id']) }),
    };
  }
  if (form !== null)
    return { ...base, form_schema: form, decisions: ANSWER_OR_NOT, remote: answered({ as: 'data' }) };
  return { ...base, form_schema: TEXT_FORM, decisions: ANSWER_OR_NOT, remote: answered({ as: 'text' }) };
}

/**
 * A task in AUTH_REQUIRED: a person gives the credential to the agent in its own way, and confirms that here.
 * The subject's type makes our own A2A task AUTH_REQUIRED, too.
 */
export function credentialQuestionOf(task: Task, agentName: string): RemoteAsk {
  const question = textOf(task.status?.message?.parts ?? []).trim();
  return {
    title: cutTo(`${agentName} asks for a credential`, MAX_TITLE_LENGTH),
    description: question === '' ? null : question,
    subject: { type: CREDENTIAL_REQUEST, agent: agentName },
    form_schema: null,
    decisions: CREDENTIAL_OR_NOT,
    remote: {
      task_id: task.id,
      context_id: task.contextId,
      answer: { as: 'credential' },
      mark: markOf(task),
    },
  };
}

/** Null if the person rejects the question or nobody decides it; empty if there is nothing to send. */
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
      return decision.decision === 'reject'
        ? null
        : [data(payload), ...(comment === null ? [] : [text(comment)])];
    case 'credential':
      return decision.decision === 'reject' ? null : [];
    case 'text': {
      if (decision.decision === 'reject') return null;
      const answer = isRecord(payload) ? stringIn(payload['text']) : stringIn(payload);
      return [text(answer ?? comment ?? '')];
    }
    default:
      return remote.answer satisfies never;
  }
}

/** The data and links that the question shows beside its text. */
async function subjectOf(parts: readonly Part[]): Promise<unknown> {
  const shown = parts.filter(({ content }) => content?.$case === 'data' || content?.$case === 'url');
  return shown.length === 0 ? null : valueOf(shown, undefined);
}

function schemaIn(value: unknown): Record<string, unknown> | null {
  if (!isRecord(value)) return null;
  const looksLikeSchema =
    isRecord(value['properties']) ||
    typeof value['type'] === 'string' ||
    'oneOf' in value ||
    'anyOf' in value ||
    'enum' in value;
  return looksLikeSchema && jsonSchemaProblems(value).length === 0 ? value : null;
}

function decisionsIn(value: unknown): RemoteAsk['decisions'] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.slice(0, MAX_DECISIONS).flatMap((item) => {
    const id = stringIn(isRecord(item) ? item['id'] : item);
    if (id === null) return [];
    const label = isRecord(item) ? stringIn(item['label']) : null;
    return [
      { id, label: label ?? id, requires_comment: isRecord(item) && item['requires_comment'] === true },
    ];
  });
}

function firstLine(text: string): string | null {
  const line = text.split('\n')[0]?.trim() ?? '';
  return line === '' ? null : line;
}

function stringIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
