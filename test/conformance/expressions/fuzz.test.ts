/**
 * Differential test against jq-wasm. `FUZZ_SECONDS` runs it for longer with new seeds; a seed that
 * found a difference goes into the list below.
 */
import { expect, test } from '@jest/globals';
import { equals } from '../../../language/expressions/values/compare.ts';
import type { Json } from '../../../language/expressions/index.ts';
import { isKnownDifference } from './fuzz-differences.ts';
import { runOracle, runOurs } from './fuzz-oracle.ts';
import { Generator } from './fuzz-programs.ts';

/** Seeds that once found a difference. */
const regressionSeeds = [38, 455, 680, 697, 701, 844, 953, 971, 1200, 1304, 1310, 1383];

const programsPerSeed = 30;
const seconds = Number(process.env.FUZZ_SECONDS ?? 0);

function isClose(a: Json, b: Json): boolean {
  // Both sides print doubles, but the oracle rounds literals to 17 digits on the way.
  return typeof a === 'number' && typeof b === 'number'
    ? a === b || Math.abs(a - b) <= Math.abs(a) * 1e-15
    : equals(a, b);
}

async function differences(seed: number): Promise<string[]> {
  const generator = new Generator(seed);
  const input = generator.data();
  const programs = Array.from({ length: programsPerSeed }, () => generator.program());
  const expected = await runOracle(programs, input);
  const found: string[] = [];
  for (const [i, program] of programs.entries()) {
    const theirs = expected[i];
    if (!theirs) continue;
    const ours = runOurs(program, input);
    const same =
      'outputs' in theirs ? 'outputs' in ours && isClose(theirs.outputs, ours.outputs) : 'error' in ours;
    if (!same && !isKnownDifference(program, theirs)) {
      found.push(
        `seed ${seed}\n  ${program}\n  on   ${JSON.stringify(input)}\n  jq   ` +
          `${JSON.stringify(theirs)}\n  ours ${JSON.stringify(ours)}`,
      );
    }
  }
  return found;
}

test('the seeds that once found differences find none', async () => {
  for (const seed of regressionSeeds) expect(await differences(seed)).toEqual([]);
  expect(regressionSeeds).toEqual([...new Set(regressionSeeds)]);
});

test(
  'random programs give the results of jq',
  async () => {
    const started = performance.now();
    const budgetMs = seconds > 0 ? seconds * 1000 : 15_000;
    const seeds = seconds > 0 ? Infinity : 150;
    const first = seconds > 0 ? Number(process.env.FUZZ_SEED ?? Date.now() % 1e9) : 1;
    const found: string[] = [];
    for (let i = 0; i < seeds && performance.now() - started < budgetMs && found.length < 20; i++)
      found.push(...(await differences(first + i)));
    expect(found).toEqual([]);
  },
  seconds * 1000 + 120_000,
);
