/**
 * `reduce` without copying its state in each step. jq changes a value in place if nothing else holds it. Here
 * `Owned` tracks the containers that the running `reduce` created, and the usual updates (`.[k] = v`, `.a +=
 * 1`, `. + [x]`, their pipes and conditions) change only those. If a container of the state may have another
 * holder, all ownership is given up.
 */
import { checkArray, runtime, tick } from '../runtime.ts';
import type { Node } from '../ast.ts';
import { getPath, setPath, type Owned } from '../values/access.ts';
import { add } from '../values/arith.ts';
import { isObject, isTrue, type Json } from '../values/json-types.ts';
import { copyObject, keysOf, putKey } from '../values/objects.ts';
import { arithmetic } from './updates.ts';
import type { Code, Env, One } from './code.ts';
import { operation } from './filters.ts';

const { rt } = runtime;

/** Computes the next state. May modify containers in `owned`. */
export type Step = (env: Env | null, state: Json, owned: Owned) => Json;

type Compile = (node: Node) => Code;

/** The in-place form of an update, or null when it has none. */
export function inPlace(node: Node, compile: Compile): Step | null {
  switch (node.t) {
    case 'identity':
      return (_, state) => state;
    case 'pipe': {
      const left = inPlace(node.left, compile);
      const right = left && inPlace(node.right, compile);
      return left && right && ((env, state, owned) => right(env, left(env, state, owned), owned));
    }
    case 'if': {
      const condition = compile(node.condition).one;
      const consequent = inPlace(node.consequent, compile);
      const otherwise = node.otherwise
        ? inPlace(node.otherwise, compile)
        : (_: Env | null, state: Json): Json => state;
      if (!condition || !consequent || !otherwise) return null;
      return (env, state, owned) =>
        isTrue(condition(env, state)) ? consequent(env, state, owned) : otherwise(env, state, owned);
    }
    case 'binary':
      return node.op === '+' && node.left.t === 'identity' ? append(node.right, compile, node.at) : null;
    case 'update':
      return update(node, compile);
    default:
      return null;
  }
}

/** Whether a filter may output parts of its input. True if in doubt. */
function usesInput(node: Node): boolean {
  switch (node.t) {
    case 'literal':
    case 'variable':
      return false;
    case 'index':
      return usesInput(node.of) || usesInput(node.key);
    case 'iterate':
    case 'negate':
      return usesInput(node.of);
    case 'pipe':
      return usesInput(node.left);
    case 'comma':
    case 'binary':
    case 'and':
    case 'or':
    case 'alternative':
      return usesInput(node.left) || usesInput(node.right);
    case 'string':
      return node.parts.some((part) => typeof part !== 'string' && usesInput(part));
    case 'array':
      return node.body !== null && usesInput(node.body);
    case 'object':
      return node.entries.some(({ key, value }) => usesInput(key) || usesInput(value));
    case 'if':
      return (
        usesInput(node.condition) ||
        usesInput(node.consequent) ||
        node.otherwise === null ||
        usesInput(node.otherwise)
      );
    default:
      return true;
  }
}

function isContainer(value: Json): value is Json[] | Record<string, Json> {
  return typeof value === 'object' && value !== null;
}

/** `a + b`, growing `a` itself when it is ours. */
function grow(a: Json, b: Json, owned: Owned): Json {
  if (Array.isArray(a) && Array.isArray(b)) {
    checkArray(a.length + b.length);
    tick(b.length);
    if (owned.has(a)) {
      for (const element of b) a.push(element);
      return a;
    }
    tick(a.length >> 3);
    const fresh = a.concat(b);
    owned.add(fresh);
    return fresh;
  }
  if (isObject(a) && isObject(b)) {
    const keys = keysOf(b);
    tick(keys.length);
    let target = a;
    if (!owned.has(a)) {
      target = copyObject(a);
      owned.add(target);
    }
    for (const key of keys) putKey(target, key, b[key] ?? null);
    return target;
  }
  return add(a, b);
}

function append(right: Node, compile: Compile, at: number): Step | null {
  const operand = compile(right).one;
  if (!operand) return null;
  const mayLeak = usesInput(right);
  return (env, state, owned) => {
    const value = operand(env, state);
    rt.at = at;
    if (!mayLeak) return grow(state, value, owned);
    if (isContainer(value)) owned.clear();
    return add(state, value);
  };
}

/** The keys of `.a[k].b` as filters on the state, or null when the path has other parts. */
function pathKeys(node: Node, compile: Compile): One[] | null {
  if (node.t === 'identity') return [];
  if (node.t !== 'index' || node.optional) return null;
  const before = pathKeys(node.of, compile);
  const key = before && compile(node.key).one;
  return before && key ? [...before, key] : null;
}

function update(node: Extract<Node, { t: 'update' }>, compile: Compile): Step | null {
  const keys = pathKeys(node.left, compile);
  const operand = compile(node.right).one;
  if (!keys || keys.length === 0 || !operand) return null;
  const { op, at } = node;
  const mayLeak = usesInput(node.right);
  const compute = op === '=' || op === '|=' || op === '//=' ? null : operation(arithmetic(op));
  return (env, state, owned) => {
    // jq evaluates the operand before the path, `|=` apart.
    const value = op === '|=' ? null : operand(env, state);
    const path: Json[] = [];
    for (let i = keys.length - 1; i >= 0; i--) path[i] = keys[i]?.(env, state) ?? null;
    rt.at = at;
    // Container keys denote slices and searches, which share parts of the state.
    if (path.some(isContainer)) owned.clear();
    if (op === '=') {
      if (mayLeak && isContainer(value)) owned.clear();
      return setPath(state, path, value, owned);
    }
    const old = getPath(state, path);
    let next: Json;
    if (op === '|=') {
      if (isContainer(old)) owned.clear();
      next = operand(env, old);
    } else if (op === '//=') next = isTrue(old) ? old : value;
    else if (op === '+=' && !mayLeak) next = grow(old, value, owned);
    else next = compute ? compute(old, value) : null;
    if (mayLeak && isContainer(next)) owned.clear();
    rt.at = at;
    return setPath(state, path, next, owned);
  };
}
