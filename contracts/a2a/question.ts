/** The agent's message that asks people. Built at each reading: human tasks keep what it shows. */
import type { HumanTaskRequest } from '../hitl.ts';
import type { A2AMessage } from './objects.ts';

/** What a question shows of a human task. */
export type AskedTask = Pick<
  HumanTaskRequest,
  'id' | 'task_name' | 'title' | 'description' | 'subject' | 'form_schema' | 'decisions' | 'expires_at'
>;

/** For each human task a text, and a `hitl_request` as data. */
export function questionOf(
  { id, task_id: taskId, context_id: contextId }: { id: string; task_id: string; context_id: string },
  tasks: readonly AskedTask[],
): A2AMessage {
  return {
    messageId: id,
    contextId,
    taskId,
    role: 'ROLE_AGENT',
    parts: tasks.flatMap((task) => [
      { mediaType: 'text/plain', text: textOf(task) },
      { mediaType: 'application/json', data: requestOf(task) },
    ]),
  };
}

function textOf({ title, description, decisions }: AskedTask): string {
  const lines = [title];
  if (description) lines.push(description);
  if (decisions.length > 0) lines.push(`Decisions: ${decisions.map(({ id }) => id).join(', ')}.`);
  return lines.join('\n');
}

function requestOf({ task_name: name, ...task }: AskedTask): Record<string, unknown> {
  return { type: 'hitl_request', name, ...task };
}
