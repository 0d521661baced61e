/** `call: map` over many items, while workers are killed and the run continues in new executions. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client } from '../support/app.ts';
import { httpTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { endOf, startRun, startTestPlatform, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';
import { createTestDatabase, smallTemporal } from '../support/servers.ts';

const ITEMS = 100;
const CONCURRENCY = 10;
/** Temporal suggests a new execution long before; a history of all items would be longer. */
const MAX_HISTORY = 400;

let platform: TestPlatform;
let builder: Client;
let service: TestServer;
let worker: Program;
const calls = new Map<string, number>();
let inFlight = 0;
let mostInFlight = 0;
let onCall = (): void => {};
beforeAll(async () => {
  service = await startServer(async (request, response) => {
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    calls.set(request.path, (calls.get(request.path) ?? 0) + 1);
    onCall();
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    sendJson(response, { double: Number(request.path.slice(1)) * 2 });
  });
  const [database, temporal] = await Promise.all([createTestDatabase(), smallTemporal()]);
  platform = await startTestPlatform({ worker: false, servers: { database, temporal } });
  builder = await platform.as('builder');
  worker = await startProgram('worker', platform);
});
afterAll(async () => {
  await worker.kill();
  await platform.close();
  await service.close();
});

test('items keep their order and bounded histories, though the worker is killed twice', async () => {
  const reached = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onCall = () => calls.size >= count && resolve();
    });
  const quarter = reached(ITEMS / 4);
  const run = await startRun(builder, {
    do: [
      {
        each: {
          call: 'map',
          with: {
            in: `[range(${ITEMS})]`,
            concurrency: CONCURRENCY,
            do: [
              { ask: httpTask(`${service.url}/n`, { endpoint: `\${ "${service.url}/\\($item)" }` }) },
              { keep: { set: { index: '${ $index }', double: '${ .double }' } } },
            ],
          },
        },
      },
    ],
  });
  await quarter;
  await worker.kill();
  const half = reached(ITEMS / 2);
  await worker.start();
  await half;
  await worker.kill();
  await worker.start();
  const ended = await endOf(builder, run);
  expect(ended['status']).toBe('completed');
  expect(ended['output']).toEqual(
    Array.from({ length: ITEMS }, (_unused, index) => ({ index, double: index * 2 })),
  );
  expect(calls.size).toBe(ITEMS);
  expect(mostInFlight).toBeLessThanOrEqual(CONCURRENCY);
  await expectOneVisitForEachItem(run['id']);
  await expectBoundedHistories(run['id']);
}, 240_000);

async function expectOneVisitForEachItem(runId: string): Promise<void> {
  const log = await readLog(builder, runId);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_entry, i) => i + 1));
  for (const name of ['0/ask', '1/keep']) {
    const items = log
      .filter(({ type, task }) => type.endsWith('task.completed.v1') && task === `/do/0/each/with/do/${name}`)
      .map(({ data }) => (data['items'] as number[])[0])
      .toSorted((left, right) => Number(left) - Number(right));
    expect(items).toEqual(Array.from({ length: ITEMS }, (_unused, i) => i));
  }
}

async function expectBoundedHistories(runId: string): Promise<void> {
  const client = createTemporalClient(platform.temporal);
  try {
    const lengths: number[] = [];
    for await (const execution of client.workflow.list({
      query: `WorkflowId = '${runWorkflowId(runId)}'`,
    }))
      lengths.push(execution.historyLength ?? 0);
    expect(lengths.length).toBeGreaterThan(1);
    expect(Math.max(...lengths)).toBeLessThan(MAX_HISTORY);
  } finally {
    await client.connection.close();
  }
}
