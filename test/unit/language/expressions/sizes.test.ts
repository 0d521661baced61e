/**
 * What grows with its input takes steps for it: each builtin and operator with an input of n and of 10 n
 * characters or elements. A builtin that is in no list fails the last test.
 */
import { describe, expect, test } from '@jest/globals';
import { builtins } from '../../../../language/expressions/builtins/index.ts';
import { compile, ExpressionError, type Json } from '../../../../language/expressions/index.ts';
import { processorClock } from '../../../support/machine.ts';

const SIZE = 2_000;
/** At least a step for so many characters that the host copies or compares. */
const CHARACTERS_PER_STEP = 256;

const text = (n: number): Json => 'é'.repeat(n);
const letters = (n: number): Json => 'a'.repeat(n);
const blanks = (n: number): Json => ' '.repeat(n);
const digits = (n: number): Json => '1'.repeat(n);
const numbers = (n: number): Json => Array.from({ length: n }, (_, i) => (i * 7919) % n);
const lists = (n: number): Json => Array.from({ length: n }, (_, i) => [i]);
const texts = (n: number): Json => Array.from({ length: n }, (_, i) => `t${i}`);
const object = (n: number): Json => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]));
const entries = (n: number): Json => Array.from({ length: n }, (_, i) => ({ key: `k${i}`, value: i }));
const base64 = (n: number): Json => Buffer.from('a'.repeat(n)).toString('base64');
const json = (n: number): Json => JSON.stringify(numbers(n));
/** The same content in two places of memory. */
const twice = (make: (n: number) => Json) => (n: number) => [make(n), make(n)];
const path = (n: number): Json => Array.from({ length: n }, () => 0);

type Case = [program: string, make: (n: number) => Json, names?: string];

/** `names`: the builtins that the case stands for, if they are not the words of the program. */
const growing: Case[] = [
  ['length', text],
  ['length', object],
  ['utf8bytelength', text],
  ['keys', object],
  ['keys', numbers],
  ['keys_unsorted', object],
  ['to_entries', object],
  ['to_entries', numbers],
  ['from_entries', entries],
  ['with_entries(.)', object],
  ['map(.)', numbers],
  ['map_values(.)', object],
  ['walk(.)', numbers],
  ['"a" as $a | . as $x | {} | has($x)', text, 'has/1'],
  ['contains("b")', text],
  ['contains(["b"])', texts],
  ['.[0] as $a | .[1] | inside($a)', twice(text), 'inside/1'],
  ['startswith("b")', text],
  ['endswith("b")', text],
  ['ltrimstr("é")', text],
  ['rtrimstr("é")', text],
  ['trimstr("é")', text],
  ['trim', blanks],
  ['ltrim', blanks],
  ['rtrim', blanks],
  ['explode', text],
  ['implode', (n) => Array.from({ length: n }, () => 233)],
  ['split(",")', text],
  ['split("")', text, 'split/1'],
  ['split("b"; null)', letters],
  ['[splits("b")]', letters],
  ['[splits("b"; "g")]', letters],
  ['_strindices("b")', text],
  ['indices("b")', text],
  ['indices(0)', numbers],
  ['index("b")', text],
  ['rindex("b")', text],
  ['ascii_downcase', text],
  ['ascii_upcase', text],
  ['tonumber', digits],
  ['try tonumber', (n) => `${'1'.repeat(n)}x`, 'tonumber/0'],
  ['tostring', numbers],
  ['tojson', text],
  ['fromjson', json],
  ['try fromjson', (n) => `[${'1'.repeat(n)}`, 'fromjson/0'],
  ['sort', numbers],
  ['sort_by(.)', numbers],
  ['group_by(.)', numbers],
  ['unique', numbers],
  ['unique_by(.)', numbers],
  ['min', numbers],
  ['max', numbers],
  ['min_by(.)', numbers],
  ['max_by(.)', numbers],
  ['reverse', numbers],
  ['flatten', lists],
  ['flatten(1)', lists],
  ['add', numbers],
  ['add', lists],
  ['add(.[])', numbers],
  ['any', (n) => Array.from({ length: n }, () => false)],
  ['any(. < 0)', numbers],
  ['any(.[]; . < 0)', numbers],
  ['all', (n) => Array.from({ length: n }, () => true)],
  ['all(. >= 0)', numbers],
  ['all(.[]; . >= 0)', numbers],
  ['join(",")', texts],
  ['transpose', lists],
  ['[combinations]', (n) => [numbers(n)]],
  ['[combinations(2)]', (n) => Array.from({ length: Math.sqrt(n) }, (_, i) => i)],
  ['[paths]', numbers],
  ['[paths(true)]', numbers],
  ['[leaf_paths]', numbers],
  ['[path(.[])]', numbers],
  ['. as $p | null | getpath($p)', (n) => path(n / 10), 'getpath/1'],
  ['. as $p | null | setpath($p; 1)', (n) => path(n / 10), 'setpath/2'],
  ['setpath(["a"]; 1)', object],
  ['delpaths([["k1"]])', object],
  ['del(.k1)', object],
  ['pick(.[])', object],
  ['[recurse]', numbers],
  ['[limit(2; ..)]', numbers, 'limit/2'],
  ['[recurse(.[]?)]', numbers],
  ['[recurse(.[]?; true)]', numbers],
  ['first(.[])', object],
  ['last(.[])', numbers],
  ['nth(1; .[])', object],
  ['[skip(1; .[])]', numbers],
  ['[limit(1; .[])]', object],
  ['isempty(.[])', object],
  ['[range(.)]', (n) => n],
  ['[range(0; .)]', (n) => n],
  ['[range(0; .; 1)]', (n) => n],
  ['until(. <= 0; . - 1)', (n) => n],
  ['[while(. > 0; . - 1)]', (n) => n],
  ['[.[] | select(. < 0)]', numbers, 'select/1'],
  ['[limit(length; repeat(1))]', numbers, 'repeat/1'],
  ['test("b")', letters],
  ['test("b"; "g")', letters],
  ['[match("b")]', letters],
  ['[match("b"; "g")]', letters],
  ['[capture("b")]', letters],
  ['[capture("b"; "g")]', letters],
  ['[scan("b")]', letters],
  ['[scan("b"; "g")]', letters],
  ['sub("b"; "c")', letters],
  ['sub("b"; "c"; "g")', letters],
  ['gsub("b"; "c")', letters],
  ['gsub("b"; "c"; "i")', letters],
  ['. as $f | 0 | strftime($f)', letters, 'strftime/1'],
  ['. as $f | 0 | strflocaltime($f)', letters, 'strflocaltime/1'],
  ['try strptime("%d")', blanks],
  ['try fromdate', blanks],
  ['try fromdateiso8601', blanks],
  ['[tostream]', numbers],
  ['fromstream(tostream)', numbers],
  ['[1 as $depth | tostream | . as $event | $depth | truncate_stream($event)]', lists],
  ['INDEX(.)', numbers],
  ['INDEX(.[]; .)', numbers],
  ['JOIN({}; tostring)', numbers],
  ['[JOIN({}; .[]; tostring)]', numbers],
  ['[JOIN({}; .[]; tostring; .)]', numbers],
  ['.[0] as $a | .[1] | IN($a)', twice(text), 'IN/1'],
  ['.[0] as $a | .[1] as $b | IN($a; $b)', twice(text), 'IN/2'],
  ['format("text")', numbers],
  ...['html', 'uri', 'sh', 'base64', 'base32'].map((name): Case => [`@${name}`, text, '']),
  ['@urid', letters, ''],
  ['@base64d', base64, ''],
  ['@base32d', (n) => 'AA'.repeat(n / 2), ''],
  ['@csv', texts, ''],
  ['@tsv', texts, ''],
  ['[.] | @csv', text, ''],
  ['[.] | @tsv', text, ''],
  ['@json', text, ''],
  ['.[0] == .[1]', twice(text), ''],
  ['.[0] == .[1]', twice(object), ''],
  ['.[0] == .[1]', twice(numbers), ''],
  ['.[0] < .[1]', twice(text), ''],
  ['.[0] < .[1]', twice(object), ''],
  ['.[0] < .[1]', twice(numbers), ''],
  ['. + {a: 1}', object, ''],
  ['. + [1]', numbers, ''],
  ['. * {a: 1}', object, ''],
  ['. - [1]', numbers, ''],
  ['. / ","', text, ''],
  ['. * 10', text, ''],
  ['.a = 1', object, ''],
  ['.[0] = 1', numbers, ''],
  ['.[1:]', text, ''],
  ['.[1:]', numbers, ''],
  ['. as $k | {} | .[$k]', text, ''],
  ['. as $k | {($k): 1}', text, ''],
  ['reduce .[] as $x (0; . + 1)', numbers, ''],
];

/** What takes the same time whatever the size, or works on numbers. */
const constant = new Set(
  [
    'type toboolean not error empty now arrays objects iterables booleans numbers normals finites strings',
    'nulls values scalars infinite nan isinfinite isnan isfinite isnormal have_literal_numbers have_decnum',
    'has in bsearch ascii toarray first last nth gmtime localtime mktime todateiso8601 todate date dateadd',
    'datesub builtins',
  ]
    .join(' ')
    .split(' '),
);

function stepsOf(program: string, input: Json): number {
  let steps = 0;
  const limits = { steps: 1e9, regexSteps: 1e9, outputSize: 1e9 };
  compile(program).first(input, { limits, clock: () => new Date(0), meter: (spent) => (steps = spent) });
  return steps;
}

test.each(growing)('%s', (program, make) => {
  const [small, large] = [stepsOf(program, make(SIZE)), stepsOf(program, make(10 * SIZE))];
  expect(large - small).toBeGreaterThanOrEqual((9 * SIZE) / CHARACTERS_PER_STEP - 1);
});

test('every builtin is tested, or takes the same time for any input', () => {
  const mathematical = (name: string): boolean => {
    const [word = '', arity] = name.split('/');
    const call = arity === '0' ? word : `${word}(${Array(Number(arity)).fill(1).join(';')})`;
    try {
      const found = compile(`1 | ${call}`).first(null);
      return typeof found === 'number' || (Array.isArray(found) && found.length === 2);
    } catch {
      return false;
    }
  };
  const tested = (name: string): boolean =>
    growing.some(([program, , names]) => names === name || program.includes(name.split('/')[0] ?? ''));
  const missing = [...builtins.keys()].filter(
    (name) => !constant.has(name.split('/')[0] ?? '') && !tested(name) && !mathematical(name),
  );
  expect(missing).toEqual([]);
});

describe('hostile sizes', () => {
  const attempts: [string, string][] = [
    ['length', '("é" * 7000000) as $x | [range(1000000) | $x | length] | add'],
    ['utf8bytelength', '("é" * 7000000) as $x | [range(1000000) | $x | utf8bytelength] | add'],
    ['trim', '(" " * 7000000) as $x | [range(1000000) | $x | trim | 1] | add'],
    ['startswith', '("a" * 7000000) as $x | [range(1000000) | $x + "b" | startswith("a")] | length'],
    ['inside', '("a" * 7000000) as $x | [range(1000000) | $x | inside($x)] | length'],
    ['equality', '("a" * 7000000) as $x | [range(1000000) | ($x + "b") == ($x + "c")] | length'],
    ['a key', '("a" * 7000000) as $x | [range(1000000) | {} | .[$x + "b"]] | length'],
    ['a late difference', '("b" + "a" * 3000000) as $y | ("a" * 7000000) | contains($y)'],
    ['indices', '("a" * 3000000) as $x | $x | indices("a" * 100000) | length'],
    ['split', '("a" * 7000000) | split("b" + "a" * 1000000) | length'],
    ['a number', '("1" * 3000000 + "x") | try tonumber catch 1'],
    ['digits', '(("1" * 299 + ",") * 20000 | "[" + . + "1]") | fromjson | length'],
    ['arrays in arrays', '[range(2000) | 0] as $a | [range(200000) | 0] | indices($a + [1])'],
    ['kinds', '[range(20000)] as $a | [range(20000) | tostring] | contains($a)'],
    [
      'an object',
      '[range(50000) | {key: "k\\(.)"}] | from_entries as $o | [range(1000000) | $o + {a: .} | 1]',
    ],
    ['uri', '[range(1000000) | ("&" * 80000) | @uri | 1] | add'],
    ['groups', '("😀" * 100000) | [range(100) | "x"] as $n | [match("((((((((.*))))))))")] | length'],
    ['bessel', '[range(1000000) | yn(100000; 1000)] | length'],
  ];
  test.each(attempts)('%s', (_, program) => {
    const spentMs = processorClock();
    try {
      // As a request to the API may take; without sizes, minutes to hours.
      compile(program).first(null, { limits: { steps: 500_000, regexSteps: 500_000 } });
    } catch (error) {
      expect(error).toBeInstanceOf(ExpressionError);
    }
    expect(spentMs()).toBeLessThan(10_000);
  });
});

test('long texts are found and split like short ones', () => {
  const part = 'ab'.repeat(150);
  const whole = `${part}c${part}${part.slice(0, -1)}${part}`;
  const [places, parts]: [number[], string[]] = [[], whole.split(part)];
  for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) places.push(at);
  const input = [whole, part];
  expect(compile('. as [$w, $p] | $w | indices($p)').first(input)).toEqual(places);
  expect(compile('. as [$w, $p] | $w | split($p)').first(input)).toEqual(parts);
  expect(compile('. as [$w, $p] | $w | contains($p)').first(input)).toBe(true);
  expect(compile('. as [$w, $p] | $w | contains("x" + $p)').first(input)).toBe(false);
});

test('runs of earlier code count as they did', () => {
  let steps = 0;
  const meter = (spent: number): void => void (steps = spent);
  compile('length').first('a'.repeat(10_000), { countsSizes: false, meter });
  expect(steps).toBe(0);
  compile('length').first('a'.repeat(10_000), { meter });
  expect(steps).toBeGreaterThan(100);
});

test('a regex takes as many steps whether or not it is remembered', () => {
  const pattern = `test("x{${Math.ceil(Math.random() * 500) + 100}}|yz${Math.random()}")`;
  expect(stepsOf(pattern, 'a')).toBe(stepsOf(pattern, 'a'));
});

test('an evaluation with a limit of time ends with an error, which nothing catches for long', () => {
  let looks = 0;
  const isOverdue = (): boolean => ++looks > 10;
  const run = (program: string): Json => compile(program).first(null, { isOverdue });
  expect(() => run('last(range(1e9))')).toThrow('limit exceeded: the expression takes too long');
  expect(looks).toBe(11);
  looks = 0;
  expect(run('try last(range(1e9)) catch .')).toBe('limit exceeded: the expression takes too long');
  looks = 0;
  expect(() => run('try last(range(1e9)) catch last(range(1e9))')).toThrow('limit exceeded: steps');
  looks = 0;
  let steps = 0;
  compile('last(range(20000))').first(null, { isOverdue, meter: (spent) => (steps = spent) });
  expect(steps).toBe(20_000);
});
