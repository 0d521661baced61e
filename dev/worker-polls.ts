/**
 * Detects that a worker processes work: Temporal has seen its process poll for workflow tasks and activities.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import type { Env } from '../config/env.ts';
import type { ServerProcess } from './os-process.ts';

/** Values of TaskQueueType: workflow tasks, activities. */
const QUEUES = [1, 2];
const CALL_TIMEOUT_MS = 2_000;
const PAUSE_MS = 50;

export type WorkerState = 'works' | 'exited' | 'unknown' | 'late';

/**
 * Waits until the worker polls. `exited`: the process has ended. `unknown`: Temporal is unavailable, and the
 * worker has lived for `trialMs`. `late`: it did not poll within `timeoutMs`.
 */
export async function waitForPolls(options: {
  env: Env;
  address: string;
  running: ServerProcess;
  trialMs: number;
  timeoutMs: number;
}): Promise<WorkerState> {
  const { env, address, running, trialMs, timeoutMs } = options;
  const client = createTemporalClient(temporalSettings({ ...env, TEMPORAL_ADDRESS: address }));
  const polls = async (taskQueueType: number): Promise<boolean> => {
    const request = {
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueue: { name: env.TEMPORAL_TASK_QUEUE },
      taskQueueType,
    };
    const { pollers } = await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      client.workflowService.describeTaskQueue(request),
    );
    return pollers?.some(({ identity }) => identity?.startsWith(`${running.pid}@`)) ?? false;
  };
  const started = Date.now();
  try {
    for (;;) {
      // Wait for all calls: one that is still being retried when its connection closes throws where it cannot
      // be caught.
      const settled = await Promise.allSettled(QUEUES.map(polls));
      const answers = settled.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []));
      const polled = answers.length === QUEUES.length ? answers : null;
      if (running.hasExited()) return 'exited';
      if (polled?.every(Boolean)) return 'works';
      if (!polled && Date.now() - started > trialMs) return 'unknown';
      if (Date.now() - started > timeoutMs) return 'late';
      await Promise.race([running.exited, sleep(PAUSE_MS)]);
    }
  } finally {
    await client.connection.close();
  }
}
