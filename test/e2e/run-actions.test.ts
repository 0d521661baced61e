/** Actions on several runs in one request: docs/interface.md#act-on-a-run. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import type { Client, TestUser } from '../support/app.ts';
import { endOf, startRun, startTestPlatform, until, type TestPlatform } from '../support/platform.ts';

let platform: TestPlatform;
let user: TestUser;
let builder: Client;
let stranger: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  stranger = await platform.as(await platform.createUser({ roles: ['builder'] }));
});
beforeEach(async () => {
  user = await platform.createUser({ roles: ['builder'] });
  builder = await platform.as(user);
});
afterAll(() => platform.close());

const WAITING = { do: [{ pause: { wait: { minutes: 10 } } }, { last: { set: { done: true } } }] };
const COMPLETING = { do: [{ only: { set: { done: true } } }] };
const FAULTING = {
  do: [{ stop: { raise: { error: { type: 'https://example.com/errors/stop', status: 500 } } } }],
};

const statusIs = (id: string, status: string, client = builder) =>
  until(
    async () => (await client.get(`/runs/${id}`)).body,
    (run) => run.status === status,
  );

async function runIn(status: string, definition: unknown, client = builder): Promise<string> {
  const run = await startRun(client, definition);
  await statusIs(run['id'], status, client);
  return run['id'];
}

const act = (action: string, ids: string[], headers: Record<string, string> = {}, client = builder) =>
  client.post('/runs/actions', { action, ids }, { headers });

test('each run has its own result: what is done, refused, hidden or unknown', async () => {
  const [first, second] = [await runIn('waiting', WAITING), await runIn('waiting', WAITING)];
  const completed = await runIn('completed', COMPLETING);
  const hidden = await runIn('waiting', WAITING, stranger);
  const unknown = uuidv7();
  const ids = [first, completed, hidden, unknown, second, first.toUpperCase()];
  const { status, body } = await act('cancel', ids);
  expect(status).toBe(200);
  expect(body.results).toMatchObject([
    { id: first, status: 200, run: { id: first, owner_id: user.id } },
    { id: completed, status: 409, problem: { code: 'run_finished', run_status: 'completed' } },
    { id: hidden, status: 404, problem: { code: 'not_found' } },
    { id: unknown, status: 404, problem: { code: 'not_found' } },
    { id: second, status: 200, run: { id: second } },
    { id: first.toUpperCase(), status: 200, run: { id: first } },
  ]);
  // A hidden run is refused in the words of one that does not exist, and goes on.
  const [hiddenProblem, unknownProblem] = [body.results[2].problem, body.results[3].problem];
  expect(hiddenProblem).toEqual(unknownProblem);
  for (const id of [first, second]) await statusIs(id, 'cancelled');
  expect((await stranger.get(`/runs/${hidden}`)).body.status).toBe('waiting');
  // Cancelling again is harmless, as for a single run.
  expect((await act('cancel', [first])).body.results).toMatchObject([{ status: 200 }]);
  const admin = await platform.as('admin');
  expect((await act('cancel', [hidden], {}, admin)).body.results).toMatchObject([{ status: 200 }]);
  await statusIs(hidden, 'cancelled', stranger);
});

test('runs are suspended and resumed', async () => {
  const ids = [await runIn('waiting', WAITING), await runIn('waiting', WAITING)];
  const refused = await act('resume', ids);
  expect(refused.body.results).toMatchObject([
    { status: 409, problem: { code: 'run_not_suspended' } },
    { status: 409, problem: { code: 'run_not_suspended' } },
  ]);
  expect((await act('suspend', ids)).body.results).toMatchObject([{ status: 200 }, { status: 200 }]);
  for (const id of ids) await statusIs(id, 'suspended');
  await act('resume', ids);
  for (const id of ids) await statusIs(id, 'waiting');
});

test('a retry starts one new run for each, also if a run is named twice', async () => {
  const [failed, completed] = [await runIn('faulted', FAULTING), await runIn('completed', COMPLETING)];
  const { body } = await act('retry', [failed, completed, failed]);
  expect(body.results).toMatchObject([
    { id: failed, status: 201, run: { retry_of: failed } },
    { id: completed, status: 409, problem: { code: 'run_not_faulted' } },
    { id: failed, status: 201, run: { id: body.results[0].run.id } },
  ]);
  const retried = await endOf(builder, body.results[0].run);
  expect(retried).toMatchObject({ status: 'faulted', retry_of: failed });
  expect((await builder.get('/runs')).body).toHaveLength(3);
});

test('can be sent again with its Idempotency-Key after it was cut off', async () => {
  const [first, second] = [await runIn('faulted', FAULTING), await runIn('faulted', FAULTING)];
  const headers = { 'idempotency-key': 'actions' };
  const before = await act('retry', [first, second], headers);
  expect(before.body.results).toMatchObject([{ status: 201 }, { status: 201 }]);
  const replayed = await act('retry', [first, second], headers);
  expect(replayed.headers.get('idempotency-replayed')).toBe('true');
  expect(replayed.body).toEqual(before.body);
  expect((await act('retry', [first], headers)).body.code).toBe('idempotency_key_reused');
  // A crash leaves this behind: the second run was not reached, and the response was not stored.
  await platform.orm.em
    .fork()
    .execute(`delete from idempotency_record where key = 'actions' and path in ('/runs/actions', ?)`, [
      `/runs/actions#${second}`,
    ]);
  const again = await act('retry', [first, second], headers);
  expect(again.body.results[0]).toEqual(before.body.results[0]);
  expect(again.body.results[1]).toMatchObject({ status: 201, run: { retry_of: second } });
  expect(again.body.results[1].run.id).not.toBe(before.body.results[1].run.id);
  expect((await builder.get('/runs')).body).toHaveLength(5);
});

test('a hundred runs are taken at once', async () => {
  const ids = Array.from({ length: 99 }, () => uuidv7());
  const run = await runIn('waiting', WAITING);
  const { body } = await act('cancel', [...ids, run]);
  expect(body.results.map(({ id }: { id: string }) => id)).toEqual([...ids, run]);
  expect(body.results.at(-1)).toMatchObject({ id: run, status: 200 });
  await statusIs(run, 'cancelled');
});

test('is for builders, and says what is wrong with a request', async () => {
  const ids = [uuidv7()];
  expect((await act('cancel', ids, {}, platform.anonymous)).status).toBe(401);
  expect((await act('cancel', ids, {}, await platform.as('approver'))).status).toBe(403);
  const wrong: [unknown, string][] = [
    [{ action: 'terminate', ids }, '/action'],
    [{ ids }, '/action'],
    [{ action: 'cancel', ids: [] }, '/ids'],
    [{ action: 'cancel', ids: ['x'] }, '/ids/0'],
    [{ action: 'cancel', ids: Array.from({ length: 101 }, () => uuidv7()) }, '/ids'],
    [{ action: 'cancel', ids, reason: 'none' }, '/reason'],
  ];
  for (const [body, pointer] of wrong) {
    const reply = await builder.post('/runs/actions', body);
    expect([reply.status, reply.body.errors]).toEqual([422, [expect.objectContaining({ pointer })]]);
  }
});
