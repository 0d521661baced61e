/**
 * Bounds the lists of a request in JSON before anything looks at their entries, in all versions and dialects.
 */
import { MAX_LISTED } from '../../domain/a2a/bounds.ts';
import { invalid, jsonPointer, type AppError } from '../../domain/errors.ts';

/** What is in these is the caller's, of any size. */
const OF_CALLER = new Set(['metadata', 'data']);

/** @throws 422 for a list with more than 1,000 entries, and for an object with more than 1,000 fields */
export function checkListBounds(params: Record<string, unknown>): void {
  checkInside(params, []);
}

function checkInside(value: unknown, path: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (value.length > MAX_LISTED) throw tooManyEntries(jsonPointer(path));
    value.forEach((entry, index) => checkInside(entry, [...path, String(index)]));
    return;
  }
  const entries = Object.entries(value);
  if (entries.length > MAX_LISTED) throw tooMany(jsonPointer(path), `at most ${MAX_LISTED} fields`);
  for (const [name, inner] of entries) if (!OF_CALLER.has(name)) checkInside(inner, [...path, name]);
}

export function tooManyEntries(pointer: string): AppError {
  return tooMany(pointer, `at most ${MAX_LISTED} entries`);
}

function tooMany(pointer: string, allowed: string): AppError {
  const what = pointer === '' ? 'the request' : pointer.slice(1).replaceAll('/', '.');
  return invalid([{ pointer, code: 'too_many', message: `${what} has ${allowed}` }]);
}
