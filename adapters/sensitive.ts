/** The secrets of one call: resolved before any data is inserted, and kept out of all that comes back. */
import { fault } from '../contracts/fault.ts';
import { placeholderNames, replacePlaceholders, unboundName } from '../contracts/placeholders.ts';

/** Shorter values are words that answers hold anyway. */
const MIN_REDACTED_LENGTH = 6;
const MAX_DEPTH = 200;
// oxlint-disable-next-line no-control-regex -- NUL is what PostgreSQL cannot store
const UNSTORABLE = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export interface Sensitive {
  /** The secret behind a placeholder's name. */
  value: (name: string) => string;
  /** Stored text with its placeholders replaced. */
  fill: (text: string) => string;
  /** Adds a value to keep out of answers and messages, under the name that is shown in its place. */
  protect: (value: string, shownAs: string) => void;
  redact: (text: string) => string;
  /** A copy fit to be stored: secrets redacted, NUL and lone surrogates escaped as `\u0000` text; too deep: Fault. */
  clean: (value: unknown) => unknown;
}

/** Reads every secret that the given parts of a stored configuration name. Throws `Fault` (configuration) for an unknown one. */
export async function loadSensitive(stored: unknown, secret: (name: string) => Promise<string | null>): Promise<Sensitive> {
  const unbound = unboundName(stored);
  if (unbound !== null) throw fault('configuration', `The secret ${unbound} of this installed agent is not bound yet: bind it in a new draft`);
  const values = new Map<string, string>();
  for (const name of placeholderNames(stored)) {
    const value = await secret(name);
    if (value === null) throw fault('configuration', `The secret ${name} is not in the owner's store: add it with PUT /secrets/${name}`);
    values.set(name, value);
  }
  return createSensitive(values);
}

export function createSensitive(values: ReadonlyMap<string, string> = new Map()): Sensitive {
  const hidden = new Map<string, string>();
  const protect = (value: string, shownAs: string): void => {
    if (value.length < MIN_REDACTED_LENGTH) return;
    for (const form of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]) {
      if (!hidden.has(form)) hidden.set(form, shownAs);
    }
  };
  for (const [name, value] of values) protect(value, `<${name}>`);

  const redact = (text: string): string => {
    let result = text;
    // Longest first, so that a secret inside of another one leaves no rest of it.
    for (const [value, name] of [...hidden].sort(([a], [b]) => b.length - a.length)) result = result.replaceAll(value, () => name);
    return result;
  };
  const value = (name: string): string => {
    const found = values.get(name);
    if (found === undefined) throw fault('configuration', `The secret ${name} was not read`);
    return found;
  };
  const cleanText = (text: string): string => {
    const stored = text.replace(UNSTORABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return hidden.size === 0 ? stored : redact(stored);
  };
  const clean = (data: unknown, depth: number): unknown => {
    if (typeof data === 'string') return cleanText(data);
    if (typeof data !== 'object' || data === null) return data;
    if (depth >= MAX_DEPTH) throw fault('communication', `The answer is nested more than ${MAX_DEPTH} levels deep`, { status: 502 });
    if (Array.isArray(data)) return data.map((item) => clean(item, depth + 1));
    // fromEntries defines own properties, so that a key `__proto__` stays a key.
    return Object.fromEntries(Object.entries(data).map(([key, item]) => [cleanText(key), clean(item, depth + 1)]));
  };

  return { value, fill: (text) => replacePlaceholders(text, value), protect, redact, clean: (data) => clean(data, 0) };
}
