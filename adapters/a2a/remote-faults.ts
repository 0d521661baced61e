/** What a remote agent refuses or fails with, as the definition language's errors; and which of it may pass by itself. */
import { TaskState } from '@a2a-js/sdk';
import type { Task } from '@a2a-js/sdk';
import { A2AError } from '@a2a-js/sdk/errors';
import { Fault, fault } from '../../contracts/fault.ts';
import { textOf } from './part-values.ts';

const MAX_LENGTH = 1_000;

const BY_REASON: Record<string, [name: Parameters<typeof fault>[0], status: number]> = {
  TASK_NOT_FOUND: ['communication', 404],
  TASK_NOT_CANCELABLE: ['communication', 409],
  UNSUPPORTED_OPERATION: ['communication', 501],
  PUSH_NOTIFICATION_NOT_SUPPORTED: ['communication', 501],
  CONTENT_TYPE_NOT_SUPPORTED: ['validation', 415],
  INVALID_PARAMS: ['validation', 400],
  INVALID_AGENT_RESPONSE: ['communication', 502],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: ['configuration', 400],
  EXTENSION_SUPPORT_REQUIRED: ['configuration', 400],
  VERSION_NOT_SUPPORTED: ['configuration', 400],
};

/** Not the agent's: what failed on our side while we talked to it. */
export class OwnFailure extends Error {
  constructor(cause: unknown) {
    super('a failure of our own', { cause });
  }
}

/** Any error of the SDK or the way out as a `Fault`. */
export function remoteFault(error: unknown, agentName: string): Fault {
  if (error instanceof Fault) return error;
  const inner = protocolError(error);
  if (inner !== null) {
    const [name, status] = BY_REASON[inner.reason] ?? ['communication', 502];
    return fault(name, `${agentName} refused: ${short(inner.message)}`, { status, cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  return fault('communication', `${agentName} did not answer as A2A demands: ${short(message)}`, { status: 502, cause: error });
}

/** The agent's own no: asking again gives the same. Else the connection broke, or the answer was no answer. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof Fault) {
    const { status } = error.error;
    return status < 500 && status !== 408 && status !== 429;
  }
  const inner = protocolError(error);
  return inner !== null && inner.reason !== 'INTERNAL_ERROR';
}

/** Errors in a stream come wrapped. */
function protocolError(error: unknown): A2AError | null {
  if (error instanceof A2AError) return error;
  return error instanceof Error && error.cause instanceof A2AError ? error.cause : null;
}

/** The fault of a state that is no success, or null. */
export function stateFault(task: Task, agentName: string): Fault | null {
  const said = short(textOf(task.status?.message?.parts ?? []));
  const why = said === '' ? '' : `: ${said}`;
  switch (task.status?.state) {
    case TaskState.TASK_STATE_FAILED:
      return fault('communication', `${agentName} failed${why}`);
    case TaskState.TASK_STATE_CANCELED:
      return fault('communication', `${agentName} cancelled its task${why}`);
    case TaskState.TASK_STATE_REJECTED:
      return fault('authorization', `${agentName} rejected the task${why}`);
    default:
      return null;
  }
}

function short(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim().slice(0, MAX_LENGTH);
}
