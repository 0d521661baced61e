/** How much an agent may hold, so that saving and showing it takes an API process no long time. */
import { invalid, type FieldError } from '../errors.ts';

/** In characters, as the interface counts them. */
const MAX_DOCUMENTATION = 65_536;
/** Objects, lists, texts, numbers and so on, of one field. */
const MAX_VALUES = 20_000;
/** Each is checked, compared, written as JSON for the agent and for its version, read and shown. */
const MS_PER_VALUE = 0.02;
const JSON_FIELDS = ['configuration', 'input_schema', 'output_schema', 'authentication_config'] as const;

type JsonField = (typeof JSON_FIELDS)[number];
type Sized = { [Key in JsonField]?: unknown } & { documentation?: string | null | undefined };

/**
 * Looks only at what changes: records from before this check keep what they have. @throws 422 that names each
 * field
 */
export function checkAgentSize(agent: Sized, before: Sized = {}): void {
  const errors: FieldError[] = JSON_FIELDS.filter(
    (field) => isWide(agent[field]) && JSON.stringify(agent[field]) !== JSON.stringify(before[field]),
  ).map((field) => ({
    pointer: `/${field}`,
    code: 'too_big',
    message: `may have at most ${MAX_VALUES} values`,
  }));
  const { documentation } = agent;
  if (documentation && documentation !== before.documentation && isLongDocumentation(documentation))
    errors.push({
      pointer: '/documentation',
      code: 'too_long',
      message: `must have at most ${MAX_DOCUMENTATION} characters`,
    });
  if (errors.length > 0) throw invalid(errors);
}

/** Longer documentation, from before the limit, is shown as it is written. */
export function isLongDocumentation(text: string): boolean {
  if (text.length <= MAX_DOCUMENTATION) return false;
  return text.length > 2 * MAX_DOCUMENTATION || [...text].length > MAX_DOCUMENTATION;
}

const isWide = (value: unknown): boolean => countValues(value) > MAX_VALUES;

/** Stops after the limit. */
function countValues(root: unknown): number {
  const pending = [root];
  let values = 0;
  while (pending.length > 0 && values <= MAX_VALUES) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
    values += items.length;
    if (values <= MAX_VALUES) pending.push(...items);
  }
  return values;
}

/**
 * About how long the parts of an agent that are sent take a process until they are stored and shown; of those
 * that are refused, no more than the largest that is not.
 */
export function savingMs(given: Sized): number {
  const values = JSON_FIELDS.map((field) => Math.min(countValues(given[field]), MAX_VALUES));
  return values.reduce((sum, one) => sum + one, 0) * MS_PER_VALUE;
}
