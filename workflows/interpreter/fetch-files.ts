/** Before the first task: what the input only links becomes files of the platform. Runs that link nothing do not come here. */
import { ActivityFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { calling } from './activities.ts';
import type { Execution } from './execution.ts';
import { fault, faultOfActivity } from './fault.ts';

const TIMEOUT_MS = 30 * 60_000;
const REF = '/input';

/** @throws DslFault where a file cannot be had; a retry of the run fetches again. */
export async function fetchFiles(x: Execution): Promise<void> {
  const { root } = x.state;
  if (root.fetched) return;
  await x.gate();
  try {
    const { files } = await x.journal.carry((batch) => calling(TIMEOUT_MS, 'Fetch linked files').fetchFiles({ run_id: x.start.run_id, batch }));
    const at = new Map(files.map(({ position, file }) => [position, file]));
    // What the API made of a message's parts.
    const input = root.raw as { files: unknown[] };
    root.raw = { ...input, files: input.files.map((file, index) => at.get(index) ?? file) };
    root.fetched = true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const known = faultOfActivity(error, REF);
    if (known) throw known;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure) throw fault('timeout', 'The linked files could not be fetched in time', REF);
    throw error;
  }
}
