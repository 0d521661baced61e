/**
 * Paths (manual: `path`, `paths`, `getpath`, `setpath`, `delpaths`, `del`, `pick`, `recurse`, `first`,
 * `last`, `nth`).
 */
import { exceed, runtime, SHIFT, tick, tickSize } from '../runtime.ts';
import { deletePaths, get, getPath, setPath, type Owned } from '../values/access.ts';
import { isTrue, type Json } from '../values/json-types.ts';
import { getKey, keysOf } from '../values/objects.ts';
import {
  checkAccess,
  checkIterate,
  checkResult,
  Code,
  isIntact,
  multi,
  Path,
  pathKeys,
  rootPath,
  single,
  type Env,
  type Out,
  type PathOut,
} from '../compiler/code.ts';
import { pathsOf } from '../compiler/changes.ts';
import { macro, value, type Builtin, type Family } from './types.ts';

const { rt } = runtime;

function need(code: Code | undefined): Code {
  if (!code) throw new TypeError('an argument is missing');
  return code;
}

/** Children of a container, for a walk with an explicit stack. */
function children(input: Json): [Json, Json][] {
  if (Array.isArray(input)) {
    tickSize(input.length, SHIFT.build);
    return input.map((element, i): [Json, Json] => [i, element]);
  }
  if (typeof input === 'object' && input !== null)
    return keysOf(input).map((key): [Json, Json] => [key, getKey(input, key)]);
  return [];
}

/** In place, as a call with very many arguments would fail. */
function reverseFrom(stack: Json[], from: number): void {
  for (let low = from, high = stack.length - 1; low < high; low++, high--)
    [stack[low], stack[high]] = [stack[high] ?? null, stack[low] ?? null];
}

/** `recurse`: the input and everything in it, parents first. */
const recurse = multi(
  (_, input, out) => {
    const stack: Json[] = [input];
    const depths = [0];
    while (stack.length > 0) {
      const node = stack.pop() ?? null;
      const depth = depths.pop() ?? 0;
      tick(1);
      if (!out(node)) return false;
      if (typeof node !== 'object' || node === null) continue;
      if (depth >= rt.limits.depth) exceed('depth');
      const values = Array.isArray(node) ? node : keysOf(node).map((key) => getKey(node, key));
      tickSize(values.length, SHIFT.build);
      for (let i = values.length - 1; i >= 0; i--) {
        stack.push(values[i] ?? null);
        depths.push(depth + 1);
      }
    }
    return true;
  },
  3,
  () => (_, path, input, out) => {
    const stack: [Path, Json][] = [[path, input]];
    for (let item = stack.pop(); item; item = stack.pop()) {
      const [p, node] = item;
      tick(1);
      if (!out(p, node)) return false;
      if (p.length - path.length >= rt.limits.depth) exceed('depth');
      const below = children(node);
      if (below.length > 0) checkIterate(p, node);
      for (let i = below.length - 1; i >= 0; i--) {
        const child = below[i];
        if (child) stack.push([new Path(p, child[0], child[1]), child[1]]);
      }
    }
    return true;
  },
);

/** Levels that `recurse(f)` goes down by calls; below, it collects the outputs of `f` instead. */
const EAGER = 40;

function recurseWith(f: Code): Code {
  const weight = f.weight + 3;
  const one = f.one;
  const go = (env: Env | null, input: Json, out: Out, level: number): boolean => {
    tick(1);
    if (one) {
      let node = input;
      for (;;) {
        if (!out(node)) return false;
        tick(1);
        node = one(env, node);
      }
    }
    if (level >= EAGER) return collecting(env, input, out);
    rt.recursion += weight;
    if (rt.recursion > rt.limits.recursion) exceed('recursion');
    const result = out(input) && f.each(env, input, (child) => go(env, child, out, level + 1));
    rt.recursion -= weight;
    return result;
  };
  const collecting = (env: Env | null, input: Json, out: Out): boolean => {
    const stack: Json[] = [input];
    while (stack.length > 0) {
      tick(1);
      const node = stack.pop() ?? null;
      if (!out(node)) return false;
      const from = stack.length;
      f.each(env, node, (child) => {
        stack.push(child);
        return true;
      });
      reverseFrom(stack, from);
    }
    return true;
  };
  const paths = (env: Env | null, path: Path, input: Json, out: PathOut): boolean => {
    tick(1);
    rt.recursion += weight * 2;
    if (rt.recursion > rt.limits.recursion) exceed('recursion');
    const result = out(path, input) && f.paths(env, path, input, (p, child) => paths(env, p, child, out));
    rt.recursion -= weight * 2;
    return result;
  };
  return multi(
    (env, input, out) => go(env, input, out, 0),
    weight + 3,
    () => paths,
  );
}

function recurseWhile(f: Code, condition: Code): Code {
  const guarded = multi(
    (env, input, out) =>
      f.each(env, input, (child) => condition.each(env, child, (ok) => (isTrue(ok) ? out(child) : true))),
    f.weight + condition.weight + 3,
    () => (env, path, input, out) =>
      f.paths(env, path, input, (p, child) =>
        condition.each(env, child, (ok) => (isTrue(ok) ? out(p, child) : true)),
      ),
  );
  return recurseWith(guarded);
}

function pathsBuiltin(filter: Code | null): Code {
  return multi(
    (env, input, out) =>
      recurse.paths(env, rootPath(input), input, (path, node) => {
        tick(path.length >> 1);
        const emit = (): boolean => path.length === 0 || out(pathKeys(path));
        // The root is tested too, although its empty path is never an output.
        return filter ? filter.each(env, node, (ok) => !isTrue(ok) || emit()) : emit();
      }),
    (filter?.weight ?? 0) + 5,
  );
}

function getPathCode(keys: Code, at: number): Code {
  const inner = keys.one;
  const read = (input: Json, path: Json): Json => {
    rt.at = at;
    return getPath(input, path);
  };
  const each = (env: Env | null, input: Json, out: Out): boolean =>
    keys.each(env, input, (path) => out(read(input, path)));
  const one = inner ? (env: Env | null, input: Json): Json => read(input, inner(env, input)) : null;
  return new Code(
    one,
    each,
    keys.weight + 3,
    () => (env, path, input, out) =>
      keys.each(env, input, (list) => {
        const result = read(input, list);
        if (!isIntact(path, input) || !Array.isArray(list)) return out(path, result);
        let step = path;
        let node = input;
        for (const key of list) {
          node = get(node, key);
          step = new Path(step, key, node);
        }
        return out(step, result);
      }),
  );
}

/** `first`, `last`, `nth(n)`: an index that is a path too. */
function element(key: Code): Builtin {
  return macro((_, at) => elementCode(key, at));
}

function elementCode(key: Code, at: number): Code {
  const read = (input: Json, k: Json): Json => {
    rt.at = at;
    return get(input, k);
  };
  const inner = key.one;
  const one = inner ? (env: Env | null, input: Json): Json => read(input, inner(env, input)) : null;
  return new Code(
    one,
    (env, input, out) => key.each(env, input, (k) => out(read(input, k))),
    key.weight + 3,
    () => (env, path, input, out) =>
      key.each(env, input, (k) => {
        rt.at = at;
        checkAccess(path, input, k);
        const result = get(input, k);
        return out(new Path(path, k, result), result);
      }),
  );
}

export const paths: Family = {
  'path/1': macro(([f]) => {
    const code = need(f);
    return multi(
      (env, input, out) =>
        code.paths(env, rootPath(input), input, (path, node) => {
          checkResult(path, node);
          return out(pathKeys(path));
        }),
      code.weight * 2 + 3,
    );
  }),
  'paths/0': macro(() => pathsBuiltin(null)),
  'paths/1': macro(([filter]) => pathsBuiltin(need(filter))),
  'leaf_paths/0': macro(() =>
    pathsBuiltin(single((_, input) => typeof input !== 'object' || input === null, 1)),
  ),
  'getpath/1': macro(([keys], at) => getPathCode(need(keys), at)),
  'setpath/2': value((input, path, element) => setPath(input, path ?? null, element ?? null)),
  'delpaths/1': value((input, list) => deletePaths(input, list ?? null)),
  'del/1': macro(([f], at) => {
    const code = need(f);
    return single(
      (env, input) => {
        const found = pathsOf(code, env, input);
        rt.at = at;
        return deletePaths(input, found);
      },
      code.weight * 2 + 5,
    );
  }),
  'pick/1': macro(([f], at) => {
    const code = need(f);
    return single(
      (env, input) => {
        const owned: Owned = new Set();
        let result: Json = null;
        for (const path of pathsOf(code, env, input)) {
          rt.at = at;
          const found = getPath(input, path);
          result = setPath(result, path, found, owned);
        }
        return result;
      },
      code.weight * 2 + 5,
    );
  }),
  'recurse/0': macro(() => recurse),
  'recurse/1': macro(([f]) => recurseWith(need(f))),
  'recurse/2': macro(([f, condition]) => recurseWhile(need(f), need(condition))),
  'first/0': element(single(() => 0, 1)),
  'last/0': element(single(() => -1, 1)),
  'nth/1': macro(([n], at) => elementCode(need(n), at)),
};

export { need };
