/** Composition root of the sandbox worker: it takes activities only, and none while writes are paused. */
import { Worker, type NativeConnection } from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';

import { createMemorySlots } from './memory-slots.ts';

export interface CreateSandboxWorkerOptions {
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  activities: object;
  dataConverter?: DataConverter;
  /** Processes at the same time. */
  concurrency: number;
  /** While it is true the worker takes no task. */
  isPaused: () => boolean;
}

export function createSandboxWorker(options: CreateSandboxWorkerOptions): Promise<Worker> {
  const { connection, namespace, taskQueue, activities, dataConverter, concurrency, isPaused } = options;
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    ...(dataConverter ? { dataConverter } : {}),
    tuner: {
      // What has no turn here waits on the task queue, where every sandbox worker can take it. Memory does
      // not count: the engine has that of the processes.
      activityTaskSlotSupplier: createMemorySlots({
        minimum: concurrency,
        maximum: concurrency,
        rampMs: null,
        memory: () => 0,
        isPaused,
      }),
      // There are none of these, but a tuner names all.
      workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: 2 },
      localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
      nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
    },
    shutdownGraceTime: '10s',
    // Only if `drain.ts` does not come to it.
    shutdownForceTime: '60s',
  });
}
