/** State shared by the keywords of a schema during one check of a value. */
import type { Budget } from './budget.ts';
import { isSchema, own, type Schema, type SchemaObject } from './resources.ts';

/** Parts of one value that subschemas have evaluated, for `unevaluated…`. */
export interface Evaluated {
  properties: Set<string>;
  items: Set<number>;
}

/** The violated keyword, for callers that write their own messages. */
export interface Mismatch {
  keyword: string;
  /** Expectation of the keyword: a limit, the choices, the missing name. */
  expected?: unknown;
}

export interface Checking {
  readonly budget: Budget;
  /** Records a violation. */
  fail(pointer: string, message: string, mismatch?: Mismatch): false;
  /** Whether the value matches, without recording violations. */
  fits(schema: Schema, value: unknown, pointer: string, evaluated: Evaluated | null): boolean;
  /** Checks the value and, if it matches, records the evaluated parts in `evaluated`. */
  run(schema: unknown, value: unknown, pointer: string, evaluated: Evaluated | null): boolean;
}

export function list(schema: SchemaObject, keyword: string): Schema[] {
  const parts = own(schema, keyword);
  return Array.isArray(parts) ? parts.filter(isSchema) : [];
}
