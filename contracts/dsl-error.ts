import { isRecord } from './is-record.ts';

/** The DSL's error object (RFC 9457 shape): dsl-reference.md "Error" and "Standard Error Types". */
export interface DslError {
  type: string;
  status: number;
  title?: string;
  detail?: string;
  /** JSON pointer of the task that raised it, such as `/do/0/callAgent`. */
  instance?: string;
}

const STANDARD_ERRORS = {
  configuration: 400,
  validation: 400,
  expression: 400,
  authentication: 401,
  authorization: 403,
  timeout: 408,
  communication: 500,
  runtime: 500,
} as const;

export type StandardErrorName = keyof typeof STANDARD_ERRORS;

const TITLES: Record<StandardErrorName, string> = {
  configuration: 'Configuration Error',
  validation: 'Validation Error',
  expression: 'Expression Error',
  authentication: 'Authentication Error',
  authorization: 'Authorization Error',
  timeout: 'Timeout',
  communication: 'Communication Error',
  runtime: 'Runtime Error',
};

const BASE = 'https://open-workflow-specification.org/spec/1.0.0/errors/';

/** The hosts and paths under which the specification's documents name the standard errors. */
const KNOWN_FORMS = new RegExp(
  [
    String.raw`^https://(?:www\.)?(?:open-workflow-specification\.org|serverlessworkflow\.io)`,
    '/(?:spec/[^/]+/errors|dsl/errors/types|errors/types)/([a-z-]+)/?$',
  ].join(''),
);

function isStandardErrorName(name: string): name is StandardErrorName {
  return Object.hasOwn(STANDARD_ERRORS, name);
}

/** Type URI that the platform emits for a standard error. */
function errorType(name: StandardErrorName): string {
  return BASE + name;
}

/** Name of the standard error that a type URI denotes, in any known form; null for other types. */
export function standardErrorName(type: string): StandardErrorName | null {
  const name = KNOWN_FORMS.exec(type)?.[1];
  return name !== undefined && isStandardErrorName(name) ? name : null;
}

/** What monitoring may show of an error: definitions and counterparts choose the other types and texts. */
export function shownErrorType(error: unknown): StandardErrorName | 'other' {
  const { type } = isRecord(error) ? error : {};
  return (typeof type === 'string' ? standardErrorName(type) : null) ?? 'other';
}

/** Whether two error types are equal: standard errors by name, others by exact text. */
export function sameErrorType(a: string, b: string): boolean {
  if (a === b) return true;
  const name = standardErrorName(a);
  return name !== null && name === standardErrorName(b);
}

/** Characters of the texts of an error in a run's log; the run itself has the whole error. */
const MAX_LOGGED_DETAIL = 8 * 1024;
const MAX_LOGGED_TEXT = 2 * 1024;

/** The error with its texts cut as in a run's log; the same object if none is too long. */
export function loggedError(error: DslError): DslError {
  const cut = (text: string, length: number): string =>
    text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…`;
  const shortened = Object.fromEntries(
    Object.entries(error).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? cut(value, name === 'detail' ? MAX_LOGGED_DETAIL : MAX_LOGGED_TEXT) : value,
    ]),
  );
  const isShort = Object.entries(error).every(([name, value]) => shortened[name] === value);
  return isShort ? error : { ...error, ...shortened };
}

/** A standard error; `status` and `title` default to the standard's. */
export function standardError(
  name: StandardErrorName,
  detail: string,
  more: { status?: number; title?: string; instance?: string } = {},
): DslError {
  return {
    type: errorType(name),
    status: more.status ?? STANDARD_ERRORS[name],
    title: more.title ?? TITLES[name],
    detail,
    ...(more.instance === undefined ? {} : { instance: more.instance }),
  };
}
