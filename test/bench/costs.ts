/**
 * What a step, a run and a decision cost in processor time and in counts, beside the hand-written workflow:
 * `npm run bench:costs [rounds] [name…] [--statements] [--traces]`. A busy machine changes these figures less
 * than those of `bench:runs`. With `--traces` all of Cadenza exports its traces.
 */
import { chosenBy } from './beside/chosen.ts';
import { COST_NAMES, measureCosts } from './beside/costs.ts';
import { traceEverything } from './beside/traces.ts';
import { inWorld } from './beside/world.ts';

const [rounds = '5', ...parts] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const names = chosenBy(parts, COST_NAMES);
const traces = process.argv.includes('--traces') ? await traceEverything() : null;
const eachStatement = process.argv.includes('--statements');
const costs = await inWorld(async (world) => {
  const unfollow = traces?.follow(world.platform);
  const measured = await measureCosts(world, Number(rounds), { names, eachStatement });
  await unfollow?.();
  return measured;
});
for (const [name, ofOne] of costs) {
  process.stdout.write(`${name}\n`);
  for (const [what, value] of Object.entries(ofOne))
    process.stdout.write(`  ${value.toFixed(3).padStart(9)} ${what}\n`);
}
process.exit(0);
