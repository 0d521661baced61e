/**
 * The run's events as stream updates. A pure function of the event, the task's row and its messages, so
 * streams, replays and push notifications show the same updates under the same ids.
 */
import type { A2AMessage, A2AStreamItem, A2ATaskState, A2AUpdate } from './objects.ts';
import { EVENT } from '../run-events.ts';
import { contentOf } from './content.ts';
import { agentMessage, asked, failure, shownMessage, stateOfQuestion, type Presenting } from './task.ts';
import type { ServedTask, StoredMessage } from './served-task.ts';

export interface UpdateSource {
  seq: number;
  at: Date;
  type: string;
  data: Record<string, unknown>;
}

/**
 * Zero or more updates with ids in order: `seq.1`, `seq.2`, …, and `seq` for the last. `row` must be as new
 * as the event.
 */
export function updatesOf(
  event: UpdateSource,
  row: ServedTask,
  messages: readonly StoredMessage[],
  presenting: Presenting,
): A2AStreamItem[] {
  const updates = plainUpdates(event, row, messages, presenting);
  return updates.map((update, index) => ({
    id: index === updates.length - 1 ? `${event.seq}` : `${event.seq}.${index + 1}`,
    update,
  }));
}

function plainUpdates(
  event: UpdateSource,
  row: ServedTask,
  messages: readonly StoredMessage[],
  presenting: Presenting,
): A2AUpdate[] {
  switch (event.type) {
    case EVENT.runStarted:
    case EVENT.runInputReceived:
      return [statusUpdate(event, row, 'TASK_STATE_WORKING')];
    case EVENT.taskStarted: {
      if (!presenting.inside) return [];
      const { name } = event.data;
      const metadata = typeof name === 'string' ? { step: name } : undefined;
      return [statusUpdate(event, row, 'TASK_STATE_WORKING', { metadata })];
    }
    case EVENT.runSuspended:
      return [statusUpdate(event, row, 'TASK_STATE_WORKING', { metadata: { paused: true } })];
    case EVENT.runResumed:
      return [statusUpdate(event, row, 'TASK_STATE_WORKING', { metadata: { paused: false } })];
    case EVENT.runInputRequired:
      return [questionUpdate(event, row, messages, presenting)];
    case EVENT.runCompleted:
      return completedUpdates(event, row, presenting);
    case EVENT.runFaulted:
      return [statusUpdate(event, row, row.state, { message: failure(row, presenting) })];
    case EVENT.runCancelled:
      return [statusUpdate(event, row, 'TASK_STATE_CANCELED')];
    default:
      return [];
  }
}

function statusUpdate(
  event: UpdateSource,
  row: ServedTask,
  state: A2ATaskState,
  {
    message,
    metadata,
  }: { message?: A2AMessage | undefined; metadata?: Record<string, unknown> | undefined } = {},
): A2AUpdate {
  return {
    statusUpdate: {
      taskId: row.id,
      contextId: row.context_id,
      status: { state, ...(message ? { message } : {}), timestamp: new Date(event.at).toISOString() },
      ...(metadata ? { metadata } : {}),
    },
  };
}

function questionUpdate(
  event: UpdateSource,
  row: ServedTask,
  messages: readonly StoredMessage[],
  presenting: Presenting,
): A2AUpdate {
  const question = messages.find(
    ({ seq, message: { role } }) => seq === event.seq && role === 'ROLE_AGENT',
  )?.message;
  const shown = question && shownMessage(question, presenting);
  return statusUpdate(event, row, stateOfQuestion(question), {
    message: shown ? asked(shown, presenting) : undefined,
  });
}

/** The artifacts, then the end, with the agent's reply if it answers with a message. */
function completedUpdates(event: UpdateSource, row: ServedTask, presenting: Presenting): A2AUpdate[] {
  const { artifacts, message } = contentOf(row.output, row.accepted_output_modes, presenting.link);
  return [
    ...artifacts.map((artifact) => ({
      artifactUpdate: { taskId: row.id, contextId: row.context_id, artifact, lastChunk: true },
    })),
    statusUpdate(event, row, row.state, {
      message: message === null ? undefined : agentMessage(row, 'reply', message),
    }),
  ];
}

/**
 * The position of a client's `Last-Event-ID`: after `part` updates of event `seq`, or after all of them if
 * `part` is null. Null if the id is not one of ours.
 */
export function parsePosition(id: string): { seq: number; part: number | null } | null {
  const match = /^(\d{1,9})(?:\.(\d{1,4}))?$/.exec(id.trim());
  return match ? { seq: Number(match[1]), part: match[2] === undefined ? null : Number(match[2]) } : null;
}
