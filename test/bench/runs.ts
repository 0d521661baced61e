/**
 * Cadenza beside a hand-written Temporal workflow: only the ratios are meaningful.
 * `npm run bench:runs [rounds]`
 */
import { measureRuns } from './beside/ratios.ts';
import { inWorld } from './beside/world.ts';

const ROUNDS = Number(process.argv[2] ?? 7);
const measures = await inWorld((world) => measureRuns(world, ROUNDS));
process.stdout.write('| | Cadenza | by hand | ratio | aim |\n|---|---|---|---|---|\n');
for (const [name, { ours, theirs, unit, aim = '' }] of Object.entries(measures)) {
  const [our, their, ratio] = [ours, theirs, ours / theirs].map((value) => value.toFixed(2));
  process.stdout.write(`| ${name} | ${our} ${unit} | ${their} ${unit} | ${ratio} | ${aim} |\n`);
}
process.exit(0);
