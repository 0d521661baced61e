/** What steps have produced so far, as their calls tell it. A step that ends shows its output instead. */
import type { PartialOutput } from '../../../../client/index.ts';

export interface LiveOutput {
  attempt: number;
  text: string;
  /** Whether text before it is missing: it was lost, or is too long. */
  isCut: boolean;
  /** How many characters of the output have come, with those that are missing. */
  end: number;
  progress: string | null;
}

/** By the key of their step. */
export type LiveOutputs = ReadonlyMap<string, LiveOutput>;

/** A little less than `Value` shows. */
const MAX_TEXT = 19_000;
/** Steps that have produced something lately. */
const MAX_STEPS = 100;

export function withPartials(known: LiveOutputs, partials: readonly PartialOutput[]): LiveOutputs {
  const all = new Map(known);
  for (const partial of partials) {
    const key = `${partial.task}#${partial.visit}`;
    const next = continued(all.get(key), partial);
    // The latest is the last.
    all.delete(key);
    all.set(key, next);
  }
  for (const key of [...all.keys()].slice(0, Math.max(0, all.size - MAX_STEPS))) all.delete(key);
  return all;
}

function continued(before: LiveOutput | undefined, { attempt, offset, text }: PartialOutput): LiveOutput {
  const same = before?.attempt === attempt ? before : undefined;
  const { text: had = '', end = 0, isCut = false, progress = null } = same ?? {};
  if (offset === null) return { attempt, text: had, isCut, end, progress: text };
  const follows = offset === end;
  const whole = follows ? had + text : text;
  return {
    attempt,
    text: whole.slice(-MAX_TEXT),
    isCut: whole.length > MAX_TEXT || (follows ? isCut : offset > 0),
    end: offset + text.length,
    progress,
  };
}
