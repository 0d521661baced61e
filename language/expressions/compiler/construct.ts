/** Arrays, objects and interpolated strings as closures. */
import { raise } from '../errors.ts';
import { checkArray, exceed, runtime, tick, tickText } from '../runtime.ts';
import { applyFormat } from '../builtins/formats.ts';
import { describe, toText } from '../values/json.ts';
import type { Json, JsonObject } from '../values/json-types.ts';
import { isInherited, putKey } from '../values/objects.ts';
import { Code, maxWeight, multi, product, single, type Each, type One } from './code.ts';

const { rt } = runtime;

export function compileArray(body: Code | null): Code {
  if (body === null) return single(() => [], 1);
  const { one, each } = body;
  if (one) {
    return single((env, input) => {
      const value = one(env, input);
      tickText(value);
      return [value];
    }, body.weight + 1);
  }
  return single((env, input) => collect(each, env, input), body.weight + 3);
}

/** All outputs as an array. */
export function collect(each: Each, env: Parameters<Each>[0], input: Json): Json[] {
  const values: Json[] = [];
  const max = rt.limits.arrayLength;
  each(env, input, (value) => {
    if (values.push(value) > max) checkArray(values.length);
    tickText(value);
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
    tickText(value);
    putKey(object, key, value);
  };
  const ones: { name: string | null; key: One; value: One }[] = [];
  for (const { key, name, value } of entries) {
    if (key.one && value.one)
      ones.push({ name: name !== null && !isInherited(name) ? name : null, key: key.one, value: value.one });
  }
  if (ones.length === entries.length) {
    return single(
      (env, input) => {
        const object: JsonObject = {};
        for (const entry of ones) {
          if (entry.name !== null) {
            const value = entry.value(env, input);
            tickText(value);
            object[entry.name] = value;
          } else {
            const key = entry.key(env, input);
            setter(object, key, entry.value(env, input));
          }
        }
        return object;
      },
      maxWeight(...entries.map(({ key }) => key), ...entries.map(({ value }) => value)) + 2,
    );
  }
  return multi(
    (env, input, out) => {
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
    },
    weight + entries.length * 2,
  );
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
  if (ones.every((one): one is One => one !== null))
    return single((env, input) => render(ones.map((one) => one(env, input))), maxWeight(...codes) + 3);
  const weight = codes.reduce((sum, code) => sum + code.weight + 2, 2);
  return multi((env, input, out) => {
    const values: Json[] = [];
    return product(codes, env, input, values, () => out(render(values)));
  }, weight);
}
