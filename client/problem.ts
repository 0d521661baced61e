import type { Problem } from './operations.ts';

export type FieldProblem = NonNullable<Problem['errors']>[number];

/** A refused request. `code` is stable, so programs compare it; `detail` is one sentence for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** The invalid fields of a 422, each with a JSON pointer into the body. */
  readonly errors: readonly FieldProblem[];
  /** Identifies the request in the server's log. */
  readonly requestId: string | null;
  /** The whole problem document (RFC 9457), with members such as `decision` of a refused decision. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** How long to wait before the next attempt, if the server says so. */
  readonly retryAfterMs: number | null;
  /** The ids and names in the path of the request. */
  readonly named: readonly string[];

  constructor(
    problem: Readonly<Record<string, unknown>>,
    response: { status: number; headers: Pick<Headers, 'get'> },
    named: readonly string[] = [],
  ) {
    const detail = text(problem['detail']) ?? text(problem['title']) ?? `HTTP status ${response.status}`;
    super(detail);
    this.status = response.status;
    this.code = text(problem['code']) ?? `http_${response.status}`;
    this.detail = detail;
    this.errors = Array.isArray(problem['errors']) ? problem['errors'] : [];
    this.requestId = text(problem['request_id']) ?? response.headers.get('x-request-id');
    this.problem = problem;
    this.named = named;
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : null;
  }
}

/** Whether trying again gives the same answer. */
export function isRefusal(error: unknown): boolean {
  // An answer of something else than the server, such as a proxy's page, has a good status.
  return error instanceof ApiError && isLasting(error.status);
}

/** Whether an answer with this status is the same the next time. */
export function isLasting(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 429].includes(status);
}

/** Reads a refusal. A body that is no problem document, such as a proxy's page, leaves the status only. */
export async function apiErrorOf(response: Response, named: readonly string[] = []): Promise<ApiError> {
  const body = await response.text().catch(() => '');
  return new ApiError(parsedObject(body), response, named);
}

/** Something answers that is not the API, such as the page of a proxy or another server. */
export function notJson(response: Response): ApiError {
  const type = response.headers.get('content-type') ?? 'no content type';
  const address = response.url.split('?', 1)[0] || 'The server';
  const detail = `${address} answers with ${type} instead of JSON: is this the address of Cadenza?`;
  return new ApiError({ code: 'not_json', detail }, response);
}

function parsedObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
