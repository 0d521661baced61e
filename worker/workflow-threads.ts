/** Lets the SDK run workflow code in a thread of ours, for which it has no option (docs/adr/0038). */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import threads from 'node:worker_threads';

const require = createRequire(import.meta.url);
const SDK_THREAD = require.resolve('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
const OUR_THREAD = fileURLToPath(new URL('workflow-thread.ts', import.meta.url));

/** While `create` runs, threads of the SDK for workflow code are ours. Call it once at a time. */
export async function withWorkflowThreads<T>(create: () => Promise<T>): Promise<T> {
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(filename: string | URL, options?: threads.WorkerOptions) {
      super(filename === SDK_THREAD ? OUR_THREAD : filename, options);
    }
  };
  try {
    return await create();
  } finally {
    threads.Worker = Worker;
  }
}
