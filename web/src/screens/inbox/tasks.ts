/** The list of the inbox: what it asks the server for, and which changed tasks belong in it. */
import type { HumanTask, ListedHumanTask } from '../../../../client/index.ts';
import type { Query } from '../../app/routes.ts';

/** A task in the list, or as its record has it. */
export type Task = ListedHumanTask | HumanTask;

export interface TaskFilter {
  scope: 'mine' | 'candidate' | 'all';
  overdue: boolean;
  claimed: 'me' | null;
  /** Id of the team of the run's workflow; an empty text does not filter. */
  team: string;
  sort: Sort;
  q: string;
}

export const SORTS = ['priority', 'due', 'created'] as const;
type Sort = (typeof SORTS)[number];

export function filterOf(query: Query): TaskFilter {
  const { scope } = query;
  return {
    scope: scope === 'candidate' || scope === 'all' ? scope : 'mine',
    overdue: query['overdue'] === 'true',
    claimed: query['claimed'] === 'me' ? 'me' : null,
    team: query['team'] ?? '',
    sort: SORTS.find((sort) => sort === query['sort']) ?? 'priority',
    q: query['q'] ?? '',
  };
}

export function isFiltered({ scope, overdue, claimed, team, q }: TaskFilter): boolean {
  return scope !== 'mine' || overdue || claimed !== null || team !== '' || q !== '';
}

/** As the server: `mine` is what the caller can decide now, the others are all that are undecided. */
export function showsTask(
  { scope, overdue, claimed, team }: TaskFilter,
  task: Task,
  { userId, nowMs }: { userId: string; nowMs: number },
): boolean {
  if (task.status !== 'open' && task.status !== 'claimed') return false;
  if (overdue && !isOverdue(task, nowMs)) return false;
  if (claimed === 'me' && task.claimed_by !== userId) return false;
  if (team !== '' && task.team_id !== team) return false;
  return scope !== 'mine' || task.can.includes('decide');
}

/** As the server sorts; equal tasks by age, because ids grow with time. */
export function taskOrder(sort: Sort): (left: Task, right: Task) => number {
  return (left, right) => {
    const byKey = {
      priority: () => right.priority - left.priority,
      due: () => compareText(left.due_at ?? NEVER, right.due_at ?? NEVER),
      created: () => 0,
    }[sort]();
    return byKey || compareText(left.id, right.id);
  };
}

/** Sorts behind every time. */
const NEVER = '~';

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
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

/** How the task calls one of its decisions. */
export function decisionLabel({ decisions = [] }: Pick<Task, 'decisions'>, id: string): string {
  return labelOf(decisions.find((one) => one.id === id) ?? { label: id });
}

const DIGITS = 9;

/** The key of a decision; null without one. @param index in its task; without, digits are no keys */
export function decisionKey(id: string, index = DIGITS): string | null {
  if (id === 'approve') return 'a';
  if (id === 'reject') return 'r';
  return index < DIGITS ? String(index + 1) : null;
}

/** `approve`, a decision without a label of its own, is shown as `Approve`. */
export function labelOf({ label }: { label: string }): string {
  return label.slice(0, 1).toUpperCase() + label.slice(1);
}
