/**
 * The only place that turns errors into HTTP responses: RFC 9457 problems, never a stack trace, never HTML.
 */
import { STATUS_CODES } from 'node:http';
import type { Context, Middleware } from 'koa';

import type { Logger } from '../../config/logger.ts';
import { databaseCode, isDatabaseUnavailable } from '../../db/unavailable.ts';
import { lastAdmin } from '../../domain/auth/local-admins.ts';
import { AppError, badRequest, conflict, OAuthError, type ErrorKind } from '../../domain/errors.ts';
import { FileStoreUnavailable } from '../../domain/files/ports.ts';
import { TemporalUnavailable } from '../../domain/ports.ts';
import { OVERLOADED } from '../load-guard.ts';
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

/** Refusals that are intended, and told of once in the log. */
const QUIET = new Set(['writes_paused', OVERLOADED]);

/** A value that a schema of ours should have refused, so it is in the log. */
const NOT_STORABLE = 'not_storable';

/** Answers every error that inner middleware throws. */
export function errorsMiddleware(logger: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      sendProblem(ctx, toAppError(error, ctx.state['actor']?.id), error, logger);
    }
  };
}

function sendProblem(ctx: Context, error: AppError | null, cause: unknown, logger: Logger): void {
  const isOurs = error?.kind === 'unavailable' || error?.code === NOT_STORABLE;
  if (!error || (isOurs && !QUIET.has(error.code))) {
    logger.error(
      { err: cause, request_id: ctx.state['requestId'], method: ctx.method, path: loggedPath(ctx.path) },
      'request failed',
    );
  }
  if (ctx.headerSent) {
    ctx.res.destroy();
    return;
  }
  if (error instanceof OAuthError) {
    ctx.status = statusOf[error.kind];
    ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    ctx.body = JSON.stringify({ error: error.code, error_description: error.detail });
    ctx.set('Content-Type', 'application/json');
    return;
  }
  const problem = problemOf(ctx, error);
  ctx.state['refusal'] = error?.extra;
  ctx.status = problem.status;
  ctx.body = JSON.stringify(problem);
  ctx.type = 'application/problem+json';
  for (const [name, value] of Object.entries(error?.headers ?? {})) {
    ctx.set(name, value);
  }
}

/**
 * Members of a problem document, also for one of several results in a body. Null stands for an unknown error
 * and gives a 500.
 */
export function problemOf(ctx: Context, error: AppError | null) {
  const status = error ? statusOf[error.kind] : 500;
  return {
    // First, so that `extra` cannot override a standard member.
    ...error?.extra,
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error ? detailOf(error) : 'Internal server error. Look up the request id in the log for details.',
    instance: ctx.path,
    code: error?.code ?? 'internal',
    request_id: String(ctx.state['requestId']),
    ...(error?.errors ? { errors: error.errors.map((fieldError) => ({ ...fieldError })) } : {}),
  };
}

/** Prefixes the detail with the field's pointer if the detail only repeats that field's message. */
function detailOf({ detail, errors }: AppError): string {
  const only = errors?.length === 1 ? errors[0] : undefined;
  return only && only.message === detail && only.pointer !== '' ? `${only.pointer}: ${detail}` : detail;
}

/**
 * Converts known errors, including an unavailable server and lost conflicts. Null for an unknown error, which
 * becomes a 500. `caller`: their id, if somebody else's account may have ended.
 */
export function toAppError(error: unknown, caller?: string): AppError | null {
  if (error instanceof AppError) {
    return error;
  }
  if (error instanceof FileStoreUnavailable) {
    return new AppError(
      'unavailable',
      'storage_unavailable',
      'The file store is unavailable at the moment.',
      { headers: { 'Retry-After': '5' } },
    );
  }
  if (error instanceof TemporalUnavailable) {
    return new AppError('unavailable', 'engine_unavailable', 'The engine is unavailable at the moment.', {
      headers: { 'Retry-After': '5' },
    });
  }
  if (isDatabaseUnavailable(error)) {
    return new AppError('unavailable', 'database_unavailable', 'The database is unavailable at the moment.', {
      headers: { 'Retry-After': '5' },
    });
  }
  const code = databaseCode(error);
  if (code === '23505') {
    return new AppError('conflict', 'already_exists', 'Another record already has this name.');
  }
  if (code === 'CZA01') return lastAdmin();
  if (code === 'CZE01') return accountEnded(error, caller);
  // Of numbers and times.
  if (code === '22003' || code === '22007' || code === '22008') {
    return badRequest(NOT_STORABLE, 'A number or a time of the request is beyond what can be stored.');
  }
  if (code === '40001' || code === '40P01' || code === '55P03') {
    return new AppError('unavailable', 'busy', 'Other requests are changing the same records. Try again.', {
      headers: { 'Retry-After': '1' },
    });
  }
  return null;
}

/** What the database refuses (`refuse_ended_account`, `admit_run`). Its detail is the id of the account. */
function accountEnded(error: unknown, caller: string | undefined): AppError {
  const ended = error instanceof Error && 'detail' in error ? error.detail : caller;
  if (caller !== undefined && ended !== caller)
    return conflict('account_ended', 'The account that this is for was erased.');
  return new AppError('unauthorized', 'invalid_token', 'Your account was disabled or erased.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="cadenza", error="invalid_token"' },
  });
}
