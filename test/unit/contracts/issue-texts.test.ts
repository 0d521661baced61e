/** What callers read about values of the wrong type or form. */
import { expect, test } from '@jest/globals';
import * as z from 'zod';

import { issueText, parameterText } from '../../../contracts/issue-texts.ts';
import { jsonObject, jsonObjectOf } from '../../../contracts/json-object.ts';
import { instant, pageQuery, text, uuid } from '../../../api/schemas.ts';

const inBody = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value, { error: issueText }).error?.issues[0]?.message;
const inQuery = (schema: z.ZodType, value: unknown): string | undefined => {
  const query = { limit: value };
  const { error } = z.object({ limit: schema }).safeParse(query, { error: parameterText(query) });
  return error?.issues[0]?.message;
};
const SECRET = 'a secret that was sent in the wrong field';
const UUID = 'a UUID such as 0198c0de-1f2a-7b3c-8d4e-5f60718293a4';
const TIME = 'a time such as 2026-03-31T08:00:00Z (RFC 3339)';

test.each<[z.ZodType, unknown, string]>([
  [z.string(), 5, 'must be text, but is a number'],
  [z.string(), null, 'must be text, but is null'],
  [z.string(), undefined, 'is required'],
  [z.enum(['a', 'b']), undefined, 'is required'],
  [z.boolean(), SECRET, 'must be true or false, but is text'],
  [z.object({}), ['a'], 'must be an object, but is an array'],
  [z.array(z.string()), {}, 'must be an array, but is an object'],
  [z.int().min(1).max(200), SECRET, 'must be a whole number from 1 to 200, but is text'],
  [z.int().min(1), 0, 'must be a whole number of at least 1, but is 0'],
  [z.number().max(1), 1.5, 'must be a number of at most 1, but is 1.5'],
  [z.int(), 1.5, 'must be a whole number, but is 1.5'],
  [z.number().gt(0), 0, 'must be more than 0, but is 0'],
  [text({ min: 1, max: 5 }), 5, 'must be text, but is a number'],
  [z.string().min(1).max(5), 5, 'must be text, but is a number'],
  [uuid, SECRET, `must be ${UUID}`],
  [instant, SECRET, `must be ${TIME}`],
  [z.email(), SECRET, 'must be an email address such as ada@example.com'],
  [z.enum(['private', 'public']), SECRET, 'must be private or public'],
  [z.enum(['a', 'b', 'c']), 1, 'must be a, b or c, but is a number'],
  [z.string().max(3), SECRET, `must have at most 3 characters, but has ${SECRET.length}`],
  [z.array(z.string()).min(1), [], 'must not be empty'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry, but has 2'],
  [z.string().regex(/^a+$/), SECRET, 'must match /^a+$/'],
  [z.strictObject({}), { other: 1 }, 'has unknown fields: other'],
  [z.union([text({ min: 1 }), jsonObject]), 5, 'must be text or an object, but is a number'],
  [z.union([text({ min: 1 }), jsonObject]), '', 'must not be empty'],
  [
    z.union([z.object({ n: z.int() }), z.string()]),
    { n: SECRET },
    'has at n: must be a whole number, but is text',
  ],
  [z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') })]), { kind: SECRET }, 'must be a'],
  [jsonObjectOf(z.string()), { a: 1 }, 'must be text, but is a number'],
  [z.string().refine(() => false), SECRET, 'is not valid'],
  [z.string().regex(/^a+$/, 'must be of as'), SECRET, 'must be of as'],
])('in a body %# says what is expected, and shows no text', (schema, value, message) => {
  expect(inBody(schema, value)).toBe(message);
});

test.each<[z.ZodType, unknown, string]>([
  [pageQuery.limit, 'abc', 'must be a whole number from 1 to 200, but is "abc"'],
  [pageQuery.limit, '500', 'must be a whole number from 1 to 200, but is "500"'],
  [pageQuery.limit, ['1', '2'], 'must be a whole number from 1 to 200, but is given more than once'],
  [uuid, 'abc', `must be ${UUID}, but is "abc"`],
  [instant.optional(), 'yesterday', `must be ${TIME}, but is "yesterday"`],
  [z.enum(['day', 'run']), 'week', 'must be day or run, but is "week"'],
  [uuid, 'x'.repeat(50), `must be ${UUID}, but is "${'x'.repeat(40)}…"`],
])('in a query %# also says what was given', (schema, value, message) => {
  expect(inQuery(schema, value)).toBe(message);
});
