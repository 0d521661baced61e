/** Exit codes, and what a failed command says. */
import { ApiError, type FieldProblem } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { inCommands, inFlags, typedName } from './server-words.ts';

export const EXIT = {
  good: 0,
  /** Refused by the server, or failed here. */
  failed: 1,
  usage: 2,
  /** The answer is "no": the run did not complete, or there are differences. */
  no: 3,
  logIn: 4,
  /** The state does not allow it, or somebody else was faster. */
  conflict: 5,
  /** `--wait` ran out. */
  ranOut: 6,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface ErrorParts {
  code: string;
  exitCode?: ExitCode;
  errors?: readonly FieldProblem[];
  /** What to do now. */
  hint?: string | undefined;
}

/** An expected failure. `code` is stable, so programs compare it; the message is for people. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly errors: readonly FieldProblem[];
  readonly hint: string | undefined;

  constructor(message: string, { code, exitCode = EXIT.failed, errors = [], hint }: ErrorParts) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
    this.errors = errors;
    this.hint = hint;
  }
}

export const usageError = (message: string, hint?: string): CliError =>
  new CliError(message, { code: 'usage', exitCode: EXIT.usage, hint });

/** Another failure, with what to do now. */
export class HintedError extends Error {
  override readonly name = 'HintedError';
  readonly failure: Error;
  readonly hint: string;

  constructor(failure: Error, hint: string) {
    super(failure.message);
    this.failure = failure;
    this.hint = hint;
  }
}

export interface Failure {
  exitCode: ExitCode;
  code: string;
  detail: string;
  errors: readonly FieldProblem[];
  hint?: string | undefined;
  request_id?: string;
  /** When trying again makes sense. */
  retry_after_seconds?: number;
  /** The whole answer of the server. */
  problem?: Readonly<Record<string, unknown>>;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof HintedError) return { ...failureOf(error.failure), hint: error.hint };
  if (error instanceof CliError) {
    const { exitCode, code, message, errors, hint } = error;
    return { exitCode, code, detail: message, errors, hint };
  }
  if (error instanceof ApiError) {
    const { code, errors, requestId, problem, retryAfterMs } = error;
    const hint = hintOf(error);
    return {
      exitCode: exitCodeOf(error.status),
      code,
      detail: detailOf(error),
      errors,
      problem,
      ...(hint === undefined ? {} : { hint }),
      ...(requestId === null ? {} : { request_id: requestId }),
      ...(retryAfterMs === null ? {} : { retry_after_seconds: retryAfterMs / 1_000 }),
    };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: EXIT.failed, code: 'unexpected', detail: `Unexpected error: ${text}`, errors: [] };
}

/** The server says that something is missing; the user wants to know which of the names is wrong. */
function detailOf({ code, detail, named }: ApiError): string {
  if (code !== 'not_found' || named.every((name) => detail.includes(name))) return detail;
  return `${detail.replace(/\.$/, '')}: ${named.join(', ')}.`;
}

/** The server's words name its endpoints, not the commands. */
function hintOf({ code, errors }: ApiError): string | undefined {
  return [code, ...errors.map((problem) => problem.code)].flatMap((one) => HINTS[one] ?? []).at(0);
}

const HINTS: Readonly<Record<string, string>> = {
  version_not_published: 'To publish it: cadenza agent publish AGENT VERSION',
};

function exitCodeOf(status: number): ExitCode {
  if (status === 401) return EXIT.logIn;
  return status === 409 || status === 412 ? EXIT.conflict : EXIT.failed;
}

const HOW_TO_LOG_IN: Readonly<Record<string, string>> = {
  login_too_old: 'Show who you are first: cadenza session verify',
};
/** Refusals of a log-in itself, which say what is wrong. */
const REFUSED_LOG_INS = new Set([
  'invalid_grant',
  'invalid_client',
  'invalid_credentials',
  'access_denied',
  'expired_token',
  'mfa_required',
]);

/** Of the command that failed. */
export interface Typing {
  /** The flags and arguments that were given, by the fields of the API that they set. */
  typed?: ReadonlyMap<string, string>;
  /** Where the identity comes from. */
  source?: string | undefined;
}

/** Lines for people, in the words of the command line. */
export function failureLines(failure: Failure, { typed = new Map(), source }: Typing = {}): string[] {
  const { detail, code, errors, hint, request_id: request } = failure;
  // A single problem is the detail already.
  const [only] = errors.length === 1 ? errors : [];
  const isTold = only !== undefined && detail.includes(only.message);
  const name = only === undefined ? undefined : typedName(only.pointer, typed);
  const told = isTold && name !== undefined ? inFlags(detail, only?.pointer ?? '', name) : detail;
  const lines = [
    `error: ${told}`,
    ...(isTold ? [] : errors).map(
      ({ pointer, message }) => `  ${typedName(pointer, typed) ?? (pointer || '/')}: ${message}`,
    ),
    ...factLines(failure),
    ...logInLines(failure, source),
    ...(hint === undefined ? [] : [hint]),
    ...(request !== undefined && code === 'internal_error' ? [`  request ${request}`] : []),
  ];
  return lines.map(inCommands);
}

/** Of more runs, their number. */
const MAX_RUNS = 10;

/** What a refusal says beside its sentence. */
function factLines({ problem, retry_after_seconds: seconds }: Failure): string[] {
  const { decision, holds, run_id: run, run_ids: runs } = problem ?? {};
  const ids = [run, ...(Array.isArray(runs) ? runs : [])].filter((id) => typeof id === 'string');
  const more = ids.length > MAX_RUNS ? ` and ${ids.length - MAX_RUNS} more` : '';
  return [
    // A refused decision comes with the one that won.
    ...(isDecision(decision) ? [`  It was decided: ${decision.decision}`] : []),
    ...(isRecord(holds) ? [`  It holds: ${countsIn(holds)}`] : []),
    ...(ids.length === 0
      ? []
      : [`  ${ids.length === 1 ? 'Run' : 'Runs'}: ${ids.slice(0, MAX_RUNS).join(', ')}${more}`]),
    ...(seconds === undefined ? [] : [`  Try again in ${Math.ceil(seconds)} s.`]),
  ];
}

const isDecision = (value: unknown): value is { decision: string } =>
  isRecord(value) && typeof value['decision'] === 'string';

/** `agents: 2, event sources: 1` */
const countsIn = (counts: Readonly<Record<string, unknown>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name.replaceAll('_', ' ')}: ${String(count)}`)
    .join(', ');

function logInLines({ exitCode, code, hint }: Failure, source: string | undefined): string[] {
  if (exitCode !== EXIT.logIn || hint !== undefined || REFUSED_LOG_INS.has(code)) return [];
  if (HOW_TO_LOG_IN[code] !== undefined) return [HOW_TO_LOG_IN[code]];
  // A log-in would not be used.
  if (source === 'CADENZA_TOKEN')
    return ['It is the token in CADENZA_TOKEN: set another one, or unset it and log in: cadenza login'];
  return ['Log in first: cadenza login'];
}
