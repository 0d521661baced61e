import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { readCases } from '../../conformance/expressions/jq-cases.ts';
import { Generator } from '../../conformance/expressions/fuzz-programs.ts';
import { conformancePath } from '../../support/conformance.ts';
import { testTemporal, type TestTemporal } from '../../support/servers.ts';
import { evaluate, type Evaluation } from './isolate-workflow.ts';

/** Few enough that a workflow task stays far below Temporal's deadlock limit. */
const batchSize = 30;

let temporal: TestTemporal;
let connection: Connection;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let client: Client;

beforeAll(async () => {
  temporal = await testTemporal();
  connection = await Connection.connect({ address: temporal.address });
  native = await NativeConnection.connect({ address: temporal.address });
  client = new Client({ connection, namespace: temporal.namespace });
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('isolate-workflow.ts', import.meta.url)), logger: { log: () => undefined, trace: () => undefined, debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } });
  worker = await Worker.create({ connection: native, namespace: temporal.namespace, taskQueue: temporal.taskQueue, workflowBundle });
  running = worker.run();
}, 120_000);

afterAll(async () => {
  worker.shutdown();
  await running;
  await native.close();
  await connection.close();
}, 60_000);

async function insideWorkflow(evaluations: Evaluation[], name: string): Promise<string[]> {
  const batches: Evaluation[][] = [];
  for (let i = 0; i < evaluations.length; i += batchSize) batches.push(evaluations.slice(i, i + batchSize));
  const results: string[][] = [];
  for (const [i, batch] of batches.entries()) {
    results.push(await client.workflow.execute<(batch: Evaluation[]) => Promise<string[]>>('evaluateAll', { args: [batch], taskQueue: temporal.taskQueue, workflowId: `${name}-${i}` }));
  }
  return results.flat();
}

test("jq's test cases give the same inside a workflow as outside", async () => {
  const evaluations = readCases(conformancePath('jq')).map(({ program, input }) => ({ program, input }));
  expect(await insideWorkflow(evaluations, 'cases')).toEqual(evaluations.map(evaluate));
}, 180_000);

test('random programs give the same inside a workflow as outside', async () => {
  const evaluations = Array.from({ length: 20 }, (_, seed) => {
    const generator = new Generator(seed + 1_000_000);
    const input = JSON.stringify(generator.data());
    return Array.from({ length: 15 }, () => ({ program: `try (${generator.program()}) catch .`, input }));
  }).flat();
  expect(await insideWorkflow(evaluations, 'random')).toEqual(evaluations.map(evaluate));
}, 180_000);

test('the budgets end hostile programs inside a workflow too, and prototypes stay as they are', async () => {
  const programs = ['def f: f; f', 'def f: 1, f; [f]', 'def f: path(f); f', '[range(1e12)]', '. * 1e9', '[limit(1e9; repeat(1))]', 'now | todate', '{__proto__: 1, constructor: 2} | .toString = 3'];
  const evaluations = programs.map((program) => ({ program, input: '"abc"' }));
  expect(await insideWorkflow(evaluations, 'hostile')).toEqual(evaluations.map(evaluate));
}, 120_000);
