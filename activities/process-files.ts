/** Files of a process: the run's go in, those that it leaves become the run's. */
import { createHash } from 'node:crypto';
import type { ProcessFiles } from '../domain/ports.ts';
import type { ProcessDeps } from './deps.ts';
import { openFile } from './call-files.ts';
import { FilesOfRun } from './files-of-run.ts';

export function processFiles(deps: ProcessDeps, runId: string, key: string): ProcessFiles {
  const files = new FilesOfRun(deps, runId);
  return {
    open: (id) => openFile(files, id),
    store: (chunks, file) => files.storeOnce(fileId(runId, key, file.name), chunks, file),
  };
}

/**
 * The same for each repeat of the call: a UUIDv7 with the time of the run, because lists of files are sorted
 * by id.
 */
function fileId(runId: string, key: string, name: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([key, name]))
    .digest('hex');
  return `${runId.slice(0, 13)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`;
}
