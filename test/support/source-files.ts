import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Folders that hold no source of the project: packages, data of a local start, reports. */
const LEFT_OUT = new Set(['node_modules', '.git', '.cadenza', '.schemathesis', 'coverage']);

/**
 * Paths of the project's files below `root`, relative to it, whose names match. It reads the folders, so it
 * also works in a copy without a git repository, and for a user whom git does not trust with it.
 */
export function sourceFiles(root: string, name: RegExp): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : walk(path);
      return entry.isFile() && name.test(entry.name) ? [path] : [];
    });
  return walk('');
}
