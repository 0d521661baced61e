/** The list of the inbox: what it asks the server for, and which changed tasks belong in it. */
import type { HumanTask, ListedHumanTask } from '../../../../client/index.ts';
import type { Query } from '../../app/routes.ts';

/** A task in the list, or as its record has it. */
export type Task = ListedHumanTask | HumanTask;

export interface TaskFilter {
  scope: 'mine' | 'candidate' | 'all';
  overdue: boolean;
  q: string;
}

export function filterOf(query: Query): TaskFilter {
  const { scope } = query;
  return {
    scope: scope === 'candidate' || scope === 'all' ? scope : 'mine',
    overdue: query['overdue'] === 'true',
    q: query['q'] ?? '',
  };
}

export function isFiltered({ scope, overdue, q }: TaskFilter): boolean {
  return scope !== 'mine' || overdue || q !== '';
}

/** As the server: `mine` is what the caller can decide now, the others are all that are undecided. */
export function showsTask({ scope, overdue }: TaskFilter, task: Task, nowMs: number): boolean {
  if (task.status !== 'open' && task.status !== 'claimed') return false;
  if (overdue && !isOverdue(task, nowMs)) return false;
  return scope !== 'mine' || task.can.includes('decide');
}

/** By priority, then age; ids grow with time. */
export function compareTasks(left: Task, right: Task): number {
  return right.priority - left.priority || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);
}

export function isOverdue(task: Pick<Task, 'due_at'>, nowMs: number): boolean {
  return task.due_at !== null && Date.parse(task.due_at) < nowMs;
}

/** The task to show once this one has left the list: the next, else the one before. */
export function neighbourOf(tasks: readonly { id: string }[], id: string | null): string | null {
  const at = tasks.findIndex((task) => task.id === id);
  if (at < 0) return tasks[0]?.id ?? null;
  return (tasks[at + 1] ?? tasks[at - 1])?.id ?? null;
}

/** Decisions that all of these tasks offer and that need no comment. */
export function sharedDecisions(tasks: readonly Task[]): { id: string; label: string }[] {
  const [first, ...others] = tasks;
  return (first?.decisions ?? []).filter(
    ({ id, requires_comment: needsComment }) =>
      !needsComment &&
      others.every((task) => task.decisions?.some((one) => one.id === id && !one.requires_comment)),
  );
}

/** Whether the record has all that its detail shows. */
export function isWhole(task: Task): task is HumanTask {
  return !('omitted' in task) || task.omitted.length === 0;
}

/** `approve`, a decision without a label of its own, is shown as `Approve`. */
export function labelOf({ label }: { label: string }): string {
  return label.slice(0, 1).toUpperCase() + label.slice(1);
}
