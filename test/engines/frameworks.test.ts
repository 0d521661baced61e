/** Agents of LangGraph's own server and devices behind a real broker, and a worker that is killed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectAsync, type MqttClient } from 'mqtt';
import { createAdapters, createEgressPolicy } from '../../adapters/index.ts';
import type { AgentCall, PartialSink } from '../../domain/ports.ts';
import { agentCall, faultOf } from '../support/agent-call.ts';
import type { Client } from '../support/app.ts';
import { startMosquitto } from '../support/brokers/mosquitto.ts';
import { startLangGraph, type LangGraphServer } from '../support/langgraph/langgraph-server.ts';
import { skip } from '../support/outside.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';

const [graphs, broker] = await Promise.all([startLangGraph(), startMosquitto()]);
let platform: TestPlatform;
let builder: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
});
afterAll(async () => {
  await platform.close();
  if (typeof graphs !== 'string') await graphs.stop();
  if (typeof broker !== 'string') await broker.stop();
});

/** Registers the agents of an example. @returns its definition */
async function install(name: string, configuration: object): Promise<unknown> {
  const path = join(import.meta.dirname, `../../examples/kinds/${name}.json`);
  const { agents, definition } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, any>;
  for (const agent of agents) {
    const body = { ...agent, configuration: { ...agent.configuration, ...configuration } };
    const registered = await builder.post('/agents', body);
    expect(registered.body).toMatchObject({ name: agent.name, warnings: [] });
  }
  return definition;
}

async function decide(run: RunRecord, decision: string, payload?: unknown): Promise<RunRecord> {
  const [task] = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}&status=open`)).body as RunRecord[],
    (tasks) => tasks.length === 1,
  );
  const { status, body } = await builder.post(`/hitl/tasks/${task?.['id']}/decision`, {
    decision,
    ...(payload === undefined ? {} : { payload }),
  });
  expect({ status, body }).toMatchObject({ status: 200 });
  return task ?? {};
}

if (typeof graphs === 'string') skip('agents of LangGraph', graphs);
else withGraphs(graphs);
if (typeof broker === 'string') skip('devices', broker);
else
  describe('a device', () => {
    test('is measured and told what to do, with a person between', async () => {
      const definition = await install('sensor', { broker: `mqtt://127.0.0.1:${broker.port}` });
      const device = await startHeater();
      await device.publishAsync('rooms/east/online', 'online', { retain: true });
      await device.publishAsync('rooms/east/temperature', '{"celsius": 14.5}', { retain: true });
      const started = await startRun(builder, definition, { room: 'east' });
      expect(await decide(started, 'yes')).toMatchObject({ title: 'Heat east? It has 14.5 °C' });
      expect(await endOf(builder, started)).toMatchObject({ status: 'completed', output: { heating: true } });
      await device.publishAsync('rooms/east/online', 'offline', { retain: true });
      expect(await startRun(builder, definition, { room: 'east' }, 30)).toMatchObject({
        status: 'faulted',
        error: { status: 503, detail: expect.stringContaining('The device is away') },
      });
      await device.endAsync();
    });
  });

async function startHeater(): Promise<MqttClient> {
  if (typeof broker === 'string') throw new Error(broker);
  const device = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 });
  device.on('message', (_topic, payload, { properties }) => {
    const { responseTopic = '', correlationData } = properties ?? {};
    const done = JSON.stringify({ heating: JSON.parse(payload.toString()).on });
    if (correlationData) void device.publishAsync(responseTopic, done, { properties: { correlationData } });
  });
  await device.subscribeAsync('rooms/+/heating/set');
  return device;
}

function withGraphs(server: LangGraphServer): void {
  // These tests ask the server for the runs in the threads.
  const kept = { assistant_id: 'steered', keep_threads: true };
  const agent = {
    type: 'api',
    execution_type: 'framework',
    configuration: { framework: 'langgraph', base_url: server.url, ...kept },
  };
  const ask = async (path: string, body?: unknown): Promise<any> =>
    (
      await fetch(server.url + path, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      })
    ).json();
  const invoke = async (call: Partial<AgentCall>) => {
    const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
    try {
      return await createAdapters({ egress }).invoke({ ...agentCall(agent, null), ...call });
    } finally {
      await egress.close();
    }
  };
  const runGraph = (name: string, input: unknown) => ({
    do: [{ work: { call: 'agent', with: { agent: name, input } } }],
  });
  /** The runs of the threads of an agent. */
  const runsOf = async (name: string): Promise<RunRecord[]> => {
    const threads: { thread_id: string }[] = await ask('/threads/search', { metadata: { agent: name } });
    return (await Promise.all(threads.map(({ thread_id: id }) => ask(`/threads/${id}/runs`)))).flat();
  };

  describe('a graph', () => {
    test('talks, shows its words as they come, and its errors are faults', async () => {
      const shown: string[] = [];
      const partial: PartialSink = {
        redactBy: () => undefined,
        output: (text) => void shown.push(text),
        restart: () => undefined,
        progress: (text) => void shown.push(`[${text}]`),
      };
      expect(await invoke({ input: 'Hi', idempotencyKey: 'talk', partial })).toMatchObject({
        output: 'Hello from the graph',
      });
      expect(shown.join('')).toBe('Hello from the graph');
      expect(shown.length).toBeGreaterThan(1);
      expect(
        await faultOf(invoke({ input: { do: 'fail', messages: [] }, idempotencyKey: 'fail' })),
      ).toMatchObject({
        kind: 'communication',
        detail: expect.stringContaining('the tank is empty'),
      });
      const missing = {
        ...agentCall({ ...agent, configuration: { ...agent.configuration, assistant_id: 'none' } }, {}),
      };
      expect(await faultOf(invoke({ ...missing, idempotencyKey: 'missing' }))).toMatchObject({
        kind: 'communication',
      });
    });

    test('asks a person by an interrupt, and goes on with the answer', async () => {
      const definition = await install('graph', { base_url: server.url });
      const painted = await startRun(builder, definition);
      expect(await decide(painted, 'answer', { colour: 'red' })).toMatchObject({ title: 'Which colour?' });
      expect(await endOf(builder, painted)).toMatchObject({
        status: 'completed',
        output: { answer: { colour: 'red' }, steps: 1 },
      });
      const reviewed = await startRun(builder, runGraph('painter', { do: 'review', messages: [] }));
      expect(await decide(reviewed, 'edit', { args: { amount: 4 } })).toMatchObject({
        title: 'Review the call of pay',
      });
      expect(await endOf(builder, reviewed)).toMatchObject({
        output: {
          answer: { decisions: [{ type: 'edit', edited_action: { name: 'pay', args: { amount: 4 } } }] },
        },
      });
      const text = await startRun(builder, runGraph('painter', { do: 'text', messages: [] }));
      await decide(text, 'answer', { text: 'blue' });
      expect(await endOf(builder, text)).toMatchObject({ output: { answer: 'blue' } });
    });

    test('is cancelled with its run', async () => {
      await builder.post('/agents', { ...agent, name: 'waiter', version: '1.0.0', visibility: 'private' });
      const started = await startRun(builder, runGraph('waiter', { do: 'wait', messages: [] }));
      await until(
        () => runsOf('waiter'),
        (runs) => runs.some(({ status }) => status === 'running'),
      );
      await builder.post(`/runs/${started['id']}/cancel`, {});
      expect(await endOf(builder, started)).toMatchObject({ status: 'cancelled' });
      await until(
        () => runsOf('waiter'),
        (runs) => runs.length === 1 && runs[0]?.['status'] === 'interrupted',
      );
    });
  });

  test('a graph and a device have one result each if the worker is killed', async () => {
    if (typeof broker === 'string') return;
    await builder.post('/agents', { ...agent, name: 'slow-graph', version: '1.0.0', visibility: 'private' });
    const topic = 'killed/value';
    await builder.post('/agents', {
      name: 'killed-sensor',
      type: 'sensor',
      version: '1.0.0',
      visibility: 'private',
      configuration: { broker: `mqtt://127.0.0.1:${broker.port}`, topic },
    });
    await platform.stopWorker();
    const worker = await startProgram('worker', platform);
    const [graph, sensor] = [
      await startRun(builder, runGraph('slow-graph', { do: 'slow', messages: [] })),
      await startRun(builder, runGraph('killed-sensor', null)),
    ];
    await until(
      () => runsOf('slow-graph'),
      (runs) => runs.some(({ status }) => status === 'running'),
    );
    await worker.kill();
    await worker.start();
    expect(await endOf(builder, graph)).toMatchObject({ status: 'completed', output: { steps: 1 } });
    expect(await runsOf('slow-graph')).toHaveLength(1);
    const device = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 });
    await device.publishAsync(topic, '7', { retain: true });
    const ended = await endOf(builder, sensor);
    expect(ended).toMatchObject({ status: 'completed', output: 7 });
    await device.endAsync();
    await worker.kill();
    await platform.startWorker();
  });
}
