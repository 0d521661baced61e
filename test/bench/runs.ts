/**
 * Cadenza beside a hand-written Temporal workflow with the same calls of the same agent, on the same servers,
 * in one process: only the ratios are meaningful. `npm run bench:runs`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createEgressPolicy } from '../../adapters/egress/create-egress-policy.ts';
import { createAdapters } from '../../adapters/index.ts';
import { migrate } from '../../db/migrate.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { startTemporal } from '../../dev/temporal.ts';
import type { PinnedAgent } from '../../domain/ports.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { startTestPlatform } from '../support/platform.ts';
import { runFolderVariable } from '../support/run-folder.ts';
import type { BaselineActivities } from './baseline/workflows.ts';
import { agentTask, humanTask } from '../support/definitions.ts';

const ROUNDS = Number(process.argv[2] ?? 7);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const folder = mkdtempSync(join(tmpdir(), 'cadenza-bench-'));
// State that the helpers of the tests share within a run.
process.env[runFolderVariable] = folder;
const [postgres, temporal] = await Promise.all([
  startPostgres({ dataDir: join(folder, 'postgres') }),
  startTemporal({ dataDir: join(folder, 'temporal') }),
]);
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
  // As in production: responses are checked, but not field by field.
  strictResponses: false,
  servers: {
    database: { url: postgres.url, drop: async () => {} },
    temporal: { ...server, uiUrl: '', taskQueue: 'cadenza' },
  },
});
// After the platform, which installs the SDK's runtime.
const connection = await NativeConnection.connect({ address: temporal.address });
const adapters = createAdapters({ egress: createEgressPolicy({ allow: ['127.0.0.0/8'] }) });

const pinned: PinnedAgent = {
  id: 'baseline',
  owner_id: 'baseline',
  name: 'echo',
  version: '1.0.0',
  type: 'api',
  execution_type: null,
  url: null,
  configuration: { endpoint: agentUrl },
  input_schema: {},
  output_schema: {},
  authentication_type: null,
  authentication_config: null,
  capabilities_streaming: false,
};
const baselineActivities: BaselineActivities = {
  call: async (step) => {
    const call = {
      agent: pinned,
      input: { step },
      idempotencyKey: String(step),
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    };
    return (await adapters.invoke({ ...call, secret: async () => null })).output;
  },
};
const baselineBundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('baseline/workflows.ts', import.meta.url)),
});
const baseline = await Worker.create({
  connection,
  taskQueue: 'baseline',
  activities: { ...baselineActivities },
  workflowBundle: baselineBundle,
});
const baselining = baseline.run();

const builder = await platform.as('builder');
const { body: agent } = await builder.post('/agents', {
  name: 'echo',
  type: 'api',
  version: '1.0.0',
  visibility: 'private',
  configuration: { endpoint: agentUrl },
});
const workflowOf = async (tasks: unknown[]): Promise<string> =>
  (await builder.post('/workflows', { name: 'bench', definition: { do: tasks } })).body.id;
/** Calls without a timeout are ordinary ones; short calls have one of at most 5 s. */
type Lane = 'ordinary' | 'short';
const step = (lane: Lane, i: number) => ({
  [`step${i}`]: agentTask(agent.id, {
    input: { step: i },
    ...(lane === 'short' ? { timeout: { seconds: 5 } } : {}),
  }),
});
const steps = (lane: Lane, n: number) => Array.from({ length: n }, (_unused, i) => step(lane, i));
const workflowsOf = async (lane: Lane) => ({
  1: await workflowOf(steps(lane, 1)),
  10: await workflowOf(steps(lane, 10)),
  100: await workflowOf(steps(lane, 100)),
});
const workflows = {
  ordinary: await workflowsOf('ordinary'),
  short: await workflowsOf('short'),
  ask: await workflowOf([{ ask: humanTask('Go?') }, step('ordinary', 0)]),
};

let counter = 0;
async function cadenza(lane: Lane, n: 1 | 10 | 100): Promise<number> {
  const at = performance.now();
  const { body } = await builder.post(
    `/workflows/${workflows[lane][n]}/run`,
    {},
    { headers: { prefer: 'wait=60' } },
  );
  if (body.status !== 'completed') throw new Error(JSON.stringify(body.error ?? body.status));
  return performance.now() - at;
}
async function byHand(workflow: 'sequence' | 'localSequence', n: number): Promise<number> {
  const at = performance.now();
  await client.workflow.execute(workflow, {
    taskQueue: 'baseline',
    workflowId: `baseline-${counter++}`,
    args: [n],
  });
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
  await Promise.all([
    reached,
    (await platform.as('admin')).post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' }),
  ]);
  return performance.now() - at;
}
async function decisionByHand(): Promise<number> {
  const handle = await client.workflow.start('askThenCall', {
    taskQueue: 'baseline',
    workflowId: `baseline-${counter++}`,
    args: [],
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const reached = nextCall();
  const at = performance.now();
  await Promise.all([reached, handle.signal('decided')]);
  return performance.now() - at;
}
async function throughput(run: () => Promise<number>, runs: number, atOnce: number): Promise<number> {
  let left = runs;
  const at = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await run();
    }),
  );
  return runs / ((performance.now() - at) / 1000);
}

/** Alternates all, so that a change in the machine's speed affects all alike. @returns the medians */
async function inTurns<Name extends string>(
  work: Record<Name, () => Promise<number>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(work) as Name[];
  const measured = new Map(names.map((name) => [name, [] as number[]]));
  for (let i = 0; i < rounds; i++) for (const name of names) measured.get(name)?.push(await work[name]());
  return Object.fromEntries(names.map((name) => [name, median(measured.get(name) ?? [])])) as Record<
    Name,
    number
  >;
}
const runsOf = (n: 1 | 10 | 100) => ({
  ordinary: () => cadenza('ordinary', n),
  short: () => cadenza('short', n),
  activity: () => byHand('sequence', n),
  local: () => byHand('localSequence', n),
});
const throughputs = Object.fromEntries(
  Object.entries(runsOf(1)).map(([name, run]) => [name, () => throughput(run, 100, 16)]),
) as Record<keyof ReturnType<typeof runsOf>, () => Promise<number>>;

await inTurns(runsOf(10), 1);
await Promise.all([decisionCadenza(), byHand('sequence', 100)]);
const ten = await inTurns(runsOf(10), ROUNDS);
const hundred = await inTurns(runsOf(100), ROUNDS);
const slope = (name: keyof typeof ten): number => (hundred[name] - ten[name]) / 90;
const decision = await inTurns({ cadenza: decisionCadenza, byHand: decisionByHand }, ROUNDS * 2);
const perSecond = await inTurns(throughputs, 3);

const row = (name: string, ours: number, theirs: number, unit: string, aim: string): void =>
  say(
    `| ${name} | ${ours.toFixed(2)} ${unit} | ${theirs.toFixed(2)} ${unit} | ` +
      `${(ours / theirs).toFixed(2)} | ${aim} |`,
  );
const between = 'time per step (slope 10→100)';
say('| | Cadenza | by hand | ratio | aim |\n|---|---|---|---|---|');
row(`${between}, short call : activity`, slope('short'), slope('activity'), 'ms', '≤ 0.50');
row(`${between}, short call : local activity`, slope('short'), slope('local'), 'ms', '≤ 2');
row(`${between}, ordinary call : activity`, slope('ordinary'), slope('activity'), 'ms', '≤ 1.15');
for (const [lane, theirs] of [
  ['short', 'local'],
  ['ordinary', 'activity'],
] as const) {
  row(`10 steps, ${lane} : ${theirs}`, ten[lane], ten[theirs], 'ms', '');
  row(`100 steps, ${lane} : ${theirs}`, hundred[lane], hundred[theirs], 'ms', '');
}
row('runs/s, 16 at once, one short step : activity', perSecond.short, perSecond.activity, '/s', '');
row('runs/s, 16 at once, one step : activity', perSecond.ordinary, perSecond.activity, '/s', '≥ 0.85');
row('decision → next step', decision.cadenza, decision.byHand, 'ms', '≤ 2');

baseline.shutdown();
await baselining;
await platform.close();
await connection.close();
await client.connection.close();
agentServer.close();
await Promise.all([postgres.stop(), temporal.stop()]);
rmSync(folder, { recursive: true, force: true });
process.exit(0);
