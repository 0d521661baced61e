/**
 * Counts how much this workflow has computed since it last yielded, in expression steps. Steps instead of
 * time, so that a replay counts the same. Without a bound, a loop of slow expressions would outlast its
 * workflow task, which Temporal would then repeat forever, and no other run of the worker would progress
 * meanwhile.
 */
import { defaultLimits, type Environment, type Limits } from '../../language/expressions/index.ts';

/** About half a second of work; the next task then waits for another workflow task. */
const YIELD_AFTER = 1_000_000;
/** The most steps of all expressions of a task together; at least the budget of a single expression. */
const MAX = 4_000_000;

let spent = 0;

export function mustYield(): boolean {
  return spent > YIELD_AFTER;
}

export function spend(steps: number): void {
  spent += Math.max(0, Math.ceil(steps));
}

let countsSizes = false;

/**
 * For runs that were started since sizes count: more steps can pause a run elsewhere, or fault it, so the
 * others go on as they began.
 */
export function countSizes(): void {
  countsSizes = true;
}

export function yielded(): void {
  spent = 0;
}

/** What the next expression may cost. */
export function effortNow(): Pick<Environment, 'limits' | 'countsSizes'> {
  return { limits: limitsNow(), countsSizes };
}

function limitsNow(): Partial<Limits> {
  const left = Math.max(1, MAX - spent);
  return left >= defaultLimits.regexSteps
    ? {}
    : { steps: Math.min(defaultLimits.steps, left), regexSteps: Math.min(defaultLimits.regexSteps, left) };
}
