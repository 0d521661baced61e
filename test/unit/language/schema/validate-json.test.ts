import { expect, test } from '@jest/globals';
import { violations } from '../../../../language/schema/validate-json.ts';

const pointers = (schema: Record<string, unknown>, value: unknown): string[] =>
  violations(schema, value).map((found) => found.pointer);

test('no schema and true accept everything, false accepts nothing', () => {
  for (const schema of [null, undefined, true]) expect(violations(schema, 1)).toEqual([]);
  expect(violations(false, 1)).toHaveLength(1);
});

test('violations have valid JSON pointers, whatever the names', () => {
  const names = ['a b', 'ü', 'a/b', 'm~n', '50%', '#'];
  const schema = { properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
  const value = Object.fromEntries(names.map((name) => [name, 1]));
  expect(pointers(schema, value).toSorted()).toEqual(['/#', '/50%', '/a b', '/a~1b', '/m~0n', '/ü']);
});

test('each mistake gives one violation, at its place', () => {
  expect(pointers({ properties: { a: { items: { type: 'integer' } } } }, { a: [1, 'x'] })).toEqual(['/a/1']);
  expect(violations({ properties: { a: true }, additionalProperties: false }, { a: 1, b: 2 })).toMatchObject([
    { pointer: '/b', message: 'This is not a known field (known: a).' },
  ]);
  expect(violations({ properties: { a: false } }, { a: 1 })).toMatchObject([
    { pointer: '/a', message: 'Nothing is allowed here.' },
  ]);
  expect(violations({ required: ['topic'] }, {})).toMatchObject([
    { pointer: '', message: 'topic is missing.' },
  ]);
  expect(pointers({ required: ['a'] }, {})).toEqual(['']);
});
