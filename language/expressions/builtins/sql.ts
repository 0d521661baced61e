/** SQL-style operators (manual: SQL-Style Operators). */
import { equals } from '../values/compare.ts';
import { toText } from '../values/json.ts';
import type { Json, JsonObject } from '../values/json-types.ts';
import { putKey } from '../values/objects.ts';
import { single, type Code, type Env } from '../compiler/code.ts';
import { iterate } from '../compiler/access.ts';
import { need } from './paths.ts';
import { jq, macro, type Family } from './types.ts';

function index(stream: Code | null, key: Code): Code {
  return single(
    (env, input) => {
      const out: JsonObject = {};
      const add = (row: Json): boolean =>
        key.each(env, row, (k) => {
          putKey(out, toText(k), row);
          return true;
        });
      if (stream) stream.each(env, input, add);
      else iterate(input, false, add);
      return out;
    },
    (stream?.weight ?? 2) + key.weight + 4,
  );
}

/** `IN`: whether an output of the first filter equals one of the second. */
function isIn(source: Code | null, set: Code): Code {
  const inSet = (env: Env | null, input: Json, value: Json): boolean => {
    let found = false;
    set.each(env, input, (member) => {
      found = equals(value, member);
      return !found;
    });
    return found;
  };
  return single(
    (env, input) => {
      if (!source) return inSet(env, input, input);
      let found = false;
      set.each(env, input, (member) =>
        source.each(env, input, (value) => {
          found = equals(value, member);
          return !found;
        }),
      );
      return found;
    },
    (source?.weight ?? 0) + set.weight + 4,
  );
}

export const sql: Family = {
  'INDEX/2': macro(([stream, key]) => index(need(stream), need(key))),
  'INDEX/1': macro(([key]) => index(null, need(key))),
  'JOIN/2': jq('def JOIN($idx; idx_expr): [.[] | [., $idx[idx_expr]]];'),
  'JOIN/3': jq('def JOIN($idx; stream; idx_expr): stream | [., $idx[idx_expr]];'),
  'JOIN/4': jq('def JOIN($idx; stream; idx_expr; join_expr): stream | [., $idx[idx_expr]] | join_expr;'),
  'IN/1': macro(([set]) => isIn(null, need(set))),
  'IN/2': macro(([source, set]) => isIn(need(source), need(set))),
};
