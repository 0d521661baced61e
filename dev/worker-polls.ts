/** When a worker takes up work: Temporal has seen its process ask for workflow tasks and for activities. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createTemporalClient, temporalSettings } from '../temporal/client.ts';
import type { Env } from '../config/env.ts';
import type { ServerProcess } from './os-process.ts';

/** Of TaskQueueType: workflow tasks, activities. */
const queues = [1, 2];
const callTimeoutMs = 2_000;
const pauseMs = 50;

export type WorkerState = 'works' | 'exited' | 'unknown' | 'late';

/**
 * `exited`: the process has ended. `unknown`: Temporal cannot be asked, and the worker has lived for `trialMs`. `late`: it asked
 * for no work within `timeoutMs`.
 */
export async function waitForPolls(options: { env: Env; address: string; running: ServerProcess; trialMs: number; timeoutMs: number }): Promise<WorkerState> {
  const { env, address, running, trialMs, timeoutMs } = options;
  const client = createTemporalClient(temporalSettings({ ...env, TEMPORAL_ADDRESS: address }));
  const polls = async (taskQueueType: number): Promise<boolean> => {
    const request = { namespace: env.TEMPORAL_NAMESPACE, taskQueue: { name: env.TEMPORAL_TASK_QUEUE }, taskQueueType };
    const { pollers } = await client.withDeadline(Date.now() + callTimeoutMs, () => client.workflowService.describeTaskQueue(request));
    return pollers?.some(({ identity }) => identity?.startsWith(`${running.pid}@`)) ?? false;
  };
  const started = Date.now();
  try {
    for (;;) {
      // All of them have to end: a call that is still to be repeated when its connection closes throws where nobody can catch it.
      const ended = await Promise.allSettled(queues.map(polls));
      const answers = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      const asked = answers.length === queues.length ? answers : null;
      if (running.hasExited()) return 'exited';
      if (asked?.every(Boolean)) return 'works';
      if (!asked && Date.now() - started > trialMs) return 'unknown';
      if (Date.now() - started > timeoutMs) return 'late';
      await Promise.race([running.exited, sleep(pauseMs)]);
    }
  } finally {
    await client.connection.close();
  }
}
