/** Runs whose Temporal was restored to an earlier time than the database find the listeners that they had. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Client } from '../../support/app.ts';
import { humanTask } from '../../support/definitions.ts';
import { forgetActivity } from '../../support/forget-activity.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let client: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  client = await platform.as(await platform.createUser({ username: 'listener', roles: ['builder'] }));
});
afterAll(() => platform.close());

let count = 0;
async function send(type: string, ...data: unknown[]): Promise<void> {
  const events = data.map((value) => ({
    specversion: '1.0',
    id: `e${++count}`,
    source: 'https://shop.example',
    type,
    data: value,
  }));
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  expect((await client.post('/events', events, { headers })).status).toBe(202);
}

interface Row {
  task_ref: string;
  status: string;
  taken: number;
}

const listenersOf = (runId: unknown): Promise<Row[]> =>
  platform.orm.em.fork().execute<Row[]>(
    `select l.task_ref, l.status,
            (select count(*)::int from listener_event e where e.listener_id = l.id) as taken
       from listener l where l.run_id = ? order by l.task_ref`,
    [String(runId)],
  );
const hasTaken = (runId: unknown, taken: number[]): Promise<Row[]> =>
  until(
    () => listenersOf(runId),
    (found) => JSON.stringify(found.map((row) => row.taken)) === JSON.stringify(taken),
  );
async function decide(runId: unknown): Promise<void> {
  const { body: list } = await until(
    () => client.get(`/hitl/tasks?run_id=${String(runId)}`),
    ({ body }) => body.length === 1,
  );
  const { status } = await client.post(`/hitl/tasks/${list[0].id}/decision`, { decision: 'approve' });
  expect(status).toBe(200);
}
/** What the log says of events that were received. */
async function received(runId: unknown): Promise<string[]> {
  const { body } = await client.get(`/runs/${String(runId)}/logs?limit=200`);
  return body.flatMap(({ type, message }: { type: string; message: string }) =>
    type === 'io.cadenza.event.received.v1' ? [message] : [],
  );
}
const two = (type: string) => ({ listen: { to: { any: [{ with: { type } }], until: 'length >= 2' } } });

test('a listener that has begun since and is open goes on with what it has received', async () => {
  const run = await startRun(client, { do: [{ pair: two('open') }] });
  await until(
    () => listenersOf(run['id']),
    ({ length }) => length === 1,
  );
  await send('open', 1);
  await hasTaken(run['id'], [1]);
  await forgetActivity(platform, String(run['id']), 'openListener');
  await send('open', 2);
  const { output, status } = await endOf(client, run);
  expect([status, output]).toEqual(['completed', [1, 2]]);
  expect(await listenersOf(run['id'])).toMatchObject([{ taken: 2 }]);
  expect(await received(run['id'])).toHaveLength(2);
});

test('listeners that have ended since give the same events to the same tasks again', async () => {
  const definition = {
    do: [
      { first: two('ended') },
      { second: two('ended') },
      { ask: humanTask('Go on?') },
      { third: two('ended') },
    ],
  };
  const run = await startRun(client, definition);
  await until(
    () => listenersOf(run['id']),
    ({ length }) => length === 1,
  );
  await send('ended', 1, 2, 3, 4, 5);
  await hasTaken(run['id'], [2, 2]);
  await until(
    () => client.get(`/hitl/tasks?run_id=${String(run['id'])}`),
    ({ body }) => body.length === 1,
  );
  await forgetActivity(platform, String(run['id']), 'openListener');
  await decide(run['id']);
  await send('ended', 6);
  const { output, status } = await endOf(client, run);
  expect([status, output]).toEqual(['completed', [5, 6]]);
  expect((await listenersOf(run['id'])).map(({ taken }) => taken)).toEqual([2, 2, 2]);
  expect(await received(run['id'])).toHaveLength(6);
});
