/** What a gRPC agent refuses or fails with: the protocol's errors as the SDK has them, all else by its status code. */
import { decodeErrorInfo, decodeStatus, fromGrpcError, GRPC_STATUS_DETAILS_BIN } from '@a2a-js/sdk/errors/grpc';
import { status as code } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { Fault, fault } from '../../contracts/fault.ts';

const MAX_LENGTH = 500;

/** Statuses of HTTP that mean the same, for who catches by them; 4xx are refusals, 5xx may pass. */
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

/** Faults, and what is no status of gRPC, come back as they are. */
export function grpcFault(error: unknown, host: string, redact: (text: string) => string): unknown {
  if (error instanceof Fault || !isServiceError(error)) return error;
  if (hasReason(error)) return fromGrpcError(error);
  const [name, status] = BY_CODE[error.code] ?? ['communication', 502];
  if (error.code === code.UNAVAILABLE) return fault(name, `${host} ${unavailable(error.details)}`, { status, cause: error });
  const said = error.details.replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ').trim().slice(0, MAX_LENGTH);
  return fault(name, redact(`${host} answered ${code[error.code] ?? error.code}${said === '' ? '' : `: ${said}`}`), { status, cause: error });
}

/** Words of our own: the library's name addresses. */
function unavailable(details: string): string {
  if (/certificate/i.test(details)) return 'has a certificate that is not trusted';
  return details.includes('ECONNREFUSED') ? 'refused the connection' : 'is not available over gRPC';
}

/** An ErrorInfo of the protocol. */
function hasReason({ metadata }: ServiceError): boolean {
  const [blob] = metadata.get(GRPC_STATUS_DETAILS_BIN);
  if (!(blob instanceof Uint8Array)) return false;
  try {
    return decodeStatus(Buffer.from(blob)).details.some(({ typeUrl, value }) => typeUrl.endsWith('/google.rpc.ErrorInfo') && decodeErrorInfo(value).domain === 'a2a-protocol.org');
  } catch {
    return false;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'metadata' in error;
}
