import { expect, test } from '@jest/globals';
import { compile, ExpressionError, type Json } from '../../../../language/expressions/index.ts';

function failure(run: () => unknown): ExpressionError {
  try {
    run();
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error('did not fail');
}

test('first() gives the first output or null, and all() gives every output', () => {
  const program = compile('.[]');
  expect(program.first([1, 2])).toBe(1);
  expect(program.first([])).toBeNull();
  expect(program.all([1, 2])).toEqual([1, 2]);
  expect(program.all([])).toEqual([]);
});

test('variables come from the environment and must be declared', () => {
  const program = compile('$context.user + $n', { variables: ['context', 'n'] });
  expect(program.first(null, { variables: { context: { user: 'a' }, n: 'b' } })).toBe('ab');
  expect(failure(() => compile('$context')).kind).toBe('compile');
  expect(failure(() => compile('$contxt', { variables: ['context'] })).suggestion).toBe('$context');
  expect(failure(() => program.first(null, { variables: { n: 1 } })).message).toBe('$context is not defined');
});

test('now reads the clock of the environment', () => {
  expect(compile('now | todate').first(null, { clock: () => new Date(0) })).toBe('1970-01-01T00:00:00Z');
  expect(failure(() => compile('now').first(null)).kind).toBe('runtime');
});

test('a program never changes its input', () => {
  const input = { a: [1, 2, { b: 3 }], c: 'x' };
  const copy = structuredClone(input);
  for (const program of [
    '.a[2].b = 9',
    '.a += [1]',
    'del(.a[0])',
    '.a |= map(5)',
    '.a[] |= empty',
    'to_entries',
    '.a | sort | reverse',
    'walk(if type == "number" then . + 1 else . end)',
    '.a[2] *= {x: 1}',
    'reduce range(3) as $i (.; .a[2].b += $i)',
  ]) {
    compile(program).all(input);
    expect(input).toEqual(copy);
  }
});

test('keys that objects inherit are ordinary keys', () => {
  const input: Json = JSON.parse('{"__proto__": 1, "constructor": 2}');
  expect(
    compile('[.__proto__, .constructor, .toString, has("toString"), has("__proto__")]').first(input),
  ).toEqual([1, 2, null, false, true]);
  expect(compile('keys').first(input)).toEqual(['__proto__', 'constructor']);
  expect(JSON.stringify(compile('.["__proto__"] = 5 | .valueOf = 6 | del(.constructor)').first(input))).toBe(
    '{"__proto__":5,"valueOf":6}',
  );
  expect(
    JSON.stringify(compile('{__proto__: .a, (.b): 1} * {c: {__proto__: 2}}').first({ a: 1, b: 'toString' })),
  ).toBe('{"__proto__":1,"toString":1,"c":{"__proto__":2}}');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('outputs are JSON: NaN becomes null, infinities become the largest doubles', () => {
  expect(compile('[nan, infinite, -infinite, {a: nan}]').first(null)).toEqual([
    null,
    Number.MAX_VALUE,
    -Number.MAX_VALUE,
    { a: null },
  ]);
});

test.each([
  'env',
  '$ENV',
  'input',
  'inputs',
  'debug',
  'debug(1)',
  'stderr',
  'halt',
  'halt_error',
  'halt_error(1)',
  'input_filename',
  'input_line_number',
  'modulemeta',
  'import "a" as a; .',
  'include "a"; .',
  'get_search_list',
])('%s is refused at compile time, by name', (program) => {
  const error = failure(() => compile(program));
  expect(error.kind).toBe('compile');
  expect(error.message).toMatch(/is not available/);
});

test('errors carry line and column, and raised values', () => {
  const compileError = failure(() => compile('.a |\n  foo(1)'));
  expect([compileError.kind, compileError.line, compileError.column]).toEqual(['compile', 2, 3]);
  const runtimeError = failure(() => compile('.a as $x |\n  .b.c').first({ b: 1 }));
  expect([runtimeError.kind, runtimeError.line, runtimeError.column]).toEqual(['runtime', 2, 5]);
  const raised = failure(() => compile('error({code: 7})').first(null));
  expect(raised.value).toEqual({ code: 7 });
});

test('a program is compiled once and reused', () => {
  expect(compile('.cached + 1')).toBe(compile('.cached + 1'));
});

test.each<[string, Json, Json[]]>([
  ['.a?//1', null, [1]],
  ['label $f | try break $f catch .', null, [{ __jq: 0 }]],
  [
    '[.[] | tostring]',
    [1e15, 1e17, 1e-5, 1.5e-7, 123456789012345680, -0],
    [['1000000000000000', '1e+17', '1e-05', '1.5e-07', '123456789012345680', '-0']],
  ],
  ['def f($a; g): $a + a + g; f(1; 2)', null, [4]],
  ['[limit(3; def f: 1, f; f)]', null, [[1, 1, 1]]],
  ['first(label $out | 1, break $out)', null, [1]],
  ['reduce (1, 2) as $x (0; empty)', null, [null]],
  ['[.[] as [$a] ?// $a | $a]', [[1], 2], [[1, 2]]],
  ['index("a"), rindex("a"), [paths(type == "number")]', { b: 1 }, [null, null, [['b']]]],
  ['[match("x(?i)b|a"; "g").string]', 'AxB', [['A', 'xB']]],
  ['[match("c?|ab"; "gl").string]', 'abcab', [['ab', 'ab', '']]],
  ['indices(null)', [1, null], [[1]]],
  ['@base32 | ., @base32d', 'hällo', ['NDB2I3DMN4======', 'hällo']],
  [
    '[strptime("%d %b %Y")[0:3], (0 | strftime("%a %j %U %V %G"))]',
    '05 Mar 2015',
    [[[2015, 2, 5], 'Thu 001 00 01 1970']],
  ],
  [
    '[match("(?<y>\\\\d{4})-(?<m>\\\\d\\\\d)"; "g") | .captures | map({(.name): .string}) | add]',
    '2020-01 2021-02',
    [
      [
        { y: '2020', m: '01' },
        { y: '2021', m: '02' },
      ],
    ],
  ],
  [
    '[test("a(?!b)"), test("(?<=x)a"), test("A"; "i"), (sub("(?<l>a+)"; "<\\(.l)>"))]',
    'aab',
    [[true, false, true, '<aa>b']],
  ],
])('%s gives what jq gives', (program, input, outputs) => {
  expect(compile(program).all(input)).toEqual(outputs);
});
