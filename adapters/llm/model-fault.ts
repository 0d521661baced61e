/** What a provider says of a failure, as a fault of the definition language. */
import { APICallError, UnsupportedFunctionalityError } from 'ai';
import type { StandardErrorName } from '../../contracts/dsl-error.ts';
import { Fault, fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EgressResponse } from '../egress/egress.ts';
import type { Sensitive } from '../secrets/sensitive.ts';

const MAX_MESSAGE_LENGTH = 300;
/** Of what the provider said, to find out what it means. */
const MAX_READ = 4_000;
const MAX_CODES = 4;
/** An error that the provider sent within a stream, with the status that the SDK gives it. */
const STREAM_ERROR = 'AI_StreamProviderError';

/**
 * What providers say of an input that a repeat does not mend. Only the text tells it apart, because they
 * answer 400 to every mistake: OpenAI and Azure `context_length_exceeded`, `content_filter`; Anthropic
 * "prompt is too long"; Google "exceeds the maximum number of tokens"; Bedrock "Input is too long for
 * requested model".
 */
const TOO_LONG = new RegExp(
  [
    'context_length_exceeded|(?:maximum|max|exceeds? the|available) context (?:length|size|window)',
    '|(?:prompt|input|request) is too long|exceeds the maximum number of (?:input )?tokens',
  ].join(''),
  'i',
);
const FILTERED =
  /content_filter|content_policy_violation|ResponsibleAIPolicyViolation|content management policy/i;
const NO_MODEL = new RegExp(
  [
    'model_not_found|DeploymentNotFound|model identifier is invalid',
    '|model .{1,200} (?:not found|does not exist)',
  ].join(''),
  'i',
);

/** Anything else that the SDK throws is an answer that cannot be used. The text is redacted and cut. */
export function modelFault(error: unknown, sensitive: Sensitive): Fault {
  if (error instanceof Fault) return error;
  if (UnsupportedFunctionalityError.isInstance(error))
    return fault(
      'validation',
      `The provider cannot be sent this: ${sensitive.quote(error.message, MAX_MESSAGE_LENGTH)}`,
      {
        cause: error,
      },
    );
  return faultOf(failureIn(error), sensitive, error);
}

/** An answer outside 200–299. */
export function answerFault({ status, headers, bytes, url }: EgressResponse, sensitive: Sensitive): Fault {
  const text = Buffer.from(bytes.subarray(0, MAX_READ)).toString();
  return faultOf(
    {
      status,
      host: new URL(url).host,
      said: messageIn(text),
      code: codesIn(text),
      retryAfter: waitIn(headers),
    },
    sensitive,
  );
}

/** The provider's sentence, in one of the usual places. */
function messageIn(text: string): string {
  const found = /"(?:message|detail|error)"\s*:\s*("(?:[^"\\]|\\.){1,2000}")/.exec(text)?.[1];
  try {
    return found === undefined ? (/^\s*[<{[]/.test(text) ? '' : text) : String(JSON.parse(found));
  } catch {
    return '';
  }
}

function waitIn(headers: Readonly<Record<string, string>>): string {
  const wait = headers['retry-after'] ?? '';
  return /^\d+$/.test(wait) ? `${wait} s` : wait;
}

function faultOf(failure: Failure, sensitive: Sensitive, cause?: unknown): Fault {
  const { status, host, said, code, retryAfter } = failure;
  const withCause = cause === undefined ? {} : { cause };
  if (status === null || status < 300)
    return fault('communication', `${host} gave an answer that cannot be used`, {
      status: 502,
      ...withCause,
    });
  const [name, meaning] = meaningOf(status, `${code} ${said.slice(0, MAX_READ)}`);
  const reason = said === '' ? '' : `: ${sensitive.quote(said, MAX_MESSAGE_LENGTH)}`;
  const wait = retryAfter === '' ? '' : ` (try again after ${sensitive.quote(retryAfter, 40)})`;
  return fault(name, `${host} answered ${status}${meaning}${reason}${wait}`, { status, ...withCause });
}

function meaningOf(status: number, said: string): [StandardErrorName, string] {
  if (status === 401) return ['authentication', ''];
  if (status === 403) return ['authorization', ''];
  if (TOO_LONG.test(said) || status === 413) return ['validation', ', the input is too long for the model'];
  if (FILTERED.test(said)) return ['validation', ", the provider's content filter refuses the input"];
  if (status === 404 || NO_MODEL.test(said)) return ['configuration', ', there is no such model or address'];
  if (status === 429) return ['communication', ', too many requests'];
  return ['communication', ''];
}

interface Failure {
  /** Null: no answer with a status. */
  status: number | null;
  host: string;
  said: string;
  code: string;
  /** As the provider gives it; empty without. */
  retryAfter: string;
}

function failureIn(error: unknown): Failure {
  if (APICallError.isInstance(error)) {
    const { statusCode = null, url, responseHeaders = {}, responseBody = '' } = error;
    return {
      status: statusCode,
      host: URL.canParse(url) ? new URL(url).host : 'The model',
      said: error.message,
      code: codesIn(responseBody),
      retryAfter: waitIn(responseHeaders),
    };
  }
  if (!isRecord(error) || error['name'] !== STREAM_ERROR) return NOTHING_SAID;
  const { message, statusCode, code, type } = error;
  return {
    ...NOTHING_SAID,
    status: typeof statusCode === 'number' ? statusCode : 500,
    said: typeof message === 'string' ? message : '',
    code: [code, type].filter((part) => typeof part === 'string').join(' '),
  };
}

const NOTHING_SAID: Failure = { status: null, host: 'The model', said: '', code: '', retryAfter: '' };

/** The provider's own words for the failure, which its message does not always contain. */
function codesIn(body: string): string {
  const found = body.slice(0, MAX_READ).matchAll(/"(?:code|type|status)"\s*:\s*"([\w.-]{1,80})"/g);
  return [...found]
    .slice(0, MAX_CODES)
    .map(([, code]) => code)
    .join(' ');
}
