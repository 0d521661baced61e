/** All builtins by `name/arity`, and the names that are refused. */
import { arrays } from './arrays.ts';
import { control } from './control.ts';
import { dates } from './dates.ts';
import { formats } from './formats.ts';
import { math } from './math.ts';
import { objects } from './objects.ts';
import { paths } from './paths.ts';
import { regex } from './regex.ts';
import { sql } from './sql.ts';
import { streams } from './streams.ts';
import { strings } from './strings.ts';
import { value, type Builtin } from './types.ts';
import { types } from './types-of-values.ts';

const families = [types, objects, arrays, paths, control, strings, formats, regex, math, dates, streams, sql];

export const builtins: ReadonlyMap<string, Builtin> = (() => {
  const all = new Map<string, Builtin>();
  for (const family of families) for (const [name, builtin] of Object.entries(family)) all.set(name, builtin);
  // Manual: `builtins`.
  const listed = (): string[] => [...all.keys()].filter((name) => !name.startsWith('_'));
  all.set(
    'builtins/0',
    value(() => listed()),
  );
  return all;
})();

/** Names of jq that an expression must not use, with the reason. */
export const REFUSED: ReadonlyMap<string, string> = new Map([
  ['env', 'an expression has no environment'],
  ['input', 'an expression has one input'],
  ['inputs', 'an expression has one input'],
  ['input_filename', 'an expression reads no files'],
  ['input_line_number', 'an expression reads no files'],
  ['debug', 'an expression writes no output; return the value instead'],
  ['stderr', 'an expression writes no output; return the value instead'],
  ['halt', 'an expression cannot end the process; use error'],
  ['halt_error', 'an expression cannot end the process; use error'],
  ['modulemeta', 'an expression has no modules'],
  ['get_search_list', 'an expression has no modules'],
  ['get_prog_origin', 'an expression has no modules'],
  ['get_jq_origin', 'an expression has no modules'],
]);
