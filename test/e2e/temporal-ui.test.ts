/** The view of operators in Temporal: how and why each execution ended, and its last status as a filter. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client as TemporalClient, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { createTemporalClient } from '../../temporal/client.ts';
import type { Client } from '../support/app.ts';
import {
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../support/platform.ts';
import { humanTask } from '../support/definitions.ts';

let platform: TestPlatform;
let builder: Client;
let temporal: TemporalClient;

beforeAll(async () => {
  platform = await startTestPlatform();
  builder = await platform.as('builder');
  const { address, namespace } = platform.temporal;
  temporal = createTemporalClient({ address, namespace }, platform.dataConverter);
});
afterAll(async () => {
  await temporal.connection.close();
  await platform.close();
});

const runOf = async (id: string): Promise<RunRecord> => (await builder.get(`/runs/${id}`)).body;
const statusIs = (id: string, status: string): Promise<RunRecord> =>
  until(
    () => runOf(id),
    (run) => run['status'] === status,
  );
const executionOf = (run: RunRecord) => temporal.workflow.getHandle(run['temporal'].workflow_id);
const closed = (run: RunRecord): Promise<WorkflowExecutionDescription> =>
  until(
    () => executionOf(run).describe(),
    ({ status }) => status.name !== 'RUNNING',
  );
const statusAttribute = ({ typedSearchAttributes }: WorkflowExecutionDescription): unknown =>
  typedSearchAttributes.getAll().find(({ key }) => key.name === 'CadenzaStatus')?.value;
const failureOf = async (run: RunRecord): Promise<ApplicationFailure> => {
  const error: unknown = await executionOf(run)
    .result()
    .catch((failure: Error) => failure.cause);
  if (!(error instanceof ApplicationFailure))
    throw new Error(`no failure of the application: ${String(error)}`);
  return error;
};
const listed = (query: string) => async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { workflowId } of temporal.workflow.list({ query })) ids.push(workflowId);
  return ids;
};

const raising = (error: Record<string, unknown>) => ({ do: [{ fail: { raise: { error } } }] });
const broken = {
  type: 'https://example.com/errors/broken',
  status: 500,
  title: 'Broken',
  detail: 'The pump of vat 17 stands still',
};

test('a faulted run fails its execution with its error, and its status is a filter', async () => {
  const run = await startRun(builder, raising(broken), {}, 20);
  expect(run).toMatchObject({ status: 'faulted' });
  const execution = await closed(run);
  expect([execution.status.name, statusAttribute(execution)]).toEqual(['FAILED', 'faulted']);
  const failure = await failureOf(run);
  expect(failure).toMatchObject({ type: broken.type, nonRetryable: true });
  expect(failure.message).toContain('The pump of vat 17 stands still');
  expect(failure.message).toContain('/do/0/fail');
  expect(
    await until(listed(`CadenzaStatus = 'faulted' and ExecutionStatus = 'Failed'`), (ids) =>
      ids.includes(run['temporal'].workflow_id),
    ),
  ).toHaveLength(1);
  expect(
    (await executionOf(run).fetchHistory()).events?.filter(
      ({ workflowExecutionStartedEventAttributes: started }) => started,
    ),
  ).toHaveLength(1);
});

test('the history shows only the error type; the detail and computed types are encrypted', async () => {
  const run = await startRun(
    builder,
    {
      do: [
        { fail: { raise: { error: { ...broken, type: '${ "https://example.com/patient/" + .name }' } } } },
      ],
    },
    { name: 'ada-lovelace' },
    20,
  );
  expect(run).toMatchObject({
    status: 'faulted',
    error: { type: 'https://example.com/patient/ada-lovelace' },
  });
  await closed(run);
  const history = JSON.stringify(await executionOf(run).fetchHistory());
  expect(history).not.toMatch(/pump of vat|ada-lovelace/);
  expect((await failureOf(run)).message).toContain('https://example.com/patient/ada-lovelace');
});

test('a long detail is shortened', async () => {
  const run = await startRun(builder, raising({ ...broken, detail: 'x'.repeat(100_000) }), {}, 20);
  await closed(run);
  expect((await failureOf(run)).message.length).toBeLessThan(1_000);
  expect((await runOf(run['id']))['error'].detail).toHaveLength(100_000);
});

test('a cancelled run is shown as cancelled, a completed one as completed', async () => {
  const cancelled = await startRun(builder, { do: [{ ask: humanTask('Go?') }] });
  await statusIs(cancelled['id'], 'waiting');
  await builder.post(`/runs/${cancelled['id']}/cancel`);
  await statusIs(cancelled['id'], 'cancelled');
  const execution = await closed(cancelled);
  expect([execution.status.name, statusAttribute(execution)]).toEqual(['CANCELLED', 'cancelled']);
  const completed = await startRun(builder, { do: [{ a: { set: { n: 1 } } }] }, {}, 20);
  const other = await closed(completed);
  expect([other.status.name, statusAttribute(other)]).toEqual(['COMPLETED', 'completed']);
});

test("a cancellation in Temporal's UI cancels the run, closes its task, and is logged", async () => {
  const run = await startRun(builder, { do: [{ ask: humanTask('Go?') }] });
  await statusIs(run['id'], 'waiting');
  await executionOf(run).cancel();
  const { logs } = await statusIs(run['id'], 'cancelled');
  expect(logs.map(({ type }: RunRecord) => type.replace(/^.*(?=workflow|task)/, ''))).toEqual(
    expect.arrayContaining(['workflow.cancel-requested.v1', 'task.cancelled.v1', 'workflow.cancelled.v1']),
  );
  expect((await closed(run)).status.name).toBe('CANCELLED');
  expect((await builder.get(`/hitl/tasks?run_id=${run['id']}&status=cancelled`)).body).toHaveLength(1);
});

test('the reconciler does not repeat a run that ended in any of these ways', async () => {
  const runs = await Promise.all(
    [raising(broken), { do: [{ a: { set: { n: 1 } } }] }].map((definition) =>
      startRun(builder, definition, {}, 20),
    ),
  );
  await Promise.all(runs.map(closed));
  const before = await Promise.all(runs.map(({ id }) => runOf(id)));
  await platform.reconcile();
  expect(await Promise.all(runs.map(({ id }) => runOf(id)))).toEqual(before);
});

test('a faulted child fails its own execution, and its parent continues with the error', async () => {
  const reference = { namespace: 'ui', name: 'fails', version: '1.0.0' };
  await builder.post('/workflows', {
    name: 'fails',
    definition: { document: { dsl: '1.0.3', ...reference }, ...raising(broken) },
  });
  const sub = { sub: { run: { workflow: reference } } };
  const run = await startRun(
    builder,
    { do: [{ try: { try: [sub], catch: { do: [{ noted: { set: { type: '${ $error.type }' } } }] } } }] },
    {},
    20,
  );
  expect(run).toMatchObject({ status: 'completed', output: { type: broken.type } });
  const [child] = (await builder.get(`/runs?parent_run_id=${run['id']}`)).body;
  expect([(await closed(run)).status.name, (await closed(child)).status.name]).toEqual([
    'COMPLETED',
    'FAILED',
  ]);
});
