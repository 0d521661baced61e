/**
 * Cadenza beside a hand-written Temporal workflow with the same calls of the same agent, on the same servers, in one run:
 * only the ratios mean something. `npm run bench:runs`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createEgressPolicy } from '../../adapters/egress.ts';
import { createAdapters } from '../../adapters/index.ts';
import { migrate } from '../../db/migrate.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { startTemporal } from '../../dev/temporal.ts';
import type { PinnedAgent } from '../../domain/ports.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { startTestPlatform } from '../support/platform.ts';
import { runFolderVariable } from '../support/run-folder.ts';
import type { BaselineActivities } from './baseline/workflows.ts';

const ROUNDS = Number(process.argv[2] ?? 7);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const folder = mkdtempSync(join(tmpdir(), 'cadenza-bench-'));
// What the tests' helpers share in a run.
process.env[runFolderVariable] = folder;
const [postgres, temporal] = await Promise.all([startPostgres({ dataDir: join(folder, 'postgres') }), startTemporal({ dataDir: join(folder, 'temporal') })]);
await migrate(postgres.url);

let called: () => void = () => {};
const agentServer = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    called();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
});
await new Promise<void>((resolve) => agentServer.listen(0, '127.0.0.1', resolve));
const agentUrl = `http://127.0.0.1:${(agentServer.address() as AddressInfo).port}`;

const server = { address: temporal.address, namespace: 'default' };
const client = createTemporalClient(server);
const platform = await startTestPlatform({
  // As in production: answers are checked, but not compared field by field.
  strictResponses: false,
  servers: { database: { url: postgres.url, drop: async () => {} }, temporal: { ...server, uiUrl: '', taskQueue: 'cadenza' } },
});
// After the platform, which installs the SDK's runtime.
const connection = await NativeConnection.connect({ address: temporal.address });
const adapters = createAdapters({ egress: createEgressPolicy({ allow: ['127.0.0.0/8'] }) });

const pinned: PinnedAgent = {
  id: 'baseline', owner_id: 'baseline', name: 'echo', version: '1.0.0', type: 'api', execution_type: null, url: null,
  configuration: { endpoint: agentUrl }, input_schema: {}, output_schema: {}, authentication_type: null, authentication_config: null, capabilities_streaming: false,
};
const baselineActivities: BaselineActivities = {
  call: async (step) => {
    const call = { agent: pinned, input: { step }, idempotencyKey: String(step), timeoutMs: 30_000, signal: new AbortController().signal };
    return (await adapters.invoke({ ...call, secret: async () => null, heartbeat: () => {} })).output;
  },
};
const baselineBundle = await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('baseline/workflows.ts', import.meta.url)) });
const baseline = await Worker.create({ connection, taskQueue: 'baseline', activities: { ...baselineActivities }, workflowBundle: baselineBundle });
const baselining = baseline.run();

const builder = await platform.as('builder');
const { body: agent } = await builder.post('/agents', { name: 'echo', type: 'api', version: '1.0.0', visibility: 'private', configuration: { endpoint: agentUrl } });
const workflowOf = async (tasks: unknown[]): Promise<string> => (await builder.post('/workflows', { name: 'bench', definition: { do: tasks } })).body.id;
const step = (i: number) => ({ [`step${i}`]: { call: 'agent', with: { agent: agent.id, input: { step: i } } } });
const steps = (n: number) => Array.from({ length: n }, (_unused, i) => step(i));
const workflows = { 1: await workflowOf(steps(1)), 10: await workflowOf(steps(10)), 100: await workflowOf(steps(100)), ask: await workflowOf([{ ask: { call: 'human', with: { title: 'Go?' } } }, step(0)]) };

let counter = 0;
async function cadenza(n: 1 | 10 | 100): Promise<number> {
  const at = performance.now();
  const { body } = await builder.post(`/workflows/${workflows[n]}/run`, {}, { headers: { prefer: 'wait=60' } });
  if (body.status !== 'completed') throw new Error(JSON.stringify(body.error ?? body.status));
  return performance.now() - at;
}
async function byHand(n: number): Promise<number> {
  const at = performance.now();
  await client.workflow.execute('sequence', { taskQueue: 'baseline', workflowId: `baseline-${counter++}`, args: [n] });
  return performance.now() - at;
}
const nextCall = (): Promise<void> => new Promise((resolve) => (called = resolve));

async function decisionCadenza(): Promise<number> {
  const { body: run } = await builder.post(`/workflows/${workflows.ask}/run`, {});
  let task: { id: string } | undefined;
  while (!task) task = (await builder.get(`/hitl/tasks?run_id=${run.id}`)).body[0];
  await new Promise((resolve) => setTimeout(resolve, 100));
  const reached = nextCall();
  const at = performance.now();
  await Promise.all([reached, (await platform.as('admin')).post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' })]);
  return performance.now() - at;
}
async function decisionByHand(): Promise<number> {
  const handle = await client.workflow.start('askThenCall', { taskQueue: 'baseline', workflowId: `baseline-${counter++}`, args: [] });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const reached = nextCall();
  const at = performance.now();
  await Promise.all([reached, handle.signal('decided')]);
  return performance.now() - at;
}
async function throughput(run: () => Promise<number>, runs: number, atOnce: number): Promise<number> {
  let left = runs;
  const at = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (left-- > 0) await run();
  }));
  return runs / ((performance.now() - at) / 1000);
}

/** Both in turn, so that a machine whose speed drifts hits both alike. */
async function pairs(a: () => Promise<number>, b: () => Promise<number>, rounds: number): Promise<[number, number]> {
  const [as, bs]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    as.push(await a());
    bs.push(await b());
  }
  return [median(as), median(bs)];
}

await Promise.all([cadenza(10), byHand(10), cadenza(1), decisionCadenza()]);
await byHand(100);
const [c10, h10] = await pairs(() => cadenza(10), () => byHand(10), ROUNDS);
const [c100, h100] = await pairs(() => cadenza(100), () => byHand(100), ROUNDS);
const slope = { cadenza: (c100 - c10) / 90, byHand: (h100 - h10) / 90 };
const [dc, dh] = await pairs(decisionCadenza, decisionByHand, ROUNDS * 2);
const [rc, rh] = await pairs(() => throughput(() => cadenza(1), 100, 16), () => throughput(() => byHand(1), 100, 16), 3);

const row = (name: string, ours: number, theirs: number, unit: string, aim: string): void =>
  say(`| ${name} | ${ours.toFixed(2)} ${unit} | ${theirs.toFixed(2)} ${unit} | ${(ours / theirs).toFixed(2)} | ${aim} |`);
say('| | Cadenza | by hand | ratio | aim |\n|---|---|---|---|---|');
row('time per step (slope 10→100)', slope.cadenza, slope.byHand, 'ms', '≤ 1.10');
row('fixed time per run', c10 - 10 * slope.cadenza, h10 - 10 * slope.byHand, 'ms', '');
row('10 steps', c10, h10, 'ms', '');
row('100 steps', c100, h100, 'ms', '');
row('runs/s, 16 at once, one step', rc, rh, '/s', '≥ 0.85');
row('decision → next step', dc, dh, 'ms', '≤ 2');

baseline.shutdown();
await baselining;
await platform.close();
await connection.close();
await client.connection.close();
agentServer.close();
await Promise.all([postgres.stop(), temporal.stop()]);
rmSync(folder, { recursive: true, force: true });
process.exit(0);
