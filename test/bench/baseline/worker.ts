/**
 * The worker of the hand-written workflow. As a program with Temporal's address, the agent's URL and a task
 * queue as arguments, it sends a message once it is ready.
 */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createEgressPolicy } from '../../../adapters/egress/create-egress-policy.ts';
import { createAdapters } from '../../../adapters/index.ts';
import type { PinnedAgent } from '../../../domain/ports.ts';
import type { BaselineActivities } from './workflows.ts';

export const BASELINE_QUEUE = 'baseline';

/** @returns what stops it */
export async function startBaseline(
  address: string,
  endpoint: string,
  taskQueue: string,
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const adapters = createAdapters({ egress: createEgressPolicy({ allow: ['127.0.0.0/8'] }) });
  const agent: PinnedAgent = {
    id: 'baseline',
    owner_id: 'baseline',
    name: 'echo',
    version: '1.0.0',
    type: 'api',
    execution_type: null,
    url: null,
    configuration: { endpoint },
    input_schema: {},
    output_schema: {},
    authentication_type: null,
    authentication_config: null,
    capabilities_streaming: false,
  };
  const activities: BaselineActivities = {
    call: async (step) => {
      const call = {
        agent,
        input: { step },
        idempotencyKey: String(step),
        timeoutMs: 30_000,
        signal: new AbortController().signal,
      };
      return (await adapters.invoke({ ...call, secret: async () => null })).output;
    },
  };
  const worker = await Worker.create({
    connection,
    taskQueue,
    activities: { ...activities },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
    }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

if (process.send) {
  const [address = '', endpoint = '', taskQueue = BASELINE_QUEUE] = process.argv.slice(2);
  await startBaseline(address, endpoint, taskQueue);
  process.send('ready');
}
