/**
 * What a step, a run and a decision cost in processor time and in counts, beside the hand-written workflow:
 * `npm run bench:costs [rounds] [name…] [--statements] [--traces]`. A busy machine changes these figures less
 * than those of `bench:runs`. With `--traces` it prints what they are without and with traces, and the
 * ratios.
 */
import { chosenBy } from './beside/chosen.ts';
import { COST_NAMES, measureCosts } from './beside/costs.ts';
import { measureTraced, serveRounds, tracedRows } from './beside/traced-costs.ts';
import { inWorld } from './beside/world.ts';

const side = ['--measured-without', '--measured-with'].indexOf(process.argv[2] ?? '');
if (side >= 0) {
  await serveRounds(side === 1, process.argv.slice(3));
  process.exit(0);
}
const [rounds = '5', ...parts] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const names = chosenBy(parts, COST_NAMES);
if (process.argv.includes('--traces')) {
  const rows = tracedRows(await measureTraced(Number(rounds), names));
  process.stdout.write(
    ['| cost | without | with traces | ratio |', '| --- | --: | --: | --: |', ...rows, ''].join('\n'),
  );
  process.exit(0);
}
const eachStatement = process.argv.includes('--statements');
const costs = await inWorld((world) => measureCosts(world, Number(rounds), { names, eachStatement }));
for (const [name, ofOne] of costs) {
  process.stdout.write(`${name}\n`);
  for (const [what, value] of Object.entries(ofOne))
    process.stdout.write(`  ${value.toFixed(3).padStart(9)} ${what}\n`);
}
process.exit(0);
