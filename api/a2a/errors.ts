/** Converts failures to A2A errors, and A2A errors to the shape of each binding. */
import {
  A2AError,
  ContentTypeNotSupportedError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  TaskNotCancelableError,
  TaskNotFoundError,
  toJsonRpcError,
  toRestErrorBody,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { LegacyA2AError, toLegacyHTTPError } from '@a2a-js/sdk/compat/v0_3/server';

import { AppError, type ErrorKind, type FieldError } from '../../domain/errors.ts';
import { toAppError } from '../middleware/errors.ts';
import type { WireVersion } from '../../contracts/a2a/objects.ts';

/** JSON-RPC's code for server errors, used where A2A defines no code. */
const SERVER_ERROR = -32000;

/** HTTP status and gRPC code of errors that A2A does not define. */
interface TransportError {
  status: number;
  /** Name in google.rpc.Code. */
  name:
    | 'UNAUTHENTICATED'
    | 'PERMISSION_DENIED'
    | 'NOT_FOUND'
    | 'UNIMPLEMENTED'
    | 'INVALID_ARGUMENT'
    | 'OUT_OF_RANGE'
    | 'RESOURCE_EXHAUSTED'
    | 'UNAVAILABLE';
}

const TRANSPORT_ERRORS: Partial<Record<ErrorKind, TransportError>> = {
  unauthorized: { status: 401, name: 'UNAUTHENTICATED' },
  forbidden: { status: 403, name: 'PERMISSION_DENIED' },
  not_found: { status: 404, name: 'NOT_FOUND' },
  method_not_allowed: { status: 405, name: 'UNIMPLEMENTED' },
  unsupported_media_type: { status: 415, name: 'INVALID_ARGUMENT' },
  too_large: { status: 413, name: 'OUT_OF_RANGE' },
  too_many_requests: { status: 429, name: 'RESOURCE_EXHAUSTED' },
  unavailable: { status: 503, name: 'UNAVAILABLE' },
};

/** Our error codes for which A2A defines an error; that error wins over the HTTP status. */
const PROTOCOL_CODES = new Set(['task_not_found', 'content_type_not_supported']);

/**
 * The error as an AppError if it is one, if it is transient (database unavailable, serialization conflict),
 * or if the caller's account has ended meanwhile.
 */
function knownError(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  const known = toAppError(error);
  return known?.kind === 'unavailable' || known?.kind === 'unauthorized' ? known : null;
}

/** Status of an error that A2A does not define. Undefined for A2A errors and for internal errors. */
export function transportErrorOf(error: unknown): TransportError | undefined {
  const known = knownError(error);
  return known && !PROTOCOL_CODES.has(known.code) ? TRANSPORT_ERRORS[known.kind] : undefined;
}

const details = new WeakMap<A2AError, FieldError[]>();

export function fieldErrorsOf(error: A2AError): FieldError[] | undefined {
  return details.get(error);
}

/**
 * The error to report for a failed request. The handler's own error wins over the SDK's wrapping of it. An
 * unknown error from before the handler ran means that the request is malformed.
 */
export function causeOf(
  { thrown, handlerCalled }: { thrown?: unknown; handlerCalled?: boolean },
  error: unknown,
): unknown {
  if (thrown !== undefined) return thrown;
  const known = error instanceof AppError || error instanceof A2AError;
  return known || handlerCalled === true
    ? error
    : new RequestMalformedError('The request does not have the form that the method expects.');
}

/** Converts any error to an A2A error. An unknown error's message is never exposed. */
export function toA2AError(error: unknown): A2AError {
  if (error instanceof A2AError) return error;
  const known = knownError(error);
  if (!known) return new A2AError('Internal server error. Look up the request id in the log for details.');
  const converted = ofAppError(known);
  if (known.errors) details.set(converted, known.errors);
  return converted;
}

function ofAppError({ code, kind, detail }: AppError): A2AError {
  switch (code) {
    case 'task_not_found':
      return new TaskNotFoundError(detail);
    case 'task_not_cancelable':
      return new TaskNotCancelableError(detail);
    case 'content_type_not_supported':
      return new ContentTypeNotSupportedError(detail);
    case 'push_not_supported':
      return new PushNotificationNotSupportedError(detail);
    default:
  }
  if (kind === 'invalid' || kind === 'bad_request') return new RequestMalformedError(detail);
  if (kind === 'conflict' || kind === 'gone') return new UnsupportedOperationError(detail);
  if (kind === 'unsupported_media_type') return new ContentTypeNotSupportedError(detail);
  return new LegacyA2AError(SERVER_ERROR, detail);
}

export interface JsonRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * The error of a JSON-RPC response. In 1.0, `data` has ErrorInfo, and BadRequest if fields are invalid; in
 * 0.3 it has the fields only.
 */
export function jsonRpcError(error: unknown, version: WireVersion): JsonRpcError {
  const a2a = toA2AError(error);
  const fields = details.get(a2a);
  const violations = fields ? [badRequest(fields)] : [];
  if (version === '0.3') {
    const { code, message, data } = toLegacyHTTPError(a2a);
    const legacyData = data ?? (violations.length > 0 ? violations : undefined);
    return { code, message, ...(legacyData === undefined ? {} : { data: legacyData }) };
  }
  const { code, message, data } = toJsonRpcError(a2a);
  const all = [...(Array.isArray(data) ? data : []), ...violations];
  return { code, message, ...(all.length > 0 ? { data: all } : {}) };
}

/** The error of a REST response: AIP-193 in 1.0, the JSON-RPC error object in 0.3. */
export function restError(error: unknown, version: WireVersion): { status: number; body: unknown } {
  const transportError = transportErrorOf(error);
  const a2a = toA2AError(error);
  const status = transportError?.status ?? httpStatusOf(a2a);
  // The Python server of 0.3 also gives the error's name in `error`.
  if (version === '0.3') return { status, body: { error: a2a.name, ...jsonRpcError(a2a, version) } };
  const { error: body } = toRestErrorBody(a2a, status);
  const fields = details.get(a2a);
  return {
    status,
    body: {
      error: {
        ...body,
        ...(transportError ? { status: transportError.name } : {}),
        details: [...(body.details ?? []), ...(fields ? [badRequest(fields)] : [])],
      },
    },
  };
}

/** HTTP status of a JSON-RPC error response: 200 for A2A errors, else the status of the transport error. */
export function jsonRpcStatus(error: unknown): number {
  return transportErrorOf(error)?.status ?? 200;
}

function httpStatusOf(error: A2AError): number {
  const { code } = toLegacyHTTPError(error);
  return code === -32601 ? 404 : restStatusFor(error);
}

function badRequest(fields: readonly FieldError[]): Record<string, unknown> {
  return {
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: fields.map(({ pointer, code, message }) => ({
      field: pointer,
      description: message,
      reason: code,
    })),
  };
}
