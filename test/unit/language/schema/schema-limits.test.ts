/** Users write schemas, patterns and values, so every check has to end. */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { jsonSchemaProblems } from '../../../../language/schema/well-formed.ts';
import { Budget } from '../../../../language/schema/budget.ts';
import { compilePattern, patternProblem } from '../../../../language/schema/pattern.ts';
import { violations } from '../../../../language/schema/validate-json.ts';
import { processorClock } from '../../../support/machine.ts';

const plenty = (): Budget => new Budget(Number.MAX_SAFE_INTEGER);
/** Of processor time, for values that backtracking would take years for. */
const MAX_MS = 60_000;

function timed(schema: Record<string, unknown>, value: unknown): string[] {
  const spentMs = processorClock();
  const messages = violations(schema, value).map(({ message }) => message);
  expect(spentMs()).toBeLessThan(MAX_MS);
  return messages;
}

test.each([
  '(a+)+$',
  '^((a)+)+$',
  '^(a|a)*$',
  String.raw`^(\w|\d)*$`,
  '^a*a*a*a*a*a*a*a*a*b$',
  '^(?:a?){30}a{30}$',
  '^(?=(a+)+$)',
])('the pattern %s ends on every text', (pattern) => {
  expect(jsonSchemaProblems({ pattern })).toEqual([]);
  expect(timed({ pattern }, `${'a'.repeat(29)}!`)).toEqual(['String does not match pattern.']);
  expect(timed({ pattern }, `${'a'.repeat(200_000)}!`)).toHaveLength(1);
  expect(timed({ patternProperties: { [pattern]: false } }, { [`${'a'.repeat(29)}!`]: 1 })).toEqual([]);
});

test('a pattern ends on a text as long as a body may be', () => {
  expect(timed({ pattern: '^((a)+)+$' }, `${'a'.repeat(2_000_000)}!`)).toHaveLength(1);
});

test('a schema that multiplies or refers to itself ends', () => {
  expect(timed({ $ref: '#' }, 1)).toEqual(['The schema refers to itself endlessly here.']);
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const defs: Record<string, unknown> = { a0: { type: 'string' } };
    for (let i = 1; i < 40; i++)
      defs[`a${i}`] = { [keyword]: [{ $ref: `#/$defs/a${i - 1}` }, { $ref: `#/$defs/a${i - 1}` }] };
    expect(timed({ $defs: defs, $ref: '#/$defs/a39' }, 1).at(-1)).toMatch(/too many steps/);
  }
});

test('large values are checked, even with uniqueItems and the format url', () => {
  const many = Array.from({ length: 300_000 }, (_, i) => i);
  expect(timed({ items: { type: 'integer' }, uniqueItems: true }, many)).toEqual([]);
  expect(timed({ uniqueItems: true }, [...many, 7])).toEqual(['Duplicate items at indexes 7 and 300000.']);
  expect(timed({ format: 'url' }, `http://${'a'.repeat(100_000)}!`)).toEqual([]);
});

test('names of Object.prototype are ordinary names', () => {
  expect(violations({ required: ['__proto__', 'constructor'] }, {})).toHaveLength(2);
  expect(violations({ properties: { toString: false } }, {})).toEqual([]);
  expect(
    violations(
      JSON.parse('{"additionalProperties":false}') as Record<string, unknown>,
      JSON.parse('{"__proto__":1}'),
    ),
  ).toMatchObject([{ pointer: '/__proto__', message: 'This is not a known field.' }]);
});

test('an unsupported pattern is refused when the schema is saved', () => {
  expect(patternProblem(String.raw`(a)\1`)).toMatch(/back to a group/);
  expect(patternProblem('(?:a{1000}){1000}')).toMatch(/repeats too much/);
  expect(patternProblem('(')).toMatch(/not a regular expression/);
  expect(jsonSchemaProblems({ patternProperties: { [String.raw`(?<x>a)\k<x>`]: true } })).toHaveLength(1);
  expect(violations({ pattern: String.raw`(a)\1` }, 'aa')).toHaveLength(1);
});

test('a pattern is reported at each place, and so are those that are too much together', () => {
  const wrong = { pattern: '(' };
  const twice = jsonSchemaProblems({ properties: { a: wrong, b: wrong }, patternProperties: { '(': true } });
  expect(twice.map(({ pointer }) => pointer)).toEqual([
    '/properties/a/pattern',
    '/properties/b/pattern',
    '/patternProperties/(',
  ]);
  // Each has some 18,000 instructions, of the 100,000 that a schema may have.
  const large = (letter: string) => ({ pattern: `(?:${letter}{3000}){6}` });
  const of = (letters: string) => ({
    properties: Object.fromEntries([...letters].map((letter, at) => [`${at}`, large(letter)])),
  });
  expect(jsonSchemaProblems(of('abcdeabcde'))).toEqual([]);
  expect(jsonSchemaProblems(of('abcdeffa'))).toEqual(
    [5, 6].map((at) => ({
      pointer: `/properties/${at}/pattern`,
      message: '"(?:f{3000}){6}": the patterns of the schema repeat too much together',
      severity: 'error',
    })),
  );
});

const pieces = [
  'a',
  'b',
  '.',
  '[ab]',
  '[^a]',
  String.raw`\d`,
  String.raw`\w`,
  '(a|b)',
  '(?:ab|a)',
  '(?<n>b)',
  'a*',
  'b+',
  'a?',
  '(ab)*',
  '(a*)*',
  'a{2}',
  'b{1,3}',
  'a{2,}?',
  '^',
  '$',
  String.raw`\b`,
  String.raw`\B`,
  '(?=a)',
  '(?!b)',
  '(?<=a)',
  '(?<!b)',
  '|',
  'é',
  '😀',
  String.raw`\u{1F600}`,
  String.raw`\p{L}`,
  String.raw`\.`,
];
// A group name may occur once.
const patternOf = fc
  .array(fc.constantFrom(...pieces), { maxLength: 7 })
  .map((parts) => parts.join('').replaceAll('(?<n>', (_, at: number) => `(?<n${at}>`));

test('a pattern matches what the regular expressions of JavaScript match', () => {
  fc.assert(
    fc.property(
      patternOf,
      fc.string({ unit: fc.constantFrom('a', 'b', '1', '.', 'é', '😀', ' ', '\n'), maxLength: 8 }),
      (pattern, text) => {
        const found = new RegExp(pattern, 'u').exec(text);
        // V8 also finds what begins in the middle of a character of two units (`\B` in an emoji); ECMA-262
        // goes by whole characters.
        fc.pre(found === null || !/^[\uDC00-\uDFFF]/.test(text.slice(found.index)));
        expect(compilePattern(pattern).test(text, plenty())).toBe(found !== null);
      },
    ),
    { numRuns: 3_000, seed: 20260801 },
  );
});
