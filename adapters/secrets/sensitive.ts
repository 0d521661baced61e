/**
 * The secrets of one call: resolved before any data is inserted, and redacted from everything that comes
 * back.
 */
import { fault } from '../../contracts/fault.ts';
import type { CallFiles } from '../../domain/ports.ts';
import { fillPlaceholders, placeholderNames, unboundName } from '../../contracts/placeholders.ts';
import { secretEndpoints } from '../../contracts/secret-endpoint.ts';
import { objectIn } from '../../contracts/secret-value.ts';
import { isTextual } from '../http/media-types.ts';
import { createRedactor } from './redactor.ts';

const MAX_DEPTH = 200;
/** Only the beginning of a long text is examined. */
const MAX_QUOTED = 16_384;
// oxlint-disable-next-line no-control-regex -- NUL is what PostgreSQL cannot store
const UNSTORABLE = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export interface Sensitive {
  /** The secret for a placeholder's name. */
  value: (name: string) => string;
  /** Stored text with its placeholders replaced. */
  fill: (text: string) => string;
  /** Adds a value to redact from responses and messages, with the name that replaces it. */
  protect: (value: string, shownAs: string) => void;
  redact: (text: string) => string;
  /** Where a secret may have begun that the bytes do not end; their length if there is none. */
  openEnd: (bytes: Uint8Array) => number;
  /** `redact` for a text that is still growing; `rest` goes before what follows. */
  redactHead: (text: string) => { done: string; rest: string };
  /**
   * A counterpart's text as one line for a message: redacted completely first, then cut to `maxLength`
   * characters.
   */
  quote: (text: string, maxLength: number) => string;
  /**
   * A copy that can be stored: secrets redacted, NUL and lone surrogates escaped as `\u0000` text. Throws a
   * Fault if it is nested too deeply.
   */
  clean: (value: unknown) => unknown;
  /** `redact` for a stream of bytes, whatever they are. */
  redactStream: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** Stores files of the response with redacted names, and with redacted content if they are text. */
  cleanFiles: (files: CallFiles) => CallFiles;
}

/**
 * Reads every secret that the given parts of a stored configuration name. In `texts`, which are for models
 * and may use such marks themselves, the name of no secret stays as it is. Throws `Fault` (configuration) for
 * an unknown one elsewhere.
 */
export async function loadSensitive(
  stored: unknown,
  secret: (name: string) => Promise<string | null>,
  texts: unknown = null,
): Promise<Sensitive> {
  const unbound = unboundName(stored);
  if (unbound !== null)
    throw fault(
      'configuration',
      `The secret ${unbound} of this agent is not bound yet: bind it in a new version and publish that`,
    );
  const values = new Map<string, string>();
  for (const name of placeholderNames(stored)) {
    const value = await secret(name);
    if (value === null)
      throw fault(
        'configuration',
        `The secret ${name} is not in the owner's store: add it with ${secretEndpoints(name)}`,
      );
    values.set(name, value);
  }
  const marks = new Set<string>();
  for (const name of placeholderNames(texts)) {
    if (values.has(name)) continue;
    const value = await secret(name);
    if (value === null) marks.add(name);
    else values.set(name, value);
  }
  return createSensitive(values, marks);
}

/** `marks`: names that stand for themselves. */
export function createSensitive(
  values: ReadonlyMap<string, string> = new Map(),
  marks: ReadonlySet<string> = new Set(),
): Sensitive {
  const { protect, redact, redactHead, secretNumber, redactBytes, redactStream, openEnd } = createRedactor();
  for (const [name, value] of values)
    for (const part of [value, ...textsIn(value)]) protect(part, `<${name}>`);

  const value = (name: string): string => secretNamed(name, values, marks);
  const cleanText = (text: string): string => {
    const stored = text.replace(
      UNSTORABLE,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    return redact(stored);
  };
  const clean = (data: unknown, depth: number): unknown => {
    if (typeof data === 'string') return cleanText(data);
    if (typeof data === 'number') return secretNumber(data) ?? data;
    if (typeof data !== 'object' || data === null) return data;
    if (depth >= MAX_DEPTH)
      throw fault('communication', `The answer is nested more than ${MAX_DEPTH} levels deep`, {
        status: 502,
      });
    if (Array.isArray(data)) return data.map((item) => clean(item, depth + 1));
    // fromEntries defines own properties, so a key `__proto__` stays an ordinary key.
    return Object.fromEntries(
      Object.entries(data).map(([key, item]) => [cleanText(key), clean(item, depth + 1)]),
    );
  };

  const quote = (text: string, maxLength: number): string =>
    redact(text)
      .slice(0, MAX_QUOTED)
      .replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
      .trim()
      .slice(0, maxLength);
  const cleanFiles = (files: CallFiles): CallFiles => ({
    ...files,
    store: (content, file) => {
      const type = file.media_type.split(';')[0]?.trim().toLowerCase() ?? '';
      const scanned = (): typeof content =>
        content instanceof Uint8Array ? redactBytes(content) : redactStream(content);
      return files.store(isTextual(type) ? scanned() : content, {
        name: redact(file.name),
        media_type: redact(file.media_type),
      });
    },
  });
  return {
    value,
    fill: (text) => fillPlaceholders(text, value),
    protect,
    redact,
    openEnd,
    redactStream,
    redactHead,
    quote,
    clean: (data) => clean(data, 0),
    cleanFiles,
  };
}

function secretNamed(name: string, values: ReadonlyMap<string, string>, marks: ReadonlySet<string>): string {
  const found = values.get(name) ?? (marks.has(name) ? `<${name}>` : undefined);
  if (found === undefined) throw fault('configuration', `The secret ${name} was not read`);
  return found;
}

/** The texts and numbers inside a secret that is a JSON object, which may come back one by one. */
export function textsIn(secret: unknown): string[] {
  if (typeof secret === 'number') return [String(secret)];
  if (typeof secret === 'string') return [secret, ...textsIn(objectIn(secret))];
  return typeof secret === 'object' && secret !== null ? Object.values(secret).flatMap(textsIn) : [];
}
