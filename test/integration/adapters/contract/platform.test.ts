/** What every kind of agent gets from the platform: schemas, heartbeats, cancellation, a place in the log. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../../../contracts/run-events.ts';
import { runWorkflowId } from '../../../../contracts/temporal.ts';
import { createTemporalClient } from '../../../../temporal/client.ts';
import { registeredAgent } from '../../../support/agent-body.ts';
import type { Client } from '../../../support/app.ts';
import { agentTask } from '../../../support/definitions.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../../support/platform.ts';
import { readLog } from '../../../support/run-log.ts';
import { ANSWER, KEY, type Counterpart } from './counterpart.ts';
import { KINDS } from './kinds.ts';

let platform: TestPlatform;
let builder: Client;
let counterparts: { kind: string; counterpart: Counterpart }[];

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  await builder.put('/secrets/CONTRACT_KEY', { value: KEY });
  counterparts = await Promise.all(
    KINDS.map(async ({ kind, start }) => ({ kind, counterpart: await start() })),
  );
  const input_schema = { type: 'object', required: ['ask'] };
  const output_schema = { type: 'object', required: ['nothing'] };
  for (const { kind, counterpart } of counterparts) {
    await registeredAgent(builder, { ...counterpart.agent, name: kind, input_schema });
    await registeredAgent(builder, { ...counterpart.agent, name: `strict-${kind}`, output_schema });
  }
});
afterAll(async () => {
  await Promise.all(counterparts.map(({ counterpart }) => counterpart.close()));
  await platform.close();
});

const startAll = (agent: (kind: string) => string, more: Record<string, unknown>) =>
  Promise.all(
    counterparts.map(async ({ kind, counterpart }) => {
      const input = { ...counterpart.input, ...more };
      const run = await startRun(builder, { do: [{ ask: agentTask(agent(kind), { input }) }] });
      return { kind, counterpart, run };
    }),
  );

test('a call that lasts sends heartbeats, and ends in one result with its usage', async () => {
  for (const { counterpart } of counterparts) counterpart.behave('hold');
  const client = createTemporalClient(platform.temporal);
  const runs = await startAll((kind) => kind, { ask: 'x' });
  try {
    for (const { run } of runs) {
      const handle = client.workflow.getHandle(runWorkflowId(run['id']));
      await until(
        async () => (await handle.describe()).raw.pendingActivities ?? [],
        ([call]) => call?.lastHeartbeatTime !== null && call?.lastHeartbeatTime !== undefined,
      );
    }
  } finally {
    await client.connection.close();
  }
  for (const { kind, counterpart, run } of runs) {
    counterpart.release();
    const { status, output, usage } = await endOf(builder, run);
    expect({ kind, status, said: JSON.stringify(output).includes(ANSWER) }).toEqual({
      kind,
      status: 'completed',
      said: true,
    });
    expect({ kind, requests: usage.requests > 0 }).toEqual({ kind, requests: true });
    const types = (await readLog(builder, run['id'])).map(({ type }) => type);
    expect(types.filter((type) => type.includes('.task.'))).toEqual([EVENT.taskStarted, EVENT.taskCompleted]);
    expect(counterpart.calls).toHaveLength(1);
  }
});

test('input and output have to fit the schemas of the agent', async () => {
  const [missing, other] = [
    await startAll((kind) => kind, {}),
    await startAll((kind) => `strict-${kind}`, {}),
  ];
  for (const { kind, run } of [...missing, ...other])
    expect({ kind, ended: await endOf(builder, run) }).toMatchObject({
      kind,
      ended: {
        status: 'faulted',
        error: { type: expect.stringContaining('/validation'), instance: '/do/0/ask' },
      },
    });
  // Only the strict agents were asked.
  expect(counterparts.map(({ counterpart }) => counterpart.calls.length)).toEqual(
    counterparts.map(({ kind }) => callsSoFar(kind)),
  );
});

/** One of the first test, one of a strict agent; models are asked once more for an answer that fits. */
function callsSoFar(kind: string): number {
  return ['llm', 'vision'].includes(kind) ? 3 : 2;
}

test('a cancelled run ends the call at the counterpart', async () => {
  for (const { counterpart } of counterparts) counterpart.behave('hold');
  const runs = await startAll((kind) => kind, { ask: 'x' });
  for (const { kind, counterpart, run } of runs) {
    await until(
      async () => counterpart.calls.length,
      (calls) => calls === callsSoFar(kind) + 1,
    );
    await builder.post(`/runs/${run['id']}/cancel`, {});
    expect({ kind, ...(await endOf(builder, run)) }).toMatchObject({ kind, status: 'cancelled' });
    await until(
      async () => counterpart.left(),
      (left) => left === 1,
    );
  }
});
