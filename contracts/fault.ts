import { standardError } from './dsl-error.ts';
import type { DslError, StandardErrorName } from './dsl-error.ts';

/**
 * A failure of a counterpart (agent, HTTP service, model) as the definition language sees it: what `catch` and `retry` match.
 * It lives in contracts because adapters throw it and activities translate it. `error` has no `instance`: the interpreter knows the task.
 */
export class Fault extends Error {
  readonly error: DslError;

  constructor(error: DslError, options?: { cause?: unknown }) {
    super(error.detail ?? error.title ?? error.type, options);
    this.name = 'Fault';
    this.error = error;
  }
}

/** A fault of a standard type; `status` defaults to the standard's. `detail` is shown to users: no secrets in it. */
export function fault(
  name: StandardErrorName,
  detail: string,
  more: { status?: number; title?: string; cause?: unknown } = {},
): Fault {
  const { cause, ...rest } = more;
  return new Fault(standardError(name, detail, rest), cause === undefined ? undefined : { cause });
}
