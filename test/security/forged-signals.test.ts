/** Access to Temporal without our keys is not enough to decide or to block anything. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { v7 as uuidv7 } from 'uuid';
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { createDataConverter } from '../../temporal/data-converter.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import type { Client } from '../support/app.ts';
import { humanTask } from '../support/definitions.ts';

const store = { put: async () => {}, get: async () => null };
const ask = { do: [{ ask: humanTask('May it go?') }] };

let platform: TestPlatform;
let builder: Client;
let bare: TemporalClient;
let stranger: TemporalClient;
const log: string[] = [];

beforeAll(async () => {
  platform = await startTestPlatform({ log: (line) => log.push(line) });
  builder = await platform.as('builder');
  const { address, namespace } = platform.temporal;
  bare = createTemporalClient({ address, namespace });
  stranger = createTemporalClient(
    { address, namespace },
    createDataConverter({ keys: [{ id: 'test', key: randomBytes(32) }], store }),
  );
});
afterAll(async () => {
  await Promise.all([bare.connection.close(), stranger.connection.close()]);
  await platform.close();
});

interface Asked {
  run: RunRecord;
  task: string;
  workflowId: string;
}

async function askedRun(): Promise<Asked> {
  const run = await startRun(builder, ask);
  const task = await until(
    async () => (await builder.get(`/hitl/tasks?run_id=${run['id']}`)).body[0]?.id as string | undefined,
    (id) => id !== undefined,
  );
  return { run, task: task ?? '', workflowId: runWorkflowId(run['id']) };
}

const decisionFor = ({ run, task }: Asked, id = uuidv7()) => ({
  id,
  run_id: run['id'],
  kind: 'hitl.decision',
  task_id: task,
  decision_id: id,
  decision: 'approve',
  payload: null,
  comment: 'forged',
  decided_by: null,
  decided_at: new Date().toISOString(),
});

async function signalRaw({ workflowId }: Asked, payloads: Payload[]): Promise<void> {
  await bare.workflowService.signalWorkflowExecution({
    namespace: platform.temporal.namespace,
    workflowExecution: { workflowId },
    signalName: 'run.signal',
    input: { payloads },
    requestId: uuidv7(),
  });
}

/** The payloads of a run's signals in its history, as Temporal stores them. */
async function signalsOf(workflowId: string): Promise<Payload[]> {
  const { events } = await bare.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(
    ({ workflowExecutionSignaledEventAttributes: signaled }) => signaled?.input?.payloads ?? [],
  );
}

/** The forged signals have been seen by now and had no effect: the real decision still counts. */
async function rejectForReal({ run, task }: Asked): Promise<void> {
  expect(
    (await builder.post(`/hitl/tasks/${task}/decision`, { decision: 'reject', comment: 'no' })).status,
  ).toBe(200);
  const ended = await until(
    async () => (await builder.get(`/runs/${run['id']}`)).body as RunRecord,
    ({ status }) => status !== 'running' && status !== 'waiting',
  );
  expect(ended).toMatchObject({ status: 'completed', output: { decision: 'reject', comment: 'no' } });
  const received = (ended['logs'] as { type: string }[]).filter(
    ({ type }) => type.includes('decision') && type.includes('received'),
  );
  expect(received).toHaveLength(1);
}

async function failedTasks(workflowId: string): Promise<number> {
  const { events } = await bare.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter(({ workflowTaskFailedEventAttributes: failed }) => Boolean(failed)).length;
}

test('a decision in plain text is dropped, with an error in the log', async () => {
  const target = await askedRun();
  await bare.workflow.getHandle(target.workflowId).signal('run.signal', decisionFor(target));
  await until(
    async () => log.join(''),
    (text) => text.includes('A signal is dropped') && text.includes(target.workflowId),
  );
  expect((await builder.get(`/hitl/tasks/${target.task}`)).body.status).toBe('open');
  await rejectForReal(target);
  expect(await failedTasks(target.workflowId)).toBe(0);
});

test('a decision encrypted by another key is dropped, whatever key id it names', async () => {
  const target = await askedRun();
  await stranger.workflow.getHandle(target.workflowId).signal('run.signal', decisionFor(target));
  const other = createTemporalClient(
    platform.temporal,
    createDataConverter({ keys: [{ id: 'evil', key: randomBytes(32) }], store }),
  );
  await other.workflow
    .getHandle(target.workflowId)
    .signal('run.signal', decisionFor(target))
    .finally(() => other.connection.close());
  await rejectForReal(target);
  expect(await failedTasks(target.workflowId)).toBe(0);
});

test('empty, binary and multiple signals block nothing', async () => {
  const target = await askedRun();
  const text = (encoding: string, data: string): Payload => ({
    metadata: { encoding: Buffer.from(encoding) },
    data: Buffer.from(data),
  });
  const bodies: Payload[][] = [
    [],
    [{ metadata: { encoding: Buffer.from('binary/null') } }],
    [text('binary/plain', 'bytes')],
    [text('binary/encrypted', 'x')],
    [text('json/plain', '{')],
    [{}],
  ];
  for (const payloads of bodies) await signalRaw(target, payloads);
  await bare.workflow
    .getHandle(target.workflowId)
    .signal('run.signal', decisionFor(target), decisionFor(target));
  await rejectForReal(target);
  expect(await failedTasks(target.workflowId)).toBe(0);
});

test('a real decision has no effect in another run, and none the second time', async () => {
  const [first, second] = [await askedRun(), await askedRun()];
  expect((await builder.post(`/hitl/tasks/${first.task}/decision`, { decision: 'approve' })).status).toBe(
    200,
  );
  const [sealed] = await until(
    () => signalsOf(first.workflowId),
    (found) => found.length > 0,
  );
  await signalRaw(second, [sealed ?? {}]);
  await rejectForReal(second);
  expect(await failedTasks(second.workflowId)).toBe(0);
});

test('a repeated suspension has no effect', async () => {
  const target = await askedRun();
  await builder.post(`/runs/${target.run['id']}/suspend`, {});
  const status = async () => (await builder.get(`/runs/${target.run['id']}`)).body.status as string;
  await until(status, (now) => now === 'suspended');
  const [suspension] = await signalsOf(target.workflowId);
  await builder.post(`/runs/${target.run['id']}/resume`, {});
  await until(status, (now) => now !== 'suspended');
  await signalRaw(target, [suspension ?? {}]);
  await rejectForReal(target);
  expect(suspension).toBeDefined();
});

test('an execution that a stranger starts ends at once', async () => {
  const workflowId = runWorkflowId(uuidv7());
  await bare.workflow.start('run', {
    workflowId,
    taskQueue: platform.temporal.taskQueue,
    args: [{ start: { run_id: 'x', definition: { do: [] }, input: {} } }],
  });
  const status = async () => (await bare.workflow.getHandle(workflowId).describe()).status.name;
  expect(await until(status, (name) => name !== 'RUNNING')).toBe('FAILED');
});
