/** What the keywords of a schema share in one check of a value. */
import type { Budget } from './budget.ts';
import { isSchema, own } from './resources.ts';
import type { Schema, SchemaObject } from './resources.ts';

/** What the parts of a schema have looked at of one value; for `unevaluated…`. */
export interface Evaluated {
  properties: Set<string>;
  items: Set<number>;
}

export interface Checking {
  readonly budget: Budget;
  /** Notes a violation. */
  fail(pointer: string, message: string): false;
  /** Whether the value fits, without telling why not. */
  fits(schema: Schema, value: unknown, pointer: string, evaluated: Evaluated | null): boolean;
  /** Notes into `evaluated` what a schema that fits has looked at. */
  run(schema: unknown, value: unknown, pointer: string, evaluated: Evaluated | null): boolean;
}

export function list(schema: SchemaObject, keyword: string): Schema[] {
  const parts = own(schema, keyword);
  return Array.isArray(parts) ? parts.filter(isSchema) : [];
}
