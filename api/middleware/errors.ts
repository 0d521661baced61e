/** The one place where an error becomes HTTP: RFC 9457 problems, never a stack trace, never HTML. */
import { STATUS_CODES } from 'node:http';
import type { Context, Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import { AppError, type ErrorKind } from '../../domain/errors.ts';
import { FileStoreUnavailable } from '../../domain/files/ports.ts';
import { loggedPath } from './request-id.ts';

const statusOf: Record<ErrorKind, number> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  invalid: 422,
  too_many_requests: 429,
  unavailable: 503,
};

/** Answers whatever is thrown below it. */
export function errorsMiddleware(logger: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      sendProblem(ctx, toAppError(error), error, logger);
    }
  };
}

function sendProblem(ctx: Context, error: AppError | null, cause: unknown, logger: Logger): void {
  if (!error || error.kind === 'unavailable') {
    logger.error({ err: cause, request_id: ctx.state['requestId'], method: ctx.method, path: loggedPath(ctx.path) }, 'request failed');
  }
  if (ctx.headerSent) {
    ctx.res.destroy();
    return;
  }
  const problem = problemOf(ctx, error);
  ctx.status = problem.status;
  ctx.body = JSON.stringify(problem);
  ctx.type = 'application/problem+json';
  for (const [name, value] of Object.entries(error?.headers ?? {})) {
    ctx.set(name, value);
  }
}

/** The problem's members, also for one of several results in a body. Null: unknown, so a 500. */
export function problemOf(ctx: Context, error: AppError | null) {
  const status = error ? statusOf[error.kind] : 500;
  return {
    // First, so that no member of its own can hide one of the standard's.
    ...error?.extra,
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error ? detailOf(error) : 'Something went wrong on our side. The request id helps to find it in the log.',
    instance: ctx.path,
    code: error?.code ?? 'internal',
    request_id: String(ctx.state['requestId']),
    ...(error?.errors ? { errors: error.errors.map((one) => ({ ...one })) } : {}),
  };
}

/** Where the detail is what is wrong with the one field, it says with which. */
function detailOf({ detail, errors }: AppError): string {
  const only = errors?.length === 1 ? errors[0] : undefined;
  return only && only.message === detail && only.pointer !== '' ? `${only.pointer}: ${detail}` : detail;
}

/** Also a server that is away, and what lost against others. Null: unknown, so a 500. */
export function toAppError(error: unknown): AppError | null {
  if (error instanceof AppError) {
    return error;
  }
  if (error instanceof FileStoreUnavailable) {
    return new AppError('unavailable', 'storage_unavailable', 'The file store does not answer at the moment.', { headers: { 'Retry-After': '5' } });
  }
  const code = databaseCode(error);
  if (code !== null && isAway(code)) {
    return new AppError('unavailable', 'database_unavailable', 'The database does not answer at the moment.', { headers: { 'Retry-After': '5' } });
  }
  if (code === '23505') {
    return new AppError('conflict', 'already_exists', 'Another record has this name already.');
  }
  if (code === '40001' || code === '40P01' || code === '55P03') {
    return new AppError('unavailable', 'busy', 'Others change the same records right now.', { headers: { 'Retry-After': '1' } });
  }
  return null;
}

const awayCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENOENT', '57014', '53300', '42P01', '3D000']);

function isAway(code: string): boolean {
  // 08P01 is a statement that PostgreSQL could not read: ours to mend.
  return awayCodes.has(code) || /^(08(?!P01)|57P)/.test(code) || code === 'connection';
}

/** SQLSTATE or system error code of a failure of the database, at whatever depth; null if it is not one. */
export function databaseCode(error: unknown): string | null {
  for (let current = error; current instanceof Error; current = current.cause ?? ('previous' in current ? current.previous : undefined)) {
    if (current instanceof AggregateError && current.errors[0] instanceof Error) {
      return databaseCode(current.errors[0]);
    }
    if ('code' in current && typeof current.code === 'string') {
      return current.code;
    }
    if (/^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(current.message)) {
      return 'connection';
    }
  }
  return null;
}
