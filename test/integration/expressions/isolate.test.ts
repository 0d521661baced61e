import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createTemporalClient } from '../../../temporal/client.ts';
import { readCases } from '../../conformance/expressions/jq-cases.ts';
import { Generator } from '../../conformance/expressions/fuzz-programs.ts';
import { withConformanceData } from '../../support/outside.ts';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';
import { evaluate, type Evaluation } from './isolate-workflow.ts';

/** Few enough that a workflow task stays far below Temporal's deadlock limit. */
const batchSize = 10;

let temporal: TestTemporal;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let client: Client;

beforeAll(async () => {
  temporal = await testTemporal();
  native = await NativeConnection.connect({ address: temporal.address });
  client = createTemporalClient(temporal);
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('isolate-workflow.ts', import.meta.url)),
    logger: {
      log: () => undefined,
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
    },
  });
  worker = await Worker.create({
    connection: native,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    workflowBundle,
  });
  running = worker.run();
});

afterAll(async () => {
  worker.shutdown();
  await running;
  await native.close();
  await client.connection.close();
});

async function insideWorkflow(evaluations: Evaluation[], name: string): Promise<string[]> {
  const batches: Evaluation[][] = [];
  for (let i = 0; i < evaluations.length; i += batchSize) batches.push(evaluations.slice(i, i + batchSize));
  const results: string[][] = [];
  for (const [i, batch] of batches.entries()) {
    results.push(
      await client.workflow.execute<(batch: Evaluation[]) => Promise<string[]>>('evaluateAll', {
        args: [batch],
        taskQueue: temporal.taskQueue,
        workflowId: `${name}-${i}`,
        workflowTaskTimeout: '2 minutes',
      }),
    );
  }
  return results.flat();
}

withConformanceData("jq's test cases inside a workflow", ['jq'], (folder) => {
  test("jq's test cases give the same results inside a workflow as outside", async () => {
    const evaluations = readCases(folder).map(({ program, input }) => ({ program, input }));
    expect(await insideWorkflow(evaluations, 'cases')).toEqual(evaluations.map(evaluate));
  });
});

test('random programs give the same results inside a workflow as outside', async () => {
  const evaluations = Array.from({ length: 20 }, (_, seed) => {
    const generator = new Generator(seed + 1_000_000);
    const input = JSON.stringify(generator.data());
    return Array.from({ length: 15 }, () => ({ program: `try (${generator.program()}) catch .`, input }));
  }).flat();
  expect(await insideWorkflow(evaluations, 'random')).toEqual(evaluations.map(evaluate));
});

test('inside a workflow hostile programs end by their budgets and cannot change prototypes', async () => {
  const programs = [
    'def f: f; f',
    'def f: 1, f; [f]',
    'def f: path(f); f',
    '[range(1e12)]',
    '. * 1e9',
    '[limit(1e9; repeat(1))]',
    'now | todate',
    '{__proto__: 1, constructor: 2} | .toString = 3',
  ];
  const evaluations = programs.map((program) => ({ program, input: '"abc"' }));
  expect(await insideWorkflow(evaluations, 'hostile')).toEqual(evaluations.map(evaluate));
});
