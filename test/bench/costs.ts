/**
 * What a step, a run and a decision cost in processor time and in counts, beside the hand-written workflow:
 * `npm run bench:costs [rounds] [name…] [--statements] [--traces]`. A busy machine changes these figures less
 * than those of `bench:runs`. With `--traces` all of Cadenza exports its traces.
 */
import { measureCosts } from './beside/costs.ts';
import { traceEverything } from './beside/traces.ts';
import { startWorld } from './beside/world.ts';

const [rounds = '5', ...names] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const traces = process.argv.includes('--traces') ? await traceEverything() : null;
const world = await startWorld();
const unfollow = traces?.follow(world.platform);
const eachStatement = process.argv.includes('--statements');
for (const [name, costs] of await measureCosts(world, Number(rounds), { names, eachStatement })) {
  process.stdout.write(`${name}\n`);
  for (const [what, value] of Object.entries(costs))
    process.stdout.write(`  ${value.toFixed(3).padStart(9)} ${what}\n`);
}
await unfollow?.();
await world.stop();
process.exit(0);
