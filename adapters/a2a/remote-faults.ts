/**
 * Turns a remote agent's refusals and failures into errors of the definition language, and decides which may
 * be temporary.
 */
import { TaskState, type Task } from '@a2a-js/sdk';
import { A2AError } from '@a2a-js/sdk/errors';
import { Fault, fault } from '../../contracts/fault.ts';
import type { Words } from '../http/message.ts';
import { textOf } from './part-values.ts';

const MAX_REASON_LENGTH = 1_000;

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

/** Any error of the SDK or the connection as a `Fault`. */
export function remoteFault(error: unknown, agentName: string, { quote }: Words): Fault {
  if (error instanceof Fault) return error;
  const inner = protocolError(error);
  if (inner !== null) {
    const [name, status] = BY_REASON[inner.reason] ?? ['communication', 502];
    return fault(name, `${agentName} refused: ${quote(inner.message, MAX_REASON_LENGTH)}`, {
      status,
      cause: error,
    });
  }
  const message = error instanceof Error ? error.message : String(error);
  return fault(
    'communication',
    `${agentName} did not answer as A2A demands: ${quote(message, MAX_REASON_LENGTH)}`,
    {
      status: 502,
      cause: error,
    },
  );
}

/**
 * Whether the agent itself refuses, so that repeating gives the same. Otherwise the connection broke or the
 * response was invalid.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof Fault) {
    const { status } = error.error;
    return status < 500 && status !== 408 && status !== 429;
  }
  const inner = protocolError(error);
  return inner !== null && inner.reason !== 'INTERNAL_ERROR';
}

/** The SDK wraps errors that occur in a stream. */
function protocolError(error: unknown): A2AError | null {
  if (error instanceof A2AError) return error;
  return error instanceof Error && error.cause instanceof A2AError ? error.cause : null;
}

/** The fault for a failed, cancelled or rejected task; null for other states. */
export function stateFault(task: Task, agentName: string, { quote }: Words): Fault | null {
  const statusText = quote(textOf(task.status?.message?.parts ?? []), MAX_REASON_LENGTH);
  const why = statusText === '' ? '' : `: ${statusText}`;
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
