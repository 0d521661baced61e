/** Reading, writing and deleting by key and by path (jv_aux.c; manual: Paths). */
import { raise } from '../errors.ts';
import { checkArray, exceed, runtime, SHIFT, tick, tickSize, tickText } from '../runtime.ts';
import { compare, equals } from './compare.ts';
import { dump } from './json.ts';
import { isObject, kindOf, type Json, type JsonObject } from './json-types.ts';
import { copyObject, getKey, hasKey, putKey } from './objects.ts';
import { codePointLength, sliceCodePoints } from './text.ts';

const { rt } = runtime;

const MAX_PATH_LENGTH = 10_000;
const MAX_INDEX = 2 ** 29 - 1;

/** The bounds of a slice, resolved against a length. */
function sliceBounds(length: number, from: Json, to: Json): [number, number] {
  const rawStart = from ?? 0;
  const rawEnd = to ?? length;
  if (typeof rawStart !== 'number' || typeof rawEnd !== 'number')
    raise('Array/string slice indices must be integers');
  let start = rawStart === rawStart ? rawStart : 0;
  if (start < 0) start += length;
  start = Math.floor(Math.min(Math.max(start, 0), length));
  let end = rawEnd === rawEnd ? rawEnd : length;
  if (end < 0) end += length;
  end = end < 0 ? start : Math.min(Math.ceil(end), length);
  return [start, Math.max(start, end)];
}

export function slice(value: Json, from: Json, to: Json): Json {
  if (value === null) return null;
  if (Array.isArray(value)) {
    const [start, end] = sliceBounds(value.length, from, to);
    tick((end - start) >> 3);
    return value.slice(start, end);
  }
  if (typeof value === 'string') {
    tickSize(value.length, SHIFT.scan);
    const [start, end] = sliceBounds(codePointLength(value), from, to);
    tick(value.length >> 4);
    return sliceCodePoints(value, start, end);
  }
  return cannotIndex(value, { start: from, end: to });
}

function cannotIndex(value: Json, key: Json): never {
  raise(`Cannot index ${kindOf(value)} with ${kindOf(key)} (${dump(key)})`);
}

/** `value[key]` for any key: field, index, slice object, or array to search for. */
export function get(value: Json, key: Json): Json {
  if (typeof key === 'string') {
    if (isObject(value)) return getKey(value, key);
  } else if (typeof key === 'number') {
    if (Array.isArray(value)) {
      if (key !== key) return null;
      const index = Math.trunc(key);
      return value[index < 0 ? index + value.length : index] ?? null;
    }
  } else if (isObject(key)) {
    if (Array.isArray(value) || typeof value === 'string')
      return slice(value, getKey(key, 'start'), getKey(key, 'end'));
    if (value === null) return null;
  } else if (Array.isArray(key) && Array.isArray(value)) return indexesOf(value, key);
  if (value === null && (typeof key === 'string' || typeof key === 'number')) return null;
  return cannotIndex(value, key);
}

/** Positions at which `part` occurs in `whole` (manual: `indices`). */
export function indexesOf(whole: readonly Json[], part: readonly Json[]): number[] {
  const out: number[] = [];
  if (part.length === 0) return out;
  for (let i = 0; i + part.length <= whole.length; i++) {
    tick(1);
    let same = 0;
    while (same < part.length && equals(whole[i + same] ?? null, part[same] ?? null)) same++;
    tickSize(same, SHIFT.copy);
    if (same === part.length) out.push(i);
  }
  return out;
}

/** Containers that the running update made itself and may therefore change in place. */
export type Owned = Set<object>;

function ownArray(value: Json, owned: Owned | undefined): Json[] {
  if (value === null) {
    const fresh: Json[] = [];
    owned?.add(fresh);
    return fresh;
  }
  if (!Array.isArray(value)) return raise('not an array');
  if (owned?.has(value)) return value;
  tick(value.length >> 3);
  const copy = value.slice();
  owned?.add(copy);
  return copy;
}

function ownObject(value: JsonObject | null, owned: Owned | undefined): JsonObject {
  if (value !== null && owned?.has(value)) return value;
  const copy = value === null ? {} : copyObject(value);
  if (owned !== undefined) owned.add(copy);
  return copy;
}

/** `value` with `value[key]` replaced. */
export function set(value: Json, key: Json, element: Json, owned?: Owned): Json {
  tickText(element);
  if (typeof key === 'string' && (value === null || isObject(value))) {
    const out = ownObject(value, owned);
    putKey(out, key, element);
    return out;
  }
  if (typeof key === 'number' && (value === null || Array.isArray(value))) {
    if (key !== key) raise('Cannot set array element at NaN index');
    let index = Math.trunc(key);
    const length = value === null ? 0 : value.length;
    if (index < 0) index += length;
    if (index < 0) raise('Out of bounds negative array index');
    if (index > MAX_INDEX) raise('Array index too large');
    checkArray(index + 1);
    const out = ownArray(value, owned);
    tick(Math.max(0, index - length));
    while (out.length < index) out.push(null);
    out[index] = element;
    return out;
  }
  if (isObject(key) && (value === null || Array.isArray(value))) {
    const base = value ?? [];
    const [start, end] = sliceBounds(base.length, getKey(key, 'start'), getKey(key, 'end'));
    if (!Array.isArray(element)) raise('A slice of an array can only be assigned another array');
    checkArray(base.length - (end - start) + element.length);
    tick((base.length + element.length) >> 3);
    return [...base.slice(0, start), ...element, ...base.slice(end)];
  }
  if (isObject(key) && typeof value === 'string') raise('Cannot update string slices');
  raise(`Cannot update field at ${kindOf(key)} index of ${kindOf(value)}`);
}

/** `has` (manual: `has(key)`). */
export function has(value: Json, key: Json): boolean {
  if (value === null) return false;
  if (isObject(value) && typeof key === 'string') return hasKey(value, key);
  if (Array.isArray(value) && typeof key === 'number')
    return key === key && Math.trunc(key) >= 0 && Math.trunc(key) < value.length;
  raise(`Cannot check whether ${kindOf(value)} has a ${kindOf(key)} key`);
}

function pathArray(path: Json): Json[] {
  if (!Array.isArray(path)) raise('Path must be specified as an array');
  if (path.length > MAX_PATH_LENGTH) exceed('depth', 'Path too deep');
  tick(path.length);
  return path;
}

/** The value at a path; null where something on the way is missing. */
export function getPath(root: Json, path: Json): Json {
  let value = root;
  for (const key of pathArray(path)) value = get(value, key);
  return value;
}

/** `root` with the value at `path` replaced. */
export function setPath(root: Json, path: Json, value: Json, owned?: Owned): Json {
  const keys = pathArray(path);
  if (keys.length === 0) return value;
  const parents: Json[] = [];
  let current = root;
  for (const key of keys) {
    parents.push(current);
    current = get(current, key);
    // jq checks that the key can be set before it goes deeper, so the outermost problem is reported.
    const parent = parents[parents.length - 1] ?? null;
    if (parent !== null && !isObject(key) && parents.length < keys.length) checkSettable(parent, key);
  }
  let result = value;
  for (let i = keys.length - 1; i >= 0; i--) result = set(parents[i] ?? null, keys[i] ?? null, result, owned);
  return result;
}

function checkSettable(parent: Json, key: Json): void {
  if (typeof key === 'string' ? isObject(parent) : typeof key === 'number' && Array.isArray(parent)) {
    if (typeof key === 'number' && Array.isArray(parent) && Math.trunc(key) + parent.length < 0)
      raise('Out of bounds negative array index');
    return;
  }
  raise(`Cannot update field at ${kindOf(key)} index of ${kindOf(parent)}`);
}

/** `root` without the values at `paths` (manual: `delpaths`). */
export function deletePaths(root: Json, paths: Json): Json {
  if (!Array.isArray(paths)) raise('Paths must be specified as an array');
  for (const path of paths) {
    if (!Array.isArray(path)) raise(`Path must be specified as array, not ${kindOf(path)}`);
    if (path.length > MAX_PATH_LENGTH) exceed('depth', 'Path too deep');
  }
  tick(paths.length);
  tickSize(paths.length * Math.log2(paths.length + 1), SHIFT.build);
  const sorted = paths.filter((path) => Array.isArray(path)).sort((a, b) => compare(a, b));
  const first = sorted[0];
  if (first === undefined) return root;
  if (first.length === 0) return null;
  return deleteSorted(root, sorted, 0);
}

function deleteSorted(root: Json, paths: Json[][], depth: number): Json {
  let value = root;
  const gone: Json[] = [];
  tickSize(paths.length, SHIFT.copy);
  for (let i = 0; i < paths.length;) {
    const path = paths[i] ?? [];
    const key = path[depth] ?? null;
    let j = i + 1;
    while (j < paths.length && equals(key, paths[j]?.[depth] ?? null)) j++;
    if (path.length === depth + 1) gone.push(key);
    else {
      const child = get(value, key);
      if (child !== null) {
        rt.recursion += 2;
        if (rt.recursion > rt.limits.recursion) exceed('recursion');
        value = set(value, key, deleteSorted(child, paths.slice(i, j), depth + 1));
        rt.recursion -= 2;
      }
    }
    i = j;
  }
  return deleteKeys(value, gone);
}

function deleteKeys(value: Json, keys: Json[]): Json {
  if (value === null || keys.length === 0) return value;
  tick(keys.length);
  if (Array.isArray(value)) {
    const gone = new Uint8Array(value.length);
    for (const key of keys) {
      if (typeof key === 'number') {
        const index = Math.trunc(key);
        const at = index < 0 ? index + value.length : index;
        if (at >= 0 && at < value.length) gone[at] = 1;
      } else if (isObject(key)) {
        tickSize(value.length, SHIFT.memory);
        gone.fill(1, ...sliceBounds(value.length, getKey(key, 'start'), getKey(key, 'end')));
      } else raise(`Cannot delete ${kindOf(key)} element of array`);
    }
    tick(value.length >> 3);
    return value.filter((_, index) => gone[index] !== 1);
  }
  if (isObject(value)) {
    const out = copyObject(value);
    for (const key of keys) {
      if (typeof key !== 'string') raise(`Cannot delete ${kindOf(key)} field of object`);
      delete out[key];
    }
    return out;
  }
  raise(`Cannot delete fields from ${kindOf(value)}`);
}
