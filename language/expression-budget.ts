/**
 * What expressions of users may cost outside of workflow code, together: steps, and the processor's time in
 * case that steps of some kind take longer than they should. Nothing here has to be deterministic.
 */
import { defaultLimits, type Environment } from './expressions/index.ts';
import { threadMs } from './thread-time.ts';

export class ExpressionBudget {
  #steps: number;
  #ms: number;

  constructor({ steps, ms }: { steps: number; ms: number }) {
    this.#steps = steps;
    this.#ms = ms;
  }

  /** Options for one evaluation, which has what the ones before have left. */
  get options(): Required<Pick<Environment, 'limits' | 'meter' | 'isOverdue'>> {
    const left = Math.max(0, this.#steps);
    const begunMs = threadMs();
    return {
      limits: {
        steps: Math.min(defaultLimits.steps, left),
        regexSteps: Math.min(defaultLimits.regexSteps, left),
      },
      isOverdue: () => threadMs() - begunMs > this.#ms,
      meter: (steps) => {
        this.#steps -= steps;
        this.#ms -= threadMs() - begunMs;
      },
    };
  }
}

/** For an evaluation that begins now. */
export function overdueAfter(ms: number): () => boolean {
  const endMs = threadMs() + ms;
  return () => threadMs() > endMs;
}

/**
 * For the expressions of one request to the API, which does nothing else meanwhile. The steps take a quarter
 * of a second, on a slow machine longer.
 */
export function requestBudget(): ExpressionBudget {
  return new ExpressionBudget({ steps: 500_000, ms: 1_000 });
}

/** For the expressions of one part of a call in a worker, each of which has its own limit of steps. */
export function callBudget(): ExpressionBudget {
  return new ExpressionBudget({ steps: 10_000_000, ms: 2_000 });
}
