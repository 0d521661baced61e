/** Finds the tasks of a drawing. */
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
}

/** The problems of each task, by the pointer of the innermost task that has them. */
export function problemsByTask(
  tasks: readonly TaskPart[],
  problems: readonly Problem[],
): Map<string, string> {
  const pointers = new Set(tasks.map(({ task }) => task.pointer));
  const found = new Map<string, string>();
  for (const { pointer, message } of problems) {
    let place = pointer;
    while (place !== '' && !pointers.has(place)) place = place.slice(0, place.lastIndexOf('/'));
    if (place === '') continue;
    const known = found.get(place);
    found.set(place, known === undefined ? message : `${known}\n${message}`);
  }
  return found;
}
