import { describe, expect, test } from '@jest/globals';
import { exceededHostLimit } from '../../../../language/expressions/host-limits.ts';
import { compile, ExpressionError, type Json, type Limits } from '../../../../language/expressions/index.ts';
import { processorClock } from '../../../support/machine.ts';

function nested(levels: number): Json {
  let value: Json = null;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

function errorOf(program: string, input: Json, limits?: Partial<Limits>): ExpressionError {
  try {
    compile(program).all(input, limits ? { limits } : {});
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`${program} did not fail`);
}

/** Of processor time: far above what these take, far below what they would take without a budget. */
const patienceMs = 30_000;

const hostile: [string, Json, string][] = [
  ['. * 1e9', 'abc', 'stringLength'],
  ['[range(1e12)]', null, 'arrayLength'],
  ['def f: f; f', null, 'depth'],
  ['def f: 1, f; [f]', null, 'depth'],
  ['def f(g): f(g|g); f(.)', null, 'depth'],
  ['def f: path(f); f', null, 'depth'],
  ['def f: . as [$a, $b] | f; f', null, 'depth'],
  ['def f: try f catch f; f', null, 'steps'],
  ['[limit(1e9; repeat(1))]', null, 'arrayLength'],
  ['until(false; .)', null, 'steps'],
  ['last(repeat(1))', null, 'steps'],
  ['[recurse(. + 1)]', 1, 'arrayLength'],
  ['first(range(1e12) | select(. < 0))', null, 'steps'],
  ['reduce range(100) as $i ([1]; . + .)', null, 'arrayLength'],
  ['reduce range(100) as $i ("x"; . + .)', null, 'stringLength'],
  // Many long texts at once: the memory that they would take, not the time.
  ['[range(300) | ("x" * 15000000 | ascii_upcase)] | length', null, 'steps'],
  ['[range(300) | {a: ("x" * 15000000 + tostring)}] | length', null, 'steps'],
  ['("x" * 1000000) as $x | [range(1000) | $x + tostring] | length', null, 'steps'],
  ['("x" * 1000000) as $x | reduce range(1000) as $i ([]; .[$i] = $x + "y") | length', null, 'steps'],
  ['reduce range(100) as $i ([1]; [., .])', null, 'outputSize'],
  ['reduce range(100) as $i ([1]; [., .]) | tojson', null, 'steps'],
  ['reduce range(99) as $i ([1]; [., .]) | . == (reduce range(99) as $i ([1]; [., .]))', null, 'steps'],
  ['reduce range(99) as $i ([1]; [., .]) | flatten', null, 'steps'],
  ['reduce range(99) as $i ([1]; [., .]) | walk(.)', null, 'steps'],
  ['repeat(1)', null, 'outputs'],
  ['tojson', nested(10_000), 'depth'],
  ['[..] | length', nested(10_000), 'depth'],
  ['walk(.)', nested(10_000), 'depth'],
  ['flatten', nested(10_000), 'depth'],
  ['[., .] | sort', nested(10_000), 'depth'],
  ['. == (tojson | fromjson)', nested(10_000), 'depth'],
  ['.', nested(10_000), 'depth'],
  ['[.]', nested(100_000), 'depth'],
  ['test("(a+)+$")', `${'a'.repeat(40)}b`, 'regexSteps'],
  ['test("(a|a)*$")', `${'a'.repeat(40)}b`, 'regexSteps'],
  ['test("^(([a-z])+.)+[A-Z]([a-z])+$")', 'a'.repeat(60), 'regexSteps'],
  ['test("(?<=a*)b")', 'a'.repeat(20_000), 'regexSteps'],
  ['test("x")', 'x'.repeat(2_000_000), 'regexSubject'],
  ['.[5e8] = 1', null, 'arrayLength'],
];

test.each(hostile)('%s ends with a limit error, and the next evaluation works', (program, input, limit) => {
  const spentMs = processorClock();
  const error = errorOf(program, input);
  expect(spentMs()).toBeLessThan(patienceMs);
  expect({ kind: error.kind, limit: error.limit, message: error.message }).toEqual({
    kind: 'limit',
    limit,
    message: expect.any(String),
  });
  expect(compile('.a + 1').first({ a: 1 })).toBe(2);
});

test('a program can catch a limit error, whose message names the limit', () => {
  expect(compile('try (def f: f; f) catch .').first(null)).toBe('limit exceeded: recursion depth (3500)');
  expect(compile('try last(range(1e9)) catch .').first(null)).toBe('limit exceeded: steps (2000000)');
  expect(compile('try ([limit(1e9; repeat(1))]) catch "stopped"').first(null)).toBe('stopped');
});

test('an evaluation can set its own budgets', () => {
  expect(errorOf('[range(100)]', null, { steps: 50 }).limit).toBe('steps');
  expect(errorOf('range(100)', null, { outputs: 50 }).limit).toBe('outputs');
  expect(errorOf('[range(100)]', null, { outputSize: 50 }).limit).toBe('outputSize');
  expect(errorOf('"abc" * 100', null, { stringLength: 50 }).limit).toBe('stringLength');
  expect(errorOf('tojson', nested(60), { depth: 50 }).limit).toBe('depth');
  expect(errorOf('test("a")', 'b'.repeat(60), { regexSubject: 50 }).limit).toBe('regexSubject');
  expect(compile('[range(100)] | length').first(null)).toBe(100);
});

describe('a limit of the JavaScript engine is a limit of the expression', () => {
  const unlimited = { recursion: Infinity, steps: Infinity, stringLength: Infinity };
  const engineError = (work: () => unknown): RangeError => {
    try {
      work();
    } catch (error) {
      if (error instanceof RangeError) return error;
    }
    throw new Error('the engine has no such limit');
  };

  test('the size of its stack', () => {
    const overflow = (): number => overflow() + 1;
    expect(exceededHostLimit(engineError(overflow))).toBe('depth');
    expect(errorOf('def f: 1 + f; f', null, unlimited)).toMatchObject({ kind: 'limit', limit: 'depth' });
  });

  test('the length of a string', () => {
    expect(exceededHostLimit(engineError(() => 'x'.repeat(2 ** 30)))).toBe('stringLength');
    expect(errorOf('"x" * 1e9', null, unlimited)).toMatchObject({ kind: 'limit', limit: 'stringLength' });
  });

  test('the length of an array', () => {
    expect(exceededHostLimit(engineError(() => Array(2 ** 32)))).toBe('arrayLength');
  });
});

test('a text built from many pieces costs no more than its pieces', () => {
  expect(
    compile(
      'reduce range(20000) as $i (""; . + "a line of some fifty characters, more or less, \\n") | length',
    ).first(null),
  ).toBe(20_000 * 48);
});

test('large counts are no recursion and work', () => {
  const all = compile(
    '[until(. > 1e6; . + 1), last(range(1e5)), ' +
      '([recurse(if . < 1e5 then . + 1 else empty end)] | length), ' +
      'reduce range(1e5) as $x (0; . + 1), ' +
      '([limit(1e5; repeat(1))] | length), ' +
      '([while(. < 1e5; . + 1)] | length)]',
  );
  expect(all.first(0)).toEqual([1_000_001, 99_999, 100_001, 100_000, 100_000, 100_000]);
});

test('data just below the depth limit can be walked, flattened and sorted', () => {
  expect(
    compile('[([..] | length), (tojson | length), (flatten | length), ([., .] | sort | length)]').first(
      nested(9_000),
    ),
  ).toEqual([9_001, 18_004, 1, 2]);
});
