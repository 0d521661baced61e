import { expect, test } from '@jest/globals';
import { durationToMs } from '../../../../language/definition/duration.ts';
import { closest } from '../../../../contracts/suggest.ts';
import { resolveCallee } from '../../../../language/definition/call-function.ts';
import { isVersionRange } from '../../../../language/definition/version-range.ts';
import { jsonSchemaProblems } from '../../../../language/schema/well-formed.ts';

test.each([
  ['PT30S', 30_000],
  ['PT0S', 0],
  ['P1DT2H', 93_600_000],
  ['P2W', 1_209_600_000],
  ['PT0.5S', 500],
  ['PT1.5H', 5_400_000],
  [{ days: 1, hours: 2 }, 93_600_000],
  [{ milliseconds: 1.4 }, 1],
  [{ seconds: 0 }, 0],
])('%j is %d ms', (duration, ms) => {
  expect(durationToMs(duration)).toBe(ms);
});

test.each([
  'P',
  'PT',
  '30s',
  'P1M',
  'P1Y2D',
  'P1DT',
  'PT-5S',
  '',
  'P999999999999D',
  {},
  { seconds: -1 },
  { second: 1 },
  { seconds: '5' },
  null,
  undefined,
  5,
  [],
  [1],
  { seconds: Number.NaN },
])('%j is refused as a duration', (duration) => {
  expect(() => durationToMs(duration)).toThrow();
});

test.each([
  '1.2.3',
  'v1.0.0',
  '^1.2',
  '~1',
  '1.x',
  '*',
  '>=1.0.0 <2.0.0',
  '> 1',
  '1.0.0 - 2.0.0',
  '^1 || ^2',
  '1.0.0-beta.1+build',
])('%s is a version or range', (text) => {
  expect(isVersionRange(text)).toBe(true);
});

test.each(['', 'newest', '1..2', '1.2.3.4', '^', '1 ||', 'x'.repeat(300), '01.0.0'])(
  '%s is neither a version nor a range',
  (text) => {
    expect(isVersionRange(text)).toBe(false);
  },
);

test('closest() gives the nearest name, and nothing where no name is near', () => {
  expect(closest('endpont', ['method', 'endpoint'])).toBe('endpoint');
  expect(closest('adn', ['and', 'or'])).toBe('and');
  expect(closest('foo', ['barbar', 'method'])).toBeUndefined();
});

test('functions of the definition take precedence over the short built-in names', () => {
  expect(resolveCallee('human', undefined)).toEqual({ kind: 'builtin', name: 'human' });
  expect(resolveCallee('human', { human: {} })).toEqual({ kind: 'function', name: 'human' });
  expect(resolveCallee('human:1.0.0@default', { human: {} })).toEqual({ kind: 'builtin', name: 'human' });
  expect(resolveCallee('toString', {})).toBeUndefined();
  expect(resolveCallee('http:1.0.0@default', {})).toBeUndefined();
});

test.each([
  [true, []],
  [{}, []],
  [{ type: ['string', 'null'], 'x-order': 1, whatever: 2 }, []],
  [{ $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } }, []],
  [5, ['']],
  [{ type: 'strng' }, ['/type']],
  [{ properties: { 'a/b': { minLength: -1 } } }, ['/properties/a~1b/minLength']],
  [{ pattern: '(' }, ['/pattern']],
  [{ pattern: '(a+)+$' }, []],
  [{ pattern: String.raw`(a)\1` }, ['/pattern']],
  [{ items: [{}] }, ['/items']],
  [{ $ref: 'https://example.com/s.json' }, ['/$ref']],
  [{ anyOf: [] }, ['/anyOf']],
  [{ requird: ['a'] }, ['/requird']],
])('checking the JSON Schema %j finds problems at %j', (schema, pointers) => {
  expect(jsonSchemaProblems(schema).map(({ pointer }) => pointer)).toEqual(pointers);
});
