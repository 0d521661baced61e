/**
 * How much this workflow has computed since it last let go of the thread, in steps of expressions. Steps, not time: a replay
 * counts the same. Without a bound a loop of slow expressions would outlast its workflow task, which Temporal then gives
 * out again, for ever; and no other run of the worker would get on meanwhile.
 */
import { defaultLimits } from '../../expressions/index.ts';
import type { Limits } from '../../expressions/index.ts';

/** About half a second: from here on the next task waits for another workflow task. */
const TIRED = 1_000_000;
/** What one task may take by all its expressions together, and no less than one alone. */
const MAX = 4_000_000;

let spent = 0;

export function isTired(): boolean {
  return spent > TIRED;
}

export function spend(steps: number): void {
  spent += Math.max(0, Math.ceil(steps));
}

export function rested(): void {
  spent = 0;
}

/** Budgets of the next expression. */
export function limitsNow(): Partial<Limits> {
  const left = Math.max(1, MAX - spent);
  return left >= defaultLimits.regexSteps ? {} : { steps: Math.min(defaultLimits.steps, left), regexSteps: Math.min(defaultLimits.regexSteps, left) };
}
