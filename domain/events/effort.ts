/** Evaluates what filters of events say. Users write them, so what one match may cost is limited. */
import { correlationText } from '../../contracts/listening.ts';
import { compile, ExpressionError, template, type Program } from '../../language/expressions/index.ts';
import { overdueAfter } from '../../language/expression-budget.ts';
import { storable } from '../storable.ts';

export type Attributes = Record<string, unknown>;

/** Steps of one expression. */
const LIMITS = { steps: 50_000, regexSteps: 200_000 };
/** Of one expression, in case that steps of some kind take long. */
const MAX_MS = 500;
/** Steps for one event of one listener, however many filters and expressions it has. */
const MAX_STEPS = 500_000;
/** An evaluation also takes the time of some steps to begin, or to compile. */
const EVALUATION_STEPS = 500;
const CHARACTERS_PER_STEP = 100;

/** What a match may still cost. One that costs more is none. */
export class Effort {
  readonly variables: Attributes;
  #left = MAX_STEPS;

  constructor(variables: Attributes) {
    this.variables = variables;
  }

  /** @returns whether enough was left */
  spend(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }

  get limits(): typeof LIMITS {
    const left = Math.max(0, this.#left);
    return { steps: Math.min(LIMITS.steps, left), regexSteps: Math.min(LIMITS.regexSteps, left) };
  }

  /** Null for no value, and if it costs too much to have it as text. */
  textOf(value: unknown): string | null {
    const text = correlationText(value);
    return text !== null && this.spend(1 + text.length / CHARACTERS_PER_STEP) ? text : null;
  }
}

/** The value of a correlation, as PostgreSQL can store it; null if the event has none. */
export function correlationOf(from: string, event: Attributes, effort: Effort): string | null {
  return storable(effort.textOf(evaluate(from, 'loose', event, effort)));
}

export function isWholeMatch(pattern: string, text: string, effort: Effort): boolean {
  const program = (): Program => compile('test("^(?:" + $pattern + ")$")', { variables: ['pattern'] });
  return firstOutput(program, text, { pattern }, effort) === true;
}

/** Null if the expression fails. */
export function evaluate(source: string, mode: 'strict' | 'loose', input: unknown, effort: Effort): unknown {
  return firstOutput(() => template(source, { mode }), input, effort.variables, effort);
}

/** Null if the expression fails. */
function firstOutput(
  compiled: () => Program,
  input: unknown,
  variables: Attributes,
  effort: Effort,
): unknown {
  if (!effort.spend(EVALUATION_STEPS)) return null;
  const { limits } = effort;
  const meter = (steps: number): void => void effort.spend(steps);
  try {
    const program = compiled();
    const isOverdue = overdueAfter(MAX_MS);
    return program.first(input, { variables, clock: () => new Date(), limits, meter, isOverdue });
  } catch (error) {
    if (error instanceof ExpressionError) return null;
    throw error;
  }
}
