import { standardError, type DslError, type StandardErrorName } from './dsl-error.ts';

/**
 * A failure of a remote system (agent, HTTP service, model) as the DSL sees it: `catch` and `retry` match its
 * error. It is in contracts because adapters throw it and activities translate it. `error` has no `instance`;
 * the interpreter adds the task.
 */
export class Fault extends Error {
  readonly error: DslError;
  /** What the call has used before it failed, and the agent: for the log. */
  spent?: Record<string, unknown>;
  /** What the counterpart has said that it used, if it answered before the failure. */
  used?: Record<string, unknown>;

  constructor(error: DslError, options?: { cause?: unknown }) {
    super(error.detail ?? error.title ?? error.type, options);
    this.name = 'Fault';
    this.error = error;
  }
}

/**
 * Creates a fault of a standard type; `status` defaults to the standard's. Users see `detail`, so it must not
 * contain secrets.
 */
export function fault(
  name: StandardErrorName,
  detail: string,
  more: { status?: number; title?: string; cause?: unknown } = {},
): Fault {
  const { cause, ...rest } = more;
  return new Fault(standardError(name, detail, rest), cause === undefined ? undefined : { cause });
}
