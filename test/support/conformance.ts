import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Where the conformance data of the standards lies: `shared/conformance` beside the project or above it,
 * or in `CONFORMANCE_DIR`. It is read, never copied.
 */
export function conformancePath(path: string): string {
  const given = process.env['CONFORMANCE_DIR'];
  if (given !== undefined) return join(given, path);
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'shared', 'conformance', path);
    if (existsSync(candidate)) return candidate;
  }
  throw new Error(`no shared/conformance/${path} found above ${import.meta.dirname}: set CONFORMANCE_DIR`);
}
