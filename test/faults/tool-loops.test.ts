/**
 * The worker is killed during a turn of a language model, and during its tool calls: what had ended is not
 * repeated, what was cut off is, and a tool that must not be repeated has an unknown outcome.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../contracts/run-events.ts';
import { registeredAgent } from '../support/agent-body.ts';
import type { Client } from '../support/app.ts';
import { agentTask } from '../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../support/http-server.ts';
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
import { startScriptedModel, toolAnswers, type ScriptedModel } from '../support/scripted-model.ts';

let platform: TestPlatform;
let builder: Client;
let model: ScriptedModel;
let shop: TestServer;
let worker: Program;
let answers = false;

beforeAll(async () => {
  platform = await startTestPlatform();
  await platform.stopWorker();
  builder = await platform.as('builder');
  model = await startScriptedModel();
  shop = await startServer(async (request, response) => {
    if (request.path !== '/quick') await until(async () => answers, Boolean);
    sendJson(response, { done: request.path });
  });
  worker = await startProgram('worker', platform);
});
afterAll(async () => {
  answers = true;
  await worker.kill();
  await platform.close();
  await Promise.all([model.close(), shop.close()]);
});

test('kill -9 in a turn and in tool calls repeats what was cut off, and nothing else', async () => {
  const { tools } = await register();
  model.script(() => undefined);
  // One run is killed in its tool calls, the other one in its first turn.
  const inTools = await ask({});
  await model.held(1);
  model.release({ calls: tools.map(({ agent }) => ({ name: agent, arguments: { input: 1 } })) });
  await until(
    async () => await readLog(builder, inTools['id']),
    (log) => log.some(({ data, type }) => data['name'] === 'quick' && type === EVENT.taskCompleted),
  );
  await until(
    async () => shop.seen.length,
    (count) => count === 3,
  );
  const inTurn = await ask({ session: 'ada' });
  await model.held(1);
  await worker.kill();
  await until(
    async () => model.open(),
    (count) => count === 0,
  );
  await worker.start();
  await model.held(1);
  model.release({ text: 'again' });
  await until(
    async () => shop.seen.length,
    (count) => count === 4,
  );
  answers = true;
  await model.held(1);
  model.release({ text: 'done' });

  const [first, second] = [await endOf(builder, inTools), await endOf(builder, inTurn)];
  expect(first).toMatchObject({ status: 'completed', output: { text: 'done' } });
  expect(second).toMatchObject({ status: 'completed', output: { text: 'again' }, usage: { requests: 2 } });
  expect(shop.seen.map(({ path }) => path).toSorted()).toEqual(['/once', '/quick', '/slow', '/slow']);
  const slow = shop.seen.filter(({ path }) => path === '/slow');
  expect(new Set(slow.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(model.requests).toHaveLength(4);
  const told = Object.fromEntries(toolAnswers(model.requests[3] ?? { messages: [], tools: [] }));
  expect(told).toMatchObject({ quick: '{"done":"/quick"}', slow: '{"done":"/slow"}' });
  expect(told['once']).toMatch(/outcome of an earlier call is unknown/);
  const warned = (await readLog(builder, inTurn['id'])).filter(({ type }) => type === EVENT.agentWarning);
  expect(warned).toHaveLength(1);
  const [agent] = (await builder.get('/agents?name=clerk')).body;
  const { body: session } = await builder.get(`/agents/${agent.id}/sessions/ada`);
  expect(session.said.map(({ text }: { text: string }) => text)).toEqual(['Help', 'again']);
});

const ask = (more: object): Promise<RunRecord> =>
  startRun(builder, { do: [{ ask: agentTask('clerk', { input: 'Help', ...more }) }] }, {}, 0);

async function register(): Promise<{ tools: { agent: string }[] }> {
  const retry = { idempotent: false };
  for (const name of ['quick', 'slow', 'once'])
    await registeredAgent(builder, {
      name,
      configuration: { endpoint: `${shop.url}/${name}`, ...(name === 'once' ? { retry } : {}) },
    });
  const tools = ['quick', 'slow', 'once'].map((agent) => ({ agent }));
  const configuration = { base_url: `${model.url}/v1`, model: 'tiny', tools };
  await registeredAgent(builder, { name: 'clerk', type: 'llm', configuration });
  return { tools };
}
