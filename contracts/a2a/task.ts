/** Presents a task's row and messages as the protocol's Task. */
import {
  CREDENTIAL_REQUEST,
  isInterruptedState,
  isTerminalState,
  type A2AMessage,
  type A2ATask,
  type A2ATaskState,
  type A2ATaskStatus,
} from './objects.ts';
import type { DslError } from '../dsl-error.ts';
import { isRecord } from '../is-record.ts';
import { approvalRequest, HITL_EXTENSION } from './hitl-extension.ts';
import { contentOf, type FileLink } from './content.ts';
import { reasonOf } from './failure-reason.ts';
import type { ServedTask, StoredMessage } from './served-task.ts';

export interface Presenting {
  link: FileLink;
  /**
   * Whether a question is still open. It is not once an answer was accepted, even before the run has received
   * it.
   */
  asks: boolean;
  /** Whether the caller may answer the question: `answerable` in its metadata. */
  answerable: boolean;
  /** URIs of the extensions that the client asked for. */
  extensions: readonly string[];
  /** Whether the caller sees what is inside of the run: its steps, and what they ask other people. */
  inside: boolean;
  /** Ids of the human tasks that the caller sees although the inside is closed to them. */
  seen: ReadonlySet<string>;
}

export interface TaskOptions {
  /** Undefined: all messages; 0: none; else the last ones. */
  historyLength?: number | undefined;
  artifacts?: boolean;
}

export function presentTask(
  row: ServedTask,
  messages: readonly StoredMessage[],
  presenting: Presenting,
  { historyLength, artifacts = true }: TaskOptions = {},
): A2ATask {
  const { artifacts: outputArtifacts, message } = contentOf(
    row.status === 'completed' ? row.output : null,
    row.accepted_output_modes,
    presenting.link,
  );
  const state = stateNow(row, presenting);
  const question = isInterruptedState(state)
    ? messages.findLast(({ message: { role } }) => role === 'ROLE_AGENT')
    : undefined;
  const history = messages
    .filter((stored) => stored !== question)
    .flatMap((stored) => shownMessage(stored.message, presenting) ?? []);
  const shownQuestion = question && shownMessage(question.message, presenting);
  const shown =
    historyLength === undefined ? history : historyLength === 0 ? [] : history.slice(-historyLength);
  const reply = message && agentMessage(row, 'reply', message);
  return {
    id: row.id,
    contextId: row.context_id,
    status: statusOf({ ...row, state }, shownQuestion ? asked(shownQuestion, presenting) : reply, presenting),
    ...(artifacts && outputArtifacts.length > 0 ? { artifacts: outputArtifacts } : {}),
    ...(shown.length > 0 ? { history: shown } : {}),
    ...metadataOf(row),
  };
}

/** An answered question counts as WORKING at once, before the run has received the answer. */
export function stateNow(
  { state }: Pick<ServedTask, 'state'>,
  { asks }: Pick<Presenting, 'asks'>,
): A2ATaskState {
  return isInterruptedState(state) && !asks ? 'TASK_STATE_WORKING' : state;
}

function statusOf(row: ServedTask, message: A2AMessage | null, presenting: Presenting): A2ATaskStatus {
  const statusMessage = message ?? (row.status === 'faulted' ? failure(row, presenting) : null);
  return {
    state: row.state,
    ...(statusMessage ? { message: statusMessage } : {}),
    timestamp: new Date(row.state_at).toISOString(),
  };
}

/** Why it failed; the details may quote what is inside. */
export function failure(row: ServedTask, { inside }: Pick<Presenting, 'inside'>): A2AMessage {
  const { error } = row;
  const text = inside || error === null ? reasonOf(error) : reasonOf(withoutDetail(error));
  return agentMessage(row, 'failure', [{ text, mediaType: 'text/plain' }]);
}

function withoutDetail({ detail: _detail, ...error }: DslError): DslError {
  return error;
}

/** A question with those of its human tasks that the caller sees; null if that is none. */
export function shownMessage(
  message: A2AMessage,
  { inside, seen }: Pick<Presenting, 'inside' | 'seen'>,
): A2AMessage | null {
  if (inside || message.role !== 'ROLE_AGENT') return message;
  const isSeen = (part: A2AMessage['parts'][number] | undefined): boolean =>
    isRecord(part?.data) && typeof part.data['id'] === 'string' && seen.has(part.data['id']);
  // The text of a human task is before its data.
  const parts = message.parts.filter((part, index) =>
    isSeen(part.data === undefined ? message.parts[index + 1] : part),
  );
  return parts.length === 0 ? null : { ...message, parts };
}

/** The id is derived from the task, so it is the same at every reading. */
export function agentMessage(
  row: Pick<ServedTask, 'id' | 'context_id'>,
  suffix: string,
  parts: A2AMessage['parts'],
): A2AMessage {
  return {
    messageId: `${row.id}-${suffix}`,
    contextId: row.context_id,
    taskId: row.id,
    role: 'ROLE_AGENT',
    parts,
  };
}

/** The state for a question: AUTH_REQUIRED if it asks for credentials only. */
export function stateOfQuestion(question: A2AMessage | undefined): A2ATaskState {
  const asked = (question?.parts ?? []).flatMap(({ data }) =>
    isRecord(data) && data['type'] === 'hitl_request' ? [data['subject']] : [],
  );
  const credentials =
    asked.length > 0 && asked.every((subject) => isRecord(subject) && subject['type'] === CREDENTIAL_REQUEST);
  return credentials ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED';
}

/**
 * The question with this caller's `answerable`, and with the extension's payload if the client asked for the
 * extension.
 */
export function asked(question: A2AMessage, { answerable, extensions }: Presenting): A2AMessage {
  const approval = extensions.includes(HITL_EXTENSION) ? approvalRequest(question) : null;
  const metadata = { ...question.metadata, answerable };
  return approval === null
    ? { ...question, metadata }
    : { ...question, metadata: { ...metadata, [HITL_EXTENSION]: approval }, extensions: [HITL_EXTENSION] };
}

function metadataOf(row: ServedTask): { metadata?: Record<string, unknown> } {
  const omitted = (row.omitted ?? []).map((name) => (name === 'output' ? 'artifacts' : name));
  const metadata = {
    ...row.metadata,
    ...(omitted.length > 0 ? { omitted } : {}),
    ...(row.paused && !isTerminalState(row.state) ? { paused: true } : {}),
  };
  return Object.keys(metadata).length > 0 ? { metadata } : {};
}
