/** Where in a text the parts of its value stand, by JSON pointer. */
import { escapeToken } from '../../../../contracts/json-pointer.ts';

export interface Place {
  /** What to mark: the name of a property with its plain value, or the first line of anything else. */
  from: number;
  to: number;
  /** The whole part, with its name. */
  start: number;
  end: number;
}

export type Places = Map<string, Place>;

export interface TextProblem {
  from: number;
  to: number;
  message: string;
}

/** A text as it was read. Without a value, the problems say why. */
export interface ReadText {
  value?: unknown;
  places: Places;
  problems: TextProblem[];
}

export function pointerAt(pointer: string, key: string | number): string {
  return `${pointer}/${escapeToken(String(key))}`;
}

/** The place of a pointer, or of the nearest part around it that the text has. */
export function placeOf(places: Places, pointer: string): Place | undefined {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
    const place = places.get(at);
    if (place !== undefined || at === '') return place;
  }
}

/** Pointers of tasks: an entry of a list of tasks has the task's name as its only key. */
const TASK = /\/(?:do|try|branches|before|after)\/\d+\/[^/]+$/;

export interface TaskPlace {
  pointer: string;
  from: number;
  start: number;
  end: number;
}

export function taskPlaces(places: Places): TaskPlace[] {
  return [...places].flatMap(([pointer, { from, start, end }]) =>
    TASK.test(pointer) ? [{ pointer, from, start, end }] : [],
  );
}

/** The innermost task around a position. */
export function taskAt(tasks: readonly TaskPlace[], offset: number): string | null {
  let found: TaskPlace | null = null;
  for (const task of tasks)
    if (task.start <= offset && offset <= task.end && (found === null || task.start >= found.start))
      found = task;
  return found?.pointer ?? null;
}
