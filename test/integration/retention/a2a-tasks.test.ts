/**
 * Tasks of A2A whose runs retention removes: gone by every method, with all that they had. Streams have ended
 * with the runs, long before.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { removeEndedRuns } from '../../../domain/retention/remove.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { workflowAgentPath } from '../../support/workflow-agent.ts';

const V1 = { 'A2A-Version': '1.0' };
const TASK_NOT_FOUND = -32001;

let app: TestApp;
let owner: Client;
let path: string;

beforeAll(async () => {
  app = await startTestApp();
  owner = await app.as('builder');
  path = await workflowAgentPath(owner, { do: [{ a: { set: { text: 'x' } } }] });
});
afterAll(() => app.close());

const sql = (text: string, values: unknown[] = []) => app.orm.em.fork().execute<any[]>(text, values);
const rpc = async (method: string, params: unknown): Promise<any> => {
  const { body } = await owner.post(path, { jsonrpc: '2.0', id: 1, method, params }, { headers: V1 });
  // A refusal of a stream may be its first event.
  return typeof body === 'string' ? JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}') : body;
};

async function task(messageId: string, endedDaysAgo: number | null): Promise<string> {
  const sent = await rpc('SendMessage', {
    message: { messageId, role: 'ROLE_USER', parts: [{ text: 'x' }] },
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: { id: 'c', url: 'https://hooks.example/x' },
    },
  });
  const { id } = sent.result.task;
  if (endedDaysAgo !== null) {
    await sql(`update a2a_task set state = 'TASK_STATE_COMPLETED' where id = ?`, [id]);
    await sql(
      `update run set status = 'completed', created_at = now() - interval '1 year',
              finished_at = now() - ? * interval '1 day' where id = ?`,
      [endedDaysAgo, id],
    );
  }
  return id;
}

/** Rows of each table that is about the task. */
async function rowsOf(id: string): Promise<Record<string, number>> {
  const [row] = await sql(
    `select (select count(*)::int from a2a_task where id = ?) as tasks,
            (select count(*)::int from a2a_message where task_id = ?) as messages,
            (select count(*)::int from a2a_push_config where task_id = ?) as configs,
            (select count(*)::int from delivery_target where run_id = ?) as targets`,
    [id, id, id, id],
  );
  return row;
}

test('a task is gone with its run, and its neighbours stay', async () => {
  const [old, young, live] = [await task('m-1', 91), await task('m-2', 89), await task('m-3', null)];
  const all = { tasks: 1, messages: 1, configs: 1, targets: 1 };
  expect(await rowsOf(old)).toEqual(all);
  expect((await removeEndedRuns(app.orm.em.fork(), 90)).runs).toBe(1);

  expect(await rowsOf(old)).toEqual({ tasks: 0, messages: 0, configs: 0, targets: 0 });
  for (const [method, params] of [
    ['GetTask', { id: old }],
    ['CancelTask', { id: old }],
    ['SubscribeToTask', { id: old }],
    ['ListTaskPushNotificationConfigs', { taskId: old }],
    [
      'SendMessage',
      { message: { messageId: 'm-4', taskId: old, role: 'ROLE_USER', parts: [{ text: 'x' }] } },
    ],
  ] as const)
    expect([method, (await rpc(method, params)).error?.code]).toEqual([method, TASK_NOT_FOUND]);
  const listed = (await rpc('ListTasks', {})).result;
  expect(listed).toMatchObject({ totalSize: 2, nextPageToken: '' });
  expect(listed.tasks.map(({ id }: { id: string }) => id).toSorted()).toEqual([young, live].toSorted());
  for (const id of [young, live]) {
    expect(await rowsOf(id)).toEqual(all);
    expect((await rpc('GetTask', { id })).result.id).toBe(id);
  }
});

test('the message of a task that is gone begins another one', async () => {
  const old = await task('m-5', 91);
  await removeEndedRuns(app.orm.em.fork(), 90);
  expect(await task('m-5', null)).not.toBe(old);
});
