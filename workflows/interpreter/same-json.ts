import { isRecord } from '../../contracts/is-record.ts';

/** Whether two JSON values are equal, however deep they are. What they share is compared by identity. */
export function sameJson(left: unknown, right: unknown): boolean {
  const pairs: [unknown, unknown][] = [[left, right]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false;
      for (const [i, item] of a.entries()) pairs.push([item, b[i]]);
    } else if (isRecord(a) && isRecord(b)) {
      const keys = Object.keys(a);
      if (keys.length !== Object.keys(b).length) return false;
      for (const key of keys) {
        if (!Object.hasOwn(b, key)) return false;
        pairs.push([a[key], b[key]]);
      }
    } else return false;
  }
  return true;
}
