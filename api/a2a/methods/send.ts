/** The methods that send a message. */
import { Message, Task, type SendMessageRequest } from '@a2a-js/sdk';
import { UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { contentOf } from '../../../contracts/a2a/content.ts';
import { isTerminalState, type A2AMessage } from '../../../contracts/a2a/objects.ts';
import { agentMessage } from '../../../contracts/a2a/task.ts';
import type { TaskRow } from '../../../domain/a2a/task-row.ts';
import type { A2ACall } from '../call.ts';
import { followTask, readTaskRow, settled, showTask, waitsForClient } from '../task-reader.ts';
import { acceptMessage } from './accept-message.ts';
import { historyLengthOf } from './fields.ts';
import { streamItems, type EventStream } from './stream-items.ts';

/** Answers when the task is over or waits for its client; at once if the caller asks for that. */
export async function sendMessage(call: A2ACall, params: SendMessageRequest): Promise<Message | Task> {
  const sent = await acceptMessage(call, params);
  const historyLength = historyLengthOf(params.configuration?.historyLength);
  const waits = params.configuration?.returnImmediately !== true;
  const { row, now } = waits
    ? await settled(call, sent.taskId)
    : { row: await readTaskRow(call, sent.taskId), now: call };
  const reply = waits ? replyOf(row) : null;
  return reply ? Message.fromJSON(reply) : Task.fromJSON(await showTask(now, row, { historyLength }));
}

export async function* streamMessage(call: A2ACall, params: SendMessageRequest): EventStream {
  requireStreaming(call);
  const historyLength = historyLengthOf(params.configuration?.historyLength);
  const sent = await acceptMessage(call, params);
  const row = await readTaskRow(call, sent.taskId);
  const task = await showTask(call, row, { historyLength });
  yield* streamItems(call, [{ id: String(row.last_seq), update: { task } }]);
  if (isTerminalState(row.state) || (await waitsForClient(call, row))) return;
  const after = { seq: row.last_seq, part: null };
  yield* streamItems(call, followTask(call, { taskId: row.id, after, stopAtInterruption: true }));
}

export function requireStreaming({ target }: A2ACall): void {
  if (!target.agent.capabilities_streaming)
    throw new UnsupportedOperationError('This agent does not support streaming.');
}

/**
 * The message of an agent that replies with a message instead of a task, for callers that waited for the end.
 */
function replyOf(row: TaskRow): A2AMessage | null {
  const output = row.status === 'completed' ? row.output : null;
  const { message } = contentOf(output, row.accepted_output_modes, () => null);
  return message && agentMessage(row, 'reply', message);
}
