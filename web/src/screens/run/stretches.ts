/** What each step contributes to the time axis: its work and its waits. */
import type { RunFold, Step } from './fold-run.ts';
import { workMs, type Stretch } from './time-axis.ts';

/** Steps that wait by themselves. */
const WAITING_TYPES = new Set(['wait', 'listen']);

export interface Bar extends Stretch {
  /** Holds other steps, whose bars say what it did. */
  holds: boolean;
}

/** The bars of a step: a step that asks a person works until it has asked, then waits. */
export function barsOf(step: Step, holds: boolean, nowMs: number): Bar[] {
  const endMs = step.endMs ?? nowMs;
  if (holds) return [{ startMs: step.startMs, endMs, waits: false, holds }];
  if (WAITING_TYPES.has(step.type)) return [{ startMs: step.startMs, endMs, waits: true, holds }];
  if (step.askedMs === null) return [{ startMs: step.startMs, endMs, waits: false, holds }];
  return [
    { startMs: step.startMs, endMs: step.askedMs, waits: false, holds },
    { startMs: step.askedMs, endMs, waits: true, holds },
  ];
}

/** How long the run worked, if it also waited for long. @param endMs of the run, or now */
export function workedMs({ steps, startMs }: RunFold, endMs: number): number | null {
  if (startMs === null) return null;
  const holders = holdersIn(steps);
  const worked = workMs(
    steps.flatMap((step) => (holders.has(step.key) ? [] : barsOf(step, false, endMs))),
    startMs,
    endMs,
  );
  return worked < endMs - startMs ? worked : null;
}

/** Keys of the steps that hold others. */
export function holdersIn(steps: readonly Step[]): Set<string> {
  return new Set(steps.flatMap(({ parent }) => (parent === null ? [] : [parent])));
}

export interface DrawnBar {
  x: number;
  width: number;
  status: string;
  kind: 'holds' | 'waits' | 'works';
}

/**
 * The bars of one row in pixels. Bars of one kind and status that touch become one, so that a loop of a
 * thousand rounds draws as many bars as there is room for.
 */
export function joined(
  groups: readonly { status: string; bars: readonly Bar[] }[],
  axis: { x(ms: number): number },
  minWidth: number,
): DrawnBar[] {
  const drawn: DrawnBar[] = [];
  const last = new Map<string, DrawnBar>();
  for (const { status, bars } of groups)
    for (const { startMs, endMs, waits, holds } of bars) {
      const kind = holds ? 'holds' : waits ? 'waits' : 'works';
      const x = axis.x(startMs);
      const width = Math.max(minWidth, axis.x(endMs) - x);
      const before = last.get(`${kind} ${status}`);
      if (before !== undefined && !holds && x >= before.x && x <= before.x + before.width + 1)
        before.width = Math.max(before.width, x + width - before.x);
      else {
        const bar: DrawnBar = { x, width, status, kind };
        drawn.push(bar);
        last.set(`${kind} ${status}`, bar);
      }
    }
  // What holds others is drawn behind them, once.
  return drawn.filter((bar, index) => bar.kind !== 'holds' || index === 0);
}
