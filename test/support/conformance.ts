/** Where the conformance data of the public standards is: `CONFORMANCE_DIR`, or `shared/conformance` in a folder above. Read, never copied. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file or folder of one standard's data. Throws when there is none: a test must not pass without its data. */
export function conformancePath(path: string): string {
  const given = process.env['CONFORMANCE_DIR'];
  const tried: string[] = given ? [join(given, path)] : [];
  for (let folder = import.meta.dirname; !given && folder !== dirname(folder); folder = dirname(folder)) tried.push(join(folder, 'shared/conformance', path));
  const found = tried.find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error(`no conformance data at ${path}: set CONFORMANCE_DIR, or put the data at ../shared/conformance (tried ${tried.join(', ')})`);
  return found;
}
