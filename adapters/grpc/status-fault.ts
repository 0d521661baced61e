/** Turns errors of gRPC servers into faults, by their status code. */
import { status as code, type ServiceError } from '@grpc/grpc-js';
import { fault, type Fault } from '../../contracts/fault.ts';
import type { Words } from '../http/message.ts';

const MAX_REASON_LENGTH = 500;

/**
 * The corresponding HTTP statuses, for workflows that catch errors by status; 4xx are refusals, 5xx may be
 * temporary.
 */
const BY_CODE: Partial<Record<number, [name: Parameters<typeof fault>[0], status: number]>> = {
  [code.INVALID_ARGUMENT]: ['validation', 400],
  [code.OUT_OF_RANGE]: ['validation', 400],
  [code.UNAUTHENTICATED]: ['authentication', 401],
  [code.PERMISSION_DENIED]: ['authorization', 403],
  [code.NOT_FOUND]: ['communication', 404],
  [code.UNIMPLEMENTED]: ['communication', 405],
  [code.ALREADY_EXISTS]: ['communication', 409],
  [code.FAILED_PRECONDITION]: ['communication', 400],
  [code.RESOURCE_EXHAUSTED]: ['communication', 429],
  [code.UNAVAILABLE]: ['communication', 503],
  [code.DEADLINE_EXCEEDED]: ['communication', 504],
};

/** `host` names the server in the text. */
export function statusFault(error: ServiceError, host: string, { redact, quote }: Words): Fault {
  const [name, status] = BY_CODE[error.code] ?? ['communication', 502];
  if (error.code === code.UNAVAILABLE)
    return fault(name, `${host} ${unavailable(error.details)}`, { status, cause: error });
  const reason = quote(error.details, MAX_REASON_LENGTH);
  return fault(
    name,
    redact(`${host} answered ${code[error.code] ?? error.code}${reason === '' ? '' : `: ${reason}`}`),
    { status, cause: error },
  );
}

/**
 * Our own wording, because the library's message contains addresses. It has one code for every broken
 * connection, so its text tells which it was; that changes only what people read.
 */
function unavailable(details: string): string {
  if (/certificate/i.test(details)) return 'has a certificate that is not trusted';
  return details.includes('ECONNREFUSED') ? 'refused the connection' : 'is not available over gRPC';
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'metadata' in error;
}
