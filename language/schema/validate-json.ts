/**
 * The JSON Schema validator for requests, workflow code (so no generated code, no I/O) and activities. Users
 * provide schemas and values, so it ends after a bounded number of steps (docs/adr).
 */
import { LimitExceeded } from './budget.ts';
import { Check, CHECK_STEPS, resourcesOf, type Violation } from './check.ts';

export type { Violation } from './check.ts';
export type { Mismatch } from './checking.ts';

export type JsonSchema = Record<string, unknown> | boolean | null | undefined;

/**
 * At most 20 violations of the JSON Schema 2020-12 `schema` by `value`; empty if it is valid. The schema was
 * checked when it was saved.
 * @param meter is called with the number of steps
 */
export function violations(schema: JsonSchema, value: unknown, meter?: (steps: number) => void): Violation[] {
  const { found, complete } = violationsWithin(schema, value, CHECK_STEPS, meter);
  return complete ? found : [...found, tooManySteps];
}

export const tooManySteps: Violation = {
  pointer: '',
  message: 'Checking this against the schema takes too many steps.',
};

/** Like `violations`. `complete` is false if the step limit was reached before the result was known. */
export function violationsWithin(
  schema: JsonSchema,
  value: unknown,
  steps: number,
  meter?: (steps: number) => void,
): { found: Violation[]; complete: boolean } {
  if (schema === null || schema === undefined || schema === true) return { found: [], complete: true };
  if (schema === false)
    return {
      found: [{ pointer: '', message: 'Nothing is allowed here.', mismatch: { keyword: 'false' } }],
      complete: true,
    };
  const check = new Check(resourcesOf(schema), steps);
  try {
    return { found: check.run(schema, value, '', null) ? [] : check.found, complete: true };
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error;
    return { found: check.found, complete: false };
  } finally {
    meter?.(check.budget.spent);
  }
}

/** The violations in one sentence: `/amount: …; /name: …`. */
export function describeViolations(found: Violation[]): string {
  return found
    .slice(0, 5)
    .map(({ pointer, message }) => `${pointer === '' ? '(root)' : pointer}: ${message}`)
    .join('; ');
}
