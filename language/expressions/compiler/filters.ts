/** Operators, pipes, conditions and `try` as closures. */
import { num, runtime } from '../runtime.ts';
import type { BinaryOperator } from '../ast.ts';
import { add, divide, modulo, multiply, subtract } from '../values/arith.ts';
import { compare, equals } from '../values/compare.ts';
import { isTrue, type Json } from '../values/json-types.ts';
import { caught, Code, maxWeight, multi, single, type Each, type Paths } from './code.ts';

const { rt } = runtime;

/** Applies `fn` to every output. */
export function map1(code: Code, fn: (value: Json) => Json, at: number): Code {
  const { one, each } = code;
  if (one) {
    return single((env, input) => {
      const value = one(env, input);
      rt.at = at;
      return fn(value);
    }, code.weight + 1);
  }
  return multi(
    (env, input, out) =>
      each(env, input, (value) => {
        rt.at = at;
        return out(fn(value));
      }),
    code.weight + 2,
  );
}

/** Applies `fn` to every pair of outputs; the right side is the outer loop, as in jq. */
export function map2(left: Code, right: Code, fn: (a: Json, b: Json) => Json, at: number): Code {
  const leftOne = left.one;
  const rightOne = right.one;
  if (leftOne && rightOne) {
    return single(
      (env, input) => {
        const second = rightOne(env, input);
        const first = leftOne(env, input);
        rt.at = at;
        return fn(first, second);
      },
      maxWeight(left, right) + 1,
    );
  }
  return multi(
    (env, input, out) =>
      right.each(env, input, (second) =>
        left.each(env, input, (first) => {
          rt.at = at;
          return out(fn(first, second));
        }),
      ),
    left.weight + right.weight + 3,
  );
}

export function operation(op: BinaryOperator): (a: Json, b: Json) => Json {
  switch (op) {
    case '+':
      return (a, b) => (typeof a === 'number' && typeof b === 'number' ? num(a + b) : add(a, b));
    case '-':
      return subtract;
    case '*':
      return multiply;
    case '/':
      return divide;
    case '%':
      return modulo;
    case '==':
      return (a, b) => equals(a, b);
    case '!=':
      return (a, b) => !equals(a, b);
    case '<':
      return (a, b) => compare(a, b) < 0;
    case '<=':
      return (a, b) => compare(a, b) <= 0;
    case '>':
      return (a, b) => compare(a, b) > 0;
    case '>=':
      return (a, b) => compare(a, b) >= 0;
  }
}

/** Errors of the body are caught; errors of what follows are not (compile.c, `gen_try`). */
export function compileTry(body: Code, handler: Code | null): Code {
  const paths = (): Paths => (env, path, input, out) => {
    const { recursion } = rt;
    let downstream = false;
    let value: Json | undefined;
    try {
      return body.paths(env, path, input, (longer, output) => {
        downstream = true;
        const go = out(longer, output);
        downstream = false;
        return go;
      });
    } catch (error) {
      value = downstream ? undefined : caught(error);
      if (value === undefined) throw error;
    }
    rt.recursion = recursion;
    return handler ? handler.paths(env, path, value, out) : true;
  };
  const [one, handlerOne] = [body.one, handler?.one];
  if (one && handlerOne) {
    return single(
      (env, input) => {
        const { recursion } = rt;
        let value: Json | undefined;
        try {
          return one(env, input);
        } catch (error) {
          value = caught(error);
          if (value === undefined) throw error;
        }
        rt.recursion = recursion;
        return handlerOne(env, value);
      },
      maxWeight(body, handler ?? body) + 1,
      paths,
    );
  }
  const each: Each = (env, input, out) => {
    const { recursion } = rt;
    let downstream = false;
    let value: Json | undefined;
    try {
      return body.each(env, input, (output) => {
        downstream = true;
        const go = out(output);
        downstream = false;
        return go;
      });
    } catch (error) {
      value = downstream ? undefined : caught(error);
      if (value === undefined) throw error;
    }
    rt.recursion = recursion;
    return handler ? handler.each(env, value, out) : true;
  };
  return multi(each, Math.max(body.weight, handler?.weight ?? 0) + 3, paths);
}

export function compilePipe(left: Code, right: Code): Code {
  const paths = (): Paths => (env, path, input, out) =>
    left.paths(env, path, input, (longer, value) => right.paths(env, longer, value, out));
  const [leftOne, rightOne] = [left.one, right.one];
  if (leftOne && rightOne)
    return single((env, input) => rightOne(env, leftOne(env, input)), maxWeight(left, right) + 1, paths);
  if (leftOne)
    return multi(
      (env, input, out) => right.each(env, leftOne(env, input), out),
      maxWeight(left, right) + 1,
      paths,
    );
  if (rightOne)
    return multi(
      (env, input, out) => left.each(env, input, (value) => out(rightOne(env, value))),
      left.weight + right.weight + 2,
      paths,
    );
  return multi(
    (env, input, out) => left.each(env, input, (value) => right.each(env, value, out)),
    left.weight + right.weight + 2,
    paths,
  );
}

export function compileComma(left: Code, right: Code): Code {
  return multi(
    (env, input, out) => left.each(env, input, out) && right.each(env, input, out),
    maxWeight(left, right) + 1,
    () => (env, path, input, out) => left.paths(env, path, input, out) && right.paths(env, path, input, out),
  );
}

export function compileLogic(isOr: boolean, left: Code, right: Code): Code {
  const [leftOne, rightOne] = [left.one, right.one];
  if (leftOne && rightOne)
    return single(
      (env, input) => (isTrue(leftOne(env, input)) === isOr ? isOr : isTrue(rightOne(env, input))),
      maxWeight(left, right) + 1,
    );
  return multi(
    (env, input, out) =>
      left.each(env, input, (first) =>
        isTrue(first) === isOr ? out(isOr) : right.each(env, input, (second) => out(isTrue(second))),
      ),
    left.weight + right.weight + 3,
  );
}

export function compileAlternative(left: Code, right: Code): Code {
  const paths = (): Paths => (env, path, input, out) => {
    let found = false;
    const go = left.paths(env, path, input, (longer, value) => {
      if (!isTrue(value)) return true;
      found = true;
      return out(longer, value);
    });
    return go && !found ? right.paths(env, path, input, out) : go;
  };
  const [leftOne, rightOne] = [left.one, right.one];
  if (leftOne && rightOne) {
    return single(
      (env, input) => {
        const value = leftOne(env, input);
        return isTrue(value) ? value : rightOne(env, input);
      },
      maxWeight(left, right) + 1,
      paths,
    );
  }
  return multi(
    (env, input, out) => {
      let found = false;
      const go = left.each(env, input, (value) => {
        if (!isTrue(value)) return true;
        found = true;
        return out(value);
      });
      return go && !found ? right.each(env, input, out) : go;
    },
    left.weight + right.weight + 2,
    paths,
  );
}

export function compileIf(condition: Code, then: Code, otherwise: Code | null): Code {
  const other =
    otherwise ??
    single(
      (_, input) => input,
      1,
      () => (_, path, input, out) => out(path, input),
    );
  const paths = (): Paths => (env, path, input, out) =>
    condition.each(env, input, (value) =>
      isTrue(value) ? then.paths(env, path, input, out) : other.paths(env, path, input, out),
    );
  const [conditionOne, thenOne, otherOne] = [condition.one, then.one, other.one];
  if (conditionOne && thenOne && otherOne)
    return single(
      (env, input) => (isTrue(conditionOne(env, input)) ? thenOne(env, input) : otherOne(env, input)),
      maxWeight(condition, then, other) + 1,
      paths,
    );
  if (conditionOne)
    return multi(
      (env, input, out) =>
        isTrue(conditionOne(env, input)) ? then.each(env, input, out) : other.each(env, input, out),
      maxWeight(condition, then, other) + 1,
      paths,
    );
  return multi(
    (env, input, out) =>
      condition.each(env, input, (value) =>
        isTrue(value) ? then.each(env, input, out) : other.each(env, input, out),
      ),
    condition.weight + maxWeight(then, other) + 2,
    paths,
  );
}
