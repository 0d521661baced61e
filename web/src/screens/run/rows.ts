/** The rows of the timeline: each step is one, but what a loop does is hidden until the loop is opened. */
import type { Step } from './fold-run.ts';

export interface Row {
  /** Unique among the rows. */
  key: string;
  /** The step that the row is about: of several visits, the last. */
  step: Step;
  depth: number;
  /** Null for a row that opens nothing. */
  loop: Loop | null;
  /** The steps that the row shows, and those that it hides. */
  covers: readonly Step[];
}

interface Loop {
  isOpen: boolean;
  /** Rounds that have started. */
  times: number;
  /** Items of a map that are under way, side by side. */
  going: number;
  /** How many of the hidden steps failed. */
  faulted: number;
}

/** Fewer visits of a task outside a loop are rows of their own. */
const MIN_VISITS = 4;
const LOOPS: ReadonlySet<string> = new Set(['for', 'listen', 'map']);
/** Steps of a language model with tools stay in the order in which they ran. */
const TALK: ReadonlySet<string> = new Set(['model', 'tool']);
/** A model with more steps is shown like a loop. */
const MAX_TALK = 30;

/** @param opened keys of the rows that are open */
export function rowsOf(steps: readonly Step[], opened: ReadonlySet<string>): Row[] {
  const inside = Map.groupBy(steps, ({ parent }) => parent);
  const childrenOf = (step: Step): readonly Step[] => inside.get(step.key) ?? [];
  const rows: Row[] = [];

  const addSteps = (siblings: readonly Step[], more: number): void => {
    const groups = repeated(siblings);
    for (const step of siblings) {
      const visits = groups.get(step.reference);
      if (visits === undefined) addStep(step, more);
      else if (visits[0] === step) addVisits(visits, more);
    }
  };

  /** @param more depth that groups add to that of the steps */
  const addStep = (step: Step, more: number): void => {
    const children = childrenOf(step);
    const depth = step.depth + more;
    const isLoop = LOOPS.has(step.type) || isLongTalk(children);
    if (!isLoop || children.length === 0) {
      rows.push({ key: step.key, step, depth, loop: null, covers: [step] });
      addSteps(children, more);
      return;
    }
    const isOpen = opened.has(step.key);
    const hidden = isOpen ? [] : withInner(children, childrenOf);
    const rounds = [...Map.groupBy(children, ({ reference }) => reference).values()];
    const times = Math.max(...rounds.map(({ length }) => length));
    const going = step.type === 'map' && step.endMs === null ? itemsUnderWay(children) : 0;
    const loop = loopOf(isOpen, { times, going }, hidden);
    rows.push({ key: step.key, step, depth, loop, covers: [step, ...hidden] });
    // In the order in which they ran, or of the items, so that each round stays together.
    const inOrder = step.type === 'map' ? byItem(children) : children;
    if (isOpen) for (const child of inOrder) addStep(child, more);
  };

  const addVisits = (visits: readonly Step[], more: number): void => {
    const [first] = visits;
    const step = visits.at(-1);
    if (first === undefined || step === undefined) return;
    const key = `all ${first.key}`;
    const isOpen = opened.has(key);
    const hidden = isOpen ? [] : withInner(visits, childrenOf);
    const loop = loopOf(isOpen, { times: visits.length, going: 0 }, hidden);
    rows.push({ key, step, depth: step.depth + more, loop, covers: hidden });
    if (isOpen) for (const visit of visits) addStep(visit, more + 1);
  };

  addSteps(inside.get(null) ?? [], 0);
  return rows;
}

/** The row that shows or hides a step; -1 if there is none. */
export function rowOf(rows: readonly Row[], key: string | null): number {
  const own = rows.findIndex((row) => row.key === key);
  return own >= 0 ? own : rows.findIndex(({ covers }) => covers.some((step) => step.key === key));
}

/** Tasks that were entered often, but not by retries: those are rows of their own. */
function repeated(siblings: readonly Step[]): Map<string, readonly Step[]> {
  const groups = Map.groupBy(siblings, ({ reference }) => reference);
  return new Map(
    [...groups].filter(
      ([, visits]) =>
        visits.length >= MIN_VISITS && visits.every(({ attempt, type }) => attempt === 1 && !TALK.has(type)),
    ),
  );
}

function isLongTalk(children: readonly Step[]): boolean {
  return children.length > MAX_TALK && children.every(({ type }) => TALK.has(type));
}

/** A map's items run side by side. */
function byItem(steps: readonly Step[]): Step[] {
  return steps.toSorted((left, right) => (left.items.at(-1) ?? 0) - (right.items.at(-1) ?? 0));
}

function withInner(steps: readonly Step[], childrenOf: (step: Step) => readonly Step[]): Step[] {
  return steps.flatMap((step) => [step, ...withInner(childrenOf(step), childrenOf)]);
}

function itemsUnderWay(steps: readonly Step[]): number {
  return new Set(steps.filter(({ endMs }) => endMs === null).map(({ items }) => items.at(-1))).size;
}

function loopOf(isOpen: boolean, rounds: Pick<Loop, 'times' | 'going'>, hidden: readonly Step[]): Loop {
  return { isOpen, ...rounds, faulted: hidden.filter(({ status }) => status === 'faulted').length };
}
