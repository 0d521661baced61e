/**
 * Redacts secrets in log entries, by key and inside text. It follows the rule for credentials in
 * `contracts/credentials.ts`.
 */
import { KNOWN_CREDENTIALS, namesCredential, replaceInAddresses } from '../contracts/credentials.ts';

const REMOVED = '[redacted]';
const MAX_DEPTH = 12;

/**
 * Whether a value is a credential, judging by its key. Booleans and token counts (`input_tokens`,
 * `token_epoch`) are not.
 */
function isCredential(key: string, value: unknown): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return false;
  return namesCredential(key) && !(typeof value === 'number' && /token/i.test(key));
}

/**
 * Redacts credentials inside text: `Bearer …` and `Basic …` values, credentials in URLs, and known credential
 * formats.
 */
export function redactText(text: string): string {
  const plain = text
    .replace(/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${REMOVED}`)
    // Without the scheme, which a search would begin anew at each word of a long path.
    .replace(/(:\/\/[^\s/:@]*):[^\s/@]+@/g, `$1:${REMOVED}@`);
  return KNOWN_CREDENTIALS.reduce(
    (rest, pattern) => rest.replaceAll(pattern, REMOVED),
    replaceInAddresses(plain, () => REMOVED),
  );
}

/**
 * A copy of a value that is safe to log: secrets redacted, errors as plain objects, cycles and deep nesting
 * cut.
 */
export function redact(value: unknown, key = '', ancestors: readonly object[] = []): unknown {
  if (isCredential(key, value)) return REMOVED;
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (ancestors.includes(value)) return '[circular]';
  if (ancestors.length >= MAX_DEPTH) return '[too deep]';
  const path = [...ancestors, value];
  if (Array.isArray(value)) return value.map((item) => redact(item, '', path));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return redact([...value], '', path);
  const fields = Object.entries(value).map(([name, field]) => [name, redact(field, name, path)]);
  if (!(value instanceof Error)) return Object.fromEntries(fields);
  return {
    type: value.name,
    message: redactText(value.message),
    stack: redactText(value.stack ?? ''),
    ...(value.cause === undefined ? {} : { cause: redact(value.cause, '', path) }),
    ...Object.fromEntries(fields),
  };
}
