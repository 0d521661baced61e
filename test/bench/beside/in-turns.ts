/** Measurements whose parts take turns, so that a change in the machine's speed affects all alike. */
import { performance } from 'node:perf_hooks';

export type Measured<Name extends string> = Record<Name, number>;

/** @returns the median of each */
export async function inTurns<Name extends string>(
  work: Record<Name, () => Promise<number>>,
  rounds: number,
): Promise<Measured<Name>> {
  const names = Object.keys(work) as Name[];
  const measured = new Map(names.map((name) => [name, [] as number[]]));
  for (let i = 0; i < rounds; i++) for (const name of names) measured.get(name)?.push(await work[name]());
  return Object.fromEntries(
    names.map((name) => [name, percentile(measured.get(name) ?? [], 0.5)]),
  ) as Measured<Name>;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/**
 * `count` of `work`, or as many as begin within `maxMs`.
 * @returns how many end in a second, `atOnce` of them at any time
 */
export async function perSecond(
  work: () => Promise<unknown>,
  count: number,
  atOnce: number,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<number> {
  let begun = 0;
  const at = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (begun < count && performance.now() - at < maxMs) {
        begun++;
        await work();
      }
    }),
  );
  return begun / ((performance.now() - at) / 1000);
}
