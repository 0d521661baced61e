/**
 * Types and conversions (manual: `type`, `tonumber`, `tostring`, `arrays`, …, `infinite`, `isnan`, `tojson`).
 */
import { raise, raiseValue } from '../errors.ts';
import { num, runtime } from '../runtime.ts';
import { toJson, toText, typeError } from '../values/json.ts';
import { kindOf, type Json } from '../values/json-types.ts';
import { fromJson } from '../values/parse-json.ts';
import { parseNumber } from '../values/numbers.ts';
import { multi } from '../compiler/code.ts';
import { macro, value, type Builtin, type Family } from './types.ts';

const { rt } = runtime;

/** A filter that passes inputs for which `test` holds, including their paths. */
function only(test: (input: Json) => boolean): Builtin {
  return macro(() =>
    multi(
      (_, input, out) => (test(input) ? out(input) : true),
      2,
      () => (_, path, input, out) => (test(input) ? out(path, input) : true),
    ),
  );
}

const isContainer = (input: Json): boolean => typeof input === 'object' && input !== null;
const isNormal = (input: Json): boolean =>
  typeof input === 'number' && Number.isFinite(input) && Math.abs(input) >= 2.2250738585072014e-308;

function toNumber(input: Json): Json {
  if (typeof input === 'number') return input;
  const result = typeof input === 'string' ? parseNumber(input) : undefined;
  return result === undefined ? typeError(input, 'cannot be parsed as a number') : num(result);
}

function toBoolean(input: Json): Json {
  if (typeof input === 'boolean') return input;
  if (input === 'true' || input === 'false') return input === 'true';
  return typeError(input, 'cannot be parsed as a boolean');
}

export const types: Family = {
  'type/0': value((input) => kindOf(input)),
  'tonumber/0': value(toNumber),
  'toboolean/0': value(toBoolean),
  'tostring/0': value((input) => toText(input)),
  'tojson/0': value((input) => toJson(input)),
  'fromjson/0': value((input) =>
    typeof input === 'string' ? fromJson(input) : typeError(input, 'only strings can be parsed'),
  ),
  'arrays/0': only((input) => Array.isArray(input)),
  'objects/0': only((input) => isContainer(input) && !Array.isArray(input)),
  'iterables/0': only(isContainer),
  'booleans/0': only((input) => typeof input === 'boolean'),
  'numbers/0': only((input) => typeof input === 'number'),
  'normals/0': only(isNormal),
  'finites/0': only((input) => typeof input === 'number' && input - input === 0),
  'strings/0': only((input) => typeof input === 'string'),
  'nulls/0': only((input) => input === null),
  'values/0': only((input) => input !== null),
  'scalars/0': only((input) => !isContainer(input)),
  'infinite/0': value(() => num(Infinity)),
  'nan/0': value(() => num(NaN)),
  'isinfinite/0': value((input) => input === Infinity || input === -Infinity),
  'isnan/0': value((input) => input !== input),
  'isfinite/0': value((input) => typeof input === 'number' && input !== Infinity && input !== -Infinity),
  'isnormal/0': value(isNormal),
  'not/0': value((input) => input === null || input === false),
  // Numbers are JavaScript doubles, so digits beyond a double's precision are lost.
  'have_literal_numbers/0': value(() => false),
  'have_decnum/0': value(() => false),
  'error/0': value((input) => raiseValue(input)),
  'error/1': value((_, message) => raiseValue(message ?? null)),
  'empty/0': macro(() =>
    multi(
      () => true,
      1,
      () => () => true,
    ),
  ),
  'now/0': value(() => {
    const time = rt.clock?.();
    if (time === undefined) raise('now/0 needs a clock, and this evaluation has none');
    return time.getTime() / 1000;
  }),
};
