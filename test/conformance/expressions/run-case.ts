/** Runs one case of jq's tests. @returns the mistake, or null. */
import { compile, ExpressionError, type Json } from '../../../language/expressions/index.ts';
import { fromJson } from '../../../language/expressions/values/parse-json.ts';
import { equals } from '../../../language/expressions/values/compare.ts';
import type { JqCase } from './jq-cases.ts';

/** Expected values as they leave the package: without NaN and infinities. */
function finite(value: Json): Json {
  if (typeof value === 'number')
    return Number.isNaN(value) ? null : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
  if (Array.isArray(value)) return value.map(finite);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, finite(child)]));
  return value;
}

function outputsOf(program: string, input: Json): Json[] {
  try {
    return compile(program).all(input);
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.kind === 'compile') throw error;
    // jq's runner compares the outputs before an error, but not the error itself.
    return compile(`try (${program}\n)`).all(input);
  }
}

export function runCase(test: JqCase): string | null {
  try {
    if (test.fails) {
      try {
        compile(test.program);
      } catch (error) {
        return error instanceof ExpressionError && error.kind === 'compile' ? null : String(error);
      }
      return 'compiles, but must not';
    }
    const outputs = outputsOf(test.program, fromJson(test.input));
    const expected = test.outputs.map((text) => finite(fromJson(text)));
    if (
      outputs.length === expected.length &&
      outputs.every((output, i) => equals(output, expected[i] ?? null))
    )
      return null;
    return `gave ${JSON.stringify(outputs).slice(0, 300)}`;
  } catch (error) {
    return String(error);
  }
}
