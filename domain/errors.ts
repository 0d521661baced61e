/** The one error that services throw. What it means in HTTP is decided in api/middleware/errors.ts, by `kind`. */

export type ErrorKind =
  | 'bad_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'conflict'
  | 'gone'
  | 'precondition_failed'
  | 'too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'invalid'
  | 'too_many_requests'
  | 'unavailable';

/** `pointer` is a JSON pointer into the body, or the name of a query parameter. */
export interface FieldError {
  pointer: string;
  code: string;
  message: string;
}

export interface AppErrorOptions {
  errors?: FieldError[];
  /** More members of the problem, for clients: `{decision: …}`. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** The transaction commits although the request is refused: what it found out is written. */
  keepsChanges?: boolean;
}

/** `code` is a stable word that a client can switch on; `detail` one sentence for people. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly kind: ErrorKind;
  readonly code: string;
  readonly detail: string;
  readonly errors: FieldError[] | undefined;
  readonly extra: Record<string, unknown> | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly keepsChanges: boolean;

  constructor(kind: ErrorKind, code: string, detail: string, options: AppErrorOptions = {}) {
    super(detail);
    this.kind = kind;
    this.code = code;
    this.detail = detail;
    this.errors = options.errors;
    this.extra = options.extra;
    this.headers = options.headers;
    this.keepsChanges = options.keepsChanges ?? false;
  }
}

/** Also for what the caller may not see: `notFound('agent')`. */
export function notFound(what: string): AppError {
  return new AppError('not_found', 'not_found', `There is no such ${what}.`);
}

export function forbidden(detail = 'You may not do this.', code = 'forbidden'): AppError {
  return new AppError('forbidden', code, detail);
}

/** The state of the thing does not allow it: 409. */
export function conflict(code: string, detail: string, extra?: Record<string, unknown>): AppError {
  return new AppError('conflict', code, detail, extra ? { extra } : {});
}

/** All mistakes of a body at once: 422. */
export function invalid(errors: FieldError[], detail?: string, code = 'validation_failed'): AppError {
  const said = detail ?? (errors.length === 1 ? (errors[0]?.message ?? '') : `${errors.length} fields are not valid.`);
  return new AppError('invalid', code, said, { errors });
}

export function badRequest(code: string, detail: string, errors?: FieldError[]): AppError {
  return new AppError('bad_request', code, detail, errors ? { errors } : {});
}

export function preconditionFailed(): AppError {
  return new AppError('precondition_failed', 'precondition_failed', 'It was changed since you read it: read it again.');
}

/** A JSON pointer (RFC 6901) from its segments. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
