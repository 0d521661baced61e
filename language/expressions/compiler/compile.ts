/** Syntax tree to closures. */
import { runtime } from '../runtime.ts';
import type { Node } from '../ast.ts';
import { applyFormat } from '../builtins/formats.ts';
import { negate } from '../values/arith.ts';
import { compileIndex, compileIterate, compileSlice } from './access.ts';
import {
  compileBind,
  compileBreak,
  compileForeach,
  compileLabel,
  compileReduce,
  compileVariable,
} from './bindings.ts';
import { compileCall, compileDefinition } from './calls.ts';
import { single, type Code } from './code.ts';
import { compileArray, compileObject, compileString } from './construct.ts';
import type { Context } from './context.ts';
import * as filter from './filters.ts';
import { Scope } from './scope.ts';
import { compileUpdate } from './updates.ts';

const { rt } = runtime;

/** Compiles a program. `variables`: the names that `env.variables` may give, null for any. */
export function compileProgram(node: Node, source: string, variables: ReadonlySet<string> | null): Code {
  const context: Context = {
    source,
    variables,
    compile: (child, scope) => compileNode(child, scope, context),
  };
  return compileNode(node, new Scope(null, null), context);
}

function compileNode(node: Node, scope: Scope, context: Context): Code {
  // The entry of the node's own kind takes the node.
  const compileKind = KINDS[node.t] as CompileKind<Node['t']>;
  return compileKind(node, (child) => compileNode(child, scope, context), scope, context);
}

/** `sub` compiles a child in the same scope. */
type CompileKind<Kind extends Node['t']> = (
  node: Extract<Node, { t: Kind }>,
  sub: (child: Node) => Code,
  scope: Scope,
  context: Context,
) => Code;

const KINDS: { readonly [Kind in Node['t']]: CompileKind<Kind> } = {
  identity: () =>
    single(
      (_, input) => input,
      1,
      () => (_, path, input, out) => out(path, input),
    ),
  literal: ({ value }) => single(() => value, 1),
  string: ({ format, parts, at }, sub) =>
    compileString(
      format,
      parts.map((part) => (typeof part === 'string' ? part : sub(part))),
      at,
    ),
  format: ({ name, at }) =>
    single((_, input) => {
      rt.at = at;
      return applyFormat(name, input);
    }, 2),
  index: ({ of, key, optional, at }, sub) =>
    compileIndex(sub(of), key.t === 'literal' ? key.value : undefined, sub(key), optional, at),
  slice: ({ of, from, to, optional, at }, sub) =>
    compileSlice(sub(of), from && sub(from), to && sub(to), optional, at),
  iterate: ({ of, optional, at }, sub) => compileIterate(sub(of), optional, at),
  try: ({ body, handler }, sub) => filter.compileTry(sub(body), handler && sub(handler)),
  negate: ({ of, at }, sub) => filter.map1(sub(of), negate, at),
  pipe: ({ left, right }, sub) => filter.compilePipe(sub(left), sub(right)),
  comma: ({ left, right }, sub) => filter.compileComma(sub(left), sub(right)),
  binary: ({ op, left, right, at }, sub) => filter.map2(sub(left), sub(right), filter.operation(op), at),
  and: ({ left, right }, sub) => filter.compileLogic(false, sub(left), sub(right)),
  or: ({ left, right }, sub) => filter.compileLogic(true, sub(left), sub(right)),
  alternative: ({ left, right }, sub) => filter.compileAlternative(sub(left), sub(right)),
  update: (node, _sub, scope, context) => compileUpdate(node, scope, context),
  if: ({ condition, consequent, otherwise }, sub) =>
    filter.compileIf(sub(condition), sub(consequent), otherwise && sub(otherwise)),
  reduce: (node, _sub, scope, context) => compileReduce(node, scope, context),
  foreach: (node, _sub, scope, context) => compileForeach(node, scope, context),
  def: ({ fn, body }, _sub, scope, context) => compileDefinition(fn, body, scope, context),
  bind: (node, _sub, scope, context) => compileBind(node, scope, context),
  label: (node, _sub, scope, context) => compileLabel(node, scope, context),
  break: (node, _sub, scope, context) => compileBreak(node, scope, context),
  call: (node, _sub, scope, context) => compileCall(node, scope, context),
  variable: (node, _sub, scope, context) => compileVariable(node, scope, context),
  array: ({ body }, sub) => compileArray(body && sub(body)),
  object: ({ entries, at }, sub) =>
    compileObject(
      entries.map(({ key, value }) => ({
        key: sub(key),
        name: key.t === 'literal' && typeof key.value === 'string' ? key.value : null,
        value: sub(value),
      })),
      at,
    ),
};
