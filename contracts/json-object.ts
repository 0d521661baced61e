/**
 * Objects with arbitrary user keys. `z.record` silently drops the key `__proto__`, which is legal in JSON.
 */
import * as z from 'zod';
import { isRecord } from './is-record.ts';
import { issueText } from './issue-texts.ts';

const jsonSchema = { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} };

/** An object; keeps every key in order and every value unchanged. */
export const jsonObject = z
  .custom<Record<string, unknown>>()
  .check((context) => {
    if (!isRecord(context.value))
      context.issues.push({
        code: 'invalid_type',
        expected: 'record',
        input: context.value,
        message: 'must be an object',
      });
  })
  .meta(jsonSchema);

/** Like `jsonObject`, but every value must match a schema, which must not transform it. */
export function jsonObjectOf<T extends z.ZodType>(values: T) {
  return z.custom<Record<string, z.output<T>>>().check((context) => {
    if (!isRecord(context.value)) {
      context.issues.push({
        code: 'invalid_type',
        expected: 'record',
        input: context.value,
        message: 'must be an object',
      });
      return;
    }
    for (const [key, value] of Object.entries(context.value)) {
      const [issue] = values.safeParse(value, { error: issueText }).error?.issues ?? [];
      if (issue)
        context.issues.push({
          code: 'custom',
          input: value,
          path: [key, ...issue.path],
          message: issue.message,
        });
    }
  });
}
