/** Errors in the shape of OpenAI's API: `{error: {message, type, param, code}}`. */
import type { Context } from 'koa';

import type { DslError } from '../../contracts/dsl-error.ts';
import { invalid, type AppError } from '../../domain/errors.ts';
import { problemOf } from '../middleware/errors.ts';

export interface OpenAIError {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** A parameter that is wrong or not supported; `param` as OpenAI names it: `messages[0].role`. */
export function badParameter(param: string, message: string, code = 'invalid_value'): AppError {
  return invalid([{ pointer: param, code, message }], message, code);
}

/** Null stands for an unknown error, which gives a 500. */
export function openAiError(ctx: Context, error: AppError | null): { status: number; error: OpenAIError } {
  const { status, detail, code } = problemOf(ctx, error);
  const param = paramOf(error?.errors?.[0]?.pointer);
  switch (status) {
    case 401:
      return {
        status,
        error: { message: detail, type: 'invalid_request_error', param, code: 'invalid_api_key' },
      };
    case 422:
      return { status: 400, error: { message: detail, type: 'invalid_request_error', param, code } };
    case 429:
      return { status, error: { message: detail, type: 'requests', param, code: 'rate_limit_exceeded' } };
    default: {
      const type = status >= 500 ? 'server_error' : 'invalid_request_error';
      return { status, error: { message: detail, type, param, code } };
    }
  }
}

/** The failure of a run. `runId` leads to its log. */
export function failureOf({ status, error, id }: { status: string; error: DslError | null; id: string }): {
  status: number;
  error: OpenAIError;
} {
  if (status === 'cancelled')
    return {
      status: 502,
      error: {
        message: `The run ${id} was cancelled.`,
        type: 'server_error',
        param: null,
        code: 'run_cancelled',
      },
    };
  const reason = [error?.title, error?.detail].filter((text) => typeof text === 'string' && text !== '');
  return {
    status: 502,
    error: {
      message: `The run ${id} failed: ${reason.join(': ') || 'unknown error'}`,
      type: 'server_error',
      param: null,
      code: 'run_failed',
    },
  };
}

export function sendOpenAiError(
  ctx: Context,
  { status, error }: { status: number; error: OpenAIError },
  headers: Record<string, string> = {},
): void {
  ctx.status = status;
  ctx.set(headers);
  ctx.body = JSON.stringify({ error });
  ctx.set('Content-Type', 'application/json');
}

/** A JSON pointer into the agent's input is no parameter of this API. */
function paramOf(pointer: string | undefined): string | null {
  if (pointer === undefined || pointer === '') return null;
  return pointer.startsWith('/') ? 'messages' : pointer;
}
