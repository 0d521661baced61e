import { expect, test } from '@jest/globals';
import {
  ExpressionError,
  template,
  type Json,
  type TemplateMode,
} from '../../../../language/expressions/index.ts';

test.each<[string, TemplateMode, Json, Json]>([
  ['${ .a }', 'strict', { a: [1] }, [1]],
  ['${.a}', 'strict', { a: null }, null],
  [' ${ .a }\n', 'strict', { a: 1 }, 1],
  ['x ${ .a } y ${ .b }', 'strict', { a: [1], b: 'z' }, 'x [1] y z'],
  ['${ .a }${ .b }', 'strict', { a: 1, b: 2 }, '12'],
  ['.a', 'strict', { a: 1 }, '.a'],
  ['.a', 'loose', { a: 1 }, 1],
  ['', 'strict', 1, ''],
  ['plain $ {text}', 'strict', null, 'plain $ {text}'],
  ['${ {a: {b: 1}} }', 'strict', null, { a: { b: 1 } }],
  ['${ "}" }', 'strict', null, '}'],
  ['v: ${ "\\("}") {" } end', 'strict', null, 'v: } { end'],
  ['${ {a: 1} | .a # } comment\n }', 'strict', null, 1],
  ['a${ empty }b', 'strict', null, 'anullb'],
  ['${ empty }', 'strict', null, null],
  ['n: ${ .a, .b }', 'strict', { a: 1, b: 2 }, 'n: 1'],
  ['${ .a }', 'strict', { a: '${ .b }', b: 'never' }, '${ .b }'],
  ['x ${ .a }', 'strict', { a: '${ .b }', b: 'never' }, 'x ${ .b }'],
  ['${ "${ .a }" }', 'strict', null, '${ .a }'],
])('the template %j in %s mode is evaluated', (text, mode, input, expected) => {
  expect(template(text, { mode }).first(input)).toEqual(expected);
  expect(template(text, { mode }).all(input)).toEqual(
    text.includes('${ empty }') && expected === null ? [] : [expected],
  );
});

test('a template uses variables of the environment without declaring them', () => {
  expect(
    template('${ $context.a }', { mode: 'strict' }).first(null, { variables: { context: { a: 1 } } }),
  ).toBe(1);
});

test('an error has its line and column in the whole text', () => {
  try {
    template('line one\nx ${ foo } y', { mode: 'strict' });
    throw new Error('did not fail');
  } catch (error) {
    expect(error).toBeInstanceOf(ExpressionError);
    expect(error).toMatchObject({ kind: 'compile', line: 2, column: 6 });
  }
});

test.each(['${ .a', '${ "', 'x ${', '${}', '${ ( }', '${ .a ] }'])('the template %j is refused', (text) => {
  expect(() => template(text, { mode: 'strict' })).toThrow(ExpressionError);
});
