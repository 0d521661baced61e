/** Equality, order, containment and merge (manual: `==`, `sort`, `contains`, `*`). */
import { exceed, runtime, tick, tickSize } from '../runtime.ts';
import { isObject, type Json, type JsonObject } from './json-types.ts';
import { copyObject, getKey, hasKey, keysOf, putKey, sortedKeys } from './objects.ts';
import { includesText } from './search.ts';
import { compareText, isSameText } from './text.ts';

const { rt } = runtime;

/** Depth up to which plain recursion is used; deeper data is walked with a stack of our own. */
const SHALLOW = 200;

const EQUALITY_MESSAGE = 'Equality check too deep';
const COMPARISON_MESSAGE = 'Comparison too deep';

/** Whether two values are equal as JSON. */
export function equals(a: Json, b: Json, depth = 0): boolean {
  if (typeof a === 'string') return typeof b === 'string' && isSameText(a, b);
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (depth > SHALLOW || depth >= rt.limits.depth) return equalsDeep(a, b, depth);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    tick(a.length + 1);
    for (let i = 0; i < a.length; i++) if (!equals(a[i] ?? null, b[i] ?? null, depth + 1)) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const keys = keysOf(a);
  if (keys.length !== keysOf(b).length) return false;
  tick(keys.length + 1);
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !equals(a[key] ?? null, b[key] ?? null, depth + 1)) return false;
  }
  return true;
}

function equalsDeep(left: Json, right: Json, depth: number): boolean {
  const stack: [Json, Json, number][] = [[left, right, depth]];
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [a, b, level] = item;
    tick(1);
    if (typeof a === 'string' && typeof b === 'string' && isSameText(a, b)) continue;
    if (typeof a !== 'string' && a === b) continue;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (level >= rt.limits.depth) exceed('depth', EQUALITY_MESSAGE);
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false;
      for (let i = 0; i < a.length; i++) stack.push([a[i] ?? null, b[i] ?? null, level + 1]);
      continue;
    }
    if (Array.isArray(b)) return false;
    const keys = keysOf(a);
    if (keys.length !== keysOf(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      stack.push([a[key] ?? null, b[key] ?? null, level + 1]);
    }
  }
  return true;
}

function rank(value: Json): number {
  switch (typeof value) {
    case 'boolean':
      return value ? 2 : 1;
    case 'number':
      return 3;
    case 'string':
      return 4;
    case 'object':
      return value === null ? 0 : Array.isArray(value) ? 5 : 6;
    default:
      return 0;
  }
}

/** jq's total order: negative, zero or positive. NaN is below every number, itself included. */
export function compare(a: Json, b: Json, depth = 0): number {
  if (typeof a === 'number' && typeof b === 'number')
    return a < b ? -1 : a === b ? 0 : a > b || b !== b ? (a !== a ? -1 : 1) : -1;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  const kind = rank(a);
  const order = kind - rank(b);
  if (order !== 0 || kind < 5) return order;
  if (depth > SHALLOW || depth >= rt.limits.depth) return compareDeep(a, b, depth);
  for (const [first, second] of pairs(a, b)) {
    const result = compare(first, second, depth + 1);
    if (result !== 0) return result;
  }
  return 0;
}

/** What decides the order of two containers of one kind: pairs in the order of their weight. */
function pairs(a: Json, b: Json): [Json, Json][] {
  const out: [Json, Json][] = [];
  if (Array.isArray(a) && Array.isArray(b)) {
    const common = Math.min(a.length, b.length);
    tick(common);
    for (let i = 0; i < common; i++) out.push([a[i] ?? null, b[i] ?? null]);
    out.push([a.length, b.length]);
  } else if (isObject(a) && isObject(b)) {
    const left = sortedKeys(a);
    const right = sortedKeys(b);
    tick(left.length);
    const common = Math.min(left.length, right.length);
    for (let i = 0; i < common; i++) out.push([left[i] ?? null, right[i] ?? null]);
    out.push([left.length, right.length]);
    for (const key of left) out.push([getKey(a, key), getKey(b, key)]);
  }
  return out;
}

function compareDeep(left: Json, right: Json, depth: number): number {
  const stack: [Json, Json, number][] = [[left, right, depth]];
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [a, b, level] = item;
    const kind = rank(a);
    if (kind < 5 || kind !== rank(b)) {
      const result = compare(a, b, 0);
      if (result !== 0) return result;
      continue;
    }
    if (level >= rt.limits.depth) exceed('depth', COMPARISON_MESSAGE);
    const next = pairs(a, b);
    for (let i = next.length - 1; i >= 0; i--) {
      const pair = next[i];
      if (pair) stack.push([pair[0], pair[1], level + 1]);
    }
  }
  return 0;
}

/** Whether `b` is contained in `a`; the caller has checked that the kinds agree. */
export function contains(a: Json, b: Json, depth = 0): boolean {
  if (depth >= rt.limits.depth) exceed('depth', 'Containment check too deep');
  // A chain of single-element containers needs no recursion, which lets deep data through.
  for (;;) {
    if (rank(a) !== rank(b)) {
      tickSize(1, 0);
      return false;
    }
    tick(1);
    if (isObject(a) && isObject(b)) {
      const keys = keysOf(b);
      const last = keys.pop();
      for (const key of keys)
        if (!hasKey(a, key) || !containsAt(a[key] ?? null, b[key] ?? null, depth)) return false;
      if (last === undefined) return true;
      if (!hasKey(a, last)) return false;
      [a, b] = [getKey(a, last), getKey(b, last)];
    } else if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== 1 || b.length !== 1) {
        const outer: Json[] = a;
        return b.every((wanted) => outer.some((element) => containsAt(element, wanted, depth)));
      }
      [a, b] = [a[0] ?? null, b[0] ?? null];
    } else if (typeof a === 'string' && typeof b === 'string') return includesText(a, b);
    else return equals(a, b);
    depth++;
    if (depth >= rt.limits.depth) exceed('depth', 'Containment check too deep');
  }
}

function containsAt(a: Json, b: Json, depth: number): boolean {
  rt.recursion += 4;
  if (rt.recursion > rt.limits.recursion) exceed('recursion', 'Containment check too deep');
  const result = contains(a, b, depth + 1);
  rt.recursion -= 4;
  return result;
}

/** Recursive merge of two objects, `b` winning (manual: Multiplication of objects). */
export function mergeDeep(left: JsonObject, right: JsonObject): JsonObject {
  const root = copyObject(left);
  const stack: [JsonObject, JsonObject, number][] = [[root, right, 1]];
  for (let item = stack.pop(); item; item = stack.pop()) {
    const [target, source, depth] = item;
    if (depth > rt.limits.depth) exceed('depth', 'Object merge too deep');
    const keys = keysOf(source);
    tick(keys.length + 1);
    for (const key of keys) {
      const value = source[key] ?? null;
      const old = hasKey(target, key) ? (target[key] ?? null) : null;
      if (isObject(old) && isObject(value)) {
        const copy = copyObject(old);
        putKey(target, key, copy);
        stack.push([copy, value, depth + 1]);
      } else putKey(target, key, value);
    }
  }
  return root;
}
