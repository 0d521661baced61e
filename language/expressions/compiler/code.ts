/**
 * Compiled code: closures. A node with exactly one output (or an error) is a plain function `one`; every node
 * can be run as `each`, which passes its outputs to a callback. A callback returns false to stop the
 * generator (`first`, `limit`, …). Path expressions have a third form, created on first use.
 */
import { Break, Raise, raise } from '../errors.ts';
import { tickCatch, tickSize } from '../runtime.ts';
import { dump } from '../values/json.ts';
import type { Json } from '../values/json-types.ts';

/** A chain of bindings. The compiler knows how many steps up each name is. */
export class Env {
  readonly value: unknown;
  readonly up: Env | null;

  constructor(value: unknown, up: Env | null) {
    this.value = value;
    this.up = up;
  }
}

export type Out = (value: Json) => boolean;
export type One = (env: Env | null, input: Json) => Json;
export type Each = (env: Env | null, input: Json, out: Out) => boolean;
export type PathOut = (path: Path, value: Json) => boolean;
export type Paths = (env: Env | null, path: Path, input: Json, out: PathOut) => boolean;

/** A path being built, and the value that its last step reached. */
export class Path {
  readonly up: Path | null;
  readonly key: Json;
  readonly value: Json;
  readonly length: number;

  constructor(up: Path | null, key: Json, value: Json) {
    this.up = up;
    this.key = key;
    this.value = value;
    this.length = up === null ? 0 : up.length + 1;
  }
}

export function rootPath(value: Json): Path {
  return new Path(null, null, value);
}

export function pathKeys(path: Path): Json[] {
  tickSize(path.length + 2, 0);
  const keys: Json[] = Array.from({ length: path.length });
  let step = path;
  for (let i = path.length - 1; i >= 0; i--) {
    keys[i] = step.key;
    if (step.up === null) break;
    step = step.up;
  }
  return keys;
}

/** Whether `value` is still the very value that the path leads to (execute.c, `path_intact`). */
export function isIntact(path: Path, value: Json): boolean {
  return Object.is(path.value, value);
}

export function checkResult(path: Path, value: Json): void {
  if (!isIntact(path, value)) raise(`Invalid path expression with result ${dump(value)}`);
}

export function checkAccess(path: Path, value: Json, key: Json): void {
  if (!isIntact(path, value))
    raise(`Invalid path expression near attempt to access element ${dump(key)} of ${dump(value)}`);
}

export function checkIterate(path: Path, value: Json): void {
  if (!isIntact(path, value)) raise(`Invalid path expression near attempt to iterate through ${dump(value)}`);
}

export class Code {
  readonly one: One | null;
  readonly each: Each;
  /** JavaScript stack that a run needs, in frames. */
  readonly weight: number;
  private cachedPaths: Paths | null = null;
  private readonly make: (() => Paths) | null;

  constructor(one: One | null, each: Each, weight: number, make: (() => Paths) | null) {
    this.one = one;
    this.each = each;
    this.weight = weight;
    this.make = make;
  }

  get paths(): Paths {
    return (this.cachedPaths ??= this.make ? this.make() : valuePaths(this));
  }
}

/** A node without a path form: its values keep the path only where they are the input itself. */
function valuePaths(code: Code): Paths {
  const { one, each } = code;
  if (one) return (env, path, input, out) => out(path, one(env, input));
  return (env, path, input, out) => each(env, input, (value) => out(path, value));
}

/** Code with exactly one output. */
export function single(one: One, weight: number, paths: (() => Paths) | null = null): Code {
  return new Code(one, (env, input, out) => out(one(env, input)), weight, paths);
}

/** Code with any number of outputs. */
export function multi(each: Each, weight: number, paths: (() => Paths) | null = null): Code {
  return new Code(null, each, weight, paths);
}

/** The deepest of several codes that run one after the other. */
export function maxWeight(...codes: Code[]): number {
  let max = 0;
  for (const code of codes) if (code.weight > max) max = code.weight;
  return max;
}

/** A filter handed to a function, with the bindings that it sees. */
export class Closure {
  readonly code: Code;
  readonly env: Env | null;

  constructor(code: Code, env: Env | null) {
    this.code = code;
    this.env = env;
  }
}

/** The first output, or undefined. */
export function firstOf(code: Code, env: Env | null, input: Json): Json | undefined {
  if (code.one) return code.one(env, input);
  let found: Json | undefined;
  code.each(env, input, (value) => {
    found = value;
    return false;
  });
  return found;
}

/** The value that `catch` receives, or undefined for exceptions that are not jq errors. */
export function caught(error: unknown): Json | undefined {
  if (!(error instanceof Raise || error instanceof Break)) return undefined;
  // Without steps left nothing can continue anyway, but the handler may still output a value.
  if (!(error instanceof Raise && error.limit === 'steps')) tickCatch();
  if (error instanceof Raise) return error.value;
  // jq lets `try` see a break as an object that only a label understands.
  return { __jq: 0 };
}

/** Runs all codes for every combination of their outputs, the last code being the outermost loop. */
export function product(
  codes: readonly Code[],
  env: Env | null,
  input: Json,
  values: Json[],
  k: () => boolean,
  from = codes.length - 1,
): boolean {
  const code = codes[from];
  if (code === undefined) return k();
  return code.each(env, input, (value) => {
    values[from] = value;
    return product(codes, env, input, values, k, from - 1);
  });
}

/** A reader of the binding `hops` steps up. */
export function lookupUp(hops: number): (env: Env | null) => unknown {
  switch (hops) {
    case 0:
      return (env) => env?.value;
    case 1:
      return (env) => env?.up?.value;
    case 2:
      return (env) => env?.up?.up?.value;
    default:
      return (env) => {
        let found = env;
        for (let i = 0; i < hops; i++) found = found?.up ?? null;
        return found?.value;
      };
  }
}
