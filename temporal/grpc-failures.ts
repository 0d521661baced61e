/** Classifies failures of calls to Temporal's server. */
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { FileStoreUnavailable } from '../domain/files/ports.ts';
import { TemporalRefused } from '../domain/ports.ts';

/** gRPC status codes. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;
const MAX_REFUSAL_LENGTH = 500;
/**
 * CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE: transient, so the call
 * may be repeated.
 */
const TRANSIENT = [1, 4, 8, 10, 13, 14];

/** Whether Temporal, or the store of large payloads, could not serve the call now. */
export function isUnavailable(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      TRANSIENT.includes(grpcCodeOf(cause) ?? 0) ||
      // A large value could not be stored: treat it like an unavailable Temporal, so the row is retried.
      cause instanceof FileStoreUnavailable,
  );
}

/** Whether there is no such execution, or it is closed. */
function isGone(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || isNotFound(error);
}

/** Of a call of the service itself; those of the SDK's clients throw classes. */
export function isNotFound(error: unknown): boolean {
  return grpcCodeOf(error) === NOT_FOUND;
}

/** @returns `gone` if there is no such execution, or it is closed */
export async function unlessGone<T>(gone: T, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isGone(error)) return gone;
    throw error;
  }
}

/** Whether the state of the server, or of its workers, does not allow the call. */
export function isTooEarly(error: unknown): boolean {
  return grpcCodeOf(error) === FAILED_PRECONDITION;
}

/**
 * Whether the server does not have a search attribute that the call names. The text decides, because the
 * server gives nothing else: each invalid argument has the same code, and its details
 * (`temporal.api.errordetails.v1.InvalidArgumentFailure`) have no fields.
 */
export function isUnknownSearchAttribute(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => grpcCodeOf(cause) === INVALID_ARGUMENT && /search attribute/i.test(cause.message),
  );
}

/** Why the server refuses what a call asks for, in its words; null for other failures. */
export function refusalOf(error: unknown): string | null {
  const refusal = causesOf(error).find((cause) => grpcCodeOf(cause) === INVALID_ARGUMENT);
  if (!isGrpcServiceError(refusal)) return null;
  return (refusal.details || refusal.message).slice(0, MAX_REFUSAL_LENGTH);
}

/** Codes by which a server refuses a call for good. NOT_FOUND and those that are transient have meanings. */
const REFUSALS: Readonly<Record<number, string>> = {
  3: 'INVALID_ARGUMENT',
  6: 'ALREADY_EXISTS',
  7: 'PERMISSION_DENIED',
  9: 'FAILED_PRECONDITION',
  11: 'OUT_OF_RANGE',
  12: 'UNIMPLEMENTED',
  15: 'DATA_LOSS',
  16: 'UNAUTHENTICATED',
};

/** Makes a call whose refusal the caller tells from an outage. @throws TemporalRefused */
export async function orRefused<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const [status] = causesOf(error).flatMap((cause) => REFUSALS[grpcCodeOf(cause) ?? 0] ?? []);
    if (status === undefined || isUnavailable(error)) throw error;
    throw new TemporalRefused(status, { cause: error });
  }
}

function grpcCodeOf(error: unknown): number | null {
  return isGrpcServiceError(error) ? Number(error.code) : null;
}

/** The error and all its causes; the SDK wraps errors of the server. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}
