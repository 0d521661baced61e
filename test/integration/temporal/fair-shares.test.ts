/** On real Temporal: the times of one owner's schedules do not hold back what is for others. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ScheduleOverlapPolicy, type Client } from '@temporalio/client';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { createShortCalls } from '../../../activities/short-calls.ts';
import type { DeliveryActivities, RunActivities } from '../../../contracts/activities.ts';
import {
  deliverWorkflowId,
  RECONCILE_SCHEDULE,
  renewSignal,
  SCHEDULED_START_WORKFLOW,
  scheduledStartId,
  scheduleOfWorkflow,
} from '../../../contracts/temporal.ts';
import { shardTarget } from '../../../domain/notifications/shards.ts';
import type { DueTarget, TemporalGateway, WantedSchedule } from '../../../domain/ports.ts';
import { createTemporalClient } from '../../../temporal/client.ts';
import { createGateway } from '../../../temporal/gateway.ts';
import { createWorker, type RunningWorker } from '../../../worker/create-worker.ts';
import { ensureSchedules, scheduleId } from '../../../worker/schedule.ts';
import { temporalLogger } from '../../../worker/temporal-logger.ts';
import { bundleOncePerRun, until } from '../../support/platform.ts';
import { smallTemporal, type TestTemporal } from '../../support/servers.ts';

/** Of one owner, each with a time that no worker has taken. */
const BACKLOG = 80;

let temporal: TestTemporal;
let client: Client;
let gateway: TemporalGateway;
let connection: NativeConnection;

beforeAll(async () => {
  Runtime.install({ logger: temporalLogger(pino({ level: 'silent' })), shutdownSignals: [] });
  // One queue with one order: of its usual four parts each has an own, and workers ask them by chance.
  temporal = await smallTemporal();
  const { address, namespace, taskQueue } = temporal;
  client = createTemporalClient({ address, namespace });
  gateway = createGateway({ client, taskQueue, baseUrl: 'https://cadenza.test' });
  connection = await NativeConnection.connect({ address });
});
afterAll(async () => {
  await connection.close();
  await client.connection.close();
});

const wanted = (more: Partial<WantedSchedule> = {}): WantedSchedule => ({
  workflow_id: randomUUID(),
  workflow_name: 'Busy',
  owner_id: randomUUID(),
  // None comes while a test lasts, unless it asks for that.
  times: { kind: 'every', ms: 365 * 24 * 3_600_000 },
  paused: false,
  overlap: 'skip',
  catch_up_seconds: 3_600,
  jitter_seconds: 0,
  generation: '1',
  ...more,
});
const scheduleOf = ({ workflow_id: id }: WantedSchedule) => client.schedule.getHandle(scheduleOfWorkflow(id));

const targetOf = (holder: string): DueTarget => ({ id: randomUUID(), holder_id: holder });

/** Each waits for a worker then. */
async function wakeAll(targets: readonly DueTarget[]): Promise<void> {
  for (const target of targets) await gateway.wakeDelivery(target);
  for (const { id } of targets)
    await until(
      async () => (await client.workflow.getHandle(deliverWorkflowId(id)).describe()).raw,
      ({ pendingWorkflowTask }) => Boolean(pendingWorkflowTask),
    );
}

/** Takes one activity at a time, and notes which. */
async function startWorker(noted: (name: string) => void): Promise<RunningWorker> {
  const activities = {
    startScheduledRun: async () => (noted('scheduled'), { outcome: 'started', run_id: null }),
    deliverNext: async (target: string) => (noted(target), { wait_ms: null }),
    reconcile: async () => noted('reconcile'),
    removeExpired: async () => ({ more: false }),
    sweepFiles: async () => {},
  };
  return createWorker({
    connection,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    activities: activities as unknown as RunActivities & DeliveryActivities,
    workflowBundle: await bundleOncePerRun(),
    shortCalls: createShortCalls(),
    maxActivities: 1,
  });
}

test('what is for others comes before the backlog of a busy owner', async () => {
  const owner = randomUUID();
  const schedules = Array.from({ length: BACKLOG }, () => wanted({ owner_id: owner }));
  for (const schedule of schedules) {
    expect(await gateway.putSchedule(schedule)).toBeNull();
    await scheduleOf(schedule).trigger(ScheduleOverlapPolicy.SKIP);
  }
  const waiting = `WorkflowType = '${SCHEDULED_START_WORKFLOW}' and ExecutionStatus = 'Running'`;
  await until(
    async () => (await client.workflow.count(waiting)).count,
    (count) => count === BACKLOG,
  );

  const installationId = randomUUID();
  await ensureSchedules(client, { installationId, taskQueue: temporal.taskQueue });
  await client.schedule.getHandle(scheduleId(RECONCILE_SCHEDULE, installationId)).trigger();
  const others = [...Array.from({ length: 8 }, () => targetOf(randomUUID())), shardTarget(0)];
  await wakeAll(others);
  await until(
    async () => (await client.workflow.count(`WorkflowType = 'reconcile'`)).count,
    (count) => count > 0,
  );

  const expected = [...others.map(({ id }) => id), 'reconcile'];
  const done: string[] = [];
  const worker = await startWorker((name) => void done.push(name));
  const running = worker.run();
  await until(
    async () => done,
    (names) =>
      names.filter((name) => name === 'scheduled').length >= BACKLOG &&
      expected.every((name) => names.includes(name)),
  );
  for (const schedule of schedules) await gateway.deleteSchedule(schedule.workflow_id);
  worker.shutdown();
  await running;
  const early = done.slice(0, BACKLOG / 2);
  expect(early).toEqual(expect.arrayContaining(expected));
});

test('deliveries of others come before those to the many webhooks of one owner', async () => {
  const owner = randomUUID();
  const own = Array.from({ length: BACKLOG }, () => targetOf(owner));
  await wakeAll(own);
  const others = Array.from({ length: 8 }, () => targetOf(randomUUID()));
  await wakeAll(others);
  const all = [...own, ...others].map(({ id }) => id);
  const done: string[] = [];
  const worker = await startWorker((name) => void done.push(name));
  const running = worker.run();
  await until(
    async () => done,
    (names) => all.every((id) => names.includes(id)),
  );
  // The first may have ended by themselves.
  for (const id of all)
    await client.workflow
      .getHandle(deliverWorkflowId(id))
      .terminate('test')
      .catch(() => {});
  worker.shutdown();
  await running;
  // Without what is left of other tests.
  const early = done.filter((name) => all.includes(name)).slice(0, BACKLOG / 2);
  expect(early).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
});

test('of a schedule one time is in the queue, however many nobody has taken', async () => {
  const schedule = wanted({ times: { kind: 'every', ms: 1_000 } });
  expect(await gateway.putSchedule(schedule)).toBeNull();
  const { runningActions } = await until(
    async () => (await scheduleOf(schedule).describe()).info,
    ({ numActionsSkippedOverlap }) => numActionsSkippedOverlap > 1,
  );
  expect(runningActions).toHaveLength(1);
  await gateway.deleteSchedule(schedule.workflow_id);
  await client.workflow.getHandle(runningActions[0]!.workflow.workflowId).terminate('test');
});

test('deliveries keep their share when their workflow continues as new', async () => {
  const holder = randomUUID();
  const { id: target } = targetOf(holder);
  const done: string[] = [];
  const worker = await startWorker((name) => void done.push(name));
  const running = worker.run();
  await gateway.wakeDelivery({ id: target, holder_id: holder });
  const handle = client.workflow.getHandle(deliverWorkflowId(target));
  const first = await handle.describe();
  await until(
    async () => done,
    (names) => names.includes(target),
  );
  await handle.signal(renewSignal);
  const next = await until(
    () => handle.describe(),
    ({ runId }) => runId !== first.runId,
  );
  for (const { raw } of [first, next])
    expect(raw.workflowExecutionInfo?.priority).toMatchObject({
      fairnessKey: `deliveries ${holder}`,
      fairnessWeight: 10,
    });
  await handle.terminate('test');
  worker.shutdown();
  await running;
});

test('a schedule of an earlier release gets its share when Temporal is told again', async () => {
  const schedule = wanted({ times: { kind: 'every', ms: 3_600_000 } });
  const { workflow_id: id, owner_id: owner } = schedule;
  await client.schedule.create({
    scheduleId: scheduleOfWorkflow(id),
    spec: { intervals: [{ every: 3_600_000 }] },
    policies: { overlap: 'ALLOW_ALL' },
    action: {
      type: 'startWorkflow',
      workflowType: SCHEDULED_START_WORKFLOW,
      workflowId: scheduledStartId(id),
      taskQueue: temporal.taskQueue,
      args: [],
    },
  });
  expect(await gateway.putSchedule(schedule)).toBeNull();
  const { action, policies } = await until(
    () => scheduleOf(schedule).describe(),
    ({ state }) => state.note !== undefined,
  );
  expect(action.priority).toMatchObject({ fairnessKey: owner });
  expect(policies.overlap).toBe('BUFFER_ALL');
  await scheduleOf(schedule).trigger();
  const [started] = await until(
    async () => (await scheduleOf(schedule).describe()).info.recentActions,
    (actions) => actions.length > 0,
  );
  const { workflowId } = started!.action.workflow;
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  expect(raw.workflowExecutionInfo?.priority?.fairnessKey).toBe(owner);
  await client.workflow.getHandle(workflowId).terminate('test');
  await gateway.deleteSchedule(id);
});

test.each([
  ['skip', 1_000, 'BUFFER_ONE'],
  ['buffer_one', 59_000, 'BUFFER_ONE'],
  ['allow', 1_000, 'BUFFER_ALL'],
  ['skip', 60_000, 'BUFFER_ALL'],
] as const)('times with %s, every %i ms: %s while an earlier one waits', async (overlap, ms, policy) => {
  const schedule = wanted({ overlap, times: { kind: 'every', ms }, paused: true });
  expect(await gateway.putSchedule(schedule)).toBeNull();
  expect((await scheduleOf(schedule).describe()).policies.overlap).toBe(policy);
  await gateway.deleteSchedule(schedule.workflow_id);
});
