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
import type { Client } from '@temporalio/client';
import { migrate } from '../../../db/migrate.ts';
import { startPostgres } from '../../../dev/postgres.ts';
import { startTemporal } from '../../../dev/temporal.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { CALL_TIMEOUT_MS } from '../../../temporal/gateway.ts';
import { agentTask, humanTask } from '../../support/definitions.ts';
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { runFolderVariable } from '../../support/run-folder.ts';
import { BASELINE_QUEUE, startBaseline } from '../baseline/worker.ts';

/**
 * Calls as most definitions have them take the short lane; within a task with a timeout they are ordinary.
 */
export type Lane = 'ordinary' | 'short';
export type Steps = 1 | 10 | 100;

export interface World {
  platform: TestPlatform;
  client: Client;
  temporalAddress: string;
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
    temporalCallMs: CALL_TIMEOUT_MS,
    keepsCallers: true,
    servers: {
      database: { url: postgres.url, drop: async () => {} },
      temporal: { ...server, uiUrl: '', taskQueue: 'cadenza' },
    },
  });
  const stopBaseline = await startBaseline(temporal.address, agent.url, BASELINE_QUEUE);
  return {
    platform,
    client,
    temporalAddress: temporal.address,
    agent,
    pids: { postgres: postgres.pid, temporal: temporal.pid },
    ...(await ours(platform, agent)),
    ...byHand(client, agent),
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
  const step = (i: number) => ({ [`step${i}`]: agentTask(registered.id, { input: { step: i } }) });
  const workflowsOf = async (lane: Lane) => {
    const ofSteps = (n: number) => {
      const steps = Array.from({ length: n }, (_unused, i) => step(i));
      return workflowOf(
        lane === 'short' ? steps : [{ all: { do: steps, timeout: { after: { hours: 1 } } } }],
      );
    };
    return { 1: await ofSteps(1), 10: await ofSteps(10), 100: await ofSteps(100) };
  };
  const workflows = { ordinary: await workflowsOf('ordinary'), short: await workflowsOf('short') };
  const asking = await workflowOf([{ ask: humanTask('Go?') }, step(0)]);
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
    startCadenza: () => timeToCall(agent, () => builder.post(`/workflows/${workflows.short[1]}/run`, {})),
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

export type ByHand = Pick<World, 'byHand' | 'decisionByHand' | 'startByHand' | 'listByHand'>;

export function byHand(client: Client, agent: Agent, taskQueue = BASELINE_QUEUE): ByHand {
  const options = () => ({ taskQueue, workflowId: `baseline-${counter++}` });
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
