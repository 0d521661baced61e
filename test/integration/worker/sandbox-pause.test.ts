/** A sandbox worker takes no work while writes are paused. */
import { afterEach, expect, test } from '@jest/globals';
import { NativeConnection } from '@temporalio/worker';

import { createTemporalClient } from '../../../temporal/client.ts';
import { createSandboxWorker } from '../../../worker/create-sandbox-worker.ts';
import { until } from '../../support/platform.ts';
import { testTemporal } from '../../support/servers.ts';

/** TASK_QUEUE_TYPE_ACTIVITY */
const ACTIVITIES = 2;
const CONCURRENCY = 2;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

test('the worker polls once the pause has ended, and not before', async () => {
  const temporal = await testTemporal();
  const { address, namespace, taskQueue } = temporal;
  const connection = await NativeConnection.connect({ address });
  ends.push(() => connection.close());
  let isPaused = true;
  /** How often the worker has asked for a slot and got none. */
  let asked = 0;
  const worker = await createSandboxWorker({
    connection,
    namespace,
    taskQueue,
    activities: { runProcess: async () => null },
    concurrency: CONCURRENCY,
    isPaused: () => {
      if (isPaused) asked += 1;
      return isPaused;
    },
  });
  const running = worker.run();
  ends.push(async () => {
    worker.shutdown();
    await running;
  });
  const client = createTemporalClient(temporal);
  ends.push(() => client.connection.close());
  const pollers = async (): Promise<number> => {
    const queue = { namespace, taskQueue: { name: taskQueue }, taskQueueType: ACTIVITIES };
    return (await client.workflowService.describeTaskQueue(queue)).pollers.length;
  };
  await until(
    async () => asked,
    (times) => times > 10,
  );
  expect(await pollers()).toBe(0);
  isPaused = false;
  await until(pollers, (count) => count > 0);
});
