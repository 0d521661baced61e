/** `.a`, `.[k]`, `.[a:b]` and `.[]` as closures, with their path forms. */
import { raise } from '../errors.ts';
import { exceed, runtime } from '../runtime.ts';
import { get, slice } from '../values/access.ts';
import { describe } from '../values/json.ts';
import type { Json, JsonObject } from '../values/json-types.ts';
import { getKey, isInherited } from '../values/objects.ts';
import { caught, checkAccess, checkIterate, Code, maxWeight, multi, Path, single, type Paths } from './code.ts';
import { map2 } from './filters.ts';

const { rt } = runtime;

/** Outputs of `compute`, or none when it raises. */
function optionally(compute: () => Json, k: (value: Json) => boolean): boolean {
  let value: Json;
  try {
    value = compute();
  } catch (error) {
    if (caught(error) === undefined) throw error;
    return true;
  }
  return k(value);
}

export function compileIndex(of: Code, constant: Json | undefined, key: Code, optional: boolean, at: number): Code {
  const paths = (): Paths => (env, path, input, out) =>
    key.each(env, input, (k) => of.paths(env, path, input, (p, value) => {
      rt.at = at;
      checkAccess(p, value, k);
      if (optional) return optionally(() => get(value, k), (r) => out(new Path(p, k, r), r));
      const result = get(value, k);
      return out(new Path(p, k, result), result);
    }));
  const ofOne = of.one;
  if (optional) {
    return multi((env, input, out) => key.each(env, input, (k) => of.each(env, input, (value) => {
      rt.at = at;
      return optionally(() => get(value, k), out);
    })), of.weight + key.weight + 4, paths);
  }
  if (typeof constant === 'string' && ofOne) {
    const name = constant;
    if (isInherited(name)) {
      return single((env, input) => {
        const value = ofOne(env, input);
        rt.at = at;
        return get(value, name);
      }, of.weight + 1, paths);
    }
    return single((env, input) => {
      const value = ofOne(env, input);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value[name] ?? null;
      rt.at = at;
      return get(value, name);
    }, of.weight + 1, paths);
  }
  const inner = map2(of, key, get, at);
  return new Code(inner.one, inner.each, inner.weight, paths);
}

export function compileSlice(of: Code, from: Code | null, to: Code | null, optional: boolean, at: number): Code {
  const nothing = single(() => null, 1);
  const start = from ?? nothing;
  const end = to ?? nothing;
  const paths = (): Paths => (env, path, input, out) =>
    start.each(env, input, (f) => end.each(env, input, (t) => of.paths(env, path, input, (p, value) => {
      rt.at = at;
      const key: JsonObject = { start: f, end: t };
      checkAccess(p, value, key);
      if (optional) return optionally(() => get(value, key), (r) => out(new Path(p, key, r), r));
      const result = slice(value, f, t);
      return out(new Path(p, key, result), result);
    })));
  const [ofOne, startOne, endOne] = [of.one, start.one, end.one];
  if (ofOne && startOne && endOne && !optional) {
    return single((env, input) => {
      const f = startOne(env, input);
      const t = endOne(env, input);
      const value = ofOne(env, input);
      rt.at = at;
      return slice(value, f, t);
    }, maxWeight(of, start, end) + 1, paths);
  }
  return multi((env, input, out) => start.each(env, input, (f) => end.each(env, input, (t) => of.each(env, input, (value) => {
    rt.at = at;
    return optional ? optionally(() => slice(value, f, t), out) : out(slice(value, f, t));
  }))), of.weight + start.weight + end.weight + 5, paths);
}

/** Hands every element of a container to `out`. */
export function iterate(value: Json, optional: boolean, out: (element: Json, key: Json) => boolean): boolean {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (--rt.stepsLeft < 0) exceed('steps');
      if (!out(value[i] ?? null, i)) return false;
    }
    return true;
  }
  if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      if (--rt.stepsLeft < 0) exceed('steps');
      if (!out(getKey(value, key), key)) return false;
    }
    return true;
  }
  if (optional) return true;
  raise(`Cannot iterate over ${describe(value)}`);
}

export function compileIterate(of: Code, optional: boolean, at: number): Code {
  const paths = (): Paths => (env, path, input, out) => of.paths(env, path, input, (p, value) => {
    rt.at = at;
    checkIterate(p, value);
    return iterate(value, optional, (element, key) => out(new Path(p, key, element), element));
  });
  const one = of.one;
  if (one) {
    return multi((env, input, out) => {
      const value = one(env, input);
      rt.at = at;
      return iterate(value, optional, out);
    }, of.weight + 2, paths);
  }
  return multi((env, input, out) => of.each(env, input, (value) => {
    rt.at = at;
    return iterate(value, optional, out);
  }), of.weight + 3, paths);
}
