/** What `bench:runs` prints and `bench:gate` compares: each measure of ours beside the hand-written one. */
import { inTurns, perSecond } from './in-turns.ts';
import type { Lane, Steps, World } from './world.ts';

export interface Measure {
  ours: number;
  theirs: number;
  unit: 'ms' | '/s';
  /** Of the ratio. */
  aim?: string;
}

const RUNS = 100;

/** Time per step is the slope between 10 and 100 steps. `rounds` of each; medians. */
export async function measureRuns(world: World, rounds: number): Promise<Record<string, Measure>> {
  const runsOf = (steps: Steps) => ({
    ordinary: () => world.cadenza('ordinary', steps),
    short: () => world.cadenza('short', steps),
    activity: () => world.byHand('sequence', steps),
    local: () => world.byHand('localSequence', steps),
  });
  await inTurns(runsOf(10), 1);
  await Promise.all([world.decisionCadenza(), world.byHand('sequence', 100)]);
  const ten = await inTurns(runsOf(10), rounds);
  const hundred = await inTurns(runsOf(100), rounds);
  const slope = (name: keyof typeof ten): number => (hundred[name] - ten[name]) / 90;
  const { decisionCadenza, decisionByHand, startCadenza, startByHand } = world;
  const reactions = await inTurns(
    { decision: decisionCadenza, signal: decisionByHand, start: startCadenza, startByHand },
    rounds * 3,
  );
  const throughput = (lane: Lane | 'activity', atOnce: number) => (): Promise<number> => {
    const run = lane === 'activity' ? () => world.byHand('sequence', 1) : () => world.cadenza(lane, 1);
    return perSecond(run, RUNS, atOnce);
  };
  const rates = await inTurns(
    {
      short: throughput('short', 16),
      ordinary: throughput('ordinary', 16),
      activity: throughput('activity', 16),
    },
    3,
  );
  const step = 'time per step (slope 10→100)';
  const ms = (ours: number, theirs: number, aim?: string): Measure => ({
    ours,
    theirs,
    unit: 'ms',
    ...(aim ? { aim } : {}),
  });
  return {
    [`${step}, short call : activity`]: ms(slope('short'), slope('activity'), '≤ 0.50'),
    [`${step}, short call : local activity`]: ms(slope('short'), slope('local'), '≤ 2'),
    [`${step}, ordinary call : activity`]: ms(slope('ordinary'), slope('activity'), '≤ 1.15'),
    '10 steps, short call : local activity': ms(ten.short, ten.local),
    '10 steps, ordinary call : activity': ms(ten.ordinary, ten.activity),
    'request → first call': ms(reactions.start, reactions.startByHand, '≤ 1.5'),
    'decision → next step : signal': ms(reactions.decision, reactions.signal, '≤ 1.5'),
    'runs/s, 16 at once, one short step : activity': {
      ours: rates.short,
      theirs: rates.activity,
      unit: '/s',
    },
    'runs/s, 16 at once, one step : activity': {
      ours: rates.ordinary,
      theirs: rates.activity,
      unit: '/s',
      aim: '≥ 0.85',
    },
  };
}
