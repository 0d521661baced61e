/** The basic filters as closures: what the compiler and the builtins put together. */
import { raise } from '../errors.ts';
import { checkArray, exceed, num, rt, tick } from '../runtime.ts';
import type { BinaryOperator } from '../ast.ts';
import { add, divide, modulo, multiply, subtract } from '../values/arith.ts';
import { get, slice } from '../values/access.ts';
import { compare, equals } from '../values/compare.ts';
import { applyFormat } from '../builtins/formats.ts';
import { describe, toText } from '../values/json.ts';
import { isTrue, type Json, type JsonObject } from '../values/json-types.ts';
import { getKey, isInherited, putKey } from '../values/objects.ts';
import { caught, checkAccess, checkIterate, Code, maxWeight, multi, Path, product, single, type Each, type One, type Paths } from './code.ts';

/** Applies `fn` to every output. */
export function map1(code: Code, fn: (value: Json) => Json, at: number): Code {
  const { one, each } = code;
  if (one) {
    return single((env, input) => {
      const value = one(env, input);
      rt.at = at;
      return fn(value);
    }, code.weight + 1);
  }
  return multi((env, input, out) => each(env, input, (value) => {
    rt.at = at;
    return out(fn(value));
  }), code.weight + 2);
}

/** Applies `fn` to every pair of outputs; the right side is the outer loop, as in jq. */
export function map2(left: Code, right: Code, fn: (a: Json, b: Json) => Json, at: number): Code {
  const a = left.one;
  const b = right.one;
  if (a && b) {
    return single((env, input) => {
      const y = b(env, input);
      const x = a(env, input);
      rt.at = at;
      return fn(x, y);
    }, maxWeight(left, right) + 1);
  }
  return multi((env, input, out) => right.each(env, input, (y) => left.each(env, input, (x) => {
    rt.at = at;
    return out(fn(x, y));
  })), left.weight + right.weight + 3);
}

export function operation(op: BinaryOperator): (a: Json, b: Json) => Json {
  switch (op) {
    case '+':
      return (a, b) => (typeof a === 'number' && typeof b === 'number' ? num(a + b) : add(a, b));
    case '-':
      return subtract;
    case '*':
      return multiply;
    case '/':
      return divide;
    case '%':
      return modulo;
    case '==':
      return (a, b) => equals(a, b);
    case '!=':
      return (a, b) => !equals(a, b);
    case '<':
      return (a, b) => compare(a, b) < 0;
    case '<=':
      return (a, b) => compare(a, b) <= 0;
    case '>':
      return (a, b) => compare(a, b) > 0;
    case '>=':
      return (a, b) => compare(a, b) >= 0;
  }
}

export function compileString(format: string | null, parts: (string | Code)[], at: number): Code {
  const codes = parts.filter((part) => typeof part !== 'string');
  const render = (values: readonly Json[]): Json => {
    rt.at = at;
    let text = '';
    let next = 0;
    for (const part of parts) {
      if (typeof part === 'string') text += part;
      else {
        const value = values[next++] ?? null;
        text += format === null ? toText(value) : applyFormat(format, value);
      }
    }
    if (text.length > rt.limits.stringLength) exceed('stringLength');
    return text;
  };
  const ones = codes.map((code) => code.one);
  if (ones.every((one): one is One => one !== null)) return single((env, input) => render(ones.map((one) => one(env, input))), maxWeight(...codes) + 3);
  const weight = codes.reduce((sum, code) => sum + code.weight + 2, 2);
  return multi((env, input, out) => {
    const values: Json[] = [];
    return product(codes, env, input, values, () => out(render(values)));
  }, weight);
}

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

/** Errors of the body are caught; errors of what follows are not (compile.c, `gen_try`). */
export function compileTry(body: Code, handler: Code | null): Code {
  const paths = (): Paths => (env, path, input, out) => {
    const { recursion } = rt;
    let downstream = false;
    let value: Json | undefined;
    try {
      return body.paths(env, path, input, (p, v) => {
        downstream = true;
        const go = out(p, v);
        downstream = false;
        return go;
      });
    } catch (error) {
      value = downstream ? undefined : caught(error);
      if (value === undefined) throw error;
    }
    rt.recursion = recursion;
    return handler ? handler.paths(env, path, value, out) : true;
  };
  const [one, handlerOne] = [body.one, handler?.one];
  if (one && handlerOne) {
    return single((env, input) => {
      const { recursion } = rt;
      let value: Json | undefined;
      try {
        return one(env, input);
      } catch (error) {
        value = caught(error);
        if (value === undefined) throw error;
      }
      rt.recursion = recursion;
      return handlerOne(env, value);
    }, maxWeight(body, handler ?? body) + 1, paths);
  }
  const each: Each = (env, input, out) => {
    const { recursion } = rt;
    let downstream = false;
    let value: Json | undefined;
    try {
      return body.each(env, input, (v) => {
        downstream = true;
        const go = out(v);
        downstream = false;
        return go;
      });
    } catch (error) {
      value = downstream ? undefined : caught(error);
      if (value === undefined) throw error;
    }
    rt.recursion = recursion;
    return handler ? handler.each(env, value, out) : true;
  };
  return multi(each, Math.max(body.weight, handler?.weight ?? 0) + 3, paths);
}

export function compilePipe(left: Code, right: Code): Code {
  const paths = (): Paths => (env, path, input, out) => left.paths(env, path, input, (p, value) => right.paths(env, p, value, out));
  const [a, b] = [left.one, right.one];
  if (a && b) return single((env, input) => b(env, a(env, input)), maxWeight(left, right) + 1, paths);
  if (a) return multi((env, input, out) => right.each(env, a(env, input), out), maxWeight(left, right) + 1, paths);
  if (b) return multi((env, input, out) => left.each(env, input, (value) => out(b(env, value))), left.weight + right.weight + 2, paths);
  return multi((env, input, out) => left.each(env, input, (value) => right.each(env, value, out)), left.weight + right.weight + 2, paths);
}

export function compileComma(left: Code, right: Code): Code {
  return multi((env, input, out) => left.each(env, input, out) && right.each(env, input, out), maxWeight(left, right) + 1,
    () => (env, path, input, out) => left.paths(env, path, input, out) && right.paths(env, path, input, out));
}

export function compileLogic(isOr: boolean, left: Code, right: Code): Code {
  const [a, b] = [left.one, right.one];
  if (a && b) return single((env, input) => (isTrue(a(env, input)) === isOr ? isOr : isTrue(b(env, input))), maxWeight(left, right) + 1);
  return multi((env, input, out) => left.each(env, input, (x) => (isTrue(x) === isOr ? out(isOr) : right.each(env, input, (y) => out(isTrue(y))))), left.weight + right.weight + 3);
}

export function compileAlternative(left: Code, right: Code): Code {
  const paths = (): Paths => (env, path, input, out) => {
    let found = false;
    const go = left.paths(env, path, input, (p, value) => {
      if (!isTrue(value)) return true;
      found = true;
      return out(p, value);
    });
    return go && !found ? right.paths(env, path, input, out) : go;
  };
  const [a, b] = [left.one, right.one];
  if (a && b) {
    return single((env, input) => {
      const value = a(env, input);
      return isTrue(value) ? value : b(env, input);
    }, maxWeight(left, right) + 1, paths);
  }
  return multi((env, input, out) => {
    let found = false;
    const go = left.each(env, input, (value) => {
      if (!isTrue(value)) return true;
      found = true;
      return out(value);
    });
    return go && !found ? right.each(env, input, out) : go;
  }, left.weight + right.weight + 2, paths);
}

export function compileIf(condition: Code, then: Code, otherwise: Code | null): Code {
  const other = otherwise ?? single((_, input) => input, 1, () => (_, path, input, out) => out(path, input));
  const paths = (): Paths => (env, path, input, out) =>
    condition.each(env, input, (value) => (isTrue(value) ? then.paths(env, path, input, out) : other.paths(env, path, input, out)));
  const [c, t, o] = [condition.one, then.one, other.one];
  if (c && t && o) return single((env, input) => (isTrue(c(env, input)) ? t(env, input) : o(env, input)), maxWeight(condition, then, other) + 1, paths);
  if (c) return multi((env, input, out) => (isTrue(c(env, input)) ? then.each(env, input, out) : other.each(env, input, out)), maxWeight(condition, then, other) + 1, paths);
  return multi((env, input, out) => condition.each(env, input, (value) => (isTrue(value) ? then.each(env, input, out) : other.each(env, input, out))),
    condition.weight + maxWeight(then, other) + 2, paths);
}

export function compileArray(body: Code | null): Code {
  if (body === null) return single(() => [], 1);
  const { one, each } = body;
  if (one) return single((env, input) => [one(env, input)], body.weight + 1);
  return single((env, input) => collect(each, env, input), body.weight + 3);
}

/** All outputs as an array. */
export function collect(each: Each, env: Parameters<Each>[0], input: Json): Json[] {
  const values: Json[] = [];
  const max = rt.limits.arrayLength;
  each(env, input, (value) => {
    if (values.push(value) > max) checkArray(values.length);
    return true;
  });
  return values;
}

export interface ObjectEntry {
  key: Code;
  name: string | null;
  value: Code;
}

export function compileObject(entries: ObjectEntry[], at: number): Code {
  const weight = entries.reduce((sum, { key, value }) => sum + key.weight + value.weight + 2, 1);
  const setter = (object: JsonObject, key: Json, value: Json): void => {
    if (typeof key !== 'string') {
      rt.at = at;
      raise(`Cannot use ${describe(key)} as object key`);
    }
    putKey(object, key, value);
  };
  const ones: { name: string | null; key: One; value: One }[] = [];
  for (const { key, name, value } of entries) {
    if (key.one && value.one) ones.push({ name: name !== null && !isInherited(name) ? name : null, key: key.one, value: value.one });
  }
  if (ones.length === entries.length) {
    return single((env, input) => {
      const object: JsonObject = {};
      for (const entry of ones) {
        if (entry.name !== null) object[entry.name] = entry.value(env, input);
        else {
          const key = entry.key(env, input);
          setter(object, key, entry.value(env, input));
        }
      }
      return object;
    }, maxWeight(...entries.map(({ key }) => key), ...entries.map(({ value }) => value)) + 2);
  }
  return multi((env, input, out) => {
    const keys: Json[] = [];
    const values: Json[] = [];
    const fill = (i: number): boolean => {
      const entry = entries[i];
      if (entry === undefined) {
        tick(1);
        const object: JsonObject = {};
        for (let j = 0; j < entries.length; j++) setter(object, keys[j] ?? null, values[j] ?? null);
        return out(object);
      }
      return entry.key.each(env, input, (key) => {
        keys[i] = key;
        return entry.value.each(env, input, (value) => {
          values[i] = value;
          return fill(i + 1);
        });
      });
    };
    return fill(0);
  }, weight + entries.length * 2);
}
