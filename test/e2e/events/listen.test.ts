/** `listen` and `schedule.on` on real Temporal: events reach the runs that wait for them, and start runs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createClient, type Client, type TestUser } from '../../support/app.ts';
import { sendJson, startServer } from '../../support/http-server.ts';
import {
  endOf,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';

let platform: TestPlatform;
let owner: TestUser;
let client: Client;

beforeAll(async () => {
  platform = await startTestPlatform();
  owner = await platform.createUser({ username: 'listener', roles: ['builder'] });
  client = await platform.as(owner);
});
afterAll(() => platform.close());

let count = 0;
const event = (type: string, data: unknown = null, more: object = {}) => ({
  specversion: '1.0',
  id: `e${++count}`,
  source: 'https://shop.example',
  type,
  data,
  ...more,
});
async function send(...events: object[]): Promise<void> {
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  expect((await client.post('/events', events, { headers })).status).toBe(202);
}

async function start(tasks: unknown[], input: object = {}, by = client): Promise<RunRecord> {
  const workflow = await by.post('/workflows', { name: 'Listens', definition: { do: tasks } });
  expect([workflow.status, workflow.body.runnable, workflow.body.problems]).toEqual([201, true, []]);
  const run = await by.post(`/workflows/${workflow.body.id}/run`, { input_params: input });
  expect(run.status).toBe(201);
  return run.body;
}
const read = async (run: RunRecord): Promise<RunRecord> => (await client.get(`/runs/${run['id']}`)).body;
const listening = (run: RunRecord): Promise<RunRecord> =>
  until(
    () => read(run),
    ({ status }) => status === 'waiting',
  );
const listenTo = (to: object, more: object = {}) => ({ wait: { listen: { to, ...more } } });
const outputOf = async (run: RunRecord): Promise<unknown> => {
  const { status, output, error } = await endOf(client, run);
  expect([status, error]).toEqual(['completed', null]);
  return output;
};

test('a run waits for one event by its correlation, and shows what it listens to', async () => {
  const filter = {
    with: { type: 'order.paid' },
    correlate: { order: { from: '.data.order', expect: '${ .order }' } },
  };
  const runs = await Promise.all([7, 8].map((order) => start([listenTo({ one: filter })], { order })));
  const waiting = await Promise.all(runs.map(listening));
  expect(waiting[0]?.['waiting_on']).toEqual([
    { kind: 'event', task: '/do/0/wait', id: expect.any(String), events: ['order.paid'] },
  ]);
  await send(event('order.paid', { order: 9 }), event('order.sent', { order: 7 }));
  await send(event('order.paid', { order: '8', by: 'card' }));
  expect(await outputOf(runs[1] ?? {})).toEqual([{ order: '8', by: 'card' }]);
  expect((await read(runs[0] ?? {}))['status']).toBe('waiting');
  await send(event('order.paid', { order: 7 }));
  expect(await outputOf(runs[0] ?? {})).toEqual([{ order: 7 }]);
  const { body: log } = await client.get(`/runs/${runs[0]?.['id']}/logs`);
  const messages = log.map(({ message }: any) => message);
  expect(messages).toEqual(
    expect.arrayContaining([
      'wait listens for order.paid',
      'wait received order.paid',
      'wait has listened, and received 1 event',
    ]),
  );
});

test('events between the start of a run and its listen are not lost, and each counts once', async () => {
  const ask = { ask: { call: 'human', with: { title: 'Go on?', candidates: { users: [owner.username] } } } };
  const twice = ['first', 'second'].map((name) => ({
    [name]: listenTo({ one: { with: { type: 'early' } } }).wait,
  }));
  await send(event('early', 'before the run'));
  const run = await start([ask, ...twice, { both: { set: { second: '${ . }' } } }]);
  await listening(run);
  await send(event('early', 1), event('early', 2), event('early', 3));
  const [task] = (await client.get(`/hitl/tasks?run_id=${run['id']}`)).body;
  await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' });
  expect(await outputOf(run)).toEqual({ second: [2] });
});

test('all takes each of its events once, and the first value binds the others', async () => {
  const of = (type: string) => ({ with: { type }, correlate: { room: { from: '.data.room' } } });
  const run = await start([listenTo({ all: [of('warm'), of('damp')] }, { read: 'envelope' })]);
  await listening(run);
  await send(event('warm', { room: 1 }), event('warm', { room: 2 }), event('damp', { room: 2 }));
  await send(event('damp', { room: 1, at: 'last' }));
  expect(await outputOf(run)).toMatchObject([
    { type: 'warm', data: { room: 1 } },
    { type: 'damp', data: { room: 1, at: 'last' } },
  ]);
});

test('any goes on until an expression is true, with foreach in the order of the events', async () => {
  const run = await start([
    {
      wait: {
        listen: { to: { any: [{ with: { type: 'tick' } }], until: '. | length >= 250' } },
        foreach: {
          item: 'tick',
          at: 'n',
          do: [{ double: { set: { twice: '${ $tick * 2 }', n: '${ $n }' } } }],
          output: { as: '.twice' },
          export: { as: '{last: .}' },
        },
      },
    },
    { seen: { set: { last: '${ $context.last }', count: '${ length }', first: '${ .[:3] }' } } },
  ]);
  await listening(run);
  for (let from = 0; from < 300; from += 100)
    await send(...Array.from({ length: 100 }, (_, n) => event('tick', from + n)));
  expect(await outputOf(run)).toEqual({ last: 498, count: 250, first: [0, 2, 4] });
});

test('any ends with the events of its until, which are no part of the output', async () => {
  const run = await start([
    listenTo({ any: [{ with: { type: 'vital\\..*' } }], until: { one: { with: { type: 'left' } } } }),
  ]);
  await listening(run);
  await send(event('vital.bpm', 60), event('vital.warm', 37), event('left'), event('vital.bpm', 0));
  expect(await outputOf(run)).toEqual([60, 37]);
});

test('filters match data by expressions, variables and parts, and raw reads text', async () => {
  const run = await start(
    [
      { keep: { set: { min: 38 }, export: { as: '.' } } },
      listenTo(
        {
          any: [
            { with: { data: '${ .temperature > $context.min }' } },
            { with: { source: '${ startswith("urn:") }', data: { kind: { is: 'fe.er' } } } },
          ],
        },
        { read: 'raw' },
      ),
    ],
    {},
  );
  await listening(run);
  await send(event('t', { temperature: 37 }), event('t', { kind: { is: 'fever' } }), event('t', 'text'));
  await send(event('t', { kind: { is: 'fe.er', more: 1 } }, { source: 'urn:x' }));
  expect(await outputOf(run)).toEqual(['{"kind":{"is":"fe.er","more":1}}']);
});

test('a timeout ends the listening, and what a run emits reaches others', async () => {
  const late = await start([
    {
      wait: {
        ...listenTo({ one: { with: { type: 'never' } } }).wait,
        timeout: { after: { milliseconds: 500 } },
      },
    },
  ]);
  expect((await endOf(client, late))['error'].type).toMatch(/timeout$/);
  const run = await start([listenTo({ one: { with: { type: 'emitted' } } })]);
  await listening(run);
  const emitter = await start([
    { tell: { emit: { event: { with: { type: 'emitted', data: { n: 1 } } } } } },
    { wait: { wait: { milliseconds: 1 } } },
  ]);
  expect(await outputOf(run)).toEqual([{ n: 1 }]);
  const [received] = (await client.get('/events/received?type=emitted')).body;
  expect(received).toMatchObject({ run_id: emitter['id'], source: expect.stringContaining(emitter['id']) });
});

test('a run that faults in foreach is retried from there, without an event lost or repeated', async () => {
  let isUp = false;
  const server = await startServer((_request, response) => sendJson(response, {}, isUp ? 200 : 500));
  const check = { call: 'http', with: { method: 'get', endpoint: `${server.url}/` }, if: '$item == 2' };
  const run = await start([
    {
      wait: {
        listen: { to: { any: [{ with: { type: 'step' } }], until: 'length >= 5' } },
        foreach: { do: [{ check }], output: { as: '$item' } },
      },
    },
  ]);
  await listening(run);
  await send(event('step', 0), event('step', 1), event('step', 2), event('step', 3));
  expect((await endOf(client, run))['status']).toBe('faulted');
  await send(event('step', 4));
  isUp = true;
  const retried = (await client.post(`/runs/${run['id']}/retry`, {})).body;
  expect(await outputOf(retried)).toEqual([0, 1, 2, 3, 4]);
  await server.close();
});

test("others' events reach a run only if both sides say so", async () => {
  const sender = await platform.createUser({ username: 'sender', roles: ['builder'] });
  const other = createClient(platform.url, sender.token);
  const tell = (data: unknown) =>
    other.post('/events', event('shared', data, { source: 'urn:shared' }), {
      headers: { 'content-type': 'application/cloudevents+json' },
    });
  const workflow = await client.post('/workflows', {
    name: 'Hears others',
    definition: { do: [listenTo({ one: { with: { type: 'shared' } } })] },
  });
  const { id } = workflow.body;
  expect((await other.patch(`/workflows/${id}/event-senders`, { users: [sender.id] })).status).toBe(404);
  // Nobody listens to somebody who shares nothing with them.
  const refused = await client.patch(`/workflows/${id}/event-senders`, { users: [owner.id, sender.id] });
  expect([refused.status, refused.body.errors]).toMatchObject([
    422,
    [{ pointer: '/users/1', code: 'shares_nothing' }],
  ]);
  await other.post('/event-sources', { source: 'urn:other', shared_with: [owner.id] });
  const nobody = (await client.get(`/workflows/${id}/event-senders`)).headers.get('etag') ?? '';
  const list = (users: string[]) =>
    client.patch(`/workflows/${id}/event-senders`, { users }, { headers: { 'if-match': nobody } });
  const listed = await list([sender.id]);
  expect([listed.status, listed.body]).toEqual([200, { users: [sender.id] }]);
  expect((await list([])).status).toBe(412);
  const run = (await client.post(`/workflows/${id}/run`, {})).body;
  await listening(run);
  // What counts is who may read it when it is matched.
  const matched = (count: number) =>
    until(
      async () =>
        platform.orm.em
          .fork()
          .execute<object[]>(`select from inbound_event where type = 'shared' and matched_at is not null`),
      ({ length }) => length === count,
    );
  await tell('private');
  await matched(1);
  const shared = await other.post('/event-sources', { source: 'urn:shared', shared_with: [owner.id] });
  expect(shared.status).toBe(201);
  // Whoever binds the source to somebody else does not hear it.
  const bound = await client.post('/event-sources', { source: 'urn:shared', user_id: owner.id });
  await tell('bound');
  await matched(2);
  await client.patch(`/event-sources/${bound.body.id}`, { user_id: sender.id });
  await tell('for all to hear');
  expect(await outputOf(run)).toEqual(['for all to hear']);
});

const scheduled = async (on: object, tasks: unknown[], more: object = {}): Promise<string> => {
  const definition = { schedule: { on, ...more }, do: tasks };
  const { status, body } = await client.post('/workflows', { name: 'By events', definition });
  expect([status, body.runnable, body.problems]).toEqual([201, true, []]);
  return body.id;
};
const keep = [{ keep: { set: { input: '${ $workflow.input }' } } }];
const runsOf = async (id: string): Promise<any[]> =>
  (await client.get(`/runs?workflow_id=${id}&limit=200`)).body;
const stateOf = async (id: string): Promise<any> => (await client.get(`/workflows/${id}/schedule`)).body;
const change = (id: string, changes: object) => client.patch(`/workflows/${id}/schedule`, changes);
const startsOf = async (id: string, wanted: number): Promise<any[]> =>
  until(
    async () => (await stateOf(id)).last,
    (last) => last.length === wanted,
  );

test('each event starts one run with the event as its input, however often it is sent', async () => {
  const id = await scheduled({ one: { with: { type: 'made', data: '${ .n > 0 }' } } }, keep);
  expect(await stateOf(id)).toMatchObject({
    kind: 'on',
    events: ['made'],
    state: 'active',
    overlap: 'allow',
    next: [],
  });
  const events = [event('made', { n: 1 }), event('made', { n: 0 }), event('made', { n: 2 })];
  await Promise.all([send(...events), send(...events), send(...events.toReversed())]);
  const runs = await until(
    () => runsOf(id),
    (now) => now.length === 2 && now.every(({ status }) => status === 'completed'),
  );
  const inputs = runs.map(({ output }) => output.input[0]);
  expect(inputs.map(({ data }) => data.n).toSorted()).toEqual([1, 2]);
  expect(inputs[0]).toMatchObject({ specversion: '1.0', type: 'made' });
  const [started] = runs[0].started_by;
  expect((await client.get(`/events/received/${started}`)).body.event).toEqual(inputs[0]);
  expect((await stateOf(id)).last.map(({ cause, outcome }: any) => [cause, outcome])).toEqual([
    ['event', 'started'],
    ['event', 'started'],
  ]);
  expect((await client.post(`/workflows/${id}/schedule/trigger`, {})).status).toBe(201);
  expect(
    (
      await client.post(`/workflows/${id}/schedule/backfill`, {
        from: '2026-01-01T00:00:00Z',
        to: '2026-01-02T00:00:00Z',
      })
    ).status,
  ).toBe(409);
});

test('a start of all waits for its events by correlation, and several are open at once', async () => {
  const of = (type: string) => ({ with: { type }, correlate: { room: { from: '.data.room' } } });
  const id = await scheduled({ all: [of('cold'), of('dry')] }, keep, { read: 'data' });
  await send(event('cold', { room: 1 }), event('cold', { room: 2 }), event('cold', { room: 1, again: true }));
  await send(event('dry', { room: 2 }), event('dry', { room: 1 }), event('dry', { room: 3 }));
  const runs = await until(
    () => runsOf(id),
    (now) => now.length === 2 && now.every(({ status }) => status === 'completed'),
  );
  expect(runs.map(({ output }) => output.input).toSorted((a, b) => a[0].room - b[0].room)).toEqual([
    [{ room: 1 }, { room: 1 }],
    [{ room: 2 }, { room: 2 }],
  ]);
});

test('a start by events gathers them until its condition is true', async () => {
  const id = await scheduled({ any: [{ with: { type: 'drop' } }], until: 'length == 3' }, keep, {
    read: 'data',
  });
  await send(...Array.from({ length: 7 }, (_, n) => event('drop', n)));
  const runs = await until(
    () => runsOf(id),
    (now) => now.length === 2 && now.every(({ status }) => status === 'completed'),
  );
  expect(runs.map(({ output }) => output.input).toSorted()).toEqual([
    [0, 1, 2],
    [3, 4, 5],
  ]);
});

test('events respect pause, overlap, a new revision and the end of the workflow', async () => {
  const hold = { hold: { call: 'human', with: { title: 'Hold?', candidates: { users: [owner.username] } } } };
  const id = await scheduled({ one: { with: { type: 'busy' } } }, [hold]);
  await change(id, { overlap: 'skip' });
  await send(event('busy', 1), event('busy', 2));
  const outcomes = (last: any[]): unknown[] => last.map(({ outcome }) => outcome).toReversed();
  expect(outcomes(await startsOf(id, 2))).toEqual(['started', 'skipped']);
  await change(id, { overlap: 'buffer_one' });
  await send(event('busy', 3), event('busy', 4));
  expect(outcomes(await startsOf(id, 3))).toEqual(['started', 'skipped', 'skipped']);
  const [first] = await runsOf(id);
  await client.post(`/runs/${first.id}/cancel`, {});
  await endOf(client, first);
  await platform.reconcile();
  const runs = await until(
    () => runsOf(id),
    (now) => now.length === 2,
  );
  expect(runs[0].input_params[0].data).toBe(3);
  await change(id, { paused: true });
  await send(event('busy', 5));
  expect((await startsOf(id, 5))[0]).toMatchObject({ outcome: 'skipped', detail: 'The schedule is paused.' });
  await change(id, { paused: false, overlap: 'allow' });
  const definition = { schedule: { on: { one: { with: { type: 'other' } } } }, do: keep };
  await client.patch(`/workflows/${id}`, { definition });
  await send(event('busy', 6), event('other', 7));
  await until(
    () => runsOf(id),
    (now) => now.length === 3,
  );
  await client.delete(`/workflows/${id}`);
  await send(event('other', 8));
  await until(
    async () => (await client.get('/events/received?type=other')).body.length,
    (length) => length === 2,
  );
  const [open] = await platform.orm.em
    .fork()
    .execute<any[]>('select count(*)::int as count from listener where workflow_id = ?', [id]);
  expect(open.count).toBe(0);
});

test('events of a team reach its schedules, and its runs whoever started them, and nobody else', async () => {
  const [maker, starter] = [
    await platform.createUser({ username: 'maker', roles: ['builder'] }),
    await platform.createUser({ username: 'starter', roles: ['viewer'] }),
  ];
  const [admin, asMaker, asStarter] = [
    await platform.as('admin'),
    await platform.as(maker),
    await platform.as(starter),
  ];
  const team = (await admin.post('/teams', { name: 'shop', admin: maker.id })).body.id;
  await asMaker.put(`/teams/${team}/members/${starter.id}`, { role: 'builder' });
  const waits = { do: [listenTo({ one: { with: { type: 'team.sold' } } })] };
  const on = { one: { with: { type: 'team.sold' } } };
  const scheduled = { schedule: { on }, do: [{ first: { set: { a: 1 } } }] };
  const make = async (definition: object, more: object = {}) =>
    (await asMaker.post('/workflows', { name: 'Sales', definition, ...more })).body.id;
  const [held, own] = [await make(waits, { team_id: team }), await make(waits)];
  const starts = await make(scheduled, { team_id: team });
  const run = (await asStarter.post(`/workflows/${held}/run`, {})).body;
  const alone = (await asMaker.post(`/workflows/${own}/run`, {})).body;
  const waiting = (id: string) =>
    until(
      async () => (await asMaker.get(`/runs/${id}`)).body,
      ({ status }) => status === 'waiting',
    );
  await waiting(run.id);
  await waiting(alone.id);
  const headers = { 'content-type': 'application/cloudevents+json' };
  expect((await asMaker.post(`/events?team_id=${team}`, event('team.sold', 7), { headers })).status).toBe(
    202,
  );
  expect(await endOf(asStarter, run)).toMatchObject({ status: 'completed', output: [7] });
  await until(
    async () => (await asMaker.get(`/runs?workflow_id=${starts}`)).body,
    (runs) => runs.length === 1,
  );
  expect((await asMaker.get(`/runs/${alone.id}`)).body.status).toBe('waiting');
});
