/** Schemas, patterns and values come from users: a check has to end, whatever they are. */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { checkJsonSchema } from '../../../contracts/json-schema.ts';
import { Budget } from '../../../contracts/schema/budget.ts';
import { compilePattern, patternProblem } from '../../../contracts/schema/pattern.ts';
import { violations } from '../../../contracts/validate-json.ts';

const plenty = (): Budget => new Budget(Number.MAX_SAFE_INTEGER);
/** On a busy machine, and for values that backtracking would take years for. */
const MAX_MS = 60_000;

function timed(schema: Record<string, unknown>, value: unknown): string[] {
  const start = Date.now();
  const messages = violations(schema, value).map(({ message }) => message);
  expect(Date.now() - start).toBeLessThan(MAX_MS);
  return messages;
}

test.each(['(a+)+$', '^((a)+)+$', '^(a|a)*$', String.raw`^(\w|\d)*$`, '^a*a*a*a*a*a*a*a*a*b$', '^(?:a?){30}a{30}$', '^(?=(a+)+$)'])('%s ends on every text', (pattern) => {
  expect(checkJsonSchema({ pattern })).toEqual([]);
  expect(timed({ pattern }, `${'a'.repeat(29)}!`)).toEqual(['String does not match pattern.']);
  expect(timed({ pattern }, `${'a'.repeat(2_000_000)}!`)).toHaveLength(1);
  expect(timed({ patternProperties: { [pattern]: false } }, { [`${'a'.repeat(29)}!`]: 1 })).toEqual([]);
});

test('schemas that multiply or refer to themselves end', () => {
  expect(timed({ $ref: '#' }, 1)).toEqual(['The schema refers to itself without end here.']);
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const defs: Record<string, unknown> = { a0: { type: 'string' } };
    for (let i = 1; i < 40; i++) defs[`a${i}`] = { [keyword]: [{ $ref: `#/$defs/a${i - 1}` }, { $ref: `#/$defs/a${i - 1}` }] };
    expect(timed({ $defs: defs, $ref: '#/$defs/a39' }, 1).at(-1)).toMatch(/too many steps/);
  }
});

test('large values are checked, unique items and the format url too', () => {
  const many = Array.from({ length: 300_000 }, (_, i) => i);
  expect(timed({ items: { type: 'integer' }, uniqueItems: true }, many)).toEqual([]);
  expect(timed({ uniqueItems: true }, [...many, 7])).toEqual(['Duplicate items at indexes 7 and 300000.']);
  expect(timed({ format: 'url' }, `http://${'a'.repeat(100_000)}!`)).toEqual([]);
});

test('names of JavaScript\'s own objects are ordinary names', () => {
  expect(violations({ required: ['__proto__', 'constructor'] }, {})).toHaveLength(2);
  expect(violations({ properties: { toString: false } }, {})).toEqual([]);
  expect(violations(JSON.parse('{"additionalProperties":false}') as Record<string, unknown>, JSON.parse('{"__proto__":1}'))).toEqual([{ pointer: '/__proto__', message: 'Nothing is allowed here.' }]);
});

test('what a pattern may not have is said when it is saved', () => {
  expect(patternProblem(String.raw`(a)\1`)).toMatch(/back to a group/);
  expect(patternProblem('(?:a{1000}){1000}')).toMatch(/repeats too much/);
  expect(patternProblem('(')).toMatch(/no regular expression/);
  expect(checkJsonSchema({ patternProperties: { [String.raw`(?<x>a)\k<x>`]: true } })).toHaveLength(1);
  expect(violations({ pattern: String.raw`(a)\1` }, 'aa')).toHaveLength(1);
});

const pieces = ['a', 'b', '.', '[ab]', '[^a]', String.raw`\d`, String.raw`\w`, '(a|b)', '(?:ab|a)', '(?<n>b)', 'a*', 'b+', 'a?', '(ab)*', '(a*)*', 'a{2}', 'b{1,3}', 'a{2,}?', '^', '$', String.raw`\b`, String.raw`\B`, '(?=a)', '(?!b)', '(?<=a)', '(?<!b)', '|', 'é', '😀', String.raw`\u{1F600}`, String.raw`\p{L}`, String.raw`\.`];
// A name may be there once.
const patternOf = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((parts) => parts.join('').replaceAll('(?<n>', (_, at: number) => `(?<n${at}>`));

test('a pattern matches what the engine says', () => {
  fc.assert(
    fc.property(patternOf, fc.string({ unit: fc.constantFrom('a', 'b', '1', '.', 'é', '😀', ' ', '\n'), maxLength: 8 }), (pattern, text) => {
      const found = new RegExp(pattern, 'u').exec(text);
      // V8 also finds what begins in the middle of a character of two units (`\B` in an emoji); ECMA-262 goes by whole characters.
      fc.pre(found === null || !/^[\uDC00-\uDFFF]/.test(text.slice(found.index)));
      expect(compilePattern(pattern).test(text, plenty())).toBe(found !== null);
    }),
    { numRuns: 3_000 },
  );
});
