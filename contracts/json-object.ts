/** Objects whose keys are the users' own. `z.record` silently drops a key `__proto__`, which JSON may have as any other. */
import * as z from 'zod';
import { isRecord } from './is-record.ts';

const jsonSchema = { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} };

/** Keeps every key, in order, and every value as it is. */
export const jsonObject = z
  .custom<Record<string, unknown>>()
  .check((context) => {
    if (!isRecord(context.value)) context.issues.push({ code: 'invalid_type', expected: 'record', input: context.value, message: 'has to be an object' });
  })
  .meta(jsonSchema);

/** As `jsonObject`; every value has to fit a schema, which must not change it. */
export function jsonObjectOf<T extends z.ZodType>(values: T) {
  return z.custom<Record<string, z.output<T>>>().check((context) => {
    if (!isRecord(context.value)) {
      context.issues.push({ code: 'invalid_type', expected: 'record', input: context.value, message: 'has to be an object' });
      return;
    }
    for (const [key, value] of Object.entries(context.value)) {
      const [issue] = values.safeParse(value).error?.issues ?? [];
      if (issue) context.issues.push({ code: 'custom', input: value, path: [key, ...issue.path], message: issue.message });
    }
  });
}
