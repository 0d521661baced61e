/** Where the conformance data of the public standards is: `CONFORMANCE_DIR`, or `shared/conformance` in a folder above. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of one standard's data. Throws when there is none: a test must not pass without its data. */
export function conformanceDir(standard: string): string {
  const override = process.env.CONFORMANCE_DIR;
  const tried: string[] = [];
  if (override) tried.push(join(override, standard));
  else {
    for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
      tried.push(join(folder, 'shared', 'conformance', standard));
      if (dirname(folder) === folder) break;
    }
  }
  const found = tried.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`no conformance data for ${standard}: set CONFORMANCE_DIR, or put the data at ../shared/conformance (tried ${tried.join(', ')})`);
  return found;
}
