/** Before the first task: stores the files that the input links. Runs without links skip this. */
import { ActivityFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { calling } from './activities.ts';
import type { Execution } from './execution.ts';
import { fault, faultOfActivity } from './fault.ts';

const TIMEOUT_MS = 30 * 60_000;
const REF = '/input';

/** @throws DslFault if a file cannot be fetched; a retry of the run fetches again */
export async function fetchFiles(execution: Execution): Promise<void> {
  const { root } = execution.state;
  if (root.fetched) return;
  await execution.gate();
  try {
    const { files } = await execution.journal.carry({ strand: execution.strand, call: true }, (batch) =>
      calling(TIMEOUT_MS, 'Fetch linked files').fetchFiles({ run_id: execution.start.run_id, batch }),
    );
    const fileAt = new Map(files.map(({ position, file }) => [position, file]));
    // The assertion holds: the API built this input from a message's parts.
    const input = root.raw as { files: unknown[] };
    root.raw = { ...input, files: input.files.map((file, index) => fileAt.get(index) ?? file) };
    root.fetched = true;
  } catch (error) {
    if (isCancellation(error)) throw error;
    const known = faultOfActivity(error, REF);
    if (known) throw known;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure)
      throw fault('timeout', 'The linked files could not be fetched in time', REF);
    throw error;
  }
}
