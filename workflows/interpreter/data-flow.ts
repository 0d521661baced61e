/** Expressions and schemas in a task's data flow: dsl.md "Data Flow" and "Runtime Expressions". */
import { ExpressionError, template } from '../../language/expressions/index.ts';
import type { DataSchema } from '../../language/definition/model.ts';
import { describeViolations, violations } from '../../language/schema/validate-json.ts';
import { readClock } from './clock.ts';
import { effortNow, spend } from './effort.ts';
import { fault } from './fault.ts';
import { bounded } from './size.ts';

export type Variables = Record<string, unknown>;

/** The task and the variables of an expression; `ref` is for errors. */
export interface At {
  ref: string;
  variables: Variables;
}

/** This many steps of a schema check take as long as one expression step. */
const SCHEMA_STEPS = 15;

const clock = (): Date => new Date(readClock());

/**
 * An expression field (`if`, `when`, `in`, `from`, …): bare jq or `${ … }`. Returns the first output; null
 * without output.
 */
export function evaluate(source: string, input: unknown, at: At): unknown {
  return bounded(run(source, 'loose', input, at), 'the value of an expression', at.ref);
}

/** Evaluates an expression field as a condition: everything except false and null is true in jq. */
export function isTrue(source: string, input: unknown, at: At): boolean {
  const value = evaluate(source, input, at);
  return value !== false && value !== null && value !== undefined;
}

/**
 * Resolves any other value of a definition: its strings are literals except for `${ … }`. Data is not
 * searched for expressions.
 */
export function resolve(value: unknown, input: unknown, at: At): unknown {
  return bounded(resolved(value, input, at), 'a value', at.ref);
}

function resolved(value: unknown, input: unknown, at: At): unknown {
  if (typeof value === 'string') return value.includes('${') ? run(value, 'strict', input, at) : value;
  if (Array.isArray(value)) return value.map((item) => resolved(item, input, at));
  if (typeof value === 'object' && value !== null) {
    const out: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      Object.defineProperty(out, key, {
        value: resolved(item, input, at),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return out;
  }
  return value;
}

/** `from` and `as`: an expression, or an object that contains expressions. */
export function transform(
  spec: string | Record<string, unknown> | undefined,
  input: unknown,
  at: At,
): unknown {
  if (spec === undefined) return input;
  return typeof spec === 'string' ? evaluate(spec, input, at) : resolve(spec, input, at);
}

function run(source: string, mode: 'strict' | 'loose', input: unknown, at: At): unknown {
  try {
    return template(source, { mode }).first(input, {
      variables: at.variables,
      clock,
      ...effortNow(),
      meter: spend,
    });
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const where = error.kind === 'compile' ? ` (line ${error.line}, column ${error.column})` : '';
    throw fault('expression', `${error.message}${where} in ${shorten(source)}`, at.ref);
  }
}

/** @throws DslFault (validation) that names every mismatch */
export function validate(schema: DataSchema | undefined, value: unknown, field: string, ref: string): void {
  const found = violations(schema?.document, value, (steps) => spend(steps / SCHEMA_STEPS));
  if (found.length > 0)
    throw fault('validation', `${field} does not fit its schema: ${describeViolations(found)}`, ref);
}

function shorten(source: string): string {
  return source.length > 200 ? `${source.slice(0, 200)}…` : source;
}
