/** "Did you mean": the nearest of a set of names. */

function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row[b.length] ?? max + 1;
}

/** The nearest name (with `prefix`), or undefined when none is near. */
export function suggest(name: string, names: Iterable<string>, prefix = ''): string | undefined {
  const max = name.length <= 3 ? 1 : name.length <= 6 ? 2 : 3;
  let best: string | undefined;
  let bestDistance = max + 1;
  for (const candidate of names) {
    const gap = distance(name.toLowerCase().slice(0, 40), candidate.toLowerCase().slice(0, 40), max);
    if (gap < bestDistance) [best, bestDistance] = [candidate, gap];
  }
  return best === undefined ? undefined : prefix + best;
}
