import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { FAILURE } from '../../contracts/activities.ts';
import { standardError, type DslError, type StandardErrorName } from '../../contracts/dsl-error.ts';

/** An error of the definition language on its way to a `catch`, or out of the run. */
export class DslFault extends Error {
  readonly error: DslError;
  /** What a call of an agent has used before it failed: `usage`, `agent_id`, `agent_version`. */
  readonly spent: Record<string, unknown>;
  /** What a child run had used before it ended, which its own record counts. */
  childUsage?: Record<string, number>;

  constructor(error: DslError, spent: Record<string, unknown> = {}) {
    super(error.detail ?? error.title ?? error.type);
    this.name = 'DslFault';
    this.error = error;
    this.spent = spent;
  }
}

export function fault(name: StandardErrorName, detail: string, instance: string): DslFault {
  return new DslFault(standardError(name, detail, { instance }));
}

/**
 * A limit of the whole run is reached. No `catch` handles it, because everything after it would exceed the
 * limit, too.
 */
export class RunLimitFault extends DslFault {}

export function limitFault(detail: string, instance: string): RunLimitFault {
  return new RunLimitFault(standardError('runtime', `limit exceeded: ${detail}`, { instance }));
}

/** The run's row is terminal, so the workflow has nothing left to do. */
export class RunClosed extends Error {}

/** The failure that an activity reported. Local activities' failures arrive without a wrapper. */
export function failureOfActivity(error: unknown): ApplicationFailure | null {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  return failure instanceof ApplicationFailure ? failure : null;
}

/** The task queue where a short call goes on that was handed over; null: it was not. */
export function handedOverTo(error: unknown): string | null {
  const failure = failureOfActivity(error);
  if (failure?.type !== FAILURE.handedOver) return null;
  const [queue] = (failure.details ?? []) as [string?];
  return queue ?? null;
}

export function isFault(error: unknown): boolean {
  return failureOfActivity(error)?.type === FAILURE.fault;
}

/** The DSL's error that an activity reported; null if the failure is not the counterpart's. */
export function faultOfActivity(failure: unknown, instance: string): DslFault | null {
  if (!isFault(failure)) return null;
  const [error, spent] = (failureOfActivity(failure)?.details ?? []) as [DslError?, Record<string, unknown>?];
  return error ? new DslFault({ ...error, instance }, spent) : null;
}

export function isRunClosed(failure: unknown): boolean {
  return failure instanceof RunClosed || failureOfActivity(failure)?.type === FAILURE.closed;
}
