/**
 * What traces cost: two processes, of which one exports them, do the same work in turns. So what slows the
 * machine down slows down both.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { medianRound, startMeter } from './costs.ts';
import type { Costs } from './cost-counters.ts';
import { traceEverything } from './traces.ts';
import { inWorld } from './world.ts';

export interface TracedCosts {
  with: Map<string, Costs>;
  without: Map<string, Costs>;
}

type Answer = [name: string, costs: Costs][];

export async function measureTraced(rounds: number, names: readonly string[]): Promise<TracedCosts> {
  const start = async (option: string): Promise<ChildProcess> => {
    const child = fork(process.argv[1] ?? '', [option, ...names]);
    await answerOf(child);
    return child;
  };
  const children = [await start('--measured-without'), await start('--measured-with')] as const;
  const samples: [Map<string, Costs>[], Map<string, Costs>[]] = [[], []];
  try {
    for (let round = 0; round < rounds; round++) {
      // Whoever begins has no advantage.
      for (const place of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        children[place].send('round');
        samples[place].push(new Map(await answerOf(children[place])));
      }
    }
  } finally {
    for (const child of children) if (child.connected) child.send('end');
    await Promise.all(
      children.map((child) => (child.exitCode === null ? once(child, 'exit') : Promise.resolve())),
    );
  }
  return { without: medianRound(samples[0]), with: medianRound(samples[1]) };
}

/** A process that has ended gives none. */
async function answerOf(child: ChildProcess): Promise<Answer> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('a process of the benchmark has ended');
  });
  ended.catch(() => undefined);
  const [answer] = (await Promise.race([once(child, 'message'), ended])) as [Answer];
  return answer;
}

/** One of the two processes: a round for each message, until it is told to end. */
export async function serveRounds(isTraced: boolean, names: readonly string[]): Promise<void> {
  const traces = isTraced ? await traceEverything() : null;
  await inWorld(async (world) => {
    const unfollow = traces?.follow(world.platform);
    const meter = await startMeter(world, { names });
    process.send?.([]);
    for (;;) {
      const [message] = (await once(process, 'message')) as [string];
      if (message === 'end') break;
      process.send?.([...(await meter.round())]);
    }
    await meter.close();
    await unfollow?.();
  });
}

/** Rows of a table: the ratios of the figures that both have. */
export function tracedRows({ with: traced, without }: TracedCosts): string[] {
  return [...without].flatMap(([name, costs]) =>
    Object.entries(costs).flatMap(([what, before]) => {
      const after = traced.get(name)?.[what];
      if (after === undefined || before === 0) return [];
      const ratio = (after / before).toFixed(2);
      return [`| ${name}: ${what} | ${before.toFixed(3)} | ${after.toFixed(3)} | ${ratio} |`];
    }),
  );
}
