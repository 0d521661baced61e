/** The lines in which two texts differ. */

export interface LineChange {
  sign: ' ' | '+' | '-';
  line: string;
}

/** Larger texts are compared as a whole between their common beginning and end. */
const MAX_CELLS = 4_000_000;
const CONTEXT = 3;

/** Changed lines with three lines around them; empty for equal texts. */
export function lineChanges(before: string, after: string): LineChange[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = compare(old.slice(start, old.length - end), now.slice(start, now.length - end));
  if (middle.length === 0) return [];
  const same = (line: string): LineChange => ({ sign: ' ', line });
  const [head, tail] = [old.slice(0, start).map(same), old.slice(old.length - end).map(same)];
  return nearChanges([...head, ...middle, ...tail]);
}

/** The longest common subsequence, by the usual table. */
function compare(old: readonly string[], now: readonly string[]): LineChange[] {
  const removed = old.map((line): LineChange => ({ sign: '-', line }));
  const added = now.map((line): LineChange => ({ sign: '+', line }));
  if (old.length * now.length > MAX_CELLS) return [...removed, ...added];
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const changes: LineChange[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      changes.push({ sign: ' ', line: old[i] ?? '' });
      i++;
      j++;
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1)))
      changes.push({ sign: '-', line: old[i++] ?? '' });
    else changes.push({ sign: '+', line: now[j++] ?? '' });
  }
  return changes;
}

function nearChanges(all: readonly LineChange[]): LineChange[] {
  const isNear = (index: number): boolean =>
    all.slice(Math.max(index - CONTEXT, 0), index + CONTEXT + 1).some(({ sign }) => sign !== ' ');
  return all.filter((_, index) => isNear(index));
}
