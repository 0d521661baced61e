/**
 * The worker is killed during calls that last: a stream of gRPC, a program of MCP, agents of all kinds that
 * need no engine. Nothing of the first call is left, the call is repeated with its key or followed, and the
 * run has one result.
 *
 * Elsewhere: containers in test/engines/containers.test.ts; LangGraph's own server and a broker of its own in
 * test/engines/frameworks.test.ts; models with tools in tool-loops.test.ts; external workers, long jobs of
 * `api`, and every binding of A2A in remote-task.test.ts.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../contracts/run-events.ts';
import { registeredAgent } from '../support/agent-body.ts';
import type { Client } from '../support/app.ts';
import { SAMPLE_RATE, startAudioServer, wavOf, type AudioServer } from '../support/audio-server.ts';
import { agentTask } from '../support/definitions.ts';
import { startShop, type ShopServer } from '../support/grpc-server.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { startMcpServer, type McpTestServer } from '../support/mcp-server.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';
import { ANSWER, KEY, type Counterpart } from '../integration/adapters/contract/counterpart.ts';
import { KINDS } from '../integration/adapters/contract/kinds.ts';

let platform: TestPlatform;
let builder: Client;
let shop: ShopServer;
let audio: AudioServer;
let tools: McpTestServer;
let slow: TestServer;
let goOn = (): void => {};
const counterparts: Counterpart[] = [];
let worker: Program;
const folder = mkdtempSync(join(tmpdir(), 'long-calls-'));
const mark = join(folder, 'pid');

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.stopWorker();
  builder = await platform.as('builder');
  shop = await startShop({ reflection: 'v1' });
  audio = await startAudioServer();
  tools = await startMcpServer();
  const done = new Promise<void>((resolve) => (goOn = resolve));
  slow = await startServer(async (_, response) => {
    await done;
    sendJson(response, { text: ANSWER });
  });
  const program = join(import.meta.dirname, '../support/mcp-server.ts');
  const argv = [process.execPath, '--no-warnings', program, '--stdio'];
  const commands = { tests: { argv, environment: ['WAIT_MARK'] } };
  worker = await startProgram('worker', platform, { MCP_COMMANDS: JSON.stringify(commands) });
});
afterAll(async () => {
  await worker.kill();
  await Promise.all([shop, audio, tools, slow, ...counterparts].map((one) => one.close()));
  await platform.close();
  rmSync(folder, { recursive: true });
});

const definition = (call: Record<string, unknown>) => ({ do: [{ far: call }] });
const follow = {
  call: 'grpc',
  with: {
    service: { name: 'shop.v1.Shop', host: '127.0.0.1', port: 0 },
    method: 'Follow',
    arguments: { count: 2, forever: true },
  },
};
const wait = {
  call: 'mcp',
  with: {
    method: 'tools/call',
    parameters: { name: 'wait', arguments: {} },
    transport: { stdio: { command: 'tests', environment: { WAIT_MARK: mark } } },
  },
};

test('kill -9 of the worker leaves no connection and no program, and one result of each call', async () => {
  follow.with.service.port = shop.port;
  const following = await startRun(builder, definition(follow), {}, 0);
  const waiting = await startRun(builder, definition(wait), {}, 0);
  await until(async () => shop.following.begun === 1 && pidOf(mark) > 0, Boolean);
  const first = pidOf(mark);
  rmSync(mark);
  await worker.kill();
  await until(async () => shop.following.cancelled === 1 && !isAlive(first), Boolean);
  await worker.start();
  await until(async () => shop.following.begun === 2 && pidOf(mark) > 0, Boolean);
  const second = pidOf(mark);

  shop.release();
  const { status, output } = await endOf(builder, following);
  expect({ status, output }).toEqual({
    status: 'completed',
    output: [1, 2].map((n) => ({ displayName: `item ${n}`, price: String(n), size: 'SIZE_UNKNOWN' })),
  });
  const keys = shop.seen.map(({ metadata }) => String(metadata.get('idempotency-key')));
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
  const types = (await readLog(builder, following.id)).map(({ type }) => type);
  expect(types.filter((type) => type.includes('.task.'))).toEqual([EVENT.taskStarted, EVENT.taskCompleted]);

  expect((await builder.post(`/runs/${waiting.id}/cancel`, {})).status).toBeLessThan(300);
  expect((await endOf(builder, waiting)).status).toBe('cancelled');
  await until(async () => !isAlive(second), Boolean);
});

/** A call that its counterpart holds until `answer`. */
interface HeldCall {
  kind: string;
  run: RunRecord;
  /** How many attempts the counterpart has got, and the key of each. */
  keys(): string[];
  /** How many of them it knows to be given up. */
  left(): number;
  /**
   * What a repeat does: calls again, after the counterpart has seen the lost connection (`again`) or without
   * that (`unseen`), or goes on with what the lost attempt began (`follow`).
   */
  repeat: 'again' | 'unseen' | 'follow';
  answer(): void;
  /** In the output's JSON. */
  output: string;
}

test('kill -9 during a call of each kind leaves nothing behind, and one result of each', async () => {
  const calls = [...(await holdKinds()), await holdRecording(), await holdTool(), await holdWorkflow()];
  const attempts = (repeats: string[], count: number) =>
    until(
      async () =>
        calls
          .filter(({ repeat }) => repeats.includes(repeat))
          .map(({ kind, keys }) => ({ kind, begun: keys().length })),
      (all) => all.every(({ begun }) => begun === count),
    );
  await attempts(['again', 'unseen', 'follow'], 1);
  await worker.kill();
  await until(
    async () =>
      calls.filter(({ repeat }) => repeat === 'again').map(({ kind, left }) => ({ kind, left: left() })),
    (all) => all.every(({ left }) => left === 1),
  );
  await worker.start();
  await attempts(['again', 'unseen'], 2);
  for (const { kind, run, answer, keys, left, repeat, output: said } of calls) {
    answer();
    const { status, output, error } = await endOf(builder, run);
    const types = (await readLog(builder, run['id'])).map(({ type }) => type);
    expect({
      kind,
      status,
      error,
      output: JSON.stringify(output),
      types: types.filter((type) => type.includes('.task.')),
      keys: new Set(keys()).size,
      left: left(),
    }).toEqual({
      kind,
      status: 'completed',
      error: null,
      output: expect.stringContaining(said),
      types: [EVENT.taskStarted, EVENT.taskCompleted],
      keys: 1,
      left: repeat === 'again' ? 1 : 0,
    });
  }
  // The first part of the recording is not sent again.
  const parts = audio.seen.map(({ headers }) => String(headers['idempotency-key'])[0]);
  expect(parts).toEqual(['1', '2', '2', '3']);
  // The lost call was ended with its session.
  expect({ ...tools.waiting, sessions: tools.sessions.size }).toMatchObject({ cancelled: 1, sessions: 0 });
  const workflow = calls.find(({ kind }) => kind === 'workflow');
  const children = (await builder.get(`/runs?parent_run_id=${workflow?.run['id']}`)).body as RunRecord[];
  expect(children.map(({ status }) => status)).toEqual(['completed']);
});

const ask = (agent: string, input: unknown): Promise<RunRecord> =>
  startRun(builder, { do: [{ ask: agentTask(agent, { input }) }] }, {}, 0);

/** All kinds that pass the contract of adapters. */
async function holdKinds(): Promise<HeldCall[]> {
  await builder.put('/secrets/CONTRACT_KEY', { value: KEY });
  return Promise.all(
    KINDS.map(async ({ kind, start }): Promise<HeldCall> => {
      const counterpart = await start();
      counterparts.push(counterpart);
      counterpart.behave('hold');
      await registeredAgent(builder, { ...counterpart.agent, name: `held-${kind}` });
      return {
        kind,
        run: await ask(`held-${kind}`, counterpart.input),
        keys: () => counterpart.calls.map(({ key }) => key),
        left: () => counterpart.left(),
        repeat: ['a2a', 'framework'].includes(kind) ? 'follow' : 'again',
        answer: () => counterpart.release(),
        output: ANSWER,
      };
    }),
  );
}

/** A recording of three parts, of which the second is held. */
async function holdRecording(): Promise<HeldCall> {
  const configuration = { base_url: audio.url, model: 'm', task: 'transcribe', part_seconds: 10 };
  await registeredAgent(builder, { name: 'ears', type: 'audio', configuration });
  audio.holdFrom(2);
  const wav = `data:audio/wav;base64,${wavOf(0, 25 * SAMPLE_RATE).toString('base64')}`;
  return {
    kind: 'audio in parts',
    run: await ask('ears', { audio: wav }),
    keys: () =>
      audio.seen.map(({ headers }) => String(headers['idempotency-key'])).filter((key) => key[0] === '2'),
    left: () => audio.left(),
    repeat: 'again',
    answer: () => audio.release(),
    output: '"text":"0-999 1000-1999 2000-2499"',
  };
}

/** A tool of an MCP server: a session outlives its connection. */
async function holdTool(): Promise<HeldCall> {
  const configuration = { framework: 'mcp', base_url: `${tools.url}/mcp`, tool: 'wait' };
  await registeredAgent(builder, { name: 'tool', execution_type: 'framework', configuration });
  return {
    kind: 'framework mcp',
    run: await ask('tool', {}),
    // All requests of all attempts carry the key of the call.
    keys() {
      const keys = [...new Set(tools.requests.map(({ headers }) => String(headers['idempotency-key'])))];
      return Array.from({ length: tools.waiting.begun }, (_unused, i) => keys[i] ?? keys[0] ?? '');
    },
    left: () => 0,
    repeat: 'unseen',
    answer: () => tools.release(),
    output: 'waited',
  };
}

/** The child run is under way, in a call of its own. */
async function holdWorkflow(): Promise<HeldCall> {
  await registeredAgent(builder, { name: 'slow', configuration: { endpoint: slow.url } });
  const definition = { do: [{ wait: agentTask('slow', { input: {} }) }] };
  const { body } = await builder.post('/workflows', { name: 'child', definition });
  const configuration = { workflow_id: body.id };
  await registeredAgent(builder, { name: 'parent', type: 'workflow', configuration });
  return {
    kind: 'workflow',
    run: await ask('parent', {}),
    keys: () => slow.seen.map(({ headers }) => String(headers['idempotency-key'])),
    left: () => 0,
    repeat: 'unseen',
    answer: () => goOn(),
    output: ANSWER,
  };
}

function pidOf(path: string): number {
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
