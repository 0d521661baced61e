/** What an output is checked by: expressions of users, so what one evaluation may cost is limited. */
import { ExpressionError, template, type Program } from '../../language/expressions/index.ts';
import { overdueAfter } from '../../language/expression-budget.ts';

export interface Check {
  name?: string | undefined;
  /** On the output, with `$input` and `$expected`. */
  jq: string;
}

/** Steps of one expression. */
const LIMITS = { steps: 100_000, regexSteps: 200_000 };
/** Of one expression, in case that steps of some kind take long. */
const MAX_MS = 250;
/** Steps for all cases and versions of one evaluation. */
const MAX_STEPS = 20_000_000;
/** An expression also takes the time of some steps to begin, or to compile. */
const EXPRESSION_STEPS = 500;

/** How many checks one case may have. */
export const MAX_CHECKS = 20;
export const MAX_EXPRESSION = 5_000;

/**
 * The answer of a judge is a boolean or a number from 0 to 1, or an object with `pass` or `score`; of a
 * language model also as JSON in its text.
 */
export const DEFAULT_PASS =
  'if type == "object" and (.text | type) == "string" then (.text | fromjson? // null) else . end' +
  ' | if type == "object" then (if has("pass") then .pass else .score end) else . end';

const VARIABLES = ['input', 'expected'];

function programOf(source: string): Program {
  return template(source, { mode: 'loose', variables: VARIABLES });
}

/** What is wrong with the source; null if it can be evaluated. */
export function expressionProblem(source: string): string | null {
  try {
    programOf(source);
    return null;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}

/** What the expressions of one evaluation may still cost. */
export class CheckEffort {
  #left = MAX_STEPS;

  /** @throws ExpressionError, also if it costs too much */
  evaluate(source: string, output: unknown, variables: { input: unknown; expected: unknown }): unknown {
    this.#left -= EXPRESSION_STEPS;
    const left = Math.max(0, this.#left);
    const limits = { steps: Math.min(LIMITS.steps, left), regexSteps: Math.min(LIMITS.regexSteps, left) };
    return programOf(source).first(output, {
      variables: { input: variables.input ?? null, expected: variables.expected ?? null },
      clock: () => new Date(),
      limits,
      isOverdue: overdueAfter(MAX_MS),
      meter: (steps) => (this.#left -= steps),
    });
  }
}
