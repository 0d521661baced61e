/** The costs of Cadenza's work beside those of the hand-written workflow's. */
import { createCostCounter, type Costs } from './cost-counters.ts';
import { percentile } from './in-turns.ts';
import type { World } from './world.ts';

interface Work {
  /** What one call of `run` does, to divide by. */
  units: number;
  run(world: World): Promise<unknown>;
}

const runs = (run: (world: World) => Promise<unknown>): Work => ({
  units: 40,
  run: (world) => times(40, 8, () => run(world)),
});
const decisions = (run: (world: World) => Promise<unknown>): Work => ({
  units: 10,
  run: (world) => times(10, 1, () => run(world)),
});
const WORK: Record<string, Work> = {
  'step, ordinary': { units: 100, run: (world) => world.cadenza('ordinary', 100) },
  'step, activity by hand': { units: 100, run: (world) => world.byHand('sequence', 100) },
  'step, short': { units: 100, run: (world) => world.cadenza('short', 100) },
  'step, local activity by hand': { units: 100, run: (world) => world.byHand('localSequence', 100) },
  'run of one step': runs((world) => world.cadenza('ordinary', 1)),
  'run of one short step': runs((world) => world.cadenza('short', 1)),
  'run by hand': runs((world) => world.byHand('sequence', 1)),
  'run with a decision': decisions((world) => world.decisionCadenza()),
  'run with a signal by hand': decisions((world) => world.decisionByHand()),
};
export const COST_NAMES = Object.keys(WORK);

interface Chosen {
  names?: readonly string[];
  eachStatement?: boolean;
}

/** Medians of `rounds`, in turns. */
export async function measureCosts(
  world: World,
  rounds: number,
  chosen: Chosen = {},
): Promise<Map<string, Costs>> {
  const meter = await startMeter(world, chosen);
  const samples: Map<string, Costs>[] = [];
  for (let i = 0; i < rounds; i++) samples.push(await meter.round());
  await meter.close();
  return medianRound(samples);
}

/** Has done each work once. `round` measures each once. */
export async function startMeter(
  world: World,
  { names = COST_NAMES, eachStatement = false }: Chosen = {},
): Promise<{ round(): Promise<Map<string, Costs>>; close(): Promise<void> }> {
  const counter = await createCostCounter(world.platform.databaseUrl, world.pids, eachStatement);
  const wanted = Object.entries(WORK).filter(([name]) => names.includes(name));
  for (const [, { run }] of wanted) await run(world);
  return {
    async round() {
      const costs = new Map<string, Costs>();
      for (const [name, { units, run }] of wanted)
        costs.set(name, await counter.costsOf(units, () => run(world)));
      return costs;
    },
    close: () => counter.close(),
  };
}

export function medianRound(rounds: readonly Map<string, Costs>[]): Map<string, Costs> {
  const names = [...(rounds[0]?.keys() ?? [])];
  return new Map(names.map((name) => [name, mediansOf(rounds.map((round) => round.get(name) ?? {}))]));
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
