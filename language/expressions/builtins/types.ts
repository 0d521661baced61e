/** How a builtin is declared. */
import type { Code } from '../compiler/code.ts';
import type { Json } from '../values/json-types.ts';

/**
 * - `value`: a function of the input and of the values of its arguments, which is called for every
 *   combination of them; the last argument is the outer loop, as for jq's functions in C.
 * - `macro`: takes the compiled arguments as filters.
 * - `jq`: a definition in jq.
 */
export type Builtin =
  | { kind: 'value'; fn: (input: Json, ...args: Json[]) => Json }
  | { kind: 'macro'; build: (args: readonly Code[], at: number) => Code }
  | { kind: 'jq'; source: string };

/** Builtins by `name/arity`. */
export type Family = Record<string, Builtin>;

export function value(fn: (input: Json, ...args: Json[]) => Json): Builtin {
  return { kind: 'value', fn };
}

export function macro(build: (args: readonly Code[], at: number) => Code): Builtin {
  return { kind: 'macro', build };
}

export function jq(source: string): Builtin {
  return { kind: 'jq', source };
}
