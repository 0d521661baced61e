/**
 * One JSON Schema validator everywhere: requests, workflow code (so no generated code, no I/O), activities. Schemas and
 * values are users': it ends after a bounded number of steps, whatever they are (docs/adr).
 */
import { LimitExceeded } from './schema/budget.ts';
import { Check, resourcesOf } from './schema/check.ts';
import type { Violation } from './schema/check.ts';

export type { Violation } from './schema/check.ts';

/** Where `value` does not fit the JSON Schema 2020-12 `schema`, 20 at most; empty if it fits. The schema was checked when it was saved. `meter` is told the steps. */
export function violations(schema: Record<string, unknown> | boolean | null | undefined, value: unknown, meter?: (steps: number) => void): Violation[] {
  if (schema === null || schema === undefined || schema === true) return [];
  if (schema === false) return [{ pointer: '', message: 'Nothing is allowed here.' }];
  const check = new Check(resourcesOf(schema));
  try {
    return check.run(schema, value, '', null) ? [] : check.found;
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error;
    return [...check.found, { pointer: '', message: 'Checking this against the schema takes too many steps.' }];
  } finally {
    meter?.(check.budget.spent);
  }
}

/** In one sentence: `/amount: …; /name: …`. */
export function describeViolations(found: Violation[]): string {
  return found.slice(0, 5).map(({ pointer, message }) => `${pointer === '' ? '(root)' : pointer}: ${message}`).join('; ');
}
