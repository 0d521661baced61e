/** Says what was skipped, ends the servers of the test run and removes its folder. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { signal, waitForEnd } from '../../dev/os-process.ts';
import { runFolder } from './run-folder.ts';
import { skippedLines } from './skipped.ts';

export default async function globalTeardown(): Promise<void> {
  const folder = runFolder();
  for (const line of skippedLines(folder)) process.stderr.write(`${line}\n`);
  const pids = readdirSync(folder)
    .filter((name) => name.endsWith('.pid'))
    .map((name) => Number(readFileSync(join(folder, name), 'utf8')));
  for (const pid of pids) signal(pid, 'SIGTERM');
  if (!(await waitForEnd(pids, 25_000)))
    process.stderr.write(`The servers of the tests did not end; see ${folder}\n`);
  else if (existsSync(folder)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
