/** The costs of Cadenza's work beside those of the hand-written workflow's. */
import { createCostCounter, type Costs } from './cost-counters.ts';
import { percentile } from './in-turns.ts';
import type { World } from './world.ts';

interface Work {
  /** What one call of `run` does, to divide by. */
  units: number;
  run(): Promise<unknown>;
}

function workOf(world: World): Record<string, Work> {
  const runs = (run: () => Promise<unknown>): Work => ({ units: 40, run: () => times(40, 8, run) });
  return {
    'step, ordinary': { units: 100, run: () => world.cadenza('ordinary', 100) },
    'step, activity by hand': { units: 100, run: () => world.byHand('sequence', 100) },
    'step, short': { units: 100, run: () => world.cadenza('short', 100) },
    'step, local activity by hand': { units: 100, run: () => world.byHand('localSequence', 100) },
    'run of one step': runs(() => world.cadenza('ordinary', 1)),
    'run of one short step': runs(() => world.cadenza('short', 1)),
    'run by hand': runs(() => world.byHand('sequence', 1)),
    'run with a decision': { units: 10, run: () => times(10, 1, () => world.decisionCadenza()) },
    'run with a signal by hand': { units: 10, run: () => times(10, 1, () => world.decisionByHand()) },
  };
}

/** Medians of `rounds`, in turns. `names`: parts of the names of the work; none: all of it. */
export async function measureCosts(
  world: World,
  rounds: number,
  { names = [], eachStatement = false }: { names?: readonly string[]; eachStatement?: boolean } = {},
): Promise<Map<string, Costs>> {
  const counter = await createCostCounter(world.platform.databaseUrl, world.pids, eachStatement);
  const wanted = Object.entries(workOf(world)).filter(
    ([name]) => names.length === 0 || names.some((part) => name.includes(part)),
  );
  const samples = new Map<string, Costs[]>(wanted.map(([name]) => [name, []]));
  for (const [, { run }] of wanted) await run();
  for (let i = 0; i < rounds; i++) {
    for (const [name, { units, run }] of wanted) samples.get(name)?.push(await counter.costsOf(units, run));
  }
  await counter.close();
  return new Map([...samples].map(([name, all]) => [name, mediansOf(all)]));
}

function mediansOf(all: readonly Costs[]): Costs {
  const keys = new Set(all.flatMap((costs) => Object.keys(costs)));
  return Object.fromEntries(
    [...keys].map((key) => [
      key,
      percentile(
        all.map((costs) => costs[key] ?? 0),
        0.5,
      ),
    ]),
  );
}

async function times(count: number, atOnce: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
