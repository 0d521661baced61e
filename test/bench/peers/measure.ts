/** Takes turns with Cadenza, the hand-written workflow, and one peer. */
import { performance } from 'node:perf_hooks';
import { inTurns, perSecond } from '../beside/in-turns.ts';
import { pause, timeToCall, type Steps, type World } from '../beside/world.ts';
import type { Peer } from './peer.ts';

export const MEASURES = ['steps', 'runs', 'decision', 'list'] as const;
type MeasureName = (typeof MEASURES)[number];

export interface Effort {
  measures: readonly MeasureName[];
  rounds: number;
  /** A measure of runs/s begins no run after this. */
  seconds: number;
}

/** Milliseconds, or runs a second; none of what was not measured, or is the same in the row above. */
export interface Figures {
  step?: number;
  ten?: number;
  runsPerSecond?: number;
  decision?: number;
  list?: number;
}

const RUNS = 200;
const AT_ONCE = 16;
const LISTED = 1_000;
const COLUMNS = ['Cadenza', 'short', 'hand', 'peer'] as const;
export type Column = (typeof COLUMNS)[number];
type Work = Record<Column, () => Promise<number>>;
type Measured = Partial<Record<Column, Figures>>;

/** `failed` says which measures could not be taken, and why. */
export async function measurePeer(
  world: World,
  peer: Peer,
  effort: Effort,
): Promise<{ figures: Record<Column, Figures>; failed: string[] }> {
  const figures: Record<Column, Figures> = { Cadenza: {}, short: {}, hand: {}, peer: {} };
  const failed: string[] = [];
  await warmUp(world, peer);
  const measures: Record<MeasureName, () => Promise<Measured>> = {
    steps: () => measureSteps(world, peer, effort.rounds),
    runs: () => measureRuns(world, peer, effort.seconds),
    decision: () => measureDecisions(world, peer, effort.rounds * 3),
    list: () => measureLists(world, peer, effort.rounds * 2 + 1),
  };
  for (const name of effort.measures) {
    try {
      const measured = await measures[name]();
      for (const column of COLUMNS) Object.assign(figures[column], measured[column]);
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { figures, failed };
}

function runsOf(world: World, peer: Peer, steps: Steps): Work {
  return {
    Cadenza: () => world.cadenza('ordinary', steps),
    short: () => world.cadenza('short', steps),
    hand: () => world.byHand('sequence', steps),
    peer: () => timeOf(() => peer.run(steps)),
  };
}

/** Each has compiled its code by then. */
async function warmUp(world: World, peer: Peer): Promise<void> {
  for (const run of Object.values(runsOf(world, peer, 1))) await perSecond(run, 40, 8, 5_000);
  await inTurns(runsOf(world, peer, 10), 1);
}

async function measureSteps(world: World, peer: Peer, rounds: number): Promise<Measured> {
  const ten = await inTurns(runsOf(world, peer, 10), rounds);
  const hundred = await inTurns(runsOf(world, peer, 100), rounds);
  return Object.fromEntries(
    COLUMNS.map((column) => [column, { ten: ten[column], step: (hundred[column] - ten[column]) / 90 }]),
  );
}

async function measureRuns(world: World, peer: Peer, seconds: number): Promise<Measured> {
  const measured: Measured = {};
  for (const [column, run] of Object.entries(runsOf(world, peer, 10)))
    measured[column as Column] = { runsPerSecond: await perSecond(run, RUNS, AT_ONCE, seconds * 1_000) };
  return measured;
}

async function measureDecisions(world: World, peer: Peer, rounds: number): Promise<Measured> {
  const work = {
    Cadenza: world.decisionCadenza,
    hand: world.decisionByHand,
    peer: async () => {
      const decide = await peer.ask();
      await pause(100);
      return timeToCall(world.agent, decide);
    },
  };
  await inTurns(work, 1);
  const { Cadenza, hand, peer: other } = await inTurns(work, rounds);
  return { Cadenza: { decision: Cadenza }, hand: { decision: hand }, peer: { decision: other } };
}

async function measureLists(world: World, peer: Peer, rounds: number): Promise<Measured> {
  await peer.fill(LISTED);
  // Those of earlier measures, and of earlier peers, count.
  const lacking = LISTED - (await world.listCadenza(LISTED));
  await Promise.all([
    perSecond(() => world.cadenza('short', 1), lacking, AT_ONCE),
    perSecond(() => world.byHand('localSequence', 1), LISTED - (await world.listByHand(LISTED)), AT_ONCE),
  ]);
  const read = (list: (count: number) => Promise<number>) => (): Promise<number> =>
    timeOf(async () => {
      const found = await list(LISTED);
      if (found < LISTED) throw new Error(`only ${found} runs are listed`);
    });
  const lists = { Cadenza: read(world.listCadenza), hand: read(world.listByHand), peer: read(peer.list) };
  await inTurns(lists, 1);
  const { Cadenza, hand, peer: other } = await inTurns(lists, rounds);
  return { Cadenza: { list: Cadenza }, hand: { list: hand }, peer: { list: other } };
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}
