/** A compiled expression and its execution: limits, clock, variables, errors with their position. */
import { Break, ExpressionError, locate, Raise } from './errors.ts';
import { exceededHostLimit } from './host-limits.ts';
import { finish, type Allowance } from './output.ts';
import { defaultLimits, exceed, runtime, startSteps, type Limits } from './runtime.ts';
import type { Code } from './compiler/code.ts';
import { toText } from './values/json.ts';
import type { Json } from './values/json-types.ts';

const { rt } = runtime;

export interface Environment {
  /** Values of the variables, by name without `$`. Plain JSON; never changed. */
  variables?: Record<string, unknown>;
  /** Source of `now`. Without it `now` is an error. */
  clock?: () => Date;
  /** Budgets that differ from the defaults. */
  limits?: Partial<Limits>;
  /**
   * False does not count the sizes of texts and objects, as the code before did not: a run in flight has to
   * count as it began.
   */
  countsSizes?: boolean;
  /**
   * Asked after every few thousand steps, where nothing has to be deterministic: true ends the evaluation
   * with a limit error. None in workflow code.
   */
  isOverdue?: () => boolean;
  /** Called after the evaluation with the number of steps, including those of regexes. */
  meter?: (steps: number) => void;
}

export interface Program {
  readonly source: string;
  /** The first output, null if there is none. Throws `ExpressionError`. */
  first(input: unknown, env?: Environment): Json;
  /** All outputs. Throws `ExpressionError`. */
  all(input: unknown, env?: Environment): Json[];
}

const none: Record<string, unknown> = {};

/** Runs `body` with a fresh state, and turns what it throws into an `ExpressionError`. */
function run<T>(source: string, env: Environment | undefined, body: (allowance: Allowance) => T): T {
  const saved = { ...rt };
  const limits = env?.limits ? { ...defaultLimits, ...env.limits } : defaultLimits;
  rt.limits = limits;
  startSteps(limits.steps, env?.isOverdue);
  rt.regexStepsLeft = limits.regexSteps;
  rt.regexWorkLeft = limits.regexSteps;
  rt.recursion = 0;
  rt.at = 0;
  rt.countsSizes = env?.countsSizes ?? true;
  rt.nonFinite = false;
  rt.variables = env?.variables ?? none;
  rt.clock = env?.clock;
  try {
    return body({ size: limits.outputSize });
  } catch (error) {
    throw toExpressionError(source, error);
  } finally {
    env?.meter?.(limits.steps - rt.stepsLeft - rt.stepsKept + limits.regexSteps - rt.regexStepsLeft);
    Object.assign(rt, saved);
  }
}

function toExpressionError(source: string, error: unknown): unknown {
  const place = locate(source, rt.at);
  if (error instanceof Raise) {
    const { value, limit } = error;
    const message = typeof value === 'string' ? value : errorText(value);
    if (limit !== undefined) return new ExpressionError({ kind: 'limit', message, ...place, value, limit });
    return new ExpressionError({ kind: 'runtime', message, ...place, value });
  }
  if (error instanceof Break) return new ExpressionError({ kind: 'runtime', message: 'break', ...place });
  if (error instanceof RangeError) {
    // A safety net: the budgets normally end programs before this.
    const message = `limit exceeded: ${error.message}`;
    return new ExpressionError({ kind: 'limit', message, ...place, limit: exceededHostLimit(error) });
  }
  return error;
}

function errorText(value: Json): string {
  try {
    return `${toText(value)} (not a string)`;
  } catch {
    return 'error (not a string)';
  }
}

/** Makes the program of compiled code. */
export function makeProgram(source: string, code: Code): Program {
  const { one, each } = code;
  return {
    source,
    first(input, env) {
      // The caller gives plain JSON, as the interface says.
      const value = (input ?? null) as Json;
      return run(source, env, (allowance) => {
        if (one) return finish(one(null, value), allowance);
        let found: Json = null;
        each(null, value, (output) => {
          found = output;
          return false;
        });
        return finish(found, allowance);
      });
    },
    all(input, env) {
      const value = (input ?? null) as Json;
      return run(source, env, (allowance) => {
        const outputs: Json[] = [];
        const max = rt.limits.outputs;
        each(null, value, (output) => {
          if (outputs.length >= max) exceed('outputs');
          outputs.push(finish(output, allowance));
          return true;
        });
        return outputs;
      });
    },
  };
}
