/** Every failure as a gRPC status: the codes of A2A 1.0.1 §5.4, with google.rpc.ErrorInfo and BadRequest (§10.6). */
import { encodeGrpcStatusDetails, GRPC_STATUS_CODE, GRPC_STATUS_DETAILS_BIN, grpcStatusFor } from '@a2a-js/sdk/errors/grpc';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, type StatusObject } from '@grpc/grpc-js';

import type { FieldError } from '../../domain/errors.ts';
import { fieldErrorsOf, outsideOf, toA2AError } from './errors.ts';

/** Trailers have a small limit in most clients. */
const MAX_MESSAGE = 1_000;
const MAX_VIOLATIONS = 10;
const MAX_VIOLATION = 200;

/** A server that stops: the task goes on, and another copy shows it. */
export function stoppingStatus(): Partial<StatusObject> {
  return { code: GRPC_STATUS_CODE.UNAVAILABLE, details: 'This server stops. The task goes on: subscribe to it again.' };
}

export function grpcStatus(error: unknown): Partial<StatusObject> {
  const a2a = toA2AError(error);
  const outside = outsideOf(error);
  const ofProtocol = !outside && a2a.reason !== 'INTERNAL_ERROR';
  const code = ofProtocol ? grpcStatusFor(a2a) : GRPC_STATUS_CODE[outside?.name ?? 'INTERNAL'];
  const message = cut(a2a.message, MAX_MESSAGE);
  const metadata = new Metadata();
  const fields = fieldErrorsOf(a2a);
  // What the protocol has no word for has no reason of the protocol either.
  const info = ofProtocol ? encodeGrpcStatusDetails(code, message, a2a.reason, a2a.metadata) : statusOf(code, message);
  metadata.set(GRPC_STATUS_DETAILS_BIN, fields ? Buffer.concat([info, detail('google.rpc.BadRequest', badRequest(fields))]) : info);
  return { code, details: message, metadata };
}

/** google.rpc.Status without details. */
function statusOf(code: number, message: string): Buffer {
  return Buffer.from(new BinaryWriter().uint32(8).int32(code).uint32(18).string(message).finish());
}

/** One more `details` of a google.rpc.Status: messages of protobuf are joined by writing one after the other. */
function detail(type: string, value: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(26).fork().uint32(10).string(`type.googleapis.com/${type}`).uint32(18).bytes(value).join().finish();
}

/** google.rpc.BadRequest: field, description, reason. */
function badRequest(fields: readonly FieldError[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { pointer, message, code } of fields.slice(0, MAX_VIOLATIONS)) {
    writer.uint32(10).fork().uint32(10).string(cut(pointer, MAX_VIOLATION)).uint32(18).string(cut(message, MAX_VIOLATION)).uint32(26).string(code).join();
  }
  return writer.finish();
}

/** Half a character cannot be sent. */
function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed();
}
