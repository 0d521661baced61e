/** Assignment: `=`, `|=` and the arithmetic updates (manual: Assignment; builtin.jq `_assign`, `_modify`). */
import { runtime } from '../runtime.ts';
import type { Node } from '../ast.ts';
import { deletePaths, getPath, set, setPath, type Owned } from '../values/access.ts';
import { isTrue, type Json } from '../values/json-types.ts';
import { modify, modifyElements, pathsOf, type Change } from './changes.ts';
import { firstOf, multi, single, type Code, type Env } from './code.ts';
import type { Context } from './context.ts';
import { operation } from './filters.ts';
import type { Scope } from './scope.ts';

const { rt } = runtime;

type UpdateNode = Extract<Node, { t: 'update' }>;

/** The keys of a path such as `.a.b[0]`, or null when it has other parts. */
function constantKeys(node: Node): Json[] | null {
  const keys: Json[] = [];
  let step = node;
  while (
    step.t === 'index' &&
    !step.optional &&
    step.key.t === 'literal' &&
    (typeof step.key.value === 'string' || typeof step.key.value === 'number')
  ) {
    keys.unshift(step.key.value);
    step = step.of;
  }
  return step.t === 'identity' && keys.length > 0 ? keys : null;
}

function changeAt(keys: Json[], input: Json, change: Change): Json {
  const key = keys[0];
  if (keys.length === 1 && key !== undefined) {
    const value = change(getPath(input, keys));
    return value === undefined ? deletePaths(input, [keys]) : set(input, key, value);
  }
  const value = change(getPath(input, keys));
  return value === undefined ? deletePaths(input, [keys]) : setPath(input, keys, value);
}

/** The fastest way to change the places that `node` denotes. */
function updater(node: Node, code: Code): (env: Env | null, input: Json, change: Change) => Json {
  const { at } = node;
  const keys = constantKeys(node);
  if (keys) {
    return (_, input, change) => {
      rt.at = at;
      return changeAt(keys, input, change);
    };
  }
  if (node.t === 'iterate' && node.of.t === 'identity' && !node.optional)
    return (_, input, change) => modifyElements(input, change, at);
  return (env, input, change) => modify(code, env, input, change);
}

export function compileUpdate(node: UpdateNode, scope: Scope, context: Context): Code {
  const left = context.compile(node.left, scope);
  const right = context.compile(node.right, scope);
  const update = updater(node.left, left);
  const { op, at } = node;
  const weight = left.weight * 2 + right.weight + 8;
  const one = right.one;
  if (op === '|=') {
    if (one) return single((env, input) => update(env, input, (value) => one(env, value)), weight);
    return single((env, input) => update(env, input, (value) => firstOf(right, env, value)), weight);
  }
  let apply: (env: Env | null, input: Json, operand: Json) => Json;
  if (op === '=') {
    const keys = constantKeys(node.left);
    apply = keys
      ? (_, input, operand) => {
          rt.at = at;
          return setPath(input, keys, operand);
        }
      : (env, input, operand) => {
          let result = input;
          const owned: Owned = new Set();
          for (const path of pathsOf(left, env, input)) {
            rt.at = at;
            result = setPath(result, path, operand, owned);
          }
          return result;
        };
  } else if (op === '//=') {
    apply = (env, input, operand) => update(env, input, (value) => (isTrue(value) ? value : operand));
  } else {
    const compute = operation(arithmetic(op));
    apply = (env, input, operand) =>
      update(env, input, (value) => {
        rt.at = at;
        return compute(value, operand);
      });
  }
  if (one) return single((env, input) => apply(env, input, one(env, input)), weight);
  return multi(
    (env, input, out) => right.each(env, input, (operand) => out(apply(env, input, operand))),
    weight,
  );
}

/** The operator of an arithmetic update. */
export function arithmetic(op: '+=' | '-=' | '*=' | '/=' | '%='): '+' | '-' | '*' | '/' | '%' {
  switch (op) {
    case '+=':
      return '+';
    case '-=':
      return '-';
    case '*=':
      return '*';
    case '/=':
      return '/';
    case '%=':
      return '%';
  }
}
