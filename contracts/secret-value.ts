/** What a secret may be: a text, or an object of texts, each of which is looked for in answers and logs. */
import { isRecord } from './is-record.ts';

export const MAX_SECRET_LENGTH = 65_536;
/** Texts and numbers on all levels. */
const MAX_SECRET_PARTS = 100;

/** Why an object, or a text that is the JSON of one, is too much for a secret; null if it is not. */
export function secretProblem(value: string | Record<string, unknown>): string | null {
  if (typeof value !== 'string' && JSON.stringify(value).length > MAX_SECRET_LENGTH)
    return `must have at most ${MAX_SECRET_LENGTH} characters as JSON`;
  return countParts(value) > MAX_SECRET_PARTS ? `must have at most ${MAX_SECRET_PARTS} values` : null;
}

/** The object of which a secret is the JSON; null for another text. */
export function objectIn(text: string): Record<string, unknown> | null {
  if (!text.trimStart().startsWith('{')) return null;
  try {
    const json: unknown = JSON.parse(text);
    return isRecord(json) ? json : null;
  } catch {
    return null;
  }
}

/** Stops after the limit. */
function countParts(root: unknown): number {
  const pending: unknown[] = [root];
  let count = 0;
  while (pending.length > 0 && count <= MAX_SECRET_PARTS) {
    const value = pending.pop();
    const parts = typeof value === 'string' ? objectIn(value) : value;
    if (typeof parts === 'object' && parts !== null)
      for (const item of Object.values(parts)) pending.push(item);
    else count++;
  }
  return count;
}
