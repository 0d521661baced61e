import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { FAILURE } from '../../contracts/activities.ts';
import { standardError } from '../../contracts/dsl-error.ts';
import type { DslError, StandardErrorName } from '../../contracts/dsl-error.ts';

/** An error of the definition language on its way to a `catch`, or out of the run. */
export class DslFault extends Error {
  readonly error: DslError;

  constructor(error: DslError) {
    super(error.detail ?? error.title ?? error.type);
    this.name = 'DslFault';
    this.error = error;
  }
}

export function fault(name: StandardErrorName, detail: string, instance: string): DslFault {
  return new DslFault(standardError(name, detail, { instance }));
}

/** The run's row is terminal: the workflow has nothing left to do. */
export class RunClosed extends Error {}

export function isFault(failure: unknown): boolean {
  return failure instanceof ActivityFailure && failure.cause instanceof ApplicationFailure && failure.cause.type === FAILURE.fault;
}

/** The DSL's error that an activity reported, or null if the failure is none of the counterpart's. */
export function faultOfActivity(failure: unknown, instance: string): DslFault | null {
  if (!(failure instanceof ActivityFailure) || !(failure.cause instanceof ApplicationFailure) || !isFault(failure)) return null;
  const error = failure.cause.details?.[0] as DslError | undefined;
  return error ? new DslFault({ ...error, instance }) : null;
}

export function isRunClosed(failure: unknown): boolean {
  return (
    failure instanceof RunClosed ||
    (failure instanceof ActivityFailure && failure.cause instanceof ApplicationFailure && failure.cause.type === FAILURE.closed)
  );
}
