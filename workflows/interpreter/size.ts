/** How large a run's data may be: what is kept in state, log, output and Temporal's payloads is written as JSON again and again. */
import { fault } from './fault.ts';

/** Characters of JSON, about. Twice what an agent may answer. */
const MAX_SIZE = 16 * 1024 * 1024;

/** Data is never changed once it is made, and its parts are shared: each is measured once. */
const measured = new WeakMap<object, number>();

/** Returns the value, or faults with a runtime error where it is too large. */
export function bounded<T>(value: T, what: string, ref: string): T {
  if (sizeOf(value) > MAX_SIZE) throw fault('runtime', `limit exceeded: ${what} has more than ${MAX_SIZE} characters of JSON`, ref);
  return value;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 5;
  let size = measured.get(value);
  if (size !== undefined) return size;
  size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item);
  else for (const [key, item] of Object.entries(value)) size += key.length + 3 + sizeOf(item);
  measured.set(value, size);
  return size;
}
