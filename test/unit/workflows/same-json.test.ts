import { expect, test } from '@jest/globals';

import { sameJson } from '../../../workflows/interpreter/same-json.ts';

const deep = (depth: number, leaf: unknown): unknown => {
  let value = leaf;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { value };
  return value;
};

test.each([
  [null, null],
  [
    { a: 1, b: [1, { c: 'x' }] },
    { b: [1, { c: 'x' }], a: 1 },
  ],
  [[], []],
  [deep(50_000, 1), deep(50_000, 1)],
])('%# equal values are the same', (a, b) => {
  expect(sameJson(a, b)).toBe(true);
});

test.each([
  [null, {}],
  [{}, []],
  [[1], [1, null]],
  [{ a: null }, { b: null }],
  [{ a: 1 }, { a: 1, b: 2 }],
  [1, '1'],
  [deep(50_000, 1), deep(50_000, 2)],
])('%# values that differ are not', (a, b) => {
  expect(sameJson(a, b)).toBe(false);
  expect(sameJson(b, a)).toBe(false);
});
