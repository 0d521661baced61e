/**
 * Turns errors of gRPC agents into faults: protocol errors as the SDK defines them, all others by their
 * status code.
 */
import {
  decodeErrorInfo,
  decodeStatus,
  fromGrpcError,
  GRPC_STATUS_DETAILS_BIN,
} from '@a2a-js/sdk/errors/grpc';
import type { ServiceError } from '@grpc/grpc-js';
import { Fault } from '../../contracts/fault.ts';
import { isServiceError, statusFault } from '../grpc/status-fault.ts';
import type { Words } from '../http/message.ts';

/** Faults and errors without a gRPC status are returned unchanged. */
export function grpcFault(error: unknown, host: string, words: Words): unknown {
  if (error instanceof Fault || !isServiceError(error)) return error;
  if (hasReason(error)) return fromGrpcError(error);
  return statusFault(error, host, words);
}

/** Whether the error has an ErrorInfo of the protocol. */
function hasReason({ metadata }: ServiceError): boolean {
  const [blob] = metadata.get(GRPC_STATUS_DETAILS_BIN);
  if (!(blob instanceof Uint8Array)) return false;
  try {
    return decodeStatus(Buffer.from(blob)).details.some(
      ({ typeUrl, value }) =>
        typeUrl.endsWith('/google.rpc.ErrorInfo') && decodeErrorInfo(value).domain === 'a2a-protocol.org',
    );
  } catch {
    return false;
  }
}
