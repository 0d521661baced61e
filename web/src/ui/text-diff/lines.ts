/** What changed between two texts, line by line (Myers, "An O(ND) difference algorithm"). */

export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
  /** Line numbers, from 1; null where the text lacks the line. */
  before: number | null;
  after: number | null;
}

/** Texts that differ more are shown as one removed and one added block. */
const MAX_EDITS = 2_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (
    end < left.length - start &&
    end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  )
    end += 1;
  const middle = changes(left.slice(start, left.length - end), right.slice(start, right.length - end));
  const kinds = [
    ...left.slice(0, start).map((text) => ({ kind: 'same' as const, text })),
    ...middle,
    ...left.slice(left.length - end).map((text) => ({ kind: 'same' as const, text })),
  ];
  let [leftAt, rightAt] = [0, 0];
  return kinds.map(({ kind, text }) => ({
    kind,
    text,
    before: kind === 'added' ? null : (leftAt += 1),
    after: kind === 'removed' ? null : (rightAt += 1),
  }));
}

type Change = Pick<DiffLine, 'kind' | 'text'>;

function changes(left: readonly string[], right: readonly string[]): Change[] {
  const trace = editTrace(left, right);
  if (trace === null)
    return [
      ...left.map((text): Change => ({ kind: 'removed', text })),
      ...right.map((text): Change => ({ kind: 'added', text })),
    ];
  const found: Change[] = [];
  let [x, y] = [left.length, right.length];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reached = trace[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const goesDown = isDown(reached, diagonal, edits);
    const previous = goesDown ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : (reached.get(previous) ?? 0);
    const fromY = edits === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) {
      found.push({ kind: 'same', text: left[x - 1] ?? '' });
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    if (goesDown) found.push({ kind: 'added', text: right[y - 1] ?? '' });
    else found.push({ kind: 'removed', text: left[x - 1] ?? '' });
    [x, y] = [fromX, fromY];
  }
  return found.reverse();
}

/** Whether the best way to a diagonal with so many edits inserts a line, rather than removing one. */
function isDown(reached: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  if (diagonal === edits) return false;
  return (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1);
}

/** For each number of edits, how far each diagonal was reached before it; null if there are too many. */
function editTrace(left: readonly string[], right: readonly string[]): Map<number, number>[] | null {
  const trace: Map<number, number>[] = [];
  const reached = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(left.length + right.length, MAX_EDITS); edits += 1) {
    trace.push(new Map(reached));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isDown(reached, diagonal, edits)
        ? (reached.get(diagonal + 1) ?? 0)
        : (reached.get(diagonal - 1) ?? 0) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return trace;
    }
  }
  return null;
}

export interface Hunk {
  /** Unchanged lines that were left out before it. */
  skipped: number;
  lines: readonly DiffLine[];
}

/** The changed lines with some lines around them. */
export function hunksOf(lines: readonly DiffLine[], around = 3): Hunk[] {
  const shown = new Set<number>();
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'same')
      for (let at = Math.max(0, index - around); at <= Math.min(lines.length - 1, index + around); at += 1)
        shown.add(at);
  const hunks: { skipped: number; lines: DiffLine[] }[] = [];
  let skipped = 0;
  let last = -2;
  for (const [index, line] of lines.entries()) {
    if (!shown.has(index)) {
      skipped += 1;
      continue;
    }
    if (index !== last + 1 || hunks.length === 0) hunks.push({ skipped, lines: [] });
    hunks.at(-1)?.lines.push(line);
    skipped = 0;
    last = index;
  }
  return hunks;
}
