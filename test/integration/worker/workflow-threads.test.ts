/** The thread of workflow code is the SDK's, changed in three places (docs/adr/0038). */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Runtime } from '@temporalio/worker';
import { createShortCalls } from '../../../activities/short-calls.ts';
import type { DeliveryActivities, RunActivities } from '../../../contracts/activities.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createWorker } from '../../../worker/create-worker.ts';
import { until } from '../../support/platform.ts';
import { testTemporal } from '../../support/servers.ts';

const SILENT = {
  level: 'ERROR',
  log() {},
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
} as const;

let client: Client;
let taskQueue: string;
let close: () => Promise<void>;

beforeAll(async () => {
  Runtime.install({ logger: SILENT, shutdownSignals: [] });
  const temporal = await testTemporal();
  const [workflowBundle, connection] = await Promise.all([
    bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('endless/workflows.ts', import.meta.url)),
      logger: SILENT,
    }),
    NativeConnection.connect({ address: temporal.address }),
  ]);
  const worker = await createWorker({
    connection,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    // The workflows of this test call none.
    activities: {} as RunActivities & DeliveryActivities,
    workflowBundle,
    shortCalls: createShortCalls(),
  });
  const running = worker.run();
  client = createTemporalClient({ address: temporal.address, namespace: temporal.namespace });
  ({ taskQueue } = temporal);
  close = async () => {
    worker.shutdown();
    await running;
    await connection.close();
    await client.connection.close();
  };
});
afterAll(() => close());

const start = (name: string) =>
  client.workflow.start(name, { taskQueue, workflowId: `${name}-${randomUUID()}`, args: [] });

test('code that never ends fails its workflow task, and other workflows go on', async () => {
  const endless = await start('endless');
  expect(await messageOf(endless.query('__stack_trace'))).toMatch(/stack traces are not enabled/);
  await endless.signal('go');
  expect(await failureOf(endless)).toMatch(/timed out after 5000ms/);
  await endless.terminate();
  expect(await (await start('quick')).result()).toBe('done');
});

test('what code that never ends has resumed does not go on in another workflow', async () => {
  const interrupted = await start('interrupted');
  await messageOf(interrupted.query('__stack_trace'));
  await interrupted.signal('go');
  expect(await failureOf(interrupted)).toMatch(/timed out after 5000ms/);
  await interrupted.terminate();
  expect(await (await start('quick')).result()).toBe('done');
});

async function failureOf(workflow: WorkflowHandle): Promise<string | null | undefined> {
  const failed = await until(
    async () => (await workflow.fetchHistory()).events?.find((e) => e.workflowTaskFailedEventAttributes),
    (event) => event !== undefined,
  );
  return failed?.workflowTaskFailedEventAttributes?.failure?.message;
}

function messageOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => 'no error',
    (error: Error) => error.message,
  );
}

/**
 * If this fails, the SDK has changed: read what is new in these files, check that worker/workflow-thread.ts
 * still fits, measure whether it is still needed (`npm run bench:costs`), and renew the digest.
 */
test('the SDK is the one for which the thread was written', () => {
  const require = createRequire(import.meta.url);
  const hash = createHash('sha256');
  for (const name of ['vm-shared', 'reusable-vm', 'threaded-vm', 'workflow-worker-thread'])
    hash.update(readFileSync(require.resolve(`@temporalio/worker/lib/workflow/${name}.js`)));
  expect(hash.digest('hex')).toBe('cd7e110ccbd201ed837fd71431a87f8fdab2a775e522a70c3e0506f025c93a6a');
});
