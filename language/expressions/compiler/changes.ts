/** Changing the places that a path expression denotes. */
import { raise } from '../errors.ts';
import { runtime, tick } from '../runtime.ts';
import { deletePaths, getPath, setPath, type Owned } from '../values/access.ts';
import { describe } from '../values/json.ts';
import { isObject, type Json } from '../values/json-types.ts';
import { getKey, keysOf, putKey } from '../values/objects.ts';
import { checkResult, pathKeys, rootPath, type Code, type Env } from './code.ts';

const { rt } = runtime;

/** All paths of a path expression, as arrays of keys. */
export function pathsOf(code: Code, env: Env | null, input: Json): Json[][] {
  const found: Json[][] = [];
  code.paths(env, rootPath(input), input, (path, value) => {
    checkResult(path, value);
    tick(1);
    found.push(pathKeys(path));
    return true;
  });
  return found;
}

/** The new value of a place, or undefined to delete it. */
export type Change = (value: Json) => Json | undefined;

/** `paths |= change`. */
export function modify(code: Code, env: Env | null, input: Json, change: Change): Json {
  let result = input;
  let owned: Owned = new Set();
  const gone: Json[] = [];
  for (const keys of pathsOf(code, env, input)) {
    const old = getPath(result, keys);
    // What the change sees may be kept by it, so it must not be changed in place any more.
    if (typeof old === 'object' && old !== null && owned.has(old)) owned = new Set();
    const value = change(old);
    if (value === undefined) gone.push(keys);
    else result = setPath(result, keys, value, owned);
  }
  return gone.length > 0 ? deletePaths(result, gone) : result;
}

/** `.[] |= change`, without going through paths (manual: `map_values`). */
export function modifyElements(value: Json, change: Change, at: number): Json {
  if (Array.isArray(value)) {
    const out: Json[] = [];
    for (const element of value) {
      tick(1);
      const next = change(element ?? null);
      if (next !== undefined) out.push(next);
    }
    return out;
  }
  if (isObject(value)) {
    const out = {};
    for (const key of keysOf(value)) {
      tick(1);
      const next = change(getKey(value, key));
      if (next !== undefined) putKey(out, key, next);
    }
    return out;
  }
  rt.at = at;
  return raise(`Cannot iterate over ${describe(value)}`);
}
