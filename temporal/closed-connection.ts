/** Ends calls on a connection that has been closed, instead of throwing from a timer. */
import { InterceptingCall, Metadata, status, type Interceptor } from '@grpc/grpc-js';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { refuseUnreadable } from './unreadable-answers.ts';

/**
 * The SDK repeats calls from a timer. If the connection was closed meanwhile, grpc-js throws there, which
 * nothing can catch and which ends the process. This interceptor, the innermost, gives such a call the status
 * CANCELLED, which is not repeated, so the caller gets an error.
 */
const endWhenClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return new InterceptingCall(closedCall(error instanceof Error ? error.message : String(error)));
  }
};

/** For every connection to Temporal: the SDK's own retries, and what its calls need besides. */
export const CONNECTION_INTERCEPTORS: Interceptor[] = [
  makeGrpcRetryInterceptor(defaultGrpcRetryOptions()),
  refuseUnreadable,
  endWhenClosed,
];

function closedCall(details: string): ConstructorParameters<typeof InterceptingCall>[0] {
  return {
    start: (_metadata, listener) =>
      queueMicrotask(() =>
        listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() }),
      ),
    sendMessage: () => {},
    sendMessageWithContext: () => {},
    startRead: () => {},
    halfClose: () => {},
    cancelWithStatus: () => {},
    getPeer: () => 'none',
    getAuthContext: () => null,
  };
}
