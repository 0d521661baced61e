/**
 * Cadenza beside a hand-written Temporal workflow with the same calls of the same agent, on the same durable
 * servers, in one process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createEgressPolicy } from '../../../adapters/egress/create-egress-policy.ts';
import { createAdapters } from '../../../adapters/index.ts';
import { migrate } from '../../../db/migrate.ts';
import { startPostgres } from '../../../dev/postgres.ts';
import { startTemporal } from '../../../dev/temporal.ts';
import type { PinnedAgent } from '../../../domain/ports.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { agentTask, humanTask } from '../../support/definitions.ts';
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { runFolderVariable } from '../../support/run-folder.ts';
import type { BaselineActivities } from '../baseline/workflows.ts';

/** Calls without a timeout are ordinary ones; short calls have one of at most 5 s. */
export type Lane = 'ordinary' | 'short';
export type Steps = 1 | 10 | 100;

export interface World {
  platform: TestPlatform;
  client: Client;
  agent: Agent;
  /** Process ids of the servers. */
  pids: { postgres: number; temporal: number };
  /** One run from the request to its end. @returns milliseconds */
  cadenza(lane: Lane, steps: Steps): Promise<number>;
  /** The same number of calls in the hand-written workflow, as activities or as local ones. */
  byHand(workflow: 'sequence' | 'localSequence', steps: number): Promise<number>;
  /** From a decision (a bare signal) to the agent's call of the next step. */
  decisionCadenza(): Promise<number>;
  decisionByHand(): Promise<number>;
  /** From the request (the client's call) to the agent's first call. */
  startCadenza(): Promise<number>;
  startByHand(): Promise<number>;
  /** Starts a run that waits for a person. @returns the id of its human task */
  waitingRun(): Promise<string>;
  /** Reads the newest runs, in pages as large as the API allows. @returns how many it got */
  listCadenza(count: number): Promise<number>;
  listByHand(count: number): Promise<number>;
  stop(): Promise<void>;
}

/** Stops the world also if the work fails. */
export async function inWorld<T>(work: (world: World) => Promise<T>): Promise<T> {
  const world = await startWorld();
  try {
    return await work(world);
  } finally {
    await world.stop();
  }
}

export async function startWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-bench-'));
  // State that the helpers of the tests share within a run.
  process.env[runFolderVariable] = folder;
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startTemporal({ dataDir: join(folder, 'temporal') }),
  ]);
  await migrate(postgres.url);
  const agent = await startAgent();
  const server = { address: temporal.address, namespace: 'default' };
  const client = createTemporalClient(server);
  const platform = await startTestPlatform({
    // As in production.
    strictResponses: false,
    keepsCallers: true,
    servers: {
      database: { url: postgres.url, drop: async () => {} },
      temporal: { ...server, uiUrl: '', taskQueue: 'cadenza' },
    },
  });
  const stopBaseline = await startBaseline(temporal.address, agent.url);
  return {
    platform,
    client,
    agent,
    pids: { postgres: postgres.pid, temporal: temporal.pid },
    ...(await ours(platform, agent)),
    ...theirs(client, agent),
    stop: async () => {
      await stopBaseline();
      await platform.close();
      await client.connection.close();
      agent.close();
      await Promise.all([postgres.stop(), temporal.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Agent {
  url: string;
  /** Resolves with the agent's next call. */
  nextCall(): Promise<void>;
  close(): void;
}

async function startAgent(): Promise<Agent> {
  let called: () => void = () => {};
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      called();
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextCall: () => new Promise((resolve) => (called = resolve)),
    close: () => void server.close(),
  };
}

/** The worker of the hand-written workflow. @returns what stops it */
async function startBaseline(address: string, endpoint: string): Promise<() => Promise<void>> {
  // After the platform, which installs the SDK's runtime.
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
    taskQueue: 'baseline',
    activities: { ...activities },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('../baseline/workflows.ts', import.meta.url)),
    }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

type Ours = Pick<World, 'cadenza' | 'decisionCadenza' | 'startCadenza' | 'waitingRun' | 'listCadenza'>;

async function ours(platform: TestPlatform, agent: Agent): Promise<Ours> {
  const builder = await platform.as('builder');
  const admin = await platform.as('admin');
  const { body: registered } = await builder.post('/agents', {
    name: 'echo',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: agent.url },
  });
  const workflowOf = async (tasks: unknown[]): Promise<string> =>
    (await builder.post('/workflows', { name: 'bench', definition: { do: tasks } })).body.id;
  const step = (lane: Lane, i: number) => ({
    [`step${i}`]: agentTask(registered.id, {
      input: { step: i },
      ...(lane === 'short' ? { timeout: { seconds: 5 } } : {}),
    }),
  });
  const workflowsOf = async (lane: Lane) => {
    const ofSteps = (n: number) => workflowOf(Array.from({ length: n }, (_unused, i) => step(lane, i)));
    return { 1: await ofSteps(1), 10: await ofSteps(10), 100: await ofSteps(100) };
  };
  const workflows = { ordinary: await workflowsOf('ordinary'), short: await workflowsOf('short') };
  const asking = await workflowOf([{ ask: humanTask('Go?') }, step('ordinary', 0)]);
  const waitingRun = async (): Promise<string> => {
    const { body: run } = await builder.post(`/workflows/${asking}/run`, {});
    for (;;) {
      const [task] = (await builder.get(`/hitl/tasks?run_id=${run.id}`)).body;
      if (task) return task.id;
      await pause(20);
    }
  };
  return {
    async cadenza(lane, steps) {
      const at = performance.now();
      const { body } = await builder.post(
        `/workflows/${workflows[lane][steps]}/run`,
        {},
        { headers: { prefer: 'wait=60' } },
      );
      if (body.status !== 'completed') throw new Error(JSON.stringify(body.error ?? body.status));
      return performance.now() - at;
    },
    waitingRun,
    async decisionCadenza() {
      const task = await waitingRun();
      await pause(100);
      return timeToCall(agent, () => admin.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' }));
    },
    startCadenza: () => timeToCall(agent, () => builder.post(`/workflows/${workflows.ordinary[1]}/run`, {})),
    async listCadenza(count) {
      let found = 0;
      for (let next = '/runs?limit=200'; next !== '' && found < count;) {
        const { body, headers } = await builder.get(next);
        found += body.length;
        next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '';
        next = next.replace(/^https?:\/\/[^/]+/, '');
      }
      return found;
    },
  };
}

let counter = 0;

type Theirs = Pick<World, 'byHand' | 'decisionByHand' | 'startByHand' | 'listByHand'>;

function theirs(client: Client, agent: Agent): Theirs {
  const options = () => ({ taskQueue: 'baseline', workflowId: `baseline-${counter++}` });
  return {
    async byHand(workflow, steps) {
      const at = performance.now();
      await client.workflow.execute(workflow, { ...options(), args: [steps] });
      return performance.now() - at;
    },
    async decisionByHand() {
      const handle = await client.workflow.start('askThenCall', { ...options(), args: [] });
      await pause(100);
      return timeToCall(agent, () => handle.signal('decided'));
    },
    startByHand: () =>
      timeToCall(agent, () => client.workflow.start('sequence', { ...options(), args: [1] })),
    async listByHand(count) {
      let found = 0;
      const listed = client.workflow.list({ pageSize: count })[Symbol.asyncIterator]();
      while (found < count && !(await listed.next()).done) found++;
      return found;
    },
  };
}

/** From `act` to the agent's next call. */
export async function timeToCall(agent: Agent, act: () => Promise<unknown>): Promise<number> {
  const reached = agent.nextCall();
  const at = performance.now();
  let ms = 0;
  await Promise.all([reached.then(() => (ms = performance.now() - at)), act()]);
  return ms;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
