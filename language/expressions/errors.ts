/** Errors of this package: one public error, and the internal raise that jq's `try` can catch. */
import type { Json } from './values/json-types.ts';

export type ErrorKind = 'compile' | 'runtime' | 'limit';

export interface ErrorDetails {
  kind: ErrorKind;
  message: string;
  /** 1-based place in the source of the expression or template. */
  line: number;
  column: number;
  /** The value raised by jq's `error`, when the program raised one. */
  value?: Json;
  /** Name of the exhausted budget (a key of `Limits`), for kind `limit`. */
  limit?: string;
  /** Machine-readable reason, for kind `compile`: see `Problem.code`. */
  code?: string;
  suggestion?: string;
}

/** The only error that this package throws to its callers. */
export class ExpressionError extends Error {
  readonly kind: ErrorKind;
  readonly line: number;
  readonly column: number;
  readonly value?: Json;
  readonly limit?: string;
  readonly code?: string;
  readonly suggestion?: string;

  constructor(details: ErrorDetails) {
    super(details.message);
    this.name = 'ExpressionError';
    this.kind = details.kind;
    this.line = details.line;
    this.column = details.column;
    if (details.value !== undefined) this.value = details.value;
    if (details.limit !== undefined) this.limit = details.limit;
    if (details.code !== undefined) this.code = details.code;
    if (details.suggestion !== undefined) this.suggestion = details.suggestion;
  }
}

/**
 * A jq error in flight. Not an `Error`: programs raise and catch thousands of them, and a stack
 * trace for each would dominate their cost.
 */
export class Raise {
  readonly value: Json;
  readonly limit: string | undefined;

  constructor(value: Json, limit?: string) {
    this.value = value;
    this.limit = limit;
  }
}

/** `break $label` in flight: `id` is the label's identity in this evaluation. */
export class Break {
  readonly id: object;

  constructor(id: object) {
    this.id = id;
  }
}

/** Raises a jq error with any value; `limit` names an exhausted budget. */
export function raiseValue(value: Json, limit?: string): never {
  // oxlint-disable-next-line typescript/only-throw-error -- see Raise: no stack trace is wanted
  throw new Raise(value, limit);
}

/** Raises a jq error whose value is `message`. */
export function raise(message: string): never {
  return raiseValue(message);
}

export function breakTo(id: object): never {
  // oxlint-disable-next-line typescript/only-throw-error -- control flow, not an error
  throw new Break(id);
}

/** Turns an offset in `source` into a 1-based line and column. */
export function locate(source: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  const end = Math.min(offset, source.length);
  for (let i = 0; i < end; i++) {
    if (source.charCodeAt(i) === 10) {
      line++;
      start = i + 1;
    }
  }
  return { line, column: end - start + 1 };
}

/** Builds the compile error for an offset of `source`. */
export function compileError(
  source: string,
  offset: number,
  message: string,
  extra?: { code?: string; suggestion?: string },
): ExpressionError {
  return new ExpressionError({
    kind: 'compile',
    message,
    ...locate(source, offset),
    code: 'syntax',
    ...extra,
  });
}
