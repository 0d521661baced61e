/**
 * Converts failures to gRPC statuses: the codes of A2A 1.0.1 §5.4, with google.rpc.ErrorInfo and BadRequest
 * (§10.6).
 */
import {
  encodeGrpcStatusDetails,
  GRPC_STATUS_CODE,
  GRPC_STATUS_DETAILS_BIN,
  grpcStatusFor,
} from '@a2a-js/sdk/errors/grpc';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, type StatusObject } from '@grpc/grpc-js';

import { cutTo } from '../../contracts/cut-text.ts';
import type { FieldError } from '../../domain/errors.ts';
import { fieldErrorsOf, transportErrorOf, toA2AError } from './errors.ts';

/** Most clients limit the size of trailers. */
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_VIOLATIONS = 10;
const MAX_VIOLATION_LENGTH = 200;

/** Ends a stream when this process shuts down. The task continues, and any other API process serves it. */
export function stoppingStatus(): Partial<StatusObject> {
  return {
    code: GRPC_STATUS_CODE.UNAVAILABLE,
    details: 'This server is shutting down. The task continues: subscribe to it again.',
  };
}

export function grpcStatus(error: unknown): Partial<StatusObject> {
  const a2a = toA2AError(error);
  const transportError = transportErrorOf(error);
  const ofProtocol = !transportError && a2a.reason !== 'INTERNAL_ERROR';
  const code = ofProtocol ? grpcStatusFor(a2a) : GRPC_STATUS_CODE[transportError?.name ?? 'INTERNAL'];
  const message = cutTo(a2a.message, MAX_MESSAGE_LENGTH);
  const metadata = new Metadata();
  const fields = fieldErrorsOf(a2a);
  // Errors that A2A does not define have no A2A reason either.
  const info = ofProtocol
    ? encodeGrpcStatusDetails(code, message, a2a.reason, a2a.metadata)
    : statusOf(code, message);
  metadata.set(
    GRPC_STATUS_DETAILS_BIN,
    fields ? Buffer.concat([info, detail('google.rpc.BadRequest', badRequest(fields))]) : info,
  );
  return { code, details: message, metadata };
}

/** google.rpc.Status without details. */
function statusOf(code: number, message: string): Buffer {
  return Buffer.from(new BinaryWriter().uint32(8).int32(code).uint32(18).string(message).finish());
}

/**
 * One more `details` entry of a google.rpc.Status: appending to an encoded protobuf message merges the two.
 */
function detail(type: string, value: Uint8Array): Uint8Array {
  return new BinaryWriter()
    .uint32(26)
    .fork()
    .uint32(10)
    .string(`type.googleapis.com/${type}`)
    .uint32(18)
    .bytes(value)
    .join()
    .finish();
}

/** google.rpc.BadRequest: field, description, reason. */
function badRequest(fields: readonly FieldError[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { pointer, message, code } of fields.slice(0, MAX_VIOLATIONS)) {
    writer
      .uint32(10)
      .fork()
      .uint32(10)
      .string(cutTo(pointer, MAX_VIOLATION_LENGTH))
      .uint32(18)
      .string(cutTo(message, MAX_VIOLATION_LENGTH))
      .uint32(26)
      .string(code)
      .join();
  }
  return writer.finish();
}
