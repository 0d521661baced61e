/** The error that services throw. `kind` decides the HTTP status, in api/middleware/errors.ts. */
import { shortened } from '../contracts/cut-text.ts';
import { escapeToken } from '../contracts/json-pointer.ts';

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
  /** Where it is in a body of YAML; both count from 1. */
  line?: number | undefined;
  column?: number | undefined;
}

/** The most errors that one response lists. Validators may stop once they have found this many. */
export const MAX_LISTED_ERRORS = 20;
const MAX_POINTER = 1_000;
const MAX_TEXT = 2_000;

export interface AppErrorOptions {
  errors?: FieldError[];
  /** More members of the problem document, for clients: `{decision: …}`. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Commits the transaction although the request is refused, so that what was written before is kept. */
  keepsChanges?: boolean;
}

/**
 * `code` is a stable word that a client can switch on; `detail` is one sentence for people. Clients choose
 * the names and the number of invalid fields, so both are truncated: the response must not grow with the
 * request.
 */
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
    const shortDetail = shortened(detail, MAX_TEXT);
    super(shortDetail);
    this.kind = kind;
    this.code = code;
    this.detail = shortDetail;
    this.errors = options.errors?.slice(0, MAX_LISTED_ERRORS).map(cutError);
    this.extra = options.extra;
    this.headers = options.headers;
    this.keepsChanges = options.keepsChanges ?? false;
  }
}

/** Also for resources that the caller may not see: `notFound('agent')`. */
export function notFound(resource: string): AppError {
  return new AppError('not_found', 'not_found', `There is no such ${resource}.`);
}

export function forbidden(detail = 'You may not do this.', code = 'forbidden'): AppError {
  return new AppError('forbidden', code, detail);
}

/** 409: the resource's state does not allow the request. */
export function conflict(code: string, detail: string, extra?: Record<string, unknown>): AppError {
  return new AppError('conflict', code, detail, extra ? { extra } : {});
}

/** 422, with the first mistakes in the body. */
export function invalid(errors: FieldError[], detail?: string, code = 'validation_failed'): AppError {
  return new AppError('invalid', code, detail ?? describeErrors(errors), { errors });
}

function describeErrors(errors: readonly FieldError[]): string {
  if (errors.length === 1) return errors[0]?.message ?? '';
  if (errors.length <= MAX_LISTED_ERRORS) return `${errors.length} fields are not valid.`;
  return `More than ${MAX_LISTED_ERRORS} fields are not valid; these are the first.`;
}

export function badRequest(code: string, detail: string, errors?: FieldError[]): AppError {
  return new AppError('bad_request', code, detail, errors ? { errors } : {});
}

export function preconditionFailed(): AppError {
  return new AppError(
    'precondition_failed',
    'precondition_failed',
    'It was changed since you read it: read it again.',
  );
}

/**
 * A refusal in OAuth's own shape, `{error, error_description}` (RFC 6749 section 5.2), for requests with a
 * form body. `error` is one of the codes defined there.
 */
export class OAuthError extends AppError {
  constructor(error: string, description: string) {
    super('bad_request', error, description);
  }
}

/** A JSON pointer (RFC 6901) from its segments. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${escapeToken(String(part))}`).join('');
}

function cutError({ pointer, message, ...others }: FieldError): FieldError {
  return { ...others, pointer: shortened(pointer, MAX_POINTER), message: shortened(message, MAX_TEXT) };
}

/** What a check accepted, or its 422, kept until the state has been checked. */
export type Checked<T> = { value: T } | { refusal: AppError };

/** The value. @throws the 422 that was kept. */
export function accepted<T>(checked: Checked<T>): T {
  if ('refusal' in checked) throw checked.refusal;
  return checked.value;
}

/** Keeps a 422; any other error is thrown at once. */
export function keepRefusal(error: unknown): { refusal: AppError } {
  if (error instanceof AppError && error.kind === 'invalid') return { refusal: error };
  throw error;
}
