/** Text as PostgreSQL can store it: without NUL characters and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/**
 * Replaces what PostgreSQL cannot store in text: NUL characters and lone surrogates. For the output of agents
 * and expressions, which must never block a run; users' input is refused instead.
 */
export function storable<T>(value: T): T {
  // `walk` replaces strings by strings and keeps the shape.
  return walk(value) as T;
}

/** The same as JSON. Values that need no change, as nearly all, are not copied. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  return UNSTORABLE.test(text) ? JSON.stringify(storable(JSON.parse(text))) : text;
}

/** How JSON shows NUL and lone surrogates; also texts that only look so. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

function walk(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', String.raw`\u0000`);
  if (Array.isArray(value)) return value.map(walk);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [walk(key), walk(entry)]));
}
