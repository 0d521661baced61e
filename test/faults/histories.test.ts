/** Runs whose history would exceed Temporal's limits, and runs that Temporal or its operator ended. */
import { randomBytes } from 'node:crypto';
import type { Client as TemporalClient } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client } from '../support/app.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import {
  runToEnd,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { httpTask } from '../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let temporal: TemporalClient;
let service: TestServer;
beforeAll(async () => {
  // Answers with as many random characters as the path says. Each call has a connection of its own: a busy
  // process could call on one that the server has just closed as idle.
  service = await startServer((request, response) => {
    response.setHeader('connection', 'close');
    sendJson(response, { text: randomText(Number(request.path.slice(1))) });
  });
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  temporal = createTemporalClient(platform.temporal);
});
afterAll(async () => {
  await platform.close();
  await temporal.connection.close();
  await service.close();
});

const randomText = (characters: number): string =>
  randomBytes(characters).toString('base64').slice(0, characters);
const read = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;

const BRANCHES = 10;
function branchesThatCall(path: string, rounds: number): unknown {
  const call = { ...httpTask(`${service.url}${path}`), output: { as: '{length: (.text | length)}' } };
  const branch = { for: { in: `[range(${rounds})]` }, do: [{ ask: call }] };
  return {
    do: [
      { all: { fork: { branches: Array.from({ length: BRANCHES }, (_, i) => ({ [`b${i}`]: branch })) } } },
    ],
  };
}

/** The bytes of history of each execution of the run. */
async function historySizes(runId: string): Promise<number[]> {
  const sizes: number[] = [];
  for await (const { historySize } of temporal.workflow.list({
    query: `WorkflowId = '${runWorkflowId(runId)}'`,
  }))
    sizes.push(historySize ?? 0);
  return sizes;
}

test('ten branches whose calls answer with 180 KB repeatedly complete', async () => {
  const run = await runToEnd(builder, branchesThatCall('/180000', 42));
  expect(run).toMatchObject({
    status: 'completed',
    error: null,
    output: Array.from({ length: BRANCHES }, () => ({ length: 180_000 })),
  });
  for (const size of await historySizes(run['id'])) expect(size).toBeLessThan(8 * 1024 * 1024);
});

test('a run that never rests continues in another execution before its history is too large', async () => {
  const run = await runToEnd(builder, branchesThatCall('/70000', 50));
  expect(run).toMatchObject({
    status: 'completed',
    error: null,
    output: Array.from({ length: BRANCHES }, () => ({ length: 70_000 })),
  });
  const sizes = await until(
    () => historySizes(run['id']),
    ({ length }) => length > 1,
  );
  for (const size of sizes) expect(size).toBeLessThan(20 * 1024 * 1024);
});

describe('an execution that is terminated in Temporal', () => {
  const waiting = { do: [{ nap: { wait: { minutes: 10 } } }] };
  const REASON = 'Workflow history size exceeds limit.';
  const terminated = async (id: string): Promise<RunRecord> => {
    await temporal.workflow.getHandle(runWorkflowId(id)).terminate(REASON);
    return until(
      async () => {
        await platform.reconcile();
        return read(id);
      },
      ({ status }) => ['completed', 'faulted', 'cancelled'].includes(status),
    );
  };
  const started = async (definition: unknown = waiting): Promise<string> => {
    const { id } = await startRun(builder, definition);
    await until(
      () => read(id),
      ({ status }) => status === 'waiting',
    );
    return id;
  };

  test('shows as a fault of the run, with the reason', async () => {
    const run = await terminated(await started());
    expect(run).toMatchObject({
      status: 'faulted',
      error: {
        type: expect.stringMatching(/\/runtime$/),
        detail: `The run's execution on Temporal is terminated: ${REASON}`,
      },
    });
    expect(run['logs'].at(-1)).toMatchObject({
      type: 'io.serverlessworkflow.workflow.faulted.v1',
      level: 'error',
      data: { execution: 'terminated', reason: REASON },
    });
  });

  test('shows as cancelled if a cancel was accepted before', async () => {
    const id = await started();
    await platform.stopWorker();
    expect((await builder.post(`/runs/${id}/cancel`)).status).toBeLessThan(300);
    try {
      expect(await terminated(id)).toMatchObject({ status: 'cancelled', error: null });
    } finally {
      await platform.startWorker();
    }
  });

  test('is a fault that the parent run can catch', async () => {
    const document = { dsl: '1.0.3', namespace: 'ended', name: 'child', version: '1.0.0' };
    expect(
      (await builder.post('/workflows', { name: 'child', definition: { document, ...waiting } })).body
        .runnable,
    ).toBe(true);
    const { namespace, name, version } = document;
    const { id } = await startRun(builder, {
      do: [
        {
          guarded: {
            try: [{ sub: { run: { workflow: { namespace, name, version } } } }],
            catch: { as: 'e', do: [{ told: { set: { why: '${ $e.detail }' } } }] },
          },
        },
      ],
    });
    const [child] = await until(
      async () => (await builder.get(`/runs?parent_run_id=${id}&status=waiting`)).body as RunRecord[],
      ({ length }) => length > 0,
    );
    await terminated(child?.['id']);
    const run = await until(
      () => read(id),
      ({ status }) => status === 'completed',
    );
    expect(run['output'].why).toContain(REASON);
  });
});
