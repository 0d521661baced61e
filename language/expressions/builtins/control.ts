/**
 * Control and generators (manual: `select`, `range`, `limit`, `first`, `until`, `while`, `repeat`, `isempty`,
 * …).
 */
import { raise } from '../errors.ts';
import { exceed, num, runtime, takeSteps, tick } from '../runtime.ts';
import { add } from '../values/arith.ts';
import { compare } from '../values/compare.ts';
import { isTrue, type Json } from '../values/json-types.ts';
import { Code, multi, single, type Env, type Out, type Path, type PathOut } from '../compiler/code.ts';
import { need } from './paths.ts';
import { macro, type Family } from './types.ts';

const { rt } = runtime;

function select(condition: Code): Code {
  const one = condition.one;
  if (one) {
    return multi(
      (env, input, out) => (isTrue(one(env, input)) ? out(input) : true),
      condition.weight + 2,
      () => (env, path, input, out) => (isTrue(one(env, input)) ? out(path, input) : true),
    );
  }
  return multi(
    (env, input, out) => condition.each(env, input, (ok) => (isTrue(ok) ? out(input) : true)),
    condition.weight + 3,
    () => (env, path, input, out) =>
      condition.each(env, input, (ok) => (isTrue(ok) ? out(path, input) : true)),
  );
}

function count(from: Json, to: Json, out: Out): boolean {
  if (typeof from !== 'number' || typeof to !== 'number') raise('Range bounds must be numeric');
  for (let i = from; i < to; i++) {
    if (--rt.stepsLeft < 0) takeSteps();
    if (!out(i)) return false;
  }
  return true;
}

function countBy(from: Json, to: Json, by: Json, out: Out): boolean {
  if (typeof from === 'number' && typeof to === 'number' && typeof by === 'number') {
    if (by > 0) for (let i = from; i < to; i = num(i + by)) if ((tick(1), !out(i))) return false;
    if (by < 0) for (let i = from; i > to; i = num(i + by)) if ((tick(1), !out(i))) return false;
    return true;
  }
  const sign = compare(by, 0);
  if (sign === 0) return true;
  for (let i = from; sign > 0 ? compare(i, to) < 0 : compare(i, to) > 0; i = add(i, by))
    if ((tick(1), !out(i))) return false;
  return true;
}

/** Passes on the first `n` outputs of a generator, then stops the generator but not the caller. */
function take(n: Json, run: (out: Out) => boolean, out: Out, at: number): boolean {
  rt.at = at;
  if (compare(n, 0) < 0) raise("limit doesn't support negative count");
  if (compare(n, 0) === 0) return true;
  let left = typeof n === 'number' ? n : Infinity;
  let stopped = false;
  run((value) => {
    left--;
    if (!out(value)) stopped = true;
    return !stopped && left > 0;
  });
  return !stopped;
}

function limit(n: Code, f: Code, at: number): Code {
  return multi(
    (env, input, out) =>
      n.each(env, input, (amount) => take(amount, (emit) => f.each(env, input, emit), out, at)),
    n.weight + f.weight + 4,
    () => (env, path, input, out) =>
      n.each(env, input, (amount) => {
        let current: Path = path;
        return take(
          amount,
          (emit) =>
            f.paths(env, path, input, (longer, value) => {
              current = longer;
              return emit(value);
            }),
          (value) => out(current, value),
          at,
        );
      }),
  );
}

function skip(n: Code, f: Code, at: number): Code {
  const start = (amount: Json): number => {
    rt.at = at;
    if (compare(amount, 0) < 0) raise("skip doesn't support negative count");
    return typeof amount === 'number' ? amount : Infinity;
  };
  return multi(
    (env, input, out) =>
      n.each(env, input, (amount) => {
        let left = start(amount);
        return f.each(env, input, (value) => (left-- > 0 ? true : out(value)));
      }),
    n.weight + f.weight + 4,
    () => (env, path, input, out) =>
      n.each(env, input, (amount) => {
        let left = start(amount);
        return f.paths(env, path, input, (longer, value) => (left-- > 0 ? true : out(longer, value)));
      }),
  );
}

/** `first(f)`: the output is handed on after `f` has been left. */
function first(f: Code): Code {
  if (f.one) return f;
  return multi(
    (env, input, out) => {
      let found: Json | undefined;
      f.each(env, input, (value) => {
        found = value;
        return false;
      });
      return found === undefined ? true : out(found);
    },
    f.weight + 2,
    () => (env, path, input, out) => {
      const found: { at: [Path, Json] | null } = { at: null };
      f.paths(env, path, input, (longer, value) => {
        found.at = [longer, value];
        return false;
      });
      return found.at ? out(...found.at) : true;
    },
  );
}

function last(f: Code): Code {
  return multi(
    (env, input, out) => {
      let found: Json | undefined;
      f.each(env, input, (value) => {
        found = value;
        return true;
      });
      return found === undefined ? true : out(found);
    },
    f.weight + 2,
    () => (env, path, input, out) => {
      const found: { at: [Path, Json] | null } = { at: null };
      f.paths(env, path, input, (longer, value) => {
        found.at = [longer, value];
        return true;
      });
      return found.at ? out(...found.at) : true;
    },
  );
}

function nth(n: Code, f: Code, at: number): Code {
  const checked = multi(
    (env, input, out) =>
      n.each(env, input, (index) => {
        rt.at = at;
        if (compare(index, 0) < 0) raise("nth doesn't support negative indices");
        return out(index);
      }),
    n.weight + 2,
  );
  return multi(
    (env, input, out) =>
      checked.each(env, input, (index) =>
        first(
          skip(
            single(() => index, 1),
            f,
            at,
          ),
        ).each(env, input, out),
      ),
    n.weight + f.weight + 8,
    () => (env, path, input, out) =>
      checked.each(env, input, (index) =>
        first(
          skip(
            single(() => index, 1),
            f,
            at,
          ),
        ).paths(env, path, input, out),
      ),
  );
}

function guarded(weight: number, run: () => boolean): boolean {
  tick(1);
  if ((rt.recursion += weight) > rt.limits.recursion) exceed('recursion');
  const go = run();
  rt.recursion -= weight;
  return go;
}

function until(condition: Code, next: Code): Code {
  const [conditionOne, nextOne] = [condition.one, next.one];
  const weight = condition.weight + next.weight + 4;
  if (conditionOne && nextOne) {
    return single((env, input) => {
      let state = input;
      while (!isTrue(conditionOne(env, state))) {
        if (--rt.stepsLeft < 0) takeSteps();
        state = nextOne(env, state);
      }
      return state;
    }, weight);
  }
  const each = (env: Env | null, input: Json, out: Out): boolean =>
    guarded(weight, () =>
      condition.each(env, input, (ok) =>
        isTrue(ok) ? out(input) : next.each(env, input, (value) => each(env, value, out)),
      ),
    );
  return multi(each, weight);
}

function whileLoop(condition: Code, update: Code): Code {
  const [conditionOne, updateOne] = [condition.one, update.one];
  const weight = condition.weight + update.weight + 4;
  const paths = (env: Env | null, path: Path, input: Json, out: PathOut): boolean =>
    guarded(weight * 2, () =>
      condition.each(
        env,
        input,
        (ok) =>
          !isTrue(ok) ||
          (out(path, input) &&
            update.paths(env, path, input, (longer, value) => paths(env, longer, value, out))),
      ),
    );
  if (conditionOne && updateOne) {
    return multi(
      (env, input, out) => {
        for (let state = input; isTrue(conditionOne(env, state)); state = updateOne(env, state)) {
          if (--rt.stepsLeft < 0) takeSteps();
          if (!out(state)) return false;
        }
        return true;
      },
      weight,
      () => paths,
    );
  }
  const each = (env: Env | null, input: Json, out: Out): boolean =>
    guarded(weight, () =>
      condition.each(
        env,
        input,
        (ok) => !isTrue(ok) || (out(input) && update.each(env, input, (value) => each(env, value, out))),
      ),
    );
  return multi(each, weight, () => paths);
}

/** The outputs of `f`, again and again: `def repeat(f): def r: f, r; r;`. */
function repeat(f: Code): Code {
  return multi(
    (env, input, out) => {
      for (;;) {
        tick(1);
        if (!f.each(env, input, out)) return false;
      }
    },
    f.weight + 2,
    () => (env, path, input, out) => {
      for (;;) {
        tick(1);
        if (!f.paths(env, path, input, out)) return false;
      }
    },
  );
}

function isEmpty(f: Code): Code {
  return single((env, input) => {
    let found = false;
    f.each(env, input, () => {
      found = true;
      return false;
    });
    return !found;
  }, f.weight + 2);
}

export const control: Family = {
  'select/1': macro(([condition]) => select(need(condition))),
  'range/1': macro(([n]) => {
    const to = need(n);
    return multi((env, input, out) => to.each(env, input, (k) => count(0, k, out)), to.weight + 2);
  }),
  'range/2': macro(([a, b]) => {
    const [from, to] = [need(a), need(b)];
    return multi(
      (env, input, out) => from.each(env, input, (i) => to.each(env, input, (j) => count(i, j, out))),
      from.weight + to.weight + 3,
    );
  }),
  'range/3': macro(([a, b, c]) => {
    const [from, to, by] = [need(a), need(b), need(c)];
    return multi(
      (env, input, out) =>
        from.each(env, input, (i) =>
          to.each(env, input, (j) => by.each(env, input, (k) => countBy(i, j, k, out))),
        ),
      from.weight + to.weight + by.weight + 4,
    );
  }),
  'limit/2': macro(([n, f], at) => limit(need(n), need(f), at)),
  'skip/2': macro(([n, f], at) => skip(need(n), need(f), at)),
  'first/1': macro(([f]) => first(need(f))),
  'last/1': macro(([f]) => last(need(f))),
  'nth/2': macro(([n, f], at) => nth(need(n), need(f), at)),
  'until/2': macro(([condition, next]) => until(need(condition), need(next))),
  'while/2': macro(([condition, update]) => whileLoop(need(condition), need(update))),
  'repeat/1': macro(([f]) => repeat(need(f))),
  'isempty/1': macro(([f]) => isEmpty(need(f))),
};
