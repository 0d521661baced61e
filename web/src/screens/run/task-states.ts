/** What the diagram shows of a run: the state of each task. */
import type { TaskState } from '../../ui/diagram/tasks.ts';
import type { Step } from './fold-run.ts';
import { words } from './words.ts';

/** A task that was entered several times shows its last visit, and how many there were. */
export function taskStates(steps: readonly Step[]): Map<string, TaskState> {
  const visits = Map.groupBy(steps, ({ reference }) => reference);
  return new Map(
    [...visits].map(([reference, all]) => {
      const last = all.reduce((latest, step) => (step.visit > latest.visit ? step : latest));
      const { status, attempt } = last;
      if (all.length === 1) return [reference, { status }];
      const note = attempt === all.length ? words.attempt(attempt) : words.times(all.length);
      return [reference, { status, note }];
    }),
  );
}

/** The last visit of a task; undefined if the run has not reached it. */
export function lastVisit(steps: readonly Step[], reference: string): Step | undefined {
  return steps
    .filter((step) => step.reference === reference)
    .toSorted((left, right) => left.visit - right.visit)
    .at(-1);
}
