/**
 * The tests that a run skipped because this machine lacks something: noted by outside.ts, printed at the end
 * of the run.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runFolder } from './run-folder.ts';

/** `suite`: path of the test file in the repository. */
export interface Skipped {
  suite: string;
  name: string;
  reason: string;
}

/** The beginning of the reason where the public standards' data is missing; `.ci/count.mjs` looks for it. */
export const noConformanceData = 'no conformance data';

export function noteSkipped(skipped: Skipped): void {
  appendFileSync(notes(runFolder()), `${JSON.stringify(skipped)}\n`);
}

/**
 * The skipped tests as lines for the end of a run: one line for the conformance data, one for every other
 * reason.
 */
export function skippedLines(folder: string): string[] {
  if (!existsSync(notes(folder))) return [];
  const all = readFileSync(notes(folder), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Skipped);
  const byReason = Map.groupBy(all, ({ reason }) =>
    reason.startsWith(noConformanceData) ? noConformanceData : reason,
  );
  return [...byReason].toSorted().map(([reason, skipped]) => {
    if (reason !== noConformanceData)
      return `Skipped (${reason}): ${skipped.map(({ suite, name }) => `${suite} “${name}”`).join(', ')}`;
    const suites = [...new Set(skipped.map(({ suite }) => suite))].toSorted();
    return (
      `Skipped without the conformance data: ${suites.join(', ')}. ` +
      'CONTRIBUTING.md says where the data comes from; then run CONFORMANCE_DIR=<its folder> npm test.'
    );
  });
}

function notes(folder: string): string {
  return join(folder, 'skipped.jsonl');
}
