/**
 * The state of the evaluation that is running. Evaluation is synchronous, so one record suffices;
 * `run` in program.ts saves and restores it, which keeps nested evaluations apart.
 */
import { raiseValue } from './errors.ts';

export interface Limits {
  /** Iterations, calls and elements visited by one evaluation. */
  steps: number;
  /** Outputs of one evaluation. */
  outputs: number;
  /** Values inside the outputs, counting every element and every 100 characters of text as one. */
  outputSize: number;
  /** Nesting of data that functions walk through. */
  depth: number;
  /** Nesting of outputs: deeper ones would overflow the stack of whoever serialises them. */
  outputDepth: number;
  /** Nesting of calls, in units of about one JavaScript stack frame. */
  recursion: number;
  /** Elements of one array. */
  arrayLength: number;
  /** Characters of one string. */
  stringLength: number;
  /** Characters of a string that a regex is applied to. */
  regexSubject: number;
  /** Steps of the regex matcher in one evaluation. */
  regexSteps: number;
}

export const defaultLimits: Limits = {
  steps: 2_000_000,
  outputs: 1_000_000,
  outputSize: 2_000_000,
  depth: 9_999,
  outputDepth: 2_000,
  recursion: 3_500,
  arrayLength: 1_000_000,
  stringLength: 16_000_000,
  regexSubject: 1_000_000,
  regexSteps: 4_000_000,
};

export interface Runtime {
  /** Steps at hand; below zero, `takeSteps` has to be called. */
  stepsLeft: number;
  /** Steps of the budget that are not at hand yet. */
  stepsKept: number;
  /** Whether the evaluation has taken too long. */
  isOverdue: (() => boolean) | undefined;
  regexStepsLeft: number;
  /** What the matcher's steps do not count. Not metered: runs replay with the steps that they had. */
  regexWorkLeft: number;
  recursion: number;
  /** Offset in the source of the operation that runs, for the place of an error. */
  at: number;
  /** Whether work on long texts and large containers is counted by its size. */
  countsSizes: boolean;
  /** Set when an operation made NaN or an infinity, which must not leave the package. */
  nonFinite: boolean;
  limits: Limits;
  variables: Record<string, unknown>;
  clock: (() => Date) | undefined;
}

const rt: Runtime = {
  stepsLeft: Infinity,
  stepsKept: 0,
  isOverdue: undefined,
  regexStepsLeft: Infinity,
  regexWorkLeft: Infinity,
  recursion: 0,
  at: 0,
  countsSizes: true,
  nonFinite: false,
  limits: defaultLimits,
  variables: {},
  clock: undefined,
};

/**
 * Boxed and frozen, so that the record itself is not: Temporal's sandbox freezes what modules export where
 * workflows share them.
 */
export const runtime: { readonly rt: Runtime } = Object.freeze({ rt });

const nouns: Record<keyof Limits, string> = {
  steps: 'steps',
  outputs: 'outputs',
  outputSize: 'output size',
  depth: 'depth',
  outputDepth: 'output depth',
  recursion: 'recursion depth',
  arrayLength: 'array length',
  stringLength: 'string length',
  regexSubject: 'regex subject length',
  regexSteps: 'regex steps',
};

/** Raises the error of an exhausted budget; `message` replaces the standard text. */
export function exceed(limit: keyof Limits, message?: string): never {
  return raiseValue(
    message ?? `limit exceeded: ${nouns[limit]} (${rt.limits[limit]})`,
    limit === 'recursion' || limit === 'outputDepth' ? 'depth' : limit,
  );
}

/** Counts `n` steps. */
export function tick(n: number): void {
  if ((rt.stepsLeft -= n) < 0) takeSteps();
}

/** Steps between two looks at the time. */
const STEPS_AT_HAND = 5_000;

/** Gives the evaluation its first steps: all, unless its time is limited. */
export function startSteps(steps: number, isOverdue: (() => boolean) | undefined): void {
  rt.isOverdue = isOverdue;
  rt.stepsLeft = isOverdue ? Math.min(steps, STEPS_AT_HAND) : steps;
  rt.stepsKept = steps === rt.stepsLeft ? 0 : steps - rt.stepsLeft;
}

/** Called when the steps at hand are used up: takes more, or raises the error of the exhausted budget. */
export function takeSteps(): void {
  if (rt.stepsKept > 0 && rt.isOverdue?.() === true) {
    rt.stepsKept = 0;
    exceed('steps', 'limit exceeded: the expression takes too long');
  }
  const taken = Math.min(rt.stepsKept, Math.max(STEPS_AT_HAND, -rt.stepsLeft));
  rt.stepsKept -= taken;
  rt.stepsLeft += taken;
  if (rt.stepsLeft < 0) exceed('steps');
}

/**
 * Counts work in proportion to a size, before it is done: a step for each 2^`shift` characters or elements,
 * which should take about as long as any other step, half a microsecond.
 */
export function tickSize(size: number, shift: number): void {
  const steps = size >> shift;
  if (steps > 0 && rt.countsSizes) tick(steps);
}

/** Shifts for `tickSize`, by what is done with each character or element. */
export const SHIFT = Object.freeze({
  /** The host copies, compares or searches memory. */
  memory: 8,
  /** A loop looks at it. */
  scan: 5,
  /** It is copied within an array. */
  copy: 3,
  /** It is written in another form, or is a key. */
  write: 2,
  /** It is parsed, or becomes a value of its own. */
  build: 1,
});

/**
 * Counts a value that is put into an array or object, or made at once: a long text takes memory more than
 * time.
 */
export function tickText(value: unknown): void {
  if (typeof value === 'string' && value.length > 64) tick(value.length >> 6);
}

/** Counts a caught error: unwinding costs the host as much as dozens of steps. */
export function tickCatch(): void {
  tick(50);
}

/** Refuses a string of `length` characters that is about to be made. */
export function checkString(length: number, message?: string): void {
  if (length > rt.limits.stringLength) exceed('stringLength', message);
}

/** Refuses an array of `length` elements that is about to be made. */
export function checkArray(length: number): void {
  if (length > rt.limits.arrayLength) exceed('arrayLength');
}

/** Marks results that are not finite; returns its argument. */
export function num(value: number): number {
  if (value - value !== 0) rt.nonFinite = true;
  return value;
}
