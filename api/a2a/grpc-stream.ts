/** The HTTP/2 stream of a gRPC call, which counts what the call holds of this process. */
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { constants, type ServerHttp2Stream } from 'node:http2';

/** Grace period in which a client that does not read may notice that its session ended. */
const UNREAD_GRACE_MS = 1_000;

/** gRPC's library has neither the bytes of a message that still arrives nor a way to end an unread answer. */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  // The library's only implementation has it, though not in its types.
  const { stream } = call as ServerInterceptingCallInterface & { stream?: ServerHttp2Stream };
  if (!stream) throw new Error('a gRPC call has no HTTP/2 stream');
  return stream;
}

export function onClosed(stream: ServerHttp2Stream, ended: () => void): void {
  if (stream.closed || stream.destroyed) ended();
  else stream.once('close', ended);
}

/**
 * Ends the stream of a client that reads nothing of what it is sent for `unreadMs`. Who waits for an answer
 * may.
 */
export function cutIfUnread(stream: ServerHttp2Stream, unreadMs: number): void {
  // Fires while nothing is read or written, and again after there was something.
  stream.setTimeout(unreadMs);
  stream.on('timeout', () => {
    if (stream.bufferSize > 0 || stream.writableLength > 0 || stream.writableEnded) cut(stream);
  });
}

/** What is written of the answer and not yet sent. */
export function answerOn(stream: ServerHttp2Stream): { held(): number; cut(): void } {
  return { held: () => stream.bufferSize, cut: () => cut(stream) };
}

/** Ends the stream soon after its session. */
export function cutAfter(stream: ServerHttp2Stream, signal: AbortSignal): void {
  signal.addEventListener('abort', () => setTimeout(() => cut(stream), UNREAD_GRACE_MS).unref());
}

function cut(stream: ServerHttp2Stream): void {
  if (!stream.closed && !stream.destroyed) stream.close(constants.NGHTTP2_CANCEL);
}
