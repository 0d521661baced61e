/**
 * The run's events as stream updates. A pure function of the event, the task's row and its messages, so that streams, replays
 * and webhooks show the same under the same ids.
 */
import type { A2AStreamItem, A2ATaskStatus, A2AUpdate } from '../../contracts/a2a.ts';
import { EVENT } from '../../contracts/run-events.ts';
import { contentOf } from './output.ts';
import { agentMessage, asked, stateOfQuestion } from './present.ts';
import type { Presenting } from './present.ts';
import { reasonOf } from './state.ts';
import type { StoredMessage, TaskRow } from './task-row.ts';

export interface UpdateSource {
  seq: number;
  at: Date;
  type: string;
  data: Record<string, unknown>;
}

/** Zero or more updates, their ids in order: `seq.1`, …, and `seq` for the last. `row` as of this event or later. */
export function updatesOf(event: UpdateSource, row: TaskRow, messages: readonly StoredMessage[], presenting: Presenting): A2AStreamItem[] {
  const updates = plainUpdates(event, row, messages, presenting);
  return updates.map((update, index) => ({ id: index === updates.length - 1 ? `${event.seq}` : `${event.seq}.${index + 1}`, update }));
}

function plainUpdates(event: UpdateSource, row: TaskRow, messages: readonly StoredMessage[], presenting: Presenting): A2AUpdate[] {
  const status = (state: A2ATaskStatus['state'], more: Pick<A2ATaskStatus, 'message'> = {}, metadata?: Record<string, unknown>): A2AUpdate => ({
    statusUpdate: {
      taskId: row.id,
      contextId: row.context_id,
      status: { state, ...more, timestamp: new Date(event.at).toISOString() },
      ...(metadata ? { metadata } : {}),
    },
  });
  switch (event.type) {
    case EVENT.runStarted:
    case EVENT.runInputReceived:
      return [status('TASK_STATE_WORKING')];
    case EVENT.taskStarted:
      return [status('TASK_STATE_WORKING', {}, typeof event.data['name'] === 'string' ? { step: event.data['name'] } : undefined)];
    case EVENT.runSuspended:
      return [status('TASK_STATE_WORKING', {}, { paused: true })];
    case EVENT.runResumed:
      return [status('TASK_STATE_WORKING', {}, { paused: false })];
    case EVENT.runInputRequired: {
      const question = messages.find(({ seq, message }) => seq === event.seq && message.role === 'ROLE_AGENT');
      return [status(stateOfQuestion(question?.message), question ? { message: asked(question.message, presenting) } : {})];
    }
    case EVENT.runCompleted: {
      const { artifacts, message } = contentOf(row.output, row.accepted_output_modes, presenting.link);
      const ends = status(row.state, message ? { message: agentMessage(row, 'reply', message) } : {});
      return [...artifacts.map((artifact) => ({ artifactUpdate: { taskId: row.id, contextId: row.context_id, artifact, lastChunk: true } })), ends];
    }
    case EVENT.runFaulted:
      return [status(row.state, { message: agentMessage(row, 'failure', [{ text: reasonOf(row.error), mediaType: 'text/plain' }]) })];
    case EVENT.runCancelled:
      return [status('TASK_STATE_CANCELED')];
    default:
      return [];
  }
}

/** Where a client's `Last-Event-ID` stands: after `part` updates of event `seq`, or after all of it. Null if it is none of ours. */
export function parsePosition(id: string): { seq: number; part: number | null } | null {
  const match = /^(\d{1,9})(?:\.(\d{1,4}))?$/.exec(id.trim());
  return match ? { seq: Number(match[1]), part: match[2] === undefined ? null : Number(match[2]) } : null;
}
