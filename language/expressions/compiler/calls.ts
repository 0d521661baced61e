/** Definitions and calls: functions of the program, filters passed as arguments, builtins. */
import { builtins, REFUSED } from '../builtins/index.ts';
import { exceed, runtime, takeSteps } from '../runtime.ts';
import { suggest } from '../suggest.ts';
import type { FunctionNode, Node } from '../ast.ts';
import type { Json } from '../values/json-types.ts';
import { Closure, Code, Env, lookupUp, multi, product, single, type One, type Paths } from './code.ts';
import { failCompile, type Context } from './context.ts';
import { preludeFunction } from './prelude.ts';
import { Scope, UserFunction } from './scope.ts';

const { rt } = runtime;

type CallNode = Extract<Node, { t: 'call' }>;

/** Functions that were found to have other than one output, so that they are not tried again. */
const knownMulti = new WeakSet<FunctionNode>();

export function compileDefinition(node: FunctionNode, body: Node, scope: Scope, context: Context): Code {
  const fn = new UserFunction(node, scope);
  compileFunction(fn, context);
  return context.compile(
    body,
    scope.bind({ kind: 'function', name: node.name, arity: node.params.length, fn }),
  );
}

function compileFunction(fn: UserFunction, context: Context): void {
  const { node } = fn;
  let scope = fn.scope.bind({ kind: 'function', name: node.name, arity: node.params.length, fn });
  for (const { name, isValue } of node.params)
    scope = scope.bind(isValue ? { kind: 'variable', name, isParam: true } : { kind: 'closure', name });
  fn.isSingle = !knownMulti.has(node);
  fn.isAssumed = false;
  fn.code = context.compile(node.body, scope);
  if (fn.code.one !== null) return;
  knownMulti.add(node);
  const wasWrong = fn.isSingle && fn.isAssumed;
  fn.isSingle = false;
  if (wasWrong) fn.code = context.compile(node.body, scope);
}

export function compileCall(node: CallNode, scope: Scope, context: Context): Code {
  const { name, args, at } = node;
  const found = scope.findFunction(name, args.length);
  const entry = found?.entry;
  if (found && entry) {
    const hops = scope.depth - found.depth;
    if (entry.kind === 'function') return compileUserCall(entry.fn, node, scope, context);
    const lookup = lookupUp(hops);
    if (entry.kind === 'variable') return single((env) => lookup(env) as Json, 1);
    return compileClosureCall(lookup, at);
  }
  const key = `${name}/${args.length}`;
  const builtin = builtins.get(key);
  if (builtin !== undefined) {
    if (builtin.kind === 'jq') {
      // A scope of its own at the depth of the call: the body must not see the caller's names.
      const fn = new UserFunction(preludeFunction(builtin.source, at), new Scope(null, null, scope.depth));
      compileFunction(fn, context);
      return compileUserCall(fn, node, scope, context);
    }
    const codes = args.map((arg) => context.compile(arg, scope));
    if (builtin.kind === 'macro') return builtin.build(codes, at);
    return compileValueCall(builtin.fn, codes, at);
  }
  const reason = REFUSED.get(name);
  if (reason !== undefined) failCompile(context, at, `${key} is not available: ${reason}`, 'refused');
  const arities = visibleFunctions(scope).filter((candidate) => candidate.startsWith(`${name}/`));
  if (arities.length > 0)
    failCompile(
      context,
      at,
      `${key} is not defined, but ${arities.join(' and ')} ${arities.length > 1 ? 'are' : 'is'}`,
      'undefined_function',
      arities[0],
    );
  const names = new Set(
    visibleFunctions(scope).map((candidate) => candidate.slice(0, candidate.lastIndexOf('/'))),
  );
  return failCompile(context, at, `${key} is not defined`, 'undefined_function', suggest(name, names));
}

function visibleFunctions(scope: Scope): string[] {
  const names: string[] = [];
  for (let current: Scope | null = scope; current !== null; current = current.up) {
    const { entry } = current;
    if (entry?.kind === 'function') names.push(`${entry.name}/${entry.arity}`);
    else if (entry?.kind === 'closure') names.push(`${entry.name}/0`);
  }
  return [...names, ...builtins.keys()];
}

/** A builtin that works on values: called for every combination of its arguments. */
function compileValueCall(fn: (input: Json, ...args: Json[]) => Json, codes: Code[], at: number): Code {
  const [a, b] = codes;
  const ones = codes.map((code) => code.one).filter((one): one is One => one !== null);
  const weight = Math.max(0, ...codes.map((code) => code.weight)) + 4;
  if (ones.length === codes.length) {
    const [first, second] = ones;
    if (first === undefined) {
      return single((_, input) => {
        rt.at = at;
        return fn(input);
      }, weight);
    }
    if (second === undefined) {
      return single((env, input) => {
        const argument = first(env, input);
        rt.at = at;
        return fn(input, argument);
      }, weight);
    }
    return single((env, input) => {
      const values = ones.map((one) => one(env, input));
      rt.at = at;
      return fn(input, ...values);
    }, weight);
  }
  const sum = codes.reduce((total, code) => total + code.weight + 2, 4);
  if (a !== undefined && b === undefined) {
    return multi(
      (env, input, out) =>
        a.each(env, input, (argument) => {
          rt.at = at;
          return out(fn(input, argument));
        }),
      sum,
    );
  }
  return multi((env, input, out) => {
    const values: Json[] = [];
    return product(codes, env, input, values, () => {
      rt.at = at;
      return out(fn(input, ...values));
    });
  }, sum);
}

/** Counts a call, and refuses it before the JavaScript stack could overflow. */
function enter(weight: number): void {
  if (--rt.stepsLeft < 0) takeSteps();
  if ((rt.recursion += weight) > rt.limits.recursion) exceed('recursion');
}

function compileClosureCall(lookup: (env: Env | null) => unknown, at: number): Code {
  const resolve = (env: Env | null): Closure => {
    const closure = lookup(env);
    rt.at = at;
    // The compiler put a closure at this place of the chain.
    return closure as Closure;
  };
  return multi(
    (env, input, out) => {
      const { code, env: inner } = resolve(env);
      enter(code.weight + 2);
      const go = code.each(inner, input, out);
      rt.recursion -= code.weight + 2;
      return go;
    },
    2,
    () => (env, path, input, out) => {
      const { code, env: inner } = resolve(env);
      enter(code.weight * 3 + 2);
      const go = code.paths(inner, path, input, out);
      rt.recursion -= code.weight * 3 + 2;
      return go;
    },
  );
}

type Argument = { kind: 'value'; code: Code } | { kind: 'closure'; make: (env: Env | null) => unknown };

/** An argument that is itself a filter parameter is handed on as it is, so that chains stay short. */
function closureArgument(node: Node, scope: Scope, context: Context): Argument {
  if (node.t === 'call' && node.args.length === 0) {
    const found = scope.findFunction(node.name, 0);
    if (found?.entry?.kind === 'closure')
      return { kind: 'closure', make: lookupUp(scope.depth - found.depth) };
  }
  const code = context.compile(node, scope);
  return { kind: 'closure', make: (env) => new Closure(code, env) };
}

function compileUserCall(fn: UserFunction, node: CallNode, scope: Scope, context: Context): Code {
  const { at } = node;
  const args = node.args.map((arg, i): Argument =>
    fn.node.params[i]?.isValue
      ? { kind: 'value', code: context.compile(arg, scope) }
      : closureArgument(arg, scope, context),
  );
  if (fn.code === null) fn.isAssumed = true;
  const base = envUp(scope.depth - fn.scope.depth);
  const argWeight = args.reduce((sum, arg) => sum + (arg.kind === 'value' ? arg.code.weight : 0) + 1, 1);
  const body = (): Code => fn.code ?? single(() => null, 1);
  const paths = (): Paths => (env, path, input, out) =>
    bindArguments(args, 0, env, input, base(env), (inner) => {
      const code = body();
      rt.at = at;
      enter(code.weight * 3 + argWeight);
      const go = code.paths(inner, path, input, out);
      rt.recursion -= code.weight * 3 + argWeight;
      return go;
    });
  if (fn.isSingle && args.every((arg) => arg.kind === 'closure' || arg.code.one !== null))
    return single(singleCall(args, base, body, at), 2, paths);
  return multi(
    (env, input, out) =>
      bindArguments(args, 0, env, input, base(env), (inner) => {
        const code = body();
        rt.at = at;
        enter(code.weight + argWeight);
        const go = code.each(inner, input, out);
        rt.recursion -= code.weight + argWeight;
        return go;
      }),
    2 + argWeight,
    paths,
  );
}

/** The environment `hops` bindings up. */
function envUp(hops: number): (env: Env | null) => Env | null {
  return (env) => {
    let found = env;
    for (let i = 0; i < hops; i++) found = found?.up ?? null;
    return found;
  };
}

/** Binds the arguments from `index` on, the first one being the outermost loop. */
function bindArguments(
  args: readonly Argument[],
  index: number,
  env: Env | null,
  input: Json,
  inner: Env | null,
  run: (inner: Env | null) => boolean,
): boolean {
  const arg = args[index];
  if (arg === undefined) return run(inner);
  if (arg.kind === 'closure')
    return bindArguments(args, index + 1, env, input, new Env(arg.make(env), inner), run);
  if (arg.code.one)
    return bindArguments(args, index + 1, env, input, new Env(arg.code.one(env, input), inner), run);
  return arg.code.each(env, input, (value) =>
    bindArguments(args, index + 1, env, input, new Env(value, inner), run),
  );
}

/** The call of a function with one output whose arguments have one output, too. */
function singleCall(
  args: readonly Argument[],
  base: (env: Env | null) => Env | null,
  body: () => Code,
  at: number,
): One {
  return (env, input) => {
    const code = body();
    rt.at = at;
    enter(code.weight + 1);
    let inner = base(env);
    for (const arg of args) {
      if (arg.kind === 'closure') inner = new Env(arg.make(env), inner);
      else if (arg.code.one) inner = new Env(arg.code.one(env, input), inner);
    }
    const result = code.one ? code.one(inner, input) : null;
    rt.recursion -= code.weight + 1;
    return result;
  };
}
