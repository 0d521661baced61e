/** Finds the tasks of a drawing. */
import type { Severity } from '../../../../language/definition/problems.ts';
import type { Drawing, TaskPart } from '../../../../language/diagram/drawing.ts';
import type { Status } from '../statuses.ts';

export function tasksIn({ parts }: Drawing): TaskPart[] {
  return parts.filter((part) => part.kind === 'task');
}

export interface TaskState {
  status: Status;
  /** Such as `×400` or `try 2`. */
  note?: string;
}

export interface Problem {
  /** JSON pointer of the task, or of something in it. */
  pointer: string;
  message: string;
  severity: Severity;
}

export type TaskProblem = Pick<Problem, 'message' | 'severity'>;

/** From the least. */
const SEVERITIES: readonly Severity[] = ['warning', 'unsupported', 'error'];

function worse(one: Severity, other: Severity): Severity {
  return SEVERITIES.indexOf(one) < SEVERITIES.indexOf(other) ? other : one;
}

/**
 * The problems of each task, by the pointer of the innermost task that has them: one a line, and the worst
 * severity.
 */
export function problemsByTask(
  tasks: readonly TaskPart[],
  problems: readonly Problem[],
): Map<string, TaskProblem> {
  const pointers = new Set(tasks.map(({ task }) => task.pointer));
  const found = new Map<string, TaskProblem>();
  for (const { pointer, message, severity } of problems) {
    let place = pointer;
    while (place !== '' && !pointers.has(place)) place = place.slice(0, place.lastIndexOf('/'));
    if (place === '') continue;
    const known = found.get(place);
    found.set(place, {
      message: known === undefined ? message : `${known.message}\n${message}`,
      severity: known === undefined ? severity : worse(known.severity, severity),
    });
  }
  return found;
}
