/**
 * Random workflows whose meaning is known without an expression language: a plan is turned into a definition
 * of the DSL (definition.ts) and, separately, into the expected result (meaning.ts). Data is `{n, path}`: a
 * number, and the tasks that were passed.
 */

/** A condition: `n` leaves `rest` when divided by `by`. */
export interface Test {
  by: number;
  rest: number;
}

export interface Step {
  name: string;
  if?: Test;
  then?: string;
  /** Puts `n` into `$context` under the task's name. */
  exports?: boolean;
  kind: Kind;
}

type Kind =
  | { is: 'set'; add: number }
  | { is: 'wait'; milliseconds: number }
  | { is: 'do'; list: Step[] }
  | { is: 'for'; times: number; while?: Test; list: Step[] }
  | { is: 'fork'; branches: Step[] }
  | { is: 'raise'; status: number }
  | { is: 'switch'; cases: { when: Test; then: string }[]; otherwise?: string }
  | { is: 'try'; list: Step[]; status?: number; retries?: number; handler?: Step[]; catchThen?: string };

/** mulberry32: the same plan for the same seed. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Scope {
  depth: number;
  /** Inside a fork the branches end in an unknown order, so none of them may end the run. */
  forked: boolean;
  /** Whether a fault may leave this place; of the branches of a fork only one may fault. */
  mayFault: boolean;
}

/** `waits`: the share of tasks that wait for some milliseconds. */
export function randomPlan(seed: number, { waits = 0 }: { waits?: number } = {}): Step[] {
  const next = random(seed);
  const int = (below: number): number => Math.floor(next() * below);
  const chance = (share: number): boolean => next() < share;
  let names = 0;

  const test = (): Test => {
    const by = 2 + int(3);
    return { by, rest: int(by) };
  };

  /** Jumps lead forward only, so that every plan ends. */
  const directive = (later: string[], scope: Scope): string => {
    const choices = ['continue', 'exit', ...later, ...later, ...(scope.forked ? [] : ['end'])];
    return choices[int(choices.length)] ?? 'continue';
  };

  const list = (scope: Scope): Step[] => {
    const own = Array.from({ length: 1 + int(scope.depth === 0 ? 5 : 3) }, () => `t${++names}`);
    return own.map((name, i) => step(name, own.slice(i + 1), scope));
  };

  const step = (name: string, later: string[], scope: Scope, branch = false): Step => ({
    name,
    ...(chance(0.15) ? { if: test() } : {}),
    ...(!branch && chance(0.2) ? { then: directive(later, scope) } : {}),
    ...(chance(0.25) ? { exports: true } : {}),
    kind: kind(later, scope, branch),
  });

  const kind = (later: string[], scope: Scope, branch: boolean): Kind => {
    const inner: Scope = { ...scope, depth: scope.depth + 1 };
    if (waits > 0 && chance(waits)) return { is: 'wait', milliseconds: 1 + int(30) };
    const roll = next();
    if (scope.depth >= 4 || roll < 0.3) return { is: 'set', add: 1 + int(9) };
    if (roll < 0.42) return { is: 'do', list: list(inner) };
    if (roll < 0.54)
      return { is: 'for', times: int(4), ...(chance(0.4) ? { while: test() } : {}), list: list(inner) };
    if (roll < 0.66) {
      const faulty = scope.mayFault ? int(3) : -1;
      return {
        is: 'fork',
        branches: Array.from({ length: 1 + int(3) }, (_, i) =>
          step(`t${++names}`, [], { depth: scope.depth + 1, forked: true, mayFault: i === faulty }, true),
        ),
      };
    }
    if (roll < 0.76 && scope.mayFault) return { is: 'raise', status: 500 + int(3) };
    if (roll < 0.84 && !branch) {
      return {
        is: 'switch',
        cases: Array.from({ length: 1 + int(2) }, () => ({ when: test(), then: directive(later, scope) })),
        ...(chance(0.5) ? { otherwise: directive(later, scope) } : {}),
      };
    }
    return {
      is: 'try',
      // An error that the catch does not accept leaves the try.
      list: list({ ...inner, mayFault: true }),
      ...(scope.mayFault && chance(0.4) ? { status: 500 + int(3) } : {}),
      ...(chance(0.4) ? { retries: int(3) } : {}),
      // A retry policy that is used up without a handler has not caught the error.
      ...(!scope.mayFault || chance(0.6) ? { handler: list(inner) } : {}),
      ...(!branch && chance(0.2) ? { catchThen: directive(later, scope) } : {}),
    };
  };

  return list({ depth: 0, forked: false, mayFault: true });
}
