/** A task's row and messages as the protocol's Task. */
import type { A2AMessage, A2ATask, A2ATaskState, A2ATaskStatus } from '../../contracts/a2a.ts';
import { CREDENTIAL_REQUEST, isInterruptedState, isTerminalState } from '../../contracts/a2a.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { approvalRequest, HITL_EXTENSION } from './hitl-extension.ts';
import { contentOf } from './output.ts';
import type { FileLink } from './output.ts';
import { reasonOf } from './state.ts';
import type { StoredMessage, TaskRow } from './task-row.ts';

export interface Presenting {
  link: FileLink;
  /** Whether a question is open still: an answer that was taken is on its way to the run. */
  asks: boolean;
  /** What the caller may do with the agent's question: `answerable` in its metadata. */
  answerable: boolean;
  /** URIs of the extensions that the client asked for. */
  extensions: readonly string[];
}

export interface TaskOptions {
  /** Undefined: all; 0: none; else the last ones. */
  historyLength?: number | undefined;
  artifacts?: boolean;
}

export function presentTask(row: TaskRow, messages: readonly StoredMessage[], presenting: Presenting, { historyLength, artifacts = true }: TaskOptions = {}): A2ATask {
  const { artifacts: made, message } = contentOf(row.status === 'completed' ? row.output : null, row.accepted_output_modes, presenting.link);
  const state = stateNow(row, presenting);
  const question = isInterruptedState(state) ? messages.findLast(({ message: { role } }) => role === 'ROLE_AGENT') : undefined;
  const history = messages.filter((stored) => stored !== question).map((stored) => stored.message);
  const shown = historyLength === undefined ? history : historyLength === 0 ? [] : history.slice(-historyLength);
  const reply = message && agentMessage(row, 'reply', message);
  return {
    id: row.id,
    contextId: row.context_id,
    status: statusOf({ ...row, state }, question ? asked(question.message, presenting) : reply),
    ...(artifacts && made.length > 0 ? { artifacts: made } : {}),
    ...(shown.length > 0 ? { history: shown } : {}),
    ...metadataOf(row),
  };
}

/** Answered, so the run goes on, although it does not know yet. */
export function stateNow({ state }: Pick<TaskRow, 'state'>, { asks }: Pick<Presenting, 'asks'>): A2ATaskState {
  return isInterruptedState(state) && !asks ? 'TASK_STATE_WORKING' : state;
}

function statusOf(row: TaskRow, message: A2AMessage | null): A2ATaskStatus {
  const said = message ?? failure(row);
  return { state: row.state, ...(said ? { message: said } : {}), timestamp: new Date(row.state_at).toISOString() };
}

function failure(row: TaskRow): A2AMessage | null {
  return row.status === 'faulted' ? agentMessage(row, 'failure', [{ text: reasonOf(row.error), mediaType: 'text/plain' }]) : null;
}

/** Same id at every reading: the message is a function of the task. */
export function agentMessage(row: Pick<TaskRow, 'id' | 'context_id'>, what: string, parts: A2AMessage['parts']): A2AMessage {
  return { messageId: `${row.id}-${what}`, contextId: row.context_id, taskId: row.id, role: 'ROLE_AGENT', parts };
}

/** The state that a question brings: AUTH_REQUIRED where all that is asked for are credentials. */
export function stateOfQuestion(question: A2AMessage | undefined): A2ATaskState {
  const asked = (question?.parts ?? []).flatMap(({ data }) => (isRecord(data) && data['type'] === 'hitl_request' ? [data['subject']] : []));
  const credentials = asked.length > 0 && asked.every((subject) => isRecord(subject) && subject['type'] === CREDENTIAL_REQUEST);
  return credentials ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED';
}

/** The question with what this caller may do; with the payload of the extension for those who asked for it. */
export function asked(question: A2AMessage, { answerable, extensions }: Presenting): A2AMessage {
  const approval = extensions.includes(HITL_EXTENSION) ? approvalRequest(question) : null;
  const metadata = { ...question.metadata, answerable };
  return approval === null ? { ...question, metadata } : { ...question, metadata: { ...metadata, [HITL_EXTENSION]: approval }, extensions: [HITL_EXTENSION] };
}

function metadataOf(row: TaskRow): { metadata?: Record<string, unknown> } {
  const metadata = { ...row.metadata, ...(row.paused && !isTerminalState(row.state) ? { paused: true } : {}) };
  return Object.keys(metadata).length > 0 ? { metadata } : {};
}
