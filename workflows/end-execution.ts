/**
 * Ends a run's execution after the run's row is closed, so that operators see the result in Temporal's UI,
 * lists and metrics.
 */
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { isCancellation } from '@temporalio/workflow';
import type { RunEnd } from '../contracts/run-events.ts';
import { standardError, standardErrorName, type DslError } from '../contracts/dsl-error.ts';
import { writing } from './interpreter/activities.ts';
import type { Execution } from './interpreter/execution.ts';

const MAX_DETAIL = 500;
const MAX_TYPE = 200;
/** Replaces a type that may contain data. */
const OTHER_TYPE = 'RunFaulted';

/**
 * Returns for a completed run. @throws the error that fails or cancels the execution, for a faulted or
 * cancelled run
 */
export async function endExecution(
  execution: Execution,
  end: RunEnd,
  cancelledOnTemporal: boolean,
): Promise<void> {
  if (end.status === 'faulted') throw failureOf(execution, end.error ?? standardError('runtime', 'unknown'));
  if (end.status === 'completed') return;
  // Temporal shows an execution as cancelled only if its cancellation was requested.
  if (!cancelledOnTemporal) await askToCancel(execution);
  throw new CancelledFailure('The run was cancelled');
}

async function askToCancel(execution: Execution): Promise<void> {
  try {
    await writing((activities) => activities.cancelExecution({ run_id: execution.start.run_id }));
  } catch (error) {
    // The row is closed, so the execution's status is not worth further attempts.
    if (isCancellation(error)) throw error;
  }
}

/**
 * Message and stack are encrypted, but the type is not, so a type computed by an expression is only put into
 * the message. Not retryable, and benign: the definition failed, not the worker.
 */
function failureOf(execution: Execution, { type, title, detail, instance }: DslError): ApplicationFailure {
  const shown =
    type.length <= MAX_TYPE && (standardErrorName(type) !== null || isWrittenIn(execution.definition, type))
      ? type
      : OTHER_TYPE;
  const reason =
    [title, detail].filter((text) => text !== undefined && text !== '').join(': ') || 'The run faulted';
  const message = `${instance ?? ''} ${reason.slice(0, MAX_DETAIL)} (${type.slice(0, MAX_TYPE)})`.trimStart();
  const failure = ApplicationFailure.create({
    message,
    type: shown,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
  // The stack is the interpreter's and says nothing about the run.
  failure.stack = '';
  return failure;
}

/** Whether any string of the definition equals `text`. */
function isWrittenIn(definition: unknown, text: string): boolean {
  if (typeof definition !== 'object' || definition === null) return definition === text;
  return Object.values(definition).some((value) => isWrittenIn(value, text));
}
