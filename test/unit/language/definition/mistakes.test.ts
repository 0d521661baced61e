import { expect, test } from '@jest/globals';
import { validateDefinition } from '../../../../language/definition/validate.ts';
import { mistakes } from './mistakes.ts';
import { mistakesInExpressions } from './mistakes-in-expressions.ts';
import { correct } from './correct.ts';

test('the definition without a mistake is valid and runnable', () => {
  const result = validateDefinition(correct());
  expect(result.problems).toEqual([]);
  expect(result.runnable).toBe(true);
});

const all = [...mistakes, ...mistakesInExpressions];

test.each(all.map((mistake) => [mistake.title, mistake] as const))(
  'a definition with %s has the expected problems',
  (_title, { change, expected }) => {
    const definition = correct();
    change(definition);
    const { problems, valid, runnable } = validateDefinition(definition);
    expect(
      problems.map(({ severity, code, pointer, message }) => `${severity} ${code} ${pointer}: ${message}`),
    ).toEqual(expected.map((text) => expect.stringContaining(text)));
    expect(valid).toBe(!expected.some((text) => text.startsWith('error')));
    expect(runnable).toBe(
      !expected.some((text) => text.startsWith('error') || text.startsWith('unsupported')),
    );
  },
);

test('the list of mistakes is long enough', () => {
  expect(all.length).toBeGreaterThanOrEqual(60);
});
