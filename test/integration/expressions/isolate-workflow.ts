/** Evaluates expressions inside a workflow. Outputs travel as text, so that nothing is lost on the way. */
import { compile, ExpressionError } from '../../../language/expressions/index.ts';
import { toJson } from '../../../language/expressions/values/json.ts';
import { fromJson } from '../../../language/expressions/values/parse-json.ts';

export interface Evaluation {
  program: string;
  input: string;
}

export function evaluate({ program, input }: Evaluation): string {
  try {
    return toJson(compile(program).all(fromJson(input), { clock: () => new Date(1_700_000_000_000) }));
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return `${error.kind} ${error.limit ?? ''} ${error.line}:${error.column} ${error.message}`;
  }
}

export async function evaluateAll(evaluations: Evaluation[]): Promise<string[]> {
  return Promise.resolve(evaluations.map(evaluate));
}
