/** Fetches the files that a run's input links into the store, before the run's first task. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunActivities } from '../contracts/activities.ts';
import { Fault, fault } from '../contracts/fault.ts';
import { AppError } from '../domain/errors.ts';
import {
  fetchedFile,
  fetchedType,
  keepFetched,
  listFetches,
  putFetched,
  type Fetch,
} from '../domain/files/fetches.ts';
import { MAX_FILE_BYTES, receiveFile, type Upload } from '../domain/files/service.ts';
import type { FileReference } from '../domain/ports.ts';
import { appendOrStop } from './append.ts';
import type { ActivityDeps } from './deps.ts';
import { quotaFault } from './files-of-run.ts';
import { failureOf, underWay } from './under-way.ts';

/** For one file. */
const TIMEOUT_MS = 5 * 60_000;
/** Before the second, third and fourth attempt. */
const PAUSES_MS = [300, 1_000, 2_500];
/** Temporary failures: the server is busy or unreachable. */
const TEMPORARY = new Set([425, 429, 500, 502, 503, 504]);

export function fetchFilesActivity(deps: ActivityDeps): RunActivities['fetchFiles'] {
  return async (input) => {
    return underWay(deps.calls, { run_id: input.run_id, task: null, visit: null }, async (call) => {
      try {
        await appendOrStop(deps, input);
        const files: { position: number; file: FileReference }[] = [];
        for (const fetch of await listFetches(deps.orm.em.fork(), input.run_id)) {
          files.push({
            position: fetch.position,
            file: await fetchOnce(deps, input.run_id, fetch, call.signal),
          });
        }
        await putFetched(deps.orm.em.fork(), input.run_id, files);
        return { files: files.map(({ position, file }) => ({ position, file: { ...file } })) };
      } catch (error) {
        throw failureOf(call, error, 'Fetching files');
      }
    });
  };
}

/** A repeat finds the file that an earlier attempt has stored. */
async function fetchOnce(
  deps: ActivityDeps,
  runId: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<FileReference> {
  for (let attempt = 0; ; attempt++) {
    const kept = await fetchedFile(deps.orm.em.fork(), fetch);
    if (kept) return kept;
    try {
      await receive(deps, runId, fetch, signal);
    } catch (error) {
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined || !(error instanceof Fault) || !TEMPORARY.has(error.error.status))
        throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

async function receive(deps: ActivityDeps, runId: string, fetch: Fetch, signal: AbortSignal): Promise<void> {
  const remote = await deps.adapters.openFile({
    url: fetch.url,
    timeoutMs: TIMEOUT_MS,
    signal,
    maxBytes: MAX_FILE_BYTES,
  });
  const { host } = new URL(fetch.url);
  let upload: Upload | null = null;
  try {
    const media_type = fetchedType(fetch, remote.media_type, host);
    upload = await receiveFile(deps.files, remote.chunks, { id: fetch.file_id });
    if (fetch.sha256 !== null && fetch.sha256 !== upload.sha256)
      throw fault('validation', `The file at ${host} does not have the SHA-256 that the message says`);
    const file = { name: fetch.name ?? remote.name, media_type };
    await keepFetched(deps.orm.em.fork(), runId, fetch, upload, file, deps.limits.storage);
  } catch (error) {
    await upload?.discard();
    throw error instanceof AppError && error.kind === 'too_large'
      ? fault('communication', `The file at ${host} is larger than ${MAX_FILE_BYTES} bytes`, { status: 413 })
      : quotaFault(error);
  } finally {
    remote.close();
  }
}
