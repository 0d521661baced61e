/**
 * How long commands take from their start to their end, beside their bars, against an API of its own:
 * `npm run bench:cli`. Warm: with what earlier starts have compiled. Cold: the first start of all.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { insertRun } from '../support/human-tasks.ts';
import { startOwnPlatform } from '../support/own-platform.ts';

const RUNS = 200;
const STARTS = 21;
const COLD_STARTS = 5;
const launcher = join(import.meta.dirname, '../../cli/cadenza');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const platform = await startOwnPlatform();
const ada = await platform.createUser({ username: 'ada', roles: ['builder'] });
for (let n = 0; n < RUNS; n++) await insertRun(platform.orm, { owner: ada.id });
const home = mkdtempSync(join(tmpdir(), 'cadenza-bench-'));

say(`load average ${loadavg()[0]?.toFixed(1)}; figures of a machine that is busy otherwise mean little`);
say('| command | bar | ' + `warm, median of ${STARTS} | cold, median of ${COLD_STARTS} |\n|---|---|---|---|`);
for (const [bar, ...args] of [
  [100, '--help'],
  [100, 'run', '--help'],
  [200, 'run', 'list'],
] as const) {
  const warm = await median(STARTS, () => started(args, join(home, 'cache')));
  const cold = await median(COLD_STARTS, () => started(args, mkdtempSync(join(home, 'cold-'))));
  say(`| cadenza ${args.join(' ')} | ≤ ${bar} ms | ${warm} ms${warm > bar ? ', over' : ''} | ${cold} ms |`);
}
rmSync(home, { recursive: true });
await platform.close();
process.exit(0);

async function median(times: number, measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let n = 0; n < times; n++) values.push(await measure());
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN);
}

/** Milliseconds of the whole process. */
async function started(args: readonly string[], cache: string): Promise<number> {
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    XDG_CACHE_HOME: cache,
    CADENZA_URL: platform.url,
    CADENZA_TOKEN: ada.token,
  };
  const before = performance.now();
  await promisify(execFile)(launcher, args, { env });
  return performance.now() - before;
}
