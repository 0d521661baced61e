/** An attempt that Temporal believes lost, and repeats, while it is still under way. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities, type ActivityDeps } from '../../../activities/index.ts';
import { createShortCalls } from '../../../activities/short-calls.ts';
import { createAnswerMemory } from '../../../adapters/egress/answer-memory.ts';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import type { InvokeAgentInput } from '../../../contracts/activities.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { noTemporal, startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { agentTask } from '../../support/definitions.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let server: TestServer;
let builder: Client;
let activities: ReturnType<typeof createActivities>;
const answers: (() => void)[] = [];

beforeAll(async () => {
  app = await startTestApp();
  server = await startServer(async (_request, response) => {
    await new Promise<void>((resolve) => answers.push(resolve));
    sendJson(response, { ok: true });
  });
  builder = await app.as('builder');
  const { env, orm, logger, files } = app.app.deps;
  // No signal, schedule or delivery belongs to this call.
  activities = createActivities({
    calls: { watch: () => ({ signal: new AbortController().signal, close: () => undefined }) },
    orm,
    logger,
    files,
    adapters: createAdapters({ egress: createEgressPolicy({ allow: ['127.0.0.1'] }) }),
    shortCalls: createShortCalls(),
    answers: createAnswerMemory(1024 * 1024),
    temporal: noTemporal,
    limits: runLimits(env),
    secret: async () => null,
    deliveries: { kinds: {}, sender: { send: async () => ({ refusal: 'none' }) } },
    notifications: {},
  } as unknown as ActivityDeps);
});
afterAll(async () => {
  await server.close();
  await app.close();
});

const called = (times: number): Promise<number> =>
  until(
    async () => answers.length,
    (count) => count === times,
  );

test('leaves what it holds of a budget to its repeat, which books it as lost', async () => {
  const { body: agent } = await builder.post('/agents', {
    name: 'counted',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    budget: { max_invocations: 10 },
    configuration: { endpoint: server.url, price: { per_invocation_usd: 0.25 } },
  });
  const { body: workflow } = await builder.post('/workflows', {
    name: 'counts',
    definition: { do: [{ call: agentTask(agent.id, { input: {} }) }] },
  });
  const { body: run } = await builder.post(`/workflows/${workflow.id}/run`, {});
  const input: InvokeAgentInput = {
    run_id: run.id,
    agent: agent.id,
    task: '/do/0/call',
    name: 'call',
    visit: 1,
    attempt: 1,
    input: {},
    timeout_ms: 60_000,
    batch: { events: [], projection: null, acks: [] },
  };
  const attempt = (number: number) => {
    const environment = new MockActivityEnvironment({ attempt: number });
    return { environment, result: environment.run(activities.invokeAgent, input) };
  };

  const lost = attempt(1);
  lost.result.catch(() => {});
  await called(1);
  lost.environment.cancel('NOT_FOUND', {
    cancelRequested: false,
    notFound: true,
    timedOut: false,
    workerShutdown: false,
    paused: false,
    reset: false,
  });
  await expect(lost.result).rejects.toBeInstanceOf(CancelledFailure);
  const budget = async () => (await builder.get(`/budgets/${agent.id}`)).body;
  expect(await budget()).toMatchObject({ used: { invocations: 0 }, reserved: { invocations: 1 } });

  const repeat = attempt(2);
  await called(2);
  answers.at(-1)?.();
  expect(await repeat.result).toMatchObject({ output: { ok: true } });
  expect(await budget()).toMatchObject({ used: { invocations: 2 }, reserved: { invocations: 0 } });
  // Of the lost one; that of the repeat comes with the event of the task's end.
  const [usage] = (await builder.get(`/usage?by=agent&agent_id=${agent.id}`)).body;
  expect(usage).toMatchObject({ invocations: 1, cost_usd: 0.25 });
});
