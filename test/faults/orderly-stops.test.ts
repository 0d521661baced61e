/** What is told to stop ends with 0 in time, whatever its networks do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { registeredAgent } from '../support/agent-body.ts';
import type { Client } from '../support/app.ts';
import { agentTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
import { allowedMs } from '../support/machine.ts';
import { endOf, startRun, startTestPlatform, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { startLink, type Link, type LinkState } from './long-run/link.ts';

/** Requests have 10 s, work of a worker 15 s; then connections have 2 or 5 s. */
const API_MS = 14_000;
const WORKER_MS = 21_000;
const SILENT: LinkState = { kind: 'silent' };
const SLOW: LinkState = { kind: 'slow', delayMs: 700 };

let platform: TestPlatform;
let builder: Client;
let counterpart: TestServer;
let answer: () => void;
let called: Promise<void>;
let toDatabase: Link;
let toTemporal: Link;
let settings: Record<string, string>;
let program: Program;

beforeAll(async () => {
  platform = await startTestPlatform({ worker: false });
  builder = await platform.as('builder');
});
beforeEach(async () => {
  const url = new URL(platform.databaseUrl);
  const { hostname: host, port } = url;
  const [temporalHost = '', temporalPort] = platform.temporal.address.split(':');
  toDatabase = await startLink(() => ({ host, port: Number(port) }));
  toTemporal = await startLink(() => ({ host: temporalHost, port: Number(temporalPort) }));
  url.host = `127.0.0.1:${toDatabase.port}`;
  settings = { DATABASE_URL: url.href, TEMPORAL_ADDRESS: `127.0.0.1:${toTemporal.port}` };
  const answered = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  answer = answered.resolve;
  called = begun.promise;
  counterpart = await startServer(async (_request, response) => {
    begun.resolve();
    await answered.promise;
    sendJson(response, { done: true });
  });
});
afterEach(async () => {
  await program.kill();
  answer();
  await Promise.all([toDatabase.close(), toTemporal.close(), counterpart.close()]);
});
afterAll(() => platform.close());

/** Stops the program. @returns how it ended, and whether in time */
async function stopped(limitMs: number): Promise<unknown> {
  const begun = performance.now();
  const code = await program.stop();
  const tookMs = performance.now() - begun;
  return { code, tookMs: tookMs < limitMs + allowedMs(1_000) ? 'in time' : tookMs };
}

const IN_ORDER = { code: 0, tookMs: 'in time' };

test.each([
  ['a slow PostgreSQL', () => toDatabase, SLOW],
  ['a silent PostgreSQL', () => toDatabase, SILENT],
] as const)('an API with requests and streams, at %s', async (_what, link, state) => {
  program = await startProgram('api', platform, settings);
  const { token } = await platform.user('builder');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const definition = { document: { dsl: '1.0.3', namespace: 't', name: 'w', version: '1.0.0' } };
  let isOn = true;
  const again = async (path: string, more: object = {}): Promise<void> => {
    while (isOn) {
      await fetch(`${program.url}${path}`, { headers, ...more }).then(
        (got) => got.text(),
        () => {},
      );
      await sleep(20);
    }
  };
  const body = JSON.stringify({ definition: { ...definition, do: [{ set: { set: {} } }] } });
  const clients = ['/runs', '/events', '/workflows', '/events'].map((path) => again(path));
  clients.push(again('/workflows/validate', { method: 'POST', body }));
  await sleep(500);
  link().set(state);
  await sleep(500);
  const end = await stopped(API_MS);
  isOn = false;
  await Promise.all(clients);
  expect(end).toEqual(IN_ORDER);
});

async function callUnderWay() {
  program = await startProgram('worker', platform, settings);
  const agent = await registeredAgent(builder, {
    name: `held-${counterpart.port}`,
    configuration: { endpoint: counterpart.url },
  });
  const run = await startRun(builder, { do: [{ call: agentTask(agent.id, { timeout: { minutes: 2 } }) }] });
  await called;
  return run;
}

test.each([
  ['a silent PostgreSQL', () => [toDatabase], SILENT],
  ['a silent Temporal', () => [toTemporal], SILENT],
] as const)('a worker with a call, at %s', async (_what, links, state) => {
  await callUnderWay();
  for (const link of links()) link.set(state);
  expect(await stopped(WORKER_MS)).toEqual(IN_ORDER);
});

test('a worker that is frozen longer than its work may take, and the call is made again', async () => {
  const run = await callUnderWay();
  const frozenMs = 17_000;
  const end = stopped(frozenMs + WORKER_MS);
  process.kill(program.pid(), 'SIGSTOP');
  await sleep(frozenMs);
  process.kill(program.pid(), 'SIGCONT');
  expect(await end).toEqual(IN_ORDER);
  await program.start();
  answer();
  expect((await endOf(builder, run))['output']).toEqual({ done: true });
});
