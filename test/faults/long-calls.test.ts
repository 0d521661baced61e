/**
 * The worker is killed during calls that last: a stream of gRPC, a program of MCP. Nothing of the first call
 * is left, the call is repeated with its key, and the run has one result of it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../contracts/run-events.ts';
import type { Client } from '../support/app.ts';
import { startShop, type ShopServer } from '../support/grpc-server.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { readLog } from '../support/run-log.ts';

let platform: TestPlatform;
let builder: Client;
let shop: ShopServer;
let worker: Program;
const folder = mkdtempSync(join(tmpdir(), 'long-calls-'));
const mark = join(folder, 'pid');

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.stopWorker();
  builder = await platform.as('builder');
  shop = await startShop({ reflection: 'v1' });
  const program = join(import.meta.dirname, '../support/mcp-server.ts');
  const argv = [process.execPath, '--no-warnings', program, '--stdio'];
  const commands = { tests: { argv, environment: ['WAIT_MARK'] } };
  worker = await startProgram('worker', platform, { MCP_COMMANDS: JSON.stringify(commands) });
});
afterAll(async () => {
  await worker.kill();
  await shop.close();
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
