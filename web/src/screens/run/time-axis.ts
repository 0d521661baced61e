/**
 * An axis on which work stays readable beside long waits. While something works, time runs evenly. Stretches
 * in which everything that is under way waits are folded to one width and labelled with their length. The
 * live end of a waiting run is such a stretch, so the picture stands still while a person sleeps over it.
 */

export interface Stretch {
  startMs: number;
  endMs: number;
  /** Waits for a person or a timer, rather than works. */
  waits: boolean;
}

interface Fold {
  x: number;
  width: number;
  ms: number;
}

export interface TimeAxis {
  width: number;
  folds: Fold[];
  x(ms: number): number;
  /** Lengths of work since the start, at round places. */
  ticks: { x: number; ms: number }[];
}

const FOLD_WIDTH = 56;
/** Shorter waits are drawn as they are. */
const MIN_FOLD_MS = 2_000;
const MAX_TICKS = 5;

export function timeAxis(
  stretches: readonly Stretch[],
  startMs: number,
  endMs: number,
  width: number,
): TimeAxis {
  const folded = waitsBetween(stretches, startMs, endMs);
  const worked = workMs(stretches, startMs, endMs);
  const most = worked > 0 ? Math.min(FOLD_WIDTH, width / 2 / folded.length) : width / folded.length;
  const foldWidth = folded.length === 0 ? 0 : most;
  const scale = worked > 0 ? (width - folded.length * foldWidth) / worked : 0;
  const x = (ms: number): number => {
    const at = Math.min(Math.max(ms, startMs), endMs);
    let position = (at - startMs) * scale;
    for (const { from, to } of folded) {
      if (at <= from) break;
      const inside = Math.min(at, to) - from;
      position += (inside / (to - from)) * foldWidth - inside * scale;
    }
    return position;
  };
  return {
    width,
    x,
    folds: folded.map(({ from, to }) => ({ x: x(from), width: foldWidth, ms: to - from })),
    ticks: ticksOf(worked, scale, folded, startMs, foldWidth),
  };
}

/** How long something worked, and did not only wait. */
export function workMs(stretches: readonly Stretch[], startMs: number, endMs: number): number {
  const waits = waitsBetween(stretches, startMs, endMs);
  return endMs - startMs - waits.reduce((sum, { from, to }) => sum + to - from, 0);
}

interface Interval {
  from: number;
  to: number;
}

/** The stretches of at least `MIN_FOLD_MS` in which nothing works. */
function waitsBetween(stretches: readonly Stretch[], startMs: number, endMs: number): Interval[] {
  const work = stretches
    .filter(({ waits }) => !waits)
    .toSorted((left, right) => left.startMs - right.startMs);
  const found: Interval[] = [];
  let reached = startMs;
  for (const { startMs: from, endMs: to } of [...work, { startMs: endMs, endMs }]) {
    if (from - reached >= MIN_FOLD_MS) found.push({ from: reached, to: from });
    reached = Math.max(reached, to);
  }
  return found;
}

function ticksOf(
  worked: number,
  scale: number,
  folded: readonly Interval[],
  startMs: number,
  foldWidth: number,
): TimeAxis['ticks'] {
  const step = roundStep(worked / MAX_TICKS);
  const count = Math.floor(worked / step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const ms = index * step;
    let before = 0;
    let skipped = 0;
    for (const { from, to } of folded) {
      if (from - startMs - skipped >= ms) break;
      skipped += to - from;
      before += 1;
    }
    return { ms, x: ms * scale + before * foldWidth };
  });
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= ms) ?? 10);
}
