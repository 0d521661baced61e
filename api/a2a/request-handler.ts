/**
 * The SDK's interface over PostgreSQL and Temporal, for one call. Any copy of the API serves any call: nothing is kept here
 * between two of them.
 */
import {
  Message, SendMessageRequest, StreamResponse, Task, TaskPushNotificationConfig as PushConfigCodec, taskStateToJSON, TaskState,
  type CancelTaskRequest, type DeleteTaskPushNotificationConfigRequest, type GetTaskPushNotificationConfigRequest, type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest, type ListTaskPushNotificationConfigsResponse, type ListTasksRequest, type ListTasksResponse,
  type SubscribeToTaskRequest, type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { ExtensionSupportRequiredError, PushNotificationNotSupportedError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';

import { isTerminalState, TASK_STATES, type A2AMessage, type A2APushConfig, type A2AStreamItem } from '../../contracts/a2a.ts';
import { contentOf } from '../../domain/a2a/output.ts';
import { agentMessage } from '../../domain/a2a/present.ts';
import { checkInputModes, checkMessage } from '../../domain/a2a/input.ts';
import { deletePushConfig, getPushConfig, listPushConfigs, savePushConfig } from '../../domain/a2a/push-configs.ts';
import { receiveMessage, type Sent } from '../../domain/a2a/send.ts';
import { listTaskRows } from '../../domain/a2a/list.ts';
import { readMessages, type TaskRow } from '../../domain/a2a/task-row.ts';
import { presentTask } from '../../domain/a2a/present.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import { deliverSignals, startRun } from '../../domain/runs/dispatch.ts';
import { commandRun } from '../../domain/runs/service.ts';
import { inTransaction } from '../transaction.ts';
import { resumePosition, type A2ACall, type ItemStream } from './call.ts';
import { buildCard, extendedCard } from './card.ts';
import { guarded } from './guard.ts';
import { receiveMessageFiles } from './message-files.ts';
import { followTask, presenting, readTask, readTaskRow, settled, showTask, waitsForClient } from './task-reader.ts';

/** Cancel answers CANCELED if the run ends within it, else the task as it is: it goes on being cancelled. */
const CANCEL_WAIT_MS = 8_000;
const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

export function createRequestHandler(call: A2ACall): A2ARequestHandler {
  const { deps, target } = call;
  const fork = () => deps.orm.em.fork();
  const needsPush = (): void => {
    if (!target.agent.capabilities_push) throw new PushNotificationNotSupportedError();
  };
  const needsStreaming = (): void => {
    if (!target.agent.capabilities_streaming) throw new UnsupportedOperationError('This agent does not stream.');
  };

  return guarded(call, {
    getAgentCard: async () => buildCard(deps, target),
    getAuthenticatedExtendedAgentCard: async () => extendedCard(deps, target),

    async sendMessage(params) {
      const sent = await send(call, params);
      const historyLength = lengthOf(params.configuration?.historyLength);
      const waits = params.configuration?.returnImmediately !== true;
      const row = waits ? await settled(call, sent.taskId) : await readTaskRow(call, sent.taskId);
      const reply = waits ? replyOf(row) : null;
      return reply ? Message.fromJSON(reply) : Task.fromJSON(await showTask(call, row, { historyLength }));
    },

    async *sendMessageStream(params) {
      needsStreaming();
      const historyLength = lengthOf(params.configuration?.historyLength);
      const sent = await send(call, params);
      const row = await readTaskRow(call, sent.taskId);
      yield* items(call, [{ id: String(row.last_seq), update: { task: await showTask(call, row, { historyLength }) } }]);
      if (isTerminalState(row.state) || (await waitsForClient(call, row))) return;
      yield* items(call, followTask(call, { taskId: row.id, after: { seq: row.last_seq, part: null }, stopAtInterruption: true }));
    },

    async *resubscribe(params: SubscribeToTaskRequest) {
      needsStreaming();
      const from = resumePosition(call);
      const row = await readTaskRow(call, taskId(params.id));
      const missedNothing = from === null || from.seq > row.last_seq || (from.seq === row.last_seq && from.part === null);
      if (isTerminalState(row.state) && missedNothing) throw new UnsupportedOperationError('The task is over: get it instead.');
      if (from !== null && from.seq > row.last_seq) throw wrong('/Last-Event-ID', 'Last-Event-ID must be the id of an event of this stream');
      if (from === null) yield* items(call, [{ id: String(row.last_seq), update: { task: await showTask(call, row) } }]);
      yield* items(call, followTask(call, { taskId: row.id, after: from ?? { seq: row.last_seq, part: null }, stopAtInterruption: false }));
    },

    async getTask({ id, historyLength }: GetTaskRequest) {
      const length = lengthOf(historyLength);
      return Task.fromJSON(await readTask(call, taskId(id), { historyLength: length }));
    },

    listTasks: (params) => listTasks(call, params),

    async cancelTask({ id }: CancelTaskRequest) {
      const row = await readTaskRow(call, taskId(id));
      if (isTerminalState(row.state)) throw notCancelable();
      const signals = await inTransaction(fork, (em) => commandRun(em, call.actor, row.id, 'cancel')).catch((error: unknown) => {
        throw error instanceof AppError && error.code === 'run_finished' ? notCancelable() : error;
      });
      await afterCommit(call, () => deliverSignals(deps, signals));
      const ended = await cancelled(call, row.id);
      if (isTerminalState(ended.state) && ended.state !== 'TASK_STATE_CANCELED') throw notCancelable();
      return Task.fromJSON(await showTask(call, ended));
    },

    async createTaskPushNotificationConfig(params: TaskPushNotificationConfig) {
      needsPush();
      const row = await readTaskRow(call, taskId(params.taskId));
      const saved = await inTransaction(fork, (em) => savePushConfig(em, deps.encryption, { ...pushConfig(params, call), taskId: row.id }, call.version));
      return PushConfigCodec.fromJSON({ ...saved, tenant: params.tenant });
    },

    async getTaskPushNotificationConfig({ taskId: task, id, tenant }: GetTaskPushNotificationConfigRequest) {
      needsPush();
      const row = await readTaskRow(call, taskId(task));
      // 0.3 may leave the id out: the task's first.
      const found = id === '' ? (await listPushConfigs(fork(), deps.encryption, row.id))[0] : undefined;
      return PushConfigCodec.fromJSON({ ...(found ?? (await getPushConfig(fork(), deps.encryption, row.id, id))), tenant });
    },

    async listTaskPushNotificationConfigs({ taskId: task, tenant }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
      needsPush();
      const row = await readTaskRow(call, taskId(task));
      const configs = await listPushConfigs(fork(), deps.encryption, row.id);
      return { configs: configs.map((config) => PushConfigCodec.fromJSON({ ...config, tenant })), nextPageToken: '' };
    },

    async deleteTaskPushNotificationConfig({ taskId: task, id }: DeleteTaskPushNotificationConfigRequest) {
      needsPush();
      const row = await readTaskRow(call, taskId(task));
      await inTransaction(fork, (em) => deletePushConfig(em, row.id, id));
    },
  });
}

/** The message's transaction, then its start and signals: what they lose, the reconciler repeats. */
async function send(call: A2ACall, params: SendMessageRequest): Promise<Sent> {
  const { deps, target, actor } = call;
  needsExtensions(call);
  if (!params.message) throw invalid([{ pointer: '/message', code: 'required', message: 'message is required' }]);
  lengthOf(params.configuration?.historyLength);
  const push = params.configuration?.taskPushNotificationConfig;
  if (push && !target.agent.capabilities_push) throw new PushNotificationNotSupportedError();
  // The codec writes ProtoJSON, which these are.
  const json = SendMessageRequest.toJSON(params) as { message: Partial<A2AMessage> };
  const message = { messageId: '', parts: [], ...json.message } as A2AMessage;
  checkMessage(message);
  // Refused before a byte is stored.
  if (!message.taskId) checkInputModes(message, target.modes.input);
  const files = await receiveMessageFiles({ store: deps.files, em: deps.orm.em.fork(), actor, baseUrl: deps.env.BASE_URL }, message);
  let kept = false;
  try {
    const sent = await inTransaction(() => deps.orm.em.fork(), async (em) => {
      const received = await receiveMessage(em, actor, target, {
        message: files.message,
        acceptedOutputModes: params.configuration?.acceptedOutputModes ?? [],
        metadata: params.metadata && Object.keys(params.metadata).length > 0 ? params.metadata : null,
        fileOf: (part) => files.fileOf(part),
      });
      if (received.created) await files.keep(em, { id: received.taskId, owner_id: actor.id });
      if (push) await savePushConfig(em, deps.encryption, { ...pushConfig(push, call), taskId: received.taskId }, call.version);
      return received;
    });
    kept = sent.created;
    return await dispatch(call, sent);
  } finally {
    if (!kept) await files.discard();
  }
}

async function dispatch(call: A2ACall, sent: Sent): Promise<Sent> {
  await afterCommit(call, async () => {
    if (sent.created) await startRun(call.deps, sent.taskId);
    await deliverSignals(call.deps, sent.signals);
  });
  return sent;
}

/** As for endpoints: what is committed has happened, and the reconciler repeats what failed here. */
async function afterCommit({ deps, requestId }: A2ACall, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    deps.logger.error({ err: error, request_id: requestId }, 'failed after the commit');
  }
}

function needsExtensions({ target, extensions }: A2ACall): void {
  const missing = target.extensions.filter(({ uri, required }) => required && !extensions.includes(uri)).map(({ uri }) => uri);
  if (missing.length > 0) throw new ExtensionSupportRequiredError(`This agent needs the extension ${missing.join(', ')}: name it in A2A-Extensions.`);
}

async function listTasks(call: A2ACall, params: ListTasksRequest): Promise<ListTasksResponse> {
  const pageSize = params.pageSize ?? DEFAULT_PAGE;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE) throw wrong('/pageSize', `pageSize must be an integer from 1 to ${MAX_PAGE}`);
  const state = params.status === TaskState.TASK_STATE_UNSPECIFIED ? undefined : TASK_STATES.find((known) => known === taskStateToJSON(params.status));
  if (state === undefined && params.status !== TaskState.TASK_STATE_UNSPECIFIED) throw wrong('/status', 'status must be a task state');
  const changedAfter = params.statusTimestampAfter || undefined;
  if (changedAfter !== undefined && Number.isNaN(Date.parse(changedAfter))) throw wrong('/statusTimestampAfter', 'statusTimestampAfter must be an RFC 3339 time');
  const historyLength = lengthOf(params.historyLength);
  const em = call.deps.orm.em.fork();
  const { contextId, pageToken } = params;
  const page = await listTaskRows(em, call.actor, call.target.agent.id, { contextId, state, changedAfter, pageToken, pageSize });
  const messages = await readMessages(em, page.rows, historyLength);
  const tasks = [];
  for (const row of page.rows) {
    const options = { historyLength, artifacts: params.includeArtifacts === true };
    tasks.push(Task.fromJSON(presentTask(row, messages.get(row.id) ?? [], await presenting(call, em, row), options)));
  }
  return { tasks, nextPageToken: page.nextPageToken, pageSize, totalSize: page.totalSize };
}

/** An agent that answers with a message: for who waited for the end. */
function replyOf(row: TaskRow): A2AMessage | null {
  const { message } = contentOf(row.status === 'completed' ? row.output : null, row.accepted_output_modes, () => null);
  return message && agentMessage(row, 'reply', message);
}

async function cancelled(call: A2ACall, id: string): Promise<TaskRow> {
  const until = Date.now() + CANCEL_WAIT_MS;
  const watch = call.deps.runEvents.watch(id);
  try {
    for (;;) {
      const row = await readTaskRow(call, id);
      const left = until - Date.now();
      if (isTerminalState(row.state) || left <= 0 || call.signal.aborted) return row;
      await watch.next(left);
    }
  } finally {
    watch.close();
  }
}

/** Items as the SDK's events; their ids go aside, for who writes the stream. */
async function* items(call: A2ACall, source: ItemStream | A2AStreamItem[]): AsyncGenerator<StreamResponse, void, undefined> {
  for await (const { id, update } of source) {
    call.lastItem.id = id;
    yield StreamResponse.fromJSON(update);
  }
}

/** In 0.3 a config without an id is the task's one: setting it again replaces it. */
function pushConfig({ id, url, token, authentication }: TaskPushNotificationConfig, { version }: A2ACall): Omit<A2APushConfig, 'taskId'> {
  return {
    id: id === '' && version === '0.3' ? 'default' : id,
    url,
    ...(token ? { token } : {}),
    ...(authentication?.scheme ? { authentication: { scheme: authentication.scheme, ...(authentication.credentials ? { credentials: authentication.credentials } : {}) } } : {}),
  };
}

function lengthOf(historyLength: number | undefined): number | undefined {
  if (historyLength === undefined) return undefined;
  if (!Number.isInteger(historyLength) || historyLength < 0) throw wrong('/historyLength', 'historyLength must be an integer, 0 or more');
  return historyLength;
}

function taskId(id: unknown): string {
  if (typeof id !== 'string' || id.trim() === '') throw wrong('/id', 'the task id is required');
  return id;
}

function wrong(pointer: string, message: string): AppError {
  return invalid([{ pointer, code: 'invalid', message }]);
}

function notCancelable(): AppError {
  return new AppError('conflict', 'task_not_cancelable', 'The task is over: it cannot be cancelled.');
}
