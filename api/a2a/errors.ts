/** Every failure as an error of the protocol, and that in the shape of each binding. */
import { A2AError, ContentTypeNotSupportedError, PushNotificationNotSupportedError, RequestMalformedError, restStatusFor, TaskNotCancelableError, TaskNotFoundError, toJsonRpcError, toRestErrorBody, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { LegacyA2AError, toLegacyHTTPError } from '@a2a-js/sdk/compat/v0_3/server';

import { AppError, type ErrorKind, type FieldError } from '../../domain/errors.ts';
import { toAppError } from '../middleware/errors.ts';
import type { WireVersion } from '../../domain/a2a/push-configs.ts';

/** JSON-RPC's range for servers: what the protocol has no code for. */
const SERVER_ERROR = -32000;

/** What HTTP and gRPC say of refusals that are not the protocol's. */
interface Outside {
  status: number;
  /** Of google.rpc.Code. */
  name: 'UNAUTHENTICATED' | 'PERMISSION_DENIED' | 'NOT_FOUND' | 'UNIMPLEMENTED' | 'INVALID_ARGUMENT' | 'OUT_OF_RANGE' | 'RESOURCE_EXHAUSTED' | 'UNAVAILABLE';
}

const OUTSIDE: Partial<Record<ErrorKind, Outside>> = {
  unauthorized: { status: 401, name: 'UNAUTHENTICATED' },
  forbidden: { status: 403, name: 'PERMISSION_DENIED' },
  not_found: { status: 404, name: 'NOT_FOUND' },
  method_not_allowed: { status: 405, name: 'UNIMPLEMENTED' },
  unsupported_media_type: { status: 415, name: 'INVALID_ARGUMENT' },
  too_large: { status: 413, name: 'OUT_OF_RANGE' },
  too_many_requests: { status: 429, name: 'RESOURCE_EXHAUSTED' },
  unavailable: { status: 503, name: 'UNAVAILABLE' },
};

/** Kinds of ours that have a word in the protocol, whatever else HTTP would say. */
const PROTOCOL_CODES = new Set(['task_not_found', 'content_type_not_supported']);

/** Also a database that is away, and what lost against others: both pass. */
function knownError(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  const known = toAppError(error);
  return known?.kind === 'unavailable' ? known : null;
}

/** Undefined: the protocol has a word for it, or it is a failure of ours. */
export function outsideOf(error: unknown): Outside | undefined {
  const known = knownError(error);
  return known && !PROTOCOL_CODES.has(known.code) ? OUTSIDE[known.kind] : undefined;
}

const details = new WeakMap<A2AError, FieldError[]>();

export function fieldErrorsOf(error: A2AError): FieldError[] | undefined {
  return details.get(error);
}

/** What a request ended with: the handler's own error, before the library's view of it; a mistake of form where the handler was not asked. */
export function causeOf({ thrown, reached }: { thrown?: unknown; reached?: boolean }, error: unknown): unknown {
  if (thrown !== undefined) return thrown;
  const known = error instanceof AppError || error instanceof A2AError;
  return known || reached === true ? error : new RequestMalformedError('The request does not have the form that the method takes.');
}

/** Never says more of an unknown error than that it happened. */
export function toA2AError(error: unknown): A2AError {
  if (error instanceof A2AError) return error;
  const known = knownError(error);
  if (!known) return new A2AError('Something went wrong on our side. The request id helps to find it in the log.');
  const made = ofAppError(known);
  if (known.errors) details.set(made, known.errors);
  return made;
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

/** 1.0 has ErrorInfo in `data`, and BadRequest with the fields where there are any; 0.3 the fields alone. */
export function jsonRpcError(error: unknown, version: WireVersion): JsonRpcError {
  const a2a = toA2AError(error);
  const fields = details.get(a2a);
  const violations = fields ? [badRequest(fields)] : [];
  if (version === '0.3') {
    const { code, message, data } = toLegacyHTTPError(a2a);
    const said = data ?? (violations.length > 0 ? violations : undefined);
    return { code, message, ...(said === undefined ? {} : { data: said }) };
  }
  const { code, message, data } = toJsonRpcError(a2a);
  const all = [...(Array.isArray(data) ? data : []), ...violations];
  return { code, message, ...(all.length > 0 ? { data: all } : {}) };
}

/** AIP-193 for 1.0; the JSON-RPC error as it is for 0.3. */
export function restError(error: unknown, version: WireVersion): { status: number; body: unknown } {
  const outside = outsideOf(error);
  const a2a = toA2AError(error);
  const status = outside?.status ?? httpStatusOf(a2a);
  // `error` names it, as the Python server of 0.3 does.
  if (version === '0.3') return { status, body: { error: a2a.name, ...jsonRpcError(a2a, version) } };
  const { error: body } = toRestErrorBody(a2a, status);
  const fields = details.get(a2a);
  return { status, body: { error: { ...body, ...(outside ? { status: outside.name } : {}), details: [...(body.details ?? []), ...(fields ? [badRequest(fields)] : [])] } } };
}

/** HTTP status of errors that come before dispatch in JSON-RPC; 200 for the protocol's own. */
export function jsonRpcStatus(error: unknown): number {
  return outsideOf(error)?.status ?? 200;
}

function httpStatusOf(error: A2AError): number {
  const { code } = toLegacyHTTPError(error);
  return code === -32601 ? 404 : restStatusFor(error);
}

function badRequest(fields: readonly FieldError[]): Record<string, unknown> {
  return {
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: fields.map(({ pointer, code, message }) => ({ field: pointer, description: message, reason: code })),
  };
}
