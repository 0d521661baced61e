/** Which headers of a request users may set: those that adapters can send (RFC 9110 §5.1, §5.5). */
import { isRecord } from './is-record.ts';

/** The transport sets these itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** What the text becomes is known when the call is made. */
const TEMPLATE = '${';

export interface HeaderProblem {
  /** The header's name as it is written. */
  key: string;
  message: string;
}

/** What is wrong with the name of a header, as the rest of a sentence; null if it can be sent. */
export function headerNameProblem(name: string): string | null {
  const key = name.toLowerCase();
  if (!NAME.test(name))
    return 'is no name of a header: use letters, digits, - and _, without spaces and line breaks';
  if (OWN_HEADERS.has(key) || key.startsWith('proxy-')) return 'is a header that the platform sets itself';
  return null;
}

/** Whether the text can be the value of a header. */
export function isHeaderValue(text: string): boolean {
  return VALUE.test(text);
}

/** What is wrong with a literal value of a header; null for texts with `${ … }`. */
export function headerValueProblem(value: unknown): string | null {
  if (typeof value !== 'string' || value.includes(TEMPLATE) || isHeaderValue(value)) return null;
  return /[\r\n]/.test(value)
    ? 'has a line break, which a header cannot have'
    : 'has characters that a header cannot have';
}

/** One problem at most for each header; none if `headers` is no object. Computed values are not checked. */
export function headerProblems(headers: unknown, isComputed?: (key: string) => boolean): HeaderProblem[] {
  if (!isRecord(headers)) return [];
  return Object.entries(headers).flatMap(([key, value]) => {
    const problem = headerNameProblem(key) ?? (isComputed?.(key) ? null : headerValueProblem(value));
    return problem === null ? [] : [{ key, message: `${quoted(key)} ${problem}` }];
  });
}

function quoted(key: string): string {
  return JSON.stringify(key.length > 60 ? `${key.slice(0, 57)}…` : key);
}
