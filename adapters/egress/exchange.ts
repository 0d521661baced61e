import { Fault, fault } from '../../contracts/fault.ts';
import { connectionFault, hostOf } from './connection-fault.ts';
import type { EgressRequest } from './egress.ts';

/** One request with all its redirects, from its first packet to the end of its body. */
export interface Exchange {
  /** Aborts at the time limit, and when the caller cancels. */
  signal: AbortSignal;
  /** What the caller sees of an error: a `Fault`, its own reason for cancelling, or the error of its sink. */
  failureOf: (error: unknown) => unknown;
}

/** Wraps an error of the caller's own sink, which is no failure of the counterpart. */
export class SinkFailure extends Error {
  constructor(cause: unknown) {
    super('the consumer of the body failed', { cause });
  }
}

export function beginExchange(
  request: Pick<EgressRequest, 'url' | 'method' | 'timeoutMs' | 'signal'>,
): Exchange {
  const { url, method, timeoutMs, signal } = request;
  signal.throwIfAborted();
  const deadline = AbortSignal.timeout(timeoutMs);
  return {
    signal: AbortSignal.any([signal, deadline]),
    failureOf(error) {
      if (signal.aborted) return signal.reason;
      if (error instanceof SinkFailure) return error.cause;
      if (error instanceof Fault) return error;
      if (!deadline.aborted) return connectionFault({ url }, error);
      return fault('timeout', `${hostOf(url)} did not answer ${method} within ${timeoutMs} ms`, {
        cause: error,
      });
    },
  };
}
