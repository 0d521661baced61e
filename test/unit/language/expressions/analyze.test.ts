import { expect, test } from '@jest/globals';
import { analyze } from '../../../../language/expressions/index.ts';

test('all problems are reported, each with its place and a suggestion', () => {
  const { problems } = analyze('$contxt.a\n| lenght, foo(1; 2), env', { variables: ['context'] });
  expect(problems).toEqual([
    {
      code: 'undefined_variable',
      message: '$contxt is not defined',
      line: 1,
      column: 1,
      suggestion: '$context',
    },
    {
      code: 'undefined_function',
      message: 'lenght/0 is not defined',
      line: 2,
      column: 3,
      suggestion: 'length',
    },
    { code: 'undefined_function', message: 'foo/2 is not defined', line: 2, column: 11 },
    {
      code: 'refused',
      message: 'env/0 is not available: an expression has no environment',
      line: 2,
      column: 22,
    },
  ]);
});

test('a call with a wrong number of arguments suggests the right number', () => {
  expect(analyze('length(1)').problems).toMatchObject([
    {
      code: 'undefined_function',
      suggestion: 'length/0',
      message: 'length/1 is not defined, but length/0 is',
    },
  ]);
});

test('a syntax error is reported as one problem', () => {
  expect(analyze('.a | | .b').problems).toEqual([
    { code: 'syntax', message: "syntax error, unexpected '|'", line: 1, column: 6 },
  ]);
  expect(analyze('${ .a', { mode: 'strict' }).problems).toMatchObject([
    { code: 'syntax', line: 1, column: 1 },
  ]);
});

test('the analysis lists the variables, paths and functions of a program', () => {
  const { variables, paths, functions, problems } = analyze(
    '$context.user.id as $id | .items[] | select(.id == $id) | $secrets.key + ($task | tojson)',
  );
  expect(problems).toEqual([]);
  expect(variables).toEqual(['context', 'secrets', 'task']);
  expect(paths).toEqual(['$context.user.id', '$secrets.key', '$task', '.items[]']);
  expect(functions).toEqual(['select/1', 'tojson/0']);
});

test('functions, patterns and labels have the scope that jq gives them', () => {
  expect(
    analyze('def f($a; g): $a + g; . as {a: $x, $y} | label $out | f($x; $y), break $out').problems,
  ).toEqual([]);
  expect(analyze('(. as $x | $x), $x').problems).toHaveLength(0);
  expect(analyze('(. as $x | $x), $x', { variables: [] }).problems).toMatchObject([
    { code: 'undefined_variable', column: 17 },
  ]);
  expect(analyze('break $out').problems).toMatchObject([{ code: 'undefined_label' }]);
});

test('the expressions inside a template are analyzed', () => {
  expect(analyze('Hello ${ $context.name }', { mode: 'strict' })).toMatchObject({
    problems: [],
    paths: ['$context.name'],
  });
  expect(analyze('no expression at all', { mode: 'strict' })).toMatchObject({ problems: [], paths: [] });
});
