/** Objects (manual: `keys`, `has`, `in`, `to_entries`, `from_entries`, `with_entries`, `length`). */
import { SHIFT, tick, tickSize } from '../runtime.ts';
import { get, has } from '../values/access.ts';
import { contains } from '../values/compare.ts';
import { describe, typeError, typeError2 } from '../values/json.ts';
import { isObject, isTrue, kindOf, type Json, type JsonObject } from '../values/json-types.ts';
import { getKey, keysOf, putKey, sortedKeys } from '../values/objects.ts';
import { codePointLength, utf8Length } from '../values/text.ts';
import { raise } from '../errors.ts';
import { iterate } from '../compiler/access.ts';
import { collect } from '../compiler/construct.ts';
import { compilePipe } from '../compiler/filters.ts';
import { firstOf, multi, single, type Code } from '../compiler/code.ts';
import { modifyElements } from '../compiler/changes.ts';
import { jq, macro, value, type Family } from './types.ts';

function length(input: Json): Json {
  switch (typeof input) {
    case 'string':
      return codePointLength(input);
    case 'number':
      return Math.abs(input);
    case 'object':
      return input === null ? 0 : Array.isArray(input) ? input.length : keysOf(input).length;
    default:
      return typeError(input, 'has no length');
  }
}

function keys(input: Json): Json {
  if (Array.isArray(input)) {
    tickSize(input.length, SHIFT.build);
    return input.map((_, i) => i);
  }
  if (!isObject(input)) return typeError(input, 'has no keys');
  const names = sortedKeys(input);
  tick(names.length);
  return names;
}

function toEntries(input: Json): Json {
  if (isObject(input)) {
    const names = keysOf(input);
    tick(names.length);
    return names.map((key) => ({ key, value: getKey(input, key) }));
  }
  if (Array.isArray(input)) {
    tickSize(input.length, 0);
    return input.map((element, key) => ({ key, value: element }));
  }
  return typeError(input, 'has no keys');
}

/** `(.key // .Key // .name // .Name)` and the like, null when none is there. */
function firstKey(entry: Json, names: readonly string[]): Json {
  let found: Json = null;
  for (const name of names) {
    found = get(entry, name);
    if (isTrue(found)) return found;
  }
  return found;
}

const KEY_NAMES = ['key', 'Key', 'name', 'Name'] as const;

function fromEntries(input: Json): Json {
  const out: JsonObject = {};
  iterate(input, false, (entry) => {
    const key = firstKey(entry, KEY_NAMES);
    const held = has(entry, 'value') ? get(entry, 'value') : get(entry, 'Value');
    if (typeof key !== 'string') raise(`Cannot use ${describe(key)} as object key`);
    putKey(out, key, held);
    return true;
  });
  return out;
}

function mapCode(f: Code): Code {
  const one = f.one;
  return single((env, input) => {
    if (Array.isArray(input) && one) {
      tick(input.length);
      const out: Json[] = [];
      for (let i = 0; i < input.length; i++) out.push(one(env, input[i] ?? null));
      return out;
    }
    return collect((e, v, out) => iterate(v, false, (element) => f.each(e, element, out)), env, input);
  }, f.weight + 5);
}

export const objects: Family = {
  'length/0': value(length),
  'utf8bytelength/0': value((input) =>
    typeof input === 'string' ? utf8Length(input) : typeError(input, 'only strings have UTF-8 byte length'),
  ),
  'keys/0': value(keys),
  'keys_unsorted/0': value((input) => (isObject(input) ? keysOf(input) : keys(input))),
  'has/1': value((input, key) => has(input, key ?? null)),
  'in/1': macro(([xs]) => inverse(xs, (input, container) => has(container, input))),
  'contains/1': value((input, part) => contained(input, part ?? null)),
  'inside/1': macro(([xs]) => inverse(xs, (input, container) => contained(container, input))),
  'to_entries/0': value(toEntries),
  'from_entries/0': value(fromEntries),
  'with_entries/1': macro(([f]) => {
    if (!f) throw new TypeError('with_entries needs a filter');
    const entries = single((_, input) => toEntries(input), 3);
    return compilePipe(
      compilePipe(entries, mapCode(f)),
      single((_, input) => fromEntries(input), 3),
    );
  }),
  'map/1': macro(([f]) => {
    if (!f) throw new TypeError('map needs a filter');
    return mapCode(f);
  }),
  'map_values/1': macro(([f], at) => {
    if (!f) throw new TypeError('map_values needs a filter');
    return single(
      (env, input) => modifyElements(input, (element) => firstOf(f, env, element), at),
      f.weight + 5,
    );
  }),
  'walk/1': jq(
    'def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . ' +
      'end | f; w;',
  ),
};

function contained(container: Json, part: Json): boolean {
  if (kindOf(container) !== kindOf(part) || (typeof container === 'boolean' && container !== part))
    return typeError2(container, part, 'cannot have their containment checked');
  return contains(container, part);
}

/** `in(xs)`, `inside(xs)`: a test with input and argument exchanged. */
function inverse(xs: Code | undefined, test: (input: Json, container: Json) => boolean): Code {
  if (!xs) throw new TypeError('needs an argument');
  const one = xs.one;
  if (one) return single((env, input) => test(input, one(env, input)), xs.weight + 3);
  return multi(
    (env, input, out) => xs.each(env, input, (container) => out(test(input, container))),
    xs.weight + 3,
  );
}
