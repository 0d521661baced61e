/** The state of an A2A task, from the run that it is. */
import { CREDENTIAL_REQUEST, type A2ATaskState } from '../../contracts/a2a/objects.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { RunEnd, RunStatus, TerminalStatus } from '../../contracts/run-events.ts';

/** The state of a task that asks people, if the subjects of all its questions have this type. */
export const STATE_BY_SUBJECT: Readonly<Record<string, A2ATaskState>> = {
  [CREDENTIAL_REQUEST]: 'TASK_STATE_AUTH_REQUIRED',
};

/** The state of a run that has not ended; `asks`: it waits for people. */
export function stateOfRun({
  status,
  asks,
}: {
  status: Exclude<RunStatus, TerminalStatus>;
  asks: boolean;
}): A2ATaskState {
  if (status === 'pending') return 'TASK_STATE_SUBMITTED';
  return status === 'waiting' && asks ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_WORKING';
}

/**
 * Rejected are runs whose output is a person's decision `reject`, and runs that a policy, a budget or the
 * workflow refused with the standard error `authorization`.
 */
export function stateOfEnd({ status, output, error }: RunEnd): A2ATaskState {
  switch (status) {
    case 'cancelled':
      return 'TASK_STATE_CANCELED';
    case 'completed':
      return isRejection(output) ? 'TASK_STATE_REJECTED' : 'TASK_STATE_COMPLETED';
    case 'faulted':
      return /\/authorization\/?$/.test(error?.type ?? '') ? 'TASK_STATE_REJECTED' : 'TASK_STATE_FAILED';
  }
}

function isRejection(output: unknown): boolean {
  if (!isRecord(output)) return false;
  const { decision, decided_by: by, decided_at: at } = output;
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  return decision === 'reject' && isGiven(by) && isGiven(at);
}
