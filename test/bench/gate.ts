/**
 * Fails if a measure of `bench:runs` or a cost of `bench:costs` is more than 15 % worse, beside the
 * hand-written workflow, than when it was recorded. A measure has three tries, because machines are never
 * quiet. `npm run bench:gate`; with `--record` it writes the best of three tries to ratios.json.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { measureCosts } from './beside/costs.ts';
import { measureRuns } from './beside/ratios.ts';
import { startWorld, type World } from './beside/world.ts';

const RECORDED = new URL('ratios.json', import.meta.url);
const TRIES = 3;
const ROUNDS = 2;
const WORSE = 1.15;
/** Processor time of ours, and of what does the same by hand. */
const COSTS = {
  'step, ordinary': 'step, activity by hand',
  'step, short': 'step, local activity by hand',
  'run of one step': 'run by hand',
  'run of one short step': 'run by hand',
  'run with a decision': 'run with a signal by hand',
};

const recording = process.argv.includes('--record');
const recorded = recording ? {} : (JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, number>);
const best: Record<string, number> = {};
const world = await startWorld();
for (let i = 0; i < TRIES; i++) {
  for (const [name, ratio] of Object.entries(await ratiosOf(world)))
    best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, ratio);
  if (!recording && worseOf(best).length === 0) break;
}
await world.stop();
for (const [name, ratio] of Object.entries(best))
  process.stdout.write(`${ratio.toFixed(2)} (${recorded[name]?.toFixed(2) ?? 'new'})  ${name}\n`);
if (recording) {
  const rounded = Object.entries(best).map(([name, ratio]) => [name, Number(ratio.toFixed(3))]);
  writeFileSync(RECORDED, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
}
const worse = worseOf(best);
for (const name of worse) process.stderr.write(`worse than recorded in ${TRIES} tries: ${name}\n`);
process.exit(worse.length === 0 ? 0 : 1);

/** Higher is worse. */
async function ratiosOf(measured: World): Promise<Record<string, number>> {
  const ratios: Record<string, number> = {};
  for (const [name, { ours, theirs, unit }] of Object.entries(await measureRuns(measured, ROUNDS)))
    ratios[name] = unit === '/s' ? theirs / ours : ours / theirs;
  const costs = await measureCosts(measured, ROUNDS);
  const allMs = (name: string): number => costs.get(name)?.['all ms'] ?? Number.NaN;
  for (const [ours, theirs] of Object.entries(COSTS))
    ratios[`processor time: ${ours} : ${theirs}`] = allMs(ours) / allMs(theirs);
  return ratios;
}

/** Measures without a record pass: `--record` adds them. */
function worseOf(ratios: Readonly<Record<string, number>>): string[] {
  return Object.entries(recorded)
    .filter(([name, ratio]) => !((ratios[name] ?? Number.NaN) <= ratio * WORSE))
    .map(([name]) => name);
}
