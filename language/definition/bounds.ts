import { isRecord } from '../../contracts/is-record.ts';
import { at, type Problems } from './problems.ts';

/** Maximum characters of all names, texts and punctuation; about the size of the JSON. */
const MAX_SIZE = 1_048_576;
const MAX_DEPTH = 64;
/** Names in an object or items in a list. */
const MAX_TASKS = 2000;

/**
 * Rejects definitions whose size would make the other checks, or the run, unbounded. Takes linear time, does
 * not recurse, and stops at the limit.
 * @returns false if nothing else may be checked
 */
export function checkBounds(definition: unknown, problems: Problems): boolean {
  const pending: { value: unknown; pointer: string; depth: number }[] = [
    { value: definition, pointer: '', depth: 1 },
  ];
  let size = 0;
  let ok = true;
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    const { value, pointer, depth } = item;
    size += typeof value === 'string' ? value.length + 3 : 2;
    if (typeof value !== 'object' || value === null) {
      if (size > MAX_SIZE) return tooBig(problems);
      continue;
    }
    if (depth > MAX_DEPTH) {
      problems.error(
        pointer,
        'too_deep',
        `nested more than ${MAX_DEPTH} deep: move parts into use.functions or into another workflow`,
      );
      return false;
    }
    for (const [key, child] of Object.entries(value)) {
      size += key.length + 3;
      if (size > MAX_SIZE) return tooBig(problems);
      const place = at(pointer, key);
      if (key === '__proto__') {
        problems.error(place, 'forbidden_name', '"__proto__" cannot be a name');
        ok = false;
      } else {
        pending.push({ value: child, pointer: place, depth: depth + 1 });
      }
    }
  }
  return ok;
}

function tooBig(problems: Problems): false {
  problems.error(
    '',
    'too_big',
    `a definition may have at most ${MAX_SIZE} characters: move parts into other workflows, and data ` +
      'into the input',
  );
  return false;
}

/** Counts tasks during the check, and reports the first one over the limit once. */
export class TaskCounter {
  #count = 0;

  /** Whether one more task may be checked. */
  next(pointer: string, problems: Problems): boolean {
    this.#count++;
    if (this.#count === MAX_TASKS + 1)
      problems.error(
        pointer,
        'too_many_tasks',
        `a definition may have at most ${MAX_TASKS} tasks: use a loop, or other workflows`,
      );
    return this.#count <= MAX_TASKS;
  }
}

/** The value if it is an object, else an empty object. Only own properties. */
export function asObject(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
