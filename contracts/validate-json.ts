/** One JSON Schema validator everywhere: requests, workflow code (so no generated code, no I/O), activities. */
import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';

export interface Violation {
  /** JSON pointer into the value. */
  pointer: string;
  message: string;
}

/** Keywords that only pass on what their parts report. */
const CONTAINERS = new Set(['properties', 'patternProperties', 'items', 'prefixItems', 'allOf', '$ref', 'dependentSchemas', 'then', 'else', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']);
const MAX_VIOLATIONS = 20;

const validators = new WeakMap<object, Validator>();

/** Where `value` does not fit the JSON Schema 2020-12 `schema`; empty if it fits. The schema was checked when it was saved. */
export function violations(schema: Record<string, unknown> | boolean | null | undefined, value: unknown): Violation[] {
  if (schema === null || schema === undefined || schema === true) return [];
  if (schema === false) return [{ pointer: '', message: 'Nothing is allowed here.' }];
  let validator = validators.get(schema);
  if (!validator) {
    validator = new Validator(schema as Schema, '2020-12', false);
    validators.set(schema, validator);
  }
  const { valid, errors } = validator.validate(value);
  if (valid) return [];
  const leaves = errors.filter((error) => !CONTAINERS.has(error.keyword));
  const seen = new Set<string>();
  const found: Violation[] = [];
  for (const { instanceLocation, keyword, error } of leaves.length > 0 ? leaves : errors) {
    // The validator gives URI fragments.
    const violation = { pointer: decodeURIComponent(instanceLocation.replace(/^#/, '')), message: keyword === 'false' ? 'Nothing is allowed here.' : error };
    const key = JSON.stringify(violation);
    if (!seen.has(key) && found.length < MAX_VIOLATIONS) found.push(violation);
    seen.add(key);
  }
  return found;
}

/** In one sentence: `/amount: …; /name: …`. */
export function describeViolations(found: Violation[]): string {
  return found.slice(0, 5).map(({ pointer, message }) => `${pointer === '' ? '(root)' : pointer}: ${message}`).join('; ');
}
