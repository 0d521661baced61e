/** What is wrong with a value, found and worded as the server does; pointers are into the value. */
import { formErrors } from '../../../../language/schema/form-errors.ts';
import { violations } from '../../../../language/schema/validate-json.ts';
import type { FieldProblem, Schema } from './fields.ts';

export function schemaProblems(schema: Schema, value: unknown): FieldProblem[] {
  return formErrors({ ...schema }, violations({ ...schema }, value)).map(({ pointer, message }) => ({
    pointer: pointer.slice('/payload'.length),
    message,
  }));
}
