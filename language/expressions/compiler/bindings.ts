/** `as`, destructuring, `reduce`, `foreach`, `label`/`break` and variables. */
import { Break, breakTo, raise } from '../errors.ts';
import { runtime, tickCatch } from '../runtime.ts';
import { suggest } from '../suggest.ts';
import type { Node, Pattern } from '../ast.ts';
import { get, type Owned } from '../values/access.ts';
import type { Json } from '../values/json-types.ts';
import {
  caught,
  Code,
  Env,
  lookupUp,
  maxWeight,
  multi,
  single,
  type Out,
  type PathOut,
  type Paths,
} from './code.ts';
import { inPlace } from './accumulate.ts';
import { failCompile, type Context } from './context.ts';
import type { Scope } from './scope.ts';

const { rt } = runtime;

type NodeOf<T extends Node['t']> = Extract<Node, { t: T }>;

/** Binds a value: calls `k` with the extended bindings, once for each way the pattern matches. */
type Binder = (env: Env | null, value: Json, k: (env: Env | null) => boolean) => boolean;

interface Bound {
  bind: Binder;
  scope: Scope;
  /** True when `bind` calls `k` exactly once, or raises. */
  isSingle: boolean;
  weight: number;
}

/** One step of a pattern; `base` holds the bindings that key expressions see. */
type Step = (base: Env | null, env: Env | null, value: Json, k: (env: Env | null) => boolean) => boolean;

function patternNames(pattern: Pattern, names: string[]): string[] {
  if (pattern.t === 'var') names.push(pattern.name);
  else if (pattern.t === 'array') for (const element of pattern.elements) patternNames(element, names);
  else {
    for (const { variable, value } of pattern.entries) {
      if (variable !== null) names.push(variable);
      if (value) patternNames(value, names);
    }
  }
  return names;
}

function compileStep(pattern: Pattern, scope: Scope, context: Context): Step {
  if (pattern.t === 'var') return (_, env, value, k) => k(new Env(value, env));
  const { at } = pattern;
  if (pattern.t === 'array') {
    const steps = pattern.elements.map((element) => compileStep(element, scope, context));
    const run = (
      i: number,
      base: Env | null,
      env: Env | null,
      value: Json,
      k: (env: Env | null) => boolean,
    ): boolean => {
      const step = steps[i];
      if (step === undefined) return k(env);
      rt.at = at;
      return step(base, env, get(value, i), (next) => run(i + 1, base, next, value, k));
    };
    return (base, env, value, k) => run(0, base, env, value, k);
  }
  const entries = pattern.entries.map(({ key, variable, value }) => ({
    key: context.compile(key, scope),
    binds: variable !== null,
    step: value && compileStep(value, scope, context),
  }));
  const run = (
    i: number,
    base: Env | null,
    env: Env | null,
    value: Json,
    k: (env: Env | null) => boolean,
  ): boolean => {
    const entry = entries[i];
    if (entry === undefined) return k(env);
    return entry.key.each(base, value, (key) => {
      rt.at = at;
      const element = get(value, key);
      const bound = entry.binds ? new Env(element, env) : env;
      const next = (e: Env | null): boolean => run(i + 1, base, e, value, k);
      return entry.step ? entry.step(base, bound, element, next) : next(bound);
    });
  };
  return (base, env, value, k) => run(0, base, env, value, k);
}

function patternWeight(pattern: Pattern): number {
  if (pattern.t === 'var') return 1;
  if (pattern.t === 'array')
    return pattern.elements.reduce((sum, element) => sum + 3 + patternWeight(element), 1);
  return pattern.entries.reduce((sum, { value }) => sum + 6 + (value ? patternWeight(value) : 0), 1);
}

/** All the variables of a `?//` are bound in every alternative: to null where it has none. */
function compilePatterns(patterns: Pattern[], scope: Scope, context: Context): Bound {
  const first = patterns[0];
  if (patterns.length === 1 && first !== undefined) {
    let inner = scope;
    for (const name of patternNames(first, [])) inner = inner.bind({ kind: 'variable', name });
    const step = compileStep(first, scope, context);
    const isSingle = first.t === 'var' || isConstant(first);
    return {
      bind: (env, value, k) => step(env, env, value, k),
      scope: inner,
      isSingle,
      weight: patternWeight(first),
    };
  }
  const names = [...new Set(patterns.flatMap((pattern) => patternNames(pattern, [])))];
  let inner = scope;
  for (const name of names) inner = inner.bind({ kind: 'variable', name });
  const alternatives = patterns.map((pattern) => {
    const own = patternNames(pattern, []);
    const order = names.map((name) => own.lastIndexOf(name)).map((i) => (i < 0 ? -1 : own.length - 1 - i));
    return { step: compileStep(pattern, scope, context), order };
  });
  const bind: Binder = (env, value, k) => {
    for (let i = 0; ; i++) {
      const alternative = alternatives[i];
      if (alternative === undefined) return true;
      const run = (): boolean =>
        alternative.step(env, env, value, (found) => {
          let next = env;
          for (const hops of alternative.order) {
            let source = found;
            for (let h = 0; h < hops; h++) source = source?.up ?? null;
            next = new Env(hops < 0 ? null : source?.value, next);
          }
          return k(next);
        });
      if (i === alternatives.length - 1) return run();
      const { recursion } = rt;
      try {
        return run();
      } catch (error) {
        if (caught(error) === undefined) throw error;
        rt.recursion = recursion;
      }
    }
  };
  return { bind, scope: inner, isSingle: false, weight: 4 + Math.max(...patterns.map(patternWeight)) };
}

function isConstant(pattern: Pattern): boolean {
  if (pattern.t === 'var') return true;
  if (pattern.t === 'array') return pattern.elements.every(isConstant);
  return pattern.entries.every(
    ({ key, value }) => key.t === 'literal' && (value === null || isConstant(value)),
  );
}

export function compileBind(node: NodeOf<'bind'>, scope: Scope, context: Context): Code {
  const source = context.compile(node.source, scope);
  const bound = compilePatterns(node.patterns, scope, context);
  const body = context.compile(node.body, bound.scope);
  const { bind } = bound;
  const paths = (): Paths => (env, path, input, out) =>
    source.each(env, input, (value) => bind(env, value, (inner) => body.paths(inner, path, input, out)));
  const [a, b] = [source.one, body.one];
  const simple = node.patterns.length === 1 && node.patterns[0]?.t === 'var';
  if (a && b && simple)
    return single((env, input) => b(new Env(a(env, input), env), input), maxWeight(source, body) + 1, paths);
  if (a && b && bound.isSingle) {
    return single(
      (env, input) => {
        let result: Json = null;
        bind(env, a(env, input), (inner) => {
          result = b(inner, input);
          return true;
        });
        return result;
      },
      bound.weight + maxWeight(source, body) + 2,
      paths,
    );
  }
  if (simple)
    return multi(
      (env, input, out) => source.each(env, input, (value) => body.each(new Env(value, env), input, out)),
      source.weight + body.weight + 2,
      paths,
    );
  return multi(
    (env, input, out) =>
      source.each(env, input, (value) => bind(env, value, (inner) => body.each(inner, input, out))),
    source.weight + bound.weight + body.weight + 3,
    paths,
  );
}

/** Runs an update; its last output is the new state, no output makes the state null. */
function lastOf(update: Code, env: Env | null, state: Json): Json {
  if (update.one) return update.one(env, state);
  let last: Json = null;
  update.each(env, state, (value) => {
    last = value;
    return true;
  });
  return last;
}

export function compileReduce(node: NodeOf<'reduce'>, scope: Scope, context: Context): Code {
  const source = context.compile(node.source, scope);
  const bound = compilePatterns(node.patterns, scope, context);
  const init = context.compile(node.init, scope);
  const update = context.compile(node.update, bound.scope);
  const simple = node.patterns.length === 1 && node.patterns[0]?.t === 'var';
  const step = simple ? inPlace(node.update, (child) => context.compile(child, bound.scope)) : null;
  const run = (env: Env | null, input: Json, start: Json): Json => {
    let state = start;
    if (step) {
      const owned: Owned = new Set();
      source.each(env, input, (value) => {
        state = step(new Env(value, env), state, owned);
        return true;
      });
      return state;
    }
    source.each(env, input, (value) => {
      if (simple) {
        state = lastOf(update, new Env(value, env), state);
        return true;
      }
      return bound.bind(env, value, (inner) => {
        const before = state;
        state = null;
        state = lastOf(update, inner, before);
        return true;
      });
    });
    return state;
  };
  const weight = Math.max(init.weight, source.weight + bound.weight + update.weight + 3);
  const one = init.one;
  if (one) return single((env, input) => run(env, input, one(env, input)), weight + 1);
  return multi(
    (env, input, out) => init.each(env, input, (start) => out(run(env, input, start))),
    weight + init.weight + 2,
  );
}

export function compileForeach(node: NodeOf<'foreach'>, scope: Scope, context: Context): Code {
  const source = context.compile(node.source, scope);
  const bound = compilePatterns(node.patterns, scope, context);
  const init = context.compile(node.init, scope);
  const update = context.compile(node.update, bound.scope);
  const extract = node.extract && context.compile(node.extract, bound.scope);
  const weight = init.weight + source.weight + bound.weight + update.weight + (extract?.weight ?? 0) + 6;

  const step = (
    env: Env | null,
    state: { value: Json },
    emit: (env: Env | null, value: Json) => boolean,
  ): boolean => {
    const before = state.value;
    state.value = null;
    return update.each(env, before, (value) => {
      state.value = value;
      return emit(env, value);
    });
  };
  const emitter =
    (out: Out) =>
    (env: Env | null, value: Json): boolean =>
      extract ? extract.each(env, value, out) : out(value);
  return multi(
    (env, input, out) => {
      const emit = emitter(out);
      return init.each(env, input, (start) => {
        const state = { value: start };
        return source.each(env, input, (value) =>
          bound.bind(env, value, (inner) => step(inner, state, emit)),
        );
      });
    },
    weight,
    () => (env, path, input, out: PathOut) =>
      init.each(env, input, (start) => {
        const state = { value: start };
        return source.paths(env, path, input, (p, value) =>
          bound.bind(env, value, (inner) =>
            step(inner, state, (e, v) => (extract ? extract.paths(e, p, v, out) : out(p, v))),
          ),
        );
      }),
  );
}

export function compileLabel(node: NodeOf<'label'>, scope: Scope, context: Context): Code {
  const body = context.compile(node.body, scope.bind({ kind: 'label', name: node.name }));
  const guard = (env: Env | null, run: (inner: Env) => boolean): boolean => {
    const id = {};
    const { recursion } = rt;
    try {
      return run(new Env(id, env));
    } catch (error) {
      if (!(error instanceof Break) || error.id !== id) throw error;
      rt.recursion = recursion;
      tickCatch();
      return true;
    }
  };
  return multi(
    (env, input, out) => guard(env, (inner) => body.each(inner, input, out)),
    body.weight + 3,
    () => (env, path, input, out) => guard(env, (inner) => body.paths(inner, path, input, out)),
  );
}

export function compileBreak(node: NodeOf<'break'>, scope: Scope, context: Context): Code {
  const found = scope.find('label', node.name);
  if (!found) failCompile(context, node.at, `$*label-${node.name} is not defined`, 'undefined_label');
  const lookup = lookupUp(scope.depth - found.depth);
  return multi((env) => {
    const id = lookup(env);
    return breakTo(typeof id === 'object' && id !== null ? id : {});
  }, 1);
}

export function compileVariable(node: NodeOf<'variable'>, scope: Scope, context: Context): Code {
  const { name, at } = node;
  const found = scope.find('variable', name);
  if (found) {
    const lookup = lookupUp(scope.depth - found.depth);
    // Bindings of variables hold values only; closures have entries of another kind.
    return single((env) => lookup(env) as Json, 1);
  }
  if (name === 'ENV')
    failCompile(context, at, '$ENV is not available: an expression has no environment', 'refused');
  if (context.variables !== null && !context.variables.has(name)) {
    failCompile(
      context,
      at,
      `$${name} is not defined`,
      'undefined_variable',
      suggest(name, visibleVariables(scope, context), '$'),
    );
  }
  return single(() => {
    const value = Object.hasOwn(rt.variables, name) ? rt.variables[name] : undefined;
    if (value === undefined) {
      rt.at = at;
      if (!Object.hasOwn(rt.variables, name)) raise(`$${name} is not defined`);
      return null;
    }
    // The caller gives plain JSON, as the type of its `variables` says in words.
    return value as Json;
  }, 1);
}

function visibleVariables(scope: Scope, context: Context): string[] {
  const names = [...(context.variables ?? [])];
  for (let s: Scope | null = scope; s !== null; s = s.up)
    if (s.entry?.kind === 'variable') names.push(s.entry.name);
  return names;
}
