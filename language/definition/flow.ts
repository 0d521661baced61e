/** Checks the flow of one task list: targets of `then`, unreachable tasks and endless loops. */
import type { Checker } from './checker.ts';
import { switchCases } from './switch-cases.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, quote } from './problems.ts';
import { didYouMean } from '../../contracts/suggest.ts';
import { KIND_FACTS, listPathsOf, taskKindOf } from './task-kind.ts';

export interface ListedTask {
  name: string;
  task: Record<string, unknown>;
  pointer: string;
}

export const DIRECTIVES = ['continue', 'exit', 'end'];

interface Jump {
  directive: string | undefined;
  pointer: string;
}

/** Relation of the tasks in a list: a sequence, branches of a fork, or the single task of a function. */
export type Listing = 'list' | 'branches' | 'function';

export function checkFlow(tasks: readonly ListedTask[], checker: Checker, listing: Listing): void {
  const jumps = tasks.map(jumpsOf);
  const names = new Map(tasks.map(({ name }, index) => [name, index]));
  let known = true;
  for (const { directive, pointer } of jumps.flat()) {
    if (directive === undefined || DIRECTIVES.includes(directive)) continue;
    if (listing === 'branches') {
      checker.problems.error(
        pointer,
        'then_target',
        'branches run side by side: one cannot go to another; use continue, exit or end',
      );
    } else if (listing === 'function') {
      known = false;
      checker.problems.error(
        pointer,
        'then_target',
        `a function cannot go on to the task ${quote(directive)}: use continue, exit or end, and "then" ` +
          'of the call',
      );
    } else if (!names.has(directive)) {
      known = false;
      const suggestion = didYouMean(directive, [...names.keys(), ...DIRECTIVES]);
      checker.problems.error(
        pointer,
        'then_target',
        `there is no task ${quote(directive)} in this ` +
          `list${suggestion || '; "then" reaches tasks of its own list, continue, exit and end'}`,
      );
    }
  }
  // With an unknown target, further findings would be guesses.
  if (listing === 'branches' || !known || tasks.length === 0) return;
  const graph = new Graph(tasks, jumps, names);
  reportUnreachable(tasks, graph, checker);
  reportEndlessLoops(tasks, jumps, graph, checker);
}

/** Where the flow may go after a task, apart from skipping it. */
function jumpsOf({ task, pointer }: ListedTask): Jump[] {
  const after = jump(task['then'], at(pointer, 'then'));
  const kind = taskKindOf(task);
  if (kind === 'switch') {
    const cases = switchCases(task, pointer).map(({ definition, place }) => ({
      ...jump(definition['then'], at(place, 'then')),
      fallback: definition['when'] === undefined,
    }));
    return cases.some(({ fallback }) => fallback) ? cases : [...cases, after];
  }
  if (kind === 'try' && typeof own(task['catch'], 'then') === 'string')
    return [after, jump(own(task['catch'], 'then'), at(pointer, 'catch', 'then'))];
  return [after];
}

function jump(directive: unknown, pointer: string): Jump {
  return { directive: typeof directive === 'string' ? directive : undefined, pointer };
}

const OUT = -1;

class Graph {
  /** Indexes of possible successors; OUT leaves the list. */
  readonly next: number[][];

  constructor(tasks: readonly ListedTask[], jumps: readonly Jump[][], names: ReadonlyMap<string, number>) {
    this.next = tasks.map(({ task }, index) => {
      const following = index + 1 < tasks.length ? index + 1 : OUT;
      const faults = taskKindOf(task) === 'raise';
      const targets = (faults ? [] : (jumps[index] ?? [])).map(({ directive }) => {
        if (directive === undefined || directive === 'continue') return following;
        return directive === 'exit' || directive === 'end' ? OUT : (names.get(directive) ?? OUT);
      });
      if (faults) targets.push(OUT);
      if (task['if'] !== undefined) targets.push(following);
      return targets;
    });
  }

  reachable(): Set<number> {
    const seen = new Set<number>([0]);
    for (const index of seen)
      for (const target of this.next[index] ?? []) if (target !== OUT) seen.add(target);
    return seen;
  }

  /** Tasks from which the flow can leave the list. */
  leaving(ends: (index: number) => boolean): Set<number> {
    const before = this.next.map((): number[] => []);
    const seen = new Set<number>();
    for (const [index, targets] of this.next.entries()) {
      for (const target of targets) before[target]?.push(index);
      if (targets.includes(OUT) || ends(index)) seen.add(index);
    }
    for (const index of seen) for (const earlier of before[index] ?? []) seen.add(earlier);
    return seen;
  }
}

function reportUnreachable(tasks: readonly ListedTask[], graph: Graph, checker: Checker): void {
  const reached = graph.reachable();
  const follows = new Set<number>();
  for (const [index, task] of tasks.entries()) {
    if (reached.has(index)) continue;
    if (!follows.has(index))
      checker.problems.warning(
        task.pointer,
        'unreachable',
        `${quote(task.name)} is never reached: no task goes on to it`,
      );
    for (const target of graph.next[index] ?? []) follows.add(target);
  }
}

function reportEndlessLoops(
  tasks: readonly ListedTask[],
  jumps: readonly Jump[][],
  graph: Graph,
  checker: Checker,
): void {
  const backwards = graph.next.some((targets, index) =>
    targets.some((target) => target !== OUT && target <= index),
  );
  if (!backwards) return;
  const leaving = graph.leaving((index) => mayEnd(tasks[index]?.task));
  const trapped = [...graph.reachable()].filter((index) => !leaving.has(index)).toSorted((a, b) => a - b);
  const patient = trapped.some((index) => mayWait(tasks[index]?.task));
  for (const index of trapped) {
    const back = jumps[index]?.find(({ directive }) =>
      tasks.slice(0, index + 1).some(({ name }) => name === directive),
    );
    if (back === undefined) continue;
    const message =
      'this loop has no way out: give it a switch with a case that leaves it, or a task with "if"';
    if (patient)
      checker.problems.warning(
        back.pointer,
        'endless_loop',
        `${message} (it ends only with a fault, a timeout or a cancellation)`,
      );
    else checker.problems.error(back.pointer, 'endless_loop', message);
    return;
  }
}

/** Whether something inside the task ends the workflow or raises an error. */
function mayEnd(task: unknown): boolean {
  return containsTask(
    task,
    (found, top) =>
      taskKindOf(found) === 'raise' ||
      (!top && jumpsOf({ name: '', task: found, pointer: '' }).some(({ directive }) => directive === 'end')),
  );
}

/** Whether something inside the task waits or asks somebody, so that a loop over it is not a busy loop. */
function mayWait(task: unknown): boolean {
  return containsTask(task, (found) => {
    const kind = taskKindOf(found);
    // What a call of a function with tasks of its own takes is what they take.
    if (kind === 'call' && listPathsOf(found).length > 0) return false;
    return kind !== undefined && KIND_FACTS[kind].takesTime;
  });
}

function containsTask(
  task: unknown,
  matches: (found: Record<string, unknown>, top: boolean) => boolean,
): boolean {
  const pending: unknown[] = [task];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    if (!isRecord(current)) continue;
    if (matches(current, current === task)) return true;
    for (const path of listPathsOf(current)) {
      const list = path.reduce<unknown>(own, current);
      if (!Array.isArray(list)) continue;
      for (const item of list) if (isRecord(item)) for (const each of Object.values(item)) pending.push(each);
    }
  }
  return false;
}
