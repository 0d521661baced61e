/**
 * The worker is killed during calls that last: a stream of gRPC, a program of MCP, models that look and
 * listen. Nothing of the first call is left, the call is repeated with its key, and the run has one result.
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
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';

let platform: TestPlatform;
let builder: Client;
let shop: ShopServer;
let audio: AudioServer;
let eyes: TestServer;
let see = (): void => {};
let worker: Program;
const folder = mkdtempSync(join(tmpdir(), 'long-calls-'));
const mark = join(folder, 'pid');

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.stopWorker();
  builder = await platform.as('builder');
  shop = await startShop({ reflection: 'v1' });
  audio = await startAudioServer();
  const seen = new Promise<void>((resolve) => (see = resolve));
  eyes = await startServer(async (_, response) => {
    await seen;
    const message = { role: 'assistant', content: 'A cat.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    sendJson(response, { id: 'c', created: 1, model: 'm', choices, usage: { total_tokens: 9 } });
  });
  const program = join(import.meta.dirname, '../support/mcp-server.ts');
  const argv = [process.execPath, '--no-warnings', program, '--stdio'];
  const commands = { tests: { argv, environment: ['WAIT_MARK'] } };
  worker = await startProgram('worker', platform, { MCP_COMMANDS: JSON.stringify(commands) });
});
afterAll(async () => {
  await worker.kill();
  await Promise.all([shop.close(), audio.close(), eyes.close()]);
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

test('kill -9 while models look and listen leaves one result of each and repeats no part', async () => {
  const model = { base_url: audio.url, model: 'm' };
  const models = { ...model, base_url: `${eyes.url}/v1` };
  await registeredAgent(builder, { name: 'eyes', type: 'vision', configuration: models });
  const listening = { ...model, task: 'transcribe', part_seconds: 10 };
  await registeredAgent(builder, { name: 'ears', type: 'audio', configuration: listening });
  const url = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
  const png = url('image/png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
  const wav = url('audio/wav', wavOf(0, 25 * SAMPLE_RATE));
  audio.holdFrom(2);
  const looking = await startRun(
    builder,
    { do: [{ look: agentTask('eyes', { input: { image: png } }) }] },
    {},
    0,
  );
  const hearing = await startRun(
    builder,
    { do: [{ hear: agentTask('ears', { input: { audio: wav } }) }] },
    {},
    0,
  );
  await until(async () => eyes.seen.length === 1 && audio.seen.length === 2, Boolean);
  await worker.kill();
  await until(async () => audio.left() === 1, Boolean);
  await worker.start();
  await until(async () => eyes.seen.length === 2 && audio.seen.length === 3, Boolean);
  see();
  audio.release();
  const [looked, heard] = [await endOf(builder, looking), await endOf(builder, hearing)];
  expect(looked).toMatchObject({ status: 'completed', output: { text: 'A cat.' }, usage: { requests: 1 } });
  expect(heard).toMatchObject({
    status: 'completed',
    output: { text: '0-999 1000-1999 2000-2499', duration: 25 },
    usage: { requests: 3, audio_seconds: 25 },
  });
  expect(new Set(eyes.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  // The first part is not sent again.
  expect(audio.seen.map(({ headers }) => String(headers['idempotency-key'])[0])).toEqual([
    '1',
    '2',
    '2',
    '3',
  ]);
  for (const run of [looked, heard]) {
    const types = (await readLog(builder, run.id)).map(({ type }) => type);
    expect(types.filter((type) => type.includes('.task.'))).toEqual([EVENT.taskStarted, EVENT.taskCompleted]);
  }
});

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
