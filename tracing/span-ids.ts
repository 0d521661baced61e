/**
 * The ids of spans that several processes have to know. They follow from ids of the database, so whoever
 * works for a run names its span, and that of a task, as a parent before the span itself is recorded.
 */
import { createHash } from 'node:crypto';

/** Of a task, one visit: a repetition by `catch` or a loop is another one. */
export interface TaskVisitRef {
  /** JSON pointer into the definition. */
  reference: string;
  visit: number;
}

/** 16 hexadecimal digits. */
export function runSpanId(runId: string): string {
  return digest(runId);
}

/** 16 hexadecimal digits. */
export function taskSpanId(runId: string, { reference, visit }: TaskVisitRef): string {
  return digest(`${runId} ${visit} ${reference}`);
}

/** W3C Trace Context: an id of zeros is invalid; a digest of zeros is not to be expected. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

let chosen: string | null = null;

/** Starts one span, which gets this id instead of a random one. */
export function withSpanId<T>(id: string, start: () => T): T {
  chosen = id;
  try {
    return start();
  } finally {
    chosen = null;
  }
}

/** For the generator of ids. */
export function takeChosenId(): string | null {
  const id = chosen;
  chosen = null;
  return id;
}
