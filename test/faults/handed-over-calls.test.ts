/**
 * A call that takes longer than a short one is handed over to an ordinary activity while it goes on
 * (docs/adr/0030). It is repeated only if its worker is lost, with its key, and can be ended at any time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { startCallScene, testsOfCalls, type CallScene } from '../support/call-scene.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

const PATIENCE_MS = 60_000;

const env = { RUN_SHORT_CALL_MS: '300' };

/** Beside the others. */
const testFault = testsOfCalls(env);

/** Two calls without a timeout; the second one sends the answer of the first. */
async function startTwoCalls({ builder, agentId }: CallScene, more: object = {}): Promise<string> {
  const call = (input: unknown) => ({ call: 'agent', with: { agent: agentId, input }, ...more });
  const run = await startRun(builder, { do: [{ first: call({ n: 0 }) }, { second: call('${ . }') }] });
  return run['id'];
}

/** The types of the activities that Temporal has seen, and how many local ones. */
async function activitiesOf(
  { temporal: server }: TestPlatform,
  id: string,
): Promise<{ ordinary: string[]; local: number }> {
  const temporal = createTemporalClient(server);
  const { events } = await temporal.workflow.getHandle(runWorkflowId(id)).fetchHistory();
  await temporal.connection.close();
  const scheduled = (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes }) =>
      activityTaskScheduledEventAttributes?.activityType?.name ?? [],
  );
  const markers = (events ?? []).filter(({ markerRecordedEventAttributes }) => markerRecordedEventAttributes);
  return { ordinary: scheduled, local: markers.length };
}

/** Until the first call is one that an activity waits for. */
async function handedOver(scene: CallScene, id: string): Promise<void> {
  await scene.calledTimes(1);
  await until(
    () => activitiesOf(scene.platform, id),
    ({ ordinary }) => ordinary.includes('followCall'),
    PATIENCE_MS,
  );
}

const ended = ({ builder }: CallScene, id: string) => endOf(builder, { id, status: 'running' });

testFault('kill -9 during a handed-over call repeats it with its key', async (scene) => {
  const worker = await scene.worker();
  const release = scene.hold();
  const id = await startTwoCalls(scene);
  await handedOver(scene, id);
  await worker.kill();
  release();
  await worker.start();
  expect(await ended(scene, id)).toMatchObject({ status: 'completed' });
  expect(scene.keys).toHaveLength(3);
  expect(scene.keys[1]).toBe(scene.keys[0]);
});

testFault('a worker that stops in order gives a handed-over call to another one', async (scene) => {
  const worker = await scene.worker();
  const release = scene.hold();
  const id = await startTwoCalls(scene);
  await handedOver(scene, id);
  await scene.worker();
  process.kill(worker.pid(), 'SIGTERM');
  // Another worker makes the call again once the first one has given it up.
  await scene.calledTimes(2);
  release();
  expect(await ended(scene, id)).toMatchObject({ status: 'completed' });
  expect(scene.keys[1]).toBe(scene.keys[0]);
});

describe('with a worker that nothing happens to', () => {
  let platform: TestPlatform;
  let worker: Program;
  let scene: CallScene;
  beforeAll(async () => {
    // A call that is not held takes less, on any machine.
    platform = await startTestPlatform({ worker: false, env: { RUN_SHORT_CALL_MS: '2000' } });
    worker = await startProgram('worker', platform);
  });
  beforeEach(async () => void (scene = await startCallScene(platform)));
  afterEach(() => scene.close());
  afterAll(async () => {
    await worker.kill();
    await platform.close();
  });

  test('a long call is made once and followed, a short one is not', async () => {
    const release = scene.hold();
    const id = await startTwoCalls(scene);
    await handedOver(scene, id);
    release();
    const run = await ended(scene, id);
    expect(run).toMatchObject({ status: 'completed', output: { n: 2 } });
    expect(new Set(scene.keys).size).toBe(2);
    expect(scene.keys).toHaveLength(2);
    const { ordinary } = await activitiesOf(scene.platform, id);
    expect(ordinary.filter((type) => type === 'followCall')).toHaveLength(1);
    expect(ordinary).not.toContain('invokeAgent');
    const stored = await scene.platform.orm.em
      .fork()
      .execute<object[]>(`select from invocation where run_id = ? and result is not null`, [id]);
    expect(stored).toHaveLength(2);
  });

  test('a cancel ends a handed-over call', async () => {
    scene.hold();
    const id = await startTwoCalls(scene);
    await handedOver(scene, id);
    await scene.builder.post(`/runs/${id}/cancel`);
    expect(await ended(scene, id)).toMatchObject({ status: 'cancelled' });
    await until(
      async () => scene.left,
      (left) => left === 1,
      PATIENCE_MS,
    );
    expect(scene.keys).toHaveLength(1);
  });

  test('a suspended run rests after its handed-over call', async () => {
    const release = scene.hold();
    const id = await startTwoCalls(scene);
    await handedOver(scene, id);
    await scene.builder.post(`/runs/${id}/suspend`);
    await until(
      async () => (await scene.builder.get(`/runs/${id}`)).body.status,
      (status) => status === 'suspended',
      PATIENCE_MS,
    );
    release();
    await sleep(1_000);
    expect(scene.keys).toHaveLength(1);
    await scene.builder.post(`/runs/${id}/resume`);
    expect(await ended(scene, id)).toMatchObject({ status: 'completed', output: { n: 2 } });
    expect(scene.keys).toHaveLength(2);
  });

  test("the task's timeout ends a handed-over call", async () => {
    scene.hold();
    const id = await startTwoCalls(scene, { timeout: { after: { seconds: 15 } } });
    const run = await ended(scene, id);
    expect(run).toMatchObject({ status: 'faulted', error: { status: 408 } });
    expect(run['error'].detail).toMatch(/^first did not finish in time: its timeout ended at 20/);
    await until(
      async () => scene.left,
      (left) => left === 1,
      PATIENCE_MS,
    );
    expect(scene.keys).toHaveLength(1);
  });

  test('a timeout of the call itself ends it after it was handed over', async () => {
    scene.hold();
    const { builder, agentId: agent } = scene;
    const call = { call: 'agent', with: { agent, input: {}, timeout: { seconds: 15 } } };
    const run = await startRun(builder, { do: [{ first: call }] });
    expect(await ended(scene, run['id'])).toMatchObject({ status: 'faulted', error: { status: 408 } });
    expect(scene.keys).toHaveLength(1);
  });
});

test('without short calls every call is an ordinary activity', async () => {
  const platform = await startTestPlatform({ env: { RUN_SHORT_CALL_MS: '0' } });
  const scene = await startCallScene(platform);
  const id = await startTwoCalls(scene);
  expect(await ended(scene, id)).toMatchObject({ status: 'completed' });
  const { ordinary } = await activitiesOf(platform, id);
  expect(ordinary.filter((type) => type === 'invokeAgent')).toHaveLength(2);
  await scene.close();
  await platform.close();
});
