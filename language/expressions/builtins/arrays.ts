/**
 * Arrays (manual: `add`, `any`, `flatten`, `sort`, `group_by`, `min`, `unique`, `reverse`, `transpose`,
 * `bsearch`, …).
 */
import { raise } from '../errors.ts';
import { exceed, runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import { add as plus, sum } from '../values/arith.ts';
import { get, indexesOf, slice } from '../values/access.ts';
import { compare, equals } from '../values/compare.ts';
import { describe, toText, typeError } from '../values/json.ts';
import { isObject, type Json } from '../values/json-types.ts';
import { keysOf } from '../values/objects.ts';
import { codePointLength } from '../values/text.ts';
import { iterate } from '../compiler/access.ts';
import { collect } from '../compiler/construct.ts';
import { single, type Code, type Env } from '../compiler/code.ts';
import { textIndexes } from './strings.ts';
import { jq, macro, value, type Family } from './types.ts';

const { rt } = runtime;

/** Indices of the elements sorted by key; stable. */
function order(keys: readonly Json[]): number[] {
  const n = keys.length;
  tick(n * Math.max(1, Math.ceil(Math.log2(n + 1))));
  const indices = Array.from(keys, (_, i) => i);
  const at = (i: number): Json => keys[i] ?? null;
  return indices.sort((a, b) => compare(at(a), at(b)));
}

function sort(input: Json): Json {
  if (!Array.isArray(input)) return typeError(input, 'cannot be sorted, as it is not an array');
  return order(input).map((i) => input[i] ?? null);
}

/** Groups of elements with equal keys, sorted by key. */
function groups(values: readonly Json[], keys: readonly Json[]): { key: Json; members: Json[] }[] {
  const out: { key: Json; members: Json[] }[] = [];
  for (const i of order(keys)) {
    const key = keys[i] ?? null;
    const last = out[out.length - 1];
    if (last && equals(last.key, key)) last.members.push(values[i] ?? null);
    else out.push({ key, members: [values[i] ?? null] });
  }
  return out;
}

/** Declares a function of the input array and of the key arrays `[f]` of its elements. */
function byKeys(fn: (values: readonly Json[], keys: Json[]) => Json, whenNoArray: string) {
  return macro(([f]) => {
    if (!f) throw new TypeError('needs a filter');
    const { one, each } = f;
    const keysOf = (env: Env | null, input: readonly Json[]): Json[] => {
      tick(input.length);
      // A single key is compared as itself: wrapping it in an array would not change the order.
      if (one) return input.map((element) => one(env, element ?? null));
      return input.map((element) => collect(each, env, element ?? null));
    };
    return single((env, input) => {
      if (Array.isArray(input)) return fn(input, keysOf(env, input));
      // jq maps before it looks at the input, so objects fail in the sort and scalars in the map.
      const keys = collect(
        (e, v, out) => iterate(v, false, (element) => out(collect(each, e, element))),
        env,
        input,
      );
      return raise(`${describe(input)} and ${describe(keys)} ${whenNoArray}`);
    }, f.weight + 5);
  });
}

/** The extreme element; of equal ones the first for the minimum, the last for the maximum. */
function extreme(values: readonly Json[], keys: readonly Json[], isMin: boolean): Json {
  if (values.length === 0) return null;
  tick(values.length);
  let best = 0;
  for (let i = 1; i < values.length; i++) {
    if (compare(keys[i] ?? null, keys[best] ?? null) < 0 === isMin) best = i;
  }
  return values[best] ?? null;
}

function extremeOf(input: Json, isMin: boolean): Json {
  if (!Array.isArray(input))
    return raise(`${describe(input)} and ${describe(input)} cannot be iterated over`);
  return extreme(input, input, isMin);
}

function flatten(input: Json, depth: Json): Json {
  if (typeof depth !== 'number') {
    if (compare(depth, 0) < 0) raise('flatten depth must not be negative');
  } else if (depth < 0) raise('flatten depth must not be negative');
  return flattenTo(input, typeof depth === 'number' ? depth : Infinity);
}

/** Walks with an explicit stack, since data may be nested deeper than the call stack allows. */
function flattenTo(input: Json, depth: number): Json {
  const out: Json[] = [];
  const stack: { values: Json[]; next: number }[] = [];
  const push = (container: Json): void => {
    if (stack.length >= rt.limits.depth) exceed('depth');
    const values = Array.isArray(container)
      ? container
      : isObject(container)
        ? Object.values(container)
        : null;
    if (values === null) raise(`Cannot iterate over ${describe(container)}`);
    stack.push({ values, next: 0 });
  };
  push(input);
  for (let top = stack[stack.length - 1]; top; top = stack[stack.length - 1]) {
    if (top.next >= top.values.length) {
      stack.pop();
      continue;
    }
    tick(1);
    const element = top.values[top.next++] ?? null;
    if (Array.isArray(element) && stack.length - 1 < depth) push(element);
    else out.push(element);
  }
  return out;
}

function indices(input: Json, what: Json): Json {
  if (Array.isArray(input)) return indexesOf(input, Array.isArray(what) ? what : [what]);
  if (typeof input === 'string' && typeof what === 'string') return textIndexes(input, what);
  return get(input, what);
}

function reverse(input: Json): Json {
  if (Array.isArray(input)) {
    tickSize(input.length, SHIFT.copy);
    return input.toReversed();
  }
  if (input === null) return [];
  if (typeof input === 'string' && input === '') return [];
  if (typeof input === 'string')
    return raise(`Cannot index string with number (${codePointLength(input) - 1})`);
  if (isObject(input)) {
    const n = keysOf(input).length;
    return n === 0 ? [] : raise(`Cannot index object with number (${n - 1})`);
  }
  if (typeof input === 'number')
    return Math.abs(input) < 1 && input === 0
      ? []
      : raise(`Cannot index number with number (${Math.abs(input) - 1})`);
  return typeError(input, 'has no length');
}

function join(input: Json, separator: Json): Json {
  let text: Json = null;
  iterate(input, false, (element) => {
    const piece =
      typeof element === 'boolean' || typeof element === 'number'
        ? toText(element)
        : element === null
          ? ''
          : element;
    text = plus(plus(text === null ? '' : plus(text, separator), ''), piece);
    return true;
  });
  return text ?? '';
}

function bsearch(input: Json, target: Json): Json {
  if (!Array.isArray(input)) return typeError(input, 'cannot be searched from');
  let start = 0;
  let end = input.length;
  while (start < end) {
    const middle = (start + end) >> 1;
    const result = compare(target, input[middle] ?? null);
    if (result === 0) return middle;
    if (result < 0) end = middle;
    else start = middle + 1;
  }
  return -1 - start;
}

/** `any` and `all`: `wanted` decides the answer as soon as it appears. */
function quantifier(generator: Code | null, condition: Code | null, wanted: boolean): Code {
  const weight = (generator?.weight ?? 2) + (condition?.weight ?? 1) + 5;
  return single((env, input) => {
    let found = false;
    const test = (value: Json): boolean => {
      if ((value !== null && value !== false) === wanted) found = true;
      return !found;
    };
    const check = (value: Json): boolean => (condition ? condition.each(env, value, test) : test(value));
    if (generator) generator.each(env, input, check);
    else iterate(input, false, check);
    return found === wanted;
  }, weight);
}

export const arrays: Family = {
  'add/0': value((input) =>
    Array.isArray(input)
      ? sum(input)
      : isObject(input)
        ? sum(Object.values(input))
        : raise(`Cannot iterate over ${describe(input)}`),
  ),
  'add/1': macro(([f]) => {
    if (!f) throw new TypeError('add needs a filter');
    return single((env, input) => {
      let total: Json = null;
      f.each(env, input, (element) => {
        total = plus(total, element);
        return true;
      });
      return total;
    }, f.weight + 3);
  }),
  'any/0': macro(() => quantifier(null, null, true)),
  'any/1': macro(([condition]) => quantifier(null, condition ?? null, true)),
  'any/2': macro(([generator, condition]) => quantifier(generator ?? null, condition ?? null, true)),
  'all/0': macro(() => quantifier(null, null, false)),
  'all/1': macro(([condition]) => quantifier(null, condition ?? null, false)),
  'all/2': macro(([generator, condition]) => quantifier(generator ?? null, condition ?? null, false)),
  'flatten/0': value((input) => flattenTo(input, Infinity)),
  'flatten/1': value((input, depth) => flatten(input, depth ?? null)),
  'sort/0': value(sort),
  'sort_by/1': byKeys(
    (values, keys) => order(keys).map((i) => values[i] ?? null),
    'cannot be sorted, as they are not both arrays',
  ),
  'group_by/1': byKeys(
    (values, keys) => groups(values, keys).map(({ members }) => members),
    'cannot be sorted, as they are not both arrays',
  ),
  'unique/0': value((input) =>
    Array.isArray(input)
      ? groups(input, input).map(({ members }) => members[0] ?? null)
      : typeError(input, 'cannot be sorted, as it is not an array'),
  ),
  'unique_by/1': byKeys(
    (values, keys) => groups(values, keys).map(({ members }) => members[0] ?? null),
    'cannot be sorted, as they are not both arrays',
  ),
  'min/0': value((input) => extremeOf(input, true)),
  'max/0': value((input) => extremeOf(input, false)),
  'min_by/1': byKeys((values, keys) => extreme(values, keys, true), 'cannot be iterated over'),
  'max_by/1': byKeys((values, keys) => extreme(values, keys, false), 'cannot be iterated over'),
  'reverse/0': value(reverse),
  'indices/1': value((input, what) => indices(input, what ?? null)),
  'index/1': value((input, what) => get(indices(input, what ?? null), 0)),
  'rindex/1': value((input, what) => get(slice(indices(input, what ?? null), -1, null), 0)),
  'join/1': value((input, separator) => join(input, separator ?? null)),
  'transpose/0': jq('def transpose: [range(0; map(length)|max // 0) as $i | [.[][$i]]];'),
  'bsearch/1': value((input, target) => bsearch(input, target ?? null)),
  'combinations/0': jq(
    'def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $y | [$x] + ' +
      '$y end;',
  ),
  'combinations/1': jq('def combinations(n): . as $dot | [range(n) | $dot] | combinations;'),
  'toarray/0': value((input) => (Array.isArray(input) ? input : [input])),
};
