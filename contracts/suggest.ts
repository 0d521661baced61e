/** Longer candidates are not compared: suggestions are for names, and comparing takes quadratic time. */
const MAX_LENGTH = 64;
const MAX_CANDIDATES = 500;
/** Shorter beginnings fit too many names. */
const MIN_PREFIX = 3;

/**
 * The candidate that `name` probably means (by edit distance; a swap counts as one), or undefined. `most`:
 * the largest distance, by default one that suits the length.
 */
export function closest(
  name: string,
  candidates: Iterable<string>,
  most: number = Math.max(1, Math.floor(Math.min(name.length, 12) / 3)),
): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = most + 1;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > MAX_CANDIDATES) break;
    if (candidate.length > MAX_LENGTH || Math.abs(candidate.length - name.length) > most) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `, did you mean "x"?` or an empty text, to append to messages about unknown names. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const found = closest(name, candidates);
  return found === undefined ? '' : `, did you mean "${found}"?`;
}

/** As `didYouMean`, also for a name that begins with the other: `input` for `input_params`. */
export function didYouMeanName(name: string, candidates: readonly string[]): string {
  const found = closest(name, candidates) ?? extended(name, candidates);
  return found === undefined ? '' : `, did you mean "${found}"?`;
}

/** The only candidate that begins with the name, or with which it begins. */
function extended(name: string, candidates: readonly string[]): string | undefined {
  if (name.length < MIN_PREFIX || name.length > MAX_LENGTH) return undefined;
  const wanted = name.toLowerCase();
  const found = candidates.slice(0, MAX_CANDIDATES).filter((candidate) => {
    const known = candidate.toLowerCase();
    return known.startsWith(wanted) || (known.length >= MIN_PREFIX && wanted.startsWith(known));
  });
  return found.length === 1 ? found[0] : undefined;
}

function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        value = Math.min(value, (beforePrevious[j - 2] ?? 0) + 1);
      current.push(value);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
