/** Questions of A2A tasks to people: stored as human tasks, and built at each reading. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { LOG_TEXT } from '../../../contracts/log-texts.ts';
import type { RunProjection, WaitingOn } from '../../../contracts/run-events.ts';
import { appendEvents } from '../../../domain/runs/events.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { humanTask } from '../../support/definitions.ts';
import { insertTask } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

const V1 = { headers: { 'a2a-version': '1.0' } };

let app: TestApp;
let builder: Client;
let base: string;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as(await app.createUser({ roles: ['builder'] }));
  const definition = { do: [{ review: humanTask('May I?') }] };
  const workflow = await builder.post('/workflows', { name: 'pay', definition });
  const agent = await builder.post('/agents', {
    name: 'payer',
    version: '1.0.0',
    type: 'workflow',
    visibility: 'public',
    configuration: { workflow_id: workflow.body.id },
  });
  base = `/api/v1/a2a/${agent.body.id}`;
});
afterAll(() => app.close());

async function startTask(): Promise<string> {
  const message = { messageId: uuidv7(), role: 'ROLE_USER', parts: [{ text: 'Pay' }] };
  const configuration = { returnImmediately: true };
  return (await builder.post(`${base}/message:send`, { message, configuration }, V1)).body.task.id;
}

/** Shows the run's status as its workflow does. */
async function show(
  runId: string,
  counter: number,
  status: RunProjection['status'],
  asked: readonly string[] = [],
): Promise<void> {
  const waits = asked.map((id): WaitingOn => ({ kind: 'human', task: '/do/0/review', id }));
  const projection = { counter, status, waiting_on: waits, waiting_count: waits.length };
  await appendEvents(app.orm.em.fork(), runId, { events: [], projection, acks: [] });
}

const taskOf = async (id: string) => (await builder.get(`${base}/tasks/${id}`, V1)).body;
const listed = async (id: string) =>
  (await builder.get(`${base}/tasks?historyLength=10`, V1)).body.tasks.find(
    (task: { id: string }) => task.id === id,
  );
const entries = (id: string): Promise<{ seq: number; message: string }[]> =>
  app.orm.em.fork().execute(`select seq, message from run_event where run_id = ? order by seq`, [id]);

test('a question shows each human task, and the log says when the run starts and ends to wait', async () => {
  const id = await startTask();
  const [first, second] = [await insertTask(app.orm, id), await insertTask(app.orm, id, { title: 'And?' })];
  await show(id, 1, 'waiting', [second, first]);
  const { status } = await taskOf(id);
  expect(status).toMatchObject({
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: {
      contextId: expect.any(String),
      taskId: id,
      role: 'ROLE_AGENT',
      parts: [
        { text: 'Approve the purchase\nDecisions: approve, reject.' },
        { data: { type: 'hitl_request', id: first, name: 'review', subject: { amount: 10 } } },
        { text: 'And?\nDecisions: approve, reject.' },
        { data: { id: second } },
      ],
    },
  });
  expect((await listed(id)).status.message).toEqual(status.message);

  await show(id, 2, 'waiting', [first, second]);
  await show(id, 3, 'running');
  expect((await taskOf(id)).status.state).toBe('TASK_STATE_WORKING');
  const log = await entries(id);
  expect(log.slice(-2).map(({ message }) => message)).toEqual([
    LOG_TEXT.runInputRequired(),
    LOG_TEXT.runInputReceived(),
  ]);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
});

test('a list leaves out a large question, and the task contains it', async () => {
  const id = await startTask();
  const description = 'é'.repeat(9_000);
  await show(id, 1, 'waiting', [await insertTask(app.orm, id, { description })]);
  expect((await taskOf(id)).status.message.parts[1].data.description).toBe(description);
  expect((await listed(id)).status).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED' });
  expect((await listed(id)).status).not.toHaveProperty('message');
});

test('a question that an earlier version stored as a message is shown as it is', async () => {
  const id = await startTask();
  await show(id, 1, 'waiting', [await insertTask(app.orm, id)]);
  const stored = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Earlier?' }] };
  await app.orm.em
    .fork()
    .execute(
      `update a2a_message set message = ?::json, asked = null where task_id = ? and asked is not null`,
      [JSON.stringify(stored), id],
    );
  expect((await taskOf(id)).status.message).toMatchObject(stored);
});

test('a deputy learns from tasks and lists that they may answer for somebody absent', async () => {
  const [sender, absent] = await Promise.all(
    [1, 2].map(() => app.createUser({ roles: ['builder', 'approver'] })),
  );
  if (!sender || !absent) throw new Error('unreachable');
  const asSender = await app.as(sender);
  const message = { messageId: uuidv7(), role: 'ROLE_USER', parts: [{ text: 'Pay' }] };
  const configuration = { returnImmediately: true };
  const { id } = (await asSender.post(`${base}/message:send`, { message, configuration }, V1)).body.task;
  const candidates = { users: [absent.username], roles: [], groups: [] };
  await show(id, 1, 'waiting', [await insertTask(app.orm, id, { candidates })]);
  const answerable = async (): Promise<unknown[]> => {
    const { body: task } = await asSender.get(`${base}/tasks/${id}`, V1);
    const { body: list } = await asSender.get(`${base}/tasks?historyLength=10`, V1);
    return [task, ...list.tasks].map(({ status }) => status.message.metadata.answerable);
  };
  expect(await answerable()).toEqual([false, false]);
  const away = { deputy: sender.username, until: new Date(Date.now() + 86_400_000).toISOString() };
  expect((await (await app.as(absent)).post('/absences', away)).status).toBe(201);
  await until(answerable, ([first]) => first === true);
  expect(await answerable()).toEqual([true, true]);
});
