/** `.a`, `.[k]`, `.[a:b]` and `.[]` as closures, with their path forms. */
import { raise } from '../errors.ts';
import { runtime, takeSteps } from '../runtime.ts';
import { get, slice } from '../values/access.ts';
import { describe } from '../values/json.ts';
import type { Json, JsonObject } from '../values/json-types.ts';
import { getKey, isInherited, keysOf } from '../values/objects.ts';
import {
  caught,
  checkAccess,
  checkIterate,
  Code,
  maxWeight,
  multi,
  Path,
  single,
  type One,
  type Paths,
} from './code.ts';
import { map2 } from './filters.ts';

const { rt } = runtime;

/** Outputs of `compute`, or none when it raises. */
function optionally(compute: () => Json, use: (value: Json) => boolean): boolean {
  let value: Json;
  try {
    value = compute();
  } catch (error) {
    if (caught(error) === undefined) throw error;
    return true;
  }
  return use(value);
}

export function compileIndex(
  of: Code,
  constant: Json | undefined,
  key: Code,
  optional: boolean,
  at: number,
): Code {
  const paths = indexPaths(of, key, optional, at);
  if (optional) {
    return multi(
      (env, input, out) =>
        key.each(env, input, (keyValue) =>
          of.each(env, input, (value) => {
            rt.at = at;
            return optionally(() => get(value, keyValue), out);
          }),
        ),
      of.weight + key.weight + 4,
      paths,
    );
  }
  if (typeof constant === 'string' && of.one)
    return single(fieldOf(of.one, constant, at), of.weight + 1, paths);
  const inner = map2(of, key, get, at);
  return new Code(inner.one, inner.each, inner.weight, paths);
}

function indexPaths(of: Code, key: Code, optional: boolean, at: number): () => Paths {
  return () => (env, path, input, out) =>
    key.each(env, input, (keyValue) =>
      of.paths(env, path, input, (parent, value) => {
        rt.at = at;
        checkAccess(parent, value, keyValue);
        if (optional)
          return optionally(
            () => get(value, keyValue),
            (found) => out(new Path(parent, keyValue, found), found),
          );
        const result = get(value, keyValue);
        return out(new Path(parent, keyValue, result), result);
      }),
    );
}

/** Reads a field of objects without a detour. A name that objects inherit needs the check of `get`. */
function fieldOf(of: One, name: string, at: number): One {
  if (isInherited(name)) {
    return (env, input) => {
      const value = of(env, input);
      rt.at = at;
      return get(value, name);
    };
  }
  return (env, input) => {
    const value = of(env, input);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value[name] ?? null;
    rt.at = at;
    return get(value, name);
  };
}

export function compileSlice(
  of: Code,
  from: Code | null,
  to: Code | null,
  optional: boolean,
  at: number,
): Code {
  const nothing = single(() => null, 1);
  const start = from ?? nothing;
  const end = to ?? nothing;
  const paths = (): Paths => (env, path, input, out) =>
    start.each(env, input, (fromValue) =>
      end.each(env, input, (toValue) =>
        of.paths(env, path, input, (parent, value) => {
          rt.at = at;
          const key: JsonObject = { start: fromValue, end: toValue };
          checkAccess(parent, value, key);
          if (optional)
            return optionally(
              () => get(value, key),
              (found) => out(new Path(parent, key, found), found),
            );
          const result = slice(value, fromValue, toValue);
          return out(new Path(parent, key, result), result);
        }),
      ),
    );
  const [ofOne, startOne, endOne] = [of.one, start.one, end.one];
  if (ofOne && startOne && endOne && !optional) {
    return single(
      (env, input) => {
        const fromValue = startOne(env, input);
        const toValue = endOne(env, input);
        const value = ofOne(env, input);
        rt.at = at;
        return slice(value, fromValue, toValue);
      },
      maxWeight(of, start, end) + 1,
      paths,
    );
  }
  return multi(
    (env, input, out) =>
      start.each(env, input, (fromValue) =>
        end.each(env, input, (toValue) =>
          of.each(env, input, (value) => {
            rt.at = at;
            return optional
              ? optionally(() => slice(value, fromValue, toValue), out)
              : out(slice(value, fromValue, toValue));
          }),
        ),
      ),
    of.weight + start.weight + end.weight + 5,
    paths,
  );
}

/** Hands every element of a container to `out`. */
export function iterate(value: Json, optional: boolean, out: (element: Json, key: Json) => boolean): boolean {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (--rt.stepsLeft < 0) takeSteps();
      if (!out(value[i] ?? null, i)) return false;
    }
    return true;
  }
  if (typeof value === 'object' && value !== null) {
    for (const key of keysOf(value)) {
      if (--rt.stepsLeft < 0) takeSteps();
      if (!out(getKey(value, key), key)) return false;
    }
    return true;
  }
  if (optional) return true;
  raise(`Cannot iterate over ${describe(value)}`);
}

export function compileIterate(of: Code, optional: boolean, at: number): Code {
  const paths = (): Paths => (env, path, input, out) =>
    of.paths(env, path, input, (parent, value) => {
      rt.at = at;
      checkIterate(parent, value);
      return iterate(value, optional, (element, key) => out(new Path(parent, key, element), element));
    });
  const one = of.one;
  if (one) {
    return multi(
      (env, input, out) => {
        const value = one(env, input);
        rt.at = at;
        return iterate(value, optional, out);
      },
      of.weight + 2,
      paths,
    );
  }
  return multi(
    (env, input, out) =>
      of.each(env, input, (value) => {
        rt.at = at;
        return iterate(value, optional, out);
      }),
    of.weight + 3,
    paths,
  );
}
