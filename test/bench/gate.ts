/**
 * Fails if a measure of `bench:runs` or `bench:api`, or a cost of `bench:costs`, is more than 15 % worse,
 * beside what was written by hand, than when it was recorded. A measure has three tries, because machines are
 * never quiet. `npm run bench:gate -- [runs] [costs] [api] [--record]`: all of them, or some; `--record`
 * writes the best of three tries to ratios.json.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { API_AIMS, measureApi } from './beside/api.ts';
import { checkNamed } from './beside/chosen.ts';
import { measureCosts } from './beside/costs.ts';
import { measureRuns } from './beside/ratios.ts';
import { inWorld, type World } from './beside/world.ts';

const RECORDED = new URL('ratios.json', import.meta.url);
const TRIES = 3;
const ROUNDS = 2;
/** Of each turn of a read of the API. */
const SECONDS = 2;
const WORSE = 1.15;
/** Processor time of ours, and of what does the same by hand. */
const COSTS = {
  'step, ordinary': 'step, activity by hand',
  'step, short': 'step, local activity by hand',
  'run of one step': 'run by hand',
  'run of one short step': 'run by hand',
  'run with a decision': 'run with a signal by hand',
};

/** Higher is worse. */
type Ratios = Record<string, number>;
const PARTS: Record<string, (world: World) => Promise<Ratios>> = {
  runs: ratiosOfRuns,
  costs: ratiosOfCosts,
  api: ratiosOfApi,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false } },
});
checkNamed(positionals, Object.keys(PARTS));
const parts = positionals.length === 0 ? Object.keys(PARTS) : positionals;
const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Ratios>;
const best: Record<string, Ratios> = {};
await inWorld(measureParts);
if (values.record) {
  const rounded = (ratios: Ratios): Ratios =>
    Object.fromEntries(Object.entries(ratios).map(([name, ratio]) => [name, Number(ratio.toFixed(3))]));
  for (const part of parts) recorded[part] = rounded(best[part] ?? {});
  writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
}
const worse = values.record ? [] : parts.flatMap(worseOf);
for (const name of worse) process.stderr.write(`worse than recorded in ${TRIES} tries: ${name}\n`);
process.exit(worse.length === 0 ? 0 : 1);

async function measureParts(world: World): Promise<void> {
  for (const part of parts) {
    const ratios = (best[part] = {}) as Ratios;
    for (let i = 0; i < TRIES; i++) {
      for (const [name, ratio] of Object.entries((await PARTS[part]?.(world)) ?? {}))
        ratios[name] = Math.min(ratios[name] ?? Number.POSITIVE_INFINITY, ratio);
      if (!values.record && worseOf(part).length === 0) break;
    }
    for (const [name, ratio] of Object.entries(ratios))
      process.stdout.write(`${ratio.toFixed(2)} (${recorded[part]?.[name]?.toFixed(2) ?? 'new'})  ${name}\n`);
  }
}

async function ratiosOfRuns(measured: World): Promise<Ratios> {
  const runs = Object.entries(await measureRuns(measured, ROUNDS));
  return Object.fromEntries(
    runs.map(([name, { ours, theirs, unit }]) => [name, unit === '/s' ? theirs / ours : ours / theirs]),
  );
}

async function ratiosOfCosts(measured: World): Promise<Ratios> {
  const costs = await measureCosts(measured, ROUNDS);
  const allMs = (name: string): number => costs.get(name)?.['all ms'] ?? Number.NaN;
  return Object.fromEntries(
    Object.entries(COSTS).map(([ours, theirs]) => [
      `processor time: ${ours} : ${theirs}`,
      allMs(ours) / allMs(theirs),
    ]),
  );
}

/** Of the bare server's requests a second, and of its processor time for one. */
async function ratiosOfApi(measured: World): Promise<Ratios> {
  const requests = await measureApi(measured, {
    seconds: SECONDS,
    rounds: ROUNDS,
    measures: (name) => API_AIMS.includes(name),
  });
  return Object.fromEntries(
    Object.entries(requests).flatMap(([name, { ours, bare }]) => [
      [`requests/s: bare : ${name}`, bare.perSecond / ours.perSecond],
      [`processor time: ${name} : bare`, ours.cpuMs / bare.cpuMs],
    ]),
  );
}

/** Measures without a record pass: `--record` adds them. */
function worseOf(part: string): string[] {
  return Object.entries(recorded[part] ?? {})
    .filter(([name, ratio]) => !((best[part]?.[name] ?? Number.NaN) <= ratio * WORSE))
    .map(([name]) => name);
}
