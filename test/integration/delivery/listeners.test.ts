/** Listeners as rows: what they find when they open, and what reaches them while others commit. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import type { ListenerSpec } from '../../../contracts/listening.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { arrayLiteral } from '../../../db/sql.ts';
import { findListeners } from '../../../domain/events/find-listeners.ts';
import { acceptEvents, type InboundCloudEvent } from '../../../domain/events/inbound.ts';
import { catchUp } from '../../../domain/events/inbox.ts';
import { closeListener, openListener, takeEvents } from '../../../domain/events/listeners.ts';
import { matchEvents } from '../../../domain/events/matcher.ts';
import { offerToRuns, type InboundRow } from '../../../domain/events/offer.ts';
import { SenderTurns } from '../../../domain/events/sender-turns.ts';
import { AFTER_RESTORE } from '../../../domain/operations/after-restore.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { insertListeners } from '../../support/listeners.ts';
import { until } from '../../support/platform.ts';
import { noTemporal, startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let client: Client;
let owner: string;
const warnings: object[] = [];

beforeAll(async () => {
  app = await startTestApp();
  client = await app.as('builder');
  owner = (await app.user('builder')).id;
});
afterAll(() => app.close());

let count = 0;
const event = (type: string, data: unknown = null): InboundCloudEvent => ({
  specversion: '1.0',
  id: `e${++count}`,
  source: 'urn:test',
  type,
  data,
});
const accept = (...events: InboundCloudEvent[]) =>
  app.orm.em.fork().transactional((em) => acceptEvents(em, { owner_id: owner }, events));
const match = async (): Promise<void> => {
  const logger = { warn: (details: object) => void warnings.push(details) };
  await matchEvents({ orm: app.orm, temporal: noTemporal, limits: runLimits(app.env), logger });
  expect(warnings).toEqual([]);
};
const specOf = (
  type: string,
  more: object = {},
  correlate: ListenerSpec['filters'][0]['correlate'] = [],
) => ({
  mode: 'one' as const,
  filters: [{ with: { type, ...more }, correlate }],
  goes_on: false,
  variables: {},
  once: true,
});

async function startRun(): Promise<string> {
  const definition = { do: [{ keep: { set: { a: 1 } } }] };
  const { body } = await client.post('/workflows', { name: 'Listens', definition });
  return (await client.post(`/workflows/${body.id}/run`, {})).body.id;
}

let visits = 0;
/** Of another visit each time, unless it is given. */
const open = (
  runId: string,
  spec: ListenerSpec,
  resumes?: { id: string; seq: number },
  visit: number = ++visits,
) => {
  const id = uuidv7();
  const more = resumes === undefined ? {} : { resumes };
  const listener = { id, run_id: runId, task: '/do/0/wait', visit, spec, ...more };
  return app.orm.em
    .fork()
    .transactional((em) => openListener(em, listener))
    .then((taken) => ({ id, data: taken.events.map((each) => each.event['data']), ...taken }));
};
const take = (runId: string, id: string, after = 0) =>
  app.orm.em.fork().transactional((em) => takeEvents(em, { id, run_id: runId, after }));
const takenBy = async (id: string): Promise<unknown[]> => {
  const rows = await app.orm.em.fork().execute<{ data: unknown }[]>(
    `select i.event -> 'data' as data from listener_event e join inbound_event i on i.id = e.event_id
        where e.listener_id = ? order by e.seq`,
    [id],
  );
  return rows.map(({ data }) => data);
};

test('what a run has taken from its inbox is not offered to its next listen', async () => {
  const run = await startRun();
  await accept(event('twice', 1));
  expect(await open(run, specOf('twice'))).toMatchObject({ data: [1], done: true });
  const second = await open(run, specOf('twice'));
  expect(second).toMatchObject({ data: [], done: false, more: false });
  await match();
  expect(await takenBy(second.id)).toEqual([]);
  await accept(event('twice', 2));
  await match();
  expect(await takenBy(second.id)).toEqual([2]);
});

const several = (type: string): ListenerSpec => ({
  ...specOf(type),
  mode: 'any',
  goes_on: true,
  once: false,
});
const idsOf = async (runId: string): Promise<string[]> => {
  const sql = 'select id from listener where run_id = ? order by id';
  return (await app.orm.em.fork().execute<{ id: string }[]>(sql, [runId])).map(({ id }) => id);
};
const close = (runId: string, id: string, seq: number) =>
  app.orm.em.fork().transactional((em) => closeListener(em, { id, run_id: runId, seq }));

const receivedOf = (type: string) =>
  app.orm.em.fork().execute<InboundRow[]>(
    `select id, owner_id, source, event, octet_length(event::text) as bytes,
            extract(epoch from received_at)::float8 as received
       from inbound_event where type = ? order by received_at, id`,
    [type],
  );
/** Offers the owner's events to a listener that was found for all of them. */
const offerTo = (id: string, events: readonly InboundRow[], pause = async () => {}) => {
  const { logger } = app.app.deps;
  const deps = { orm: app.orm, temporal: noTemporal, limits: runLimits(app.env), logger };
  const found = new Map([[id, events.map((_, index) => index)]]);
  return offerToRuns(deps, { sender: owner, events }, found, pause);
};

test('a run from before a restore finds the listener of the visit, with its events', async () => {
  const run = await startRun();
  const first = await open(run, several('again'), undefined, 1_001);
  await accept(event('again', 1));
  await match();
  const second = await open(run, several('again'), undefined, 1_001);
  expect(second).toMatchObject({ data: [1], done: false, more: true });
  expect(await idsOf(run)).toEqual([second.id]);
  expect(await take(run, second.id, 1)).toMatchObject({ events: [], more: false });
  await accept(event('again', 2));
  await match();
  expect(await takenBy(second.id)).toEqual([1, 2]);
  expect(await takenBy(first.id)).toEqual([]);
});

test('an event for which the listener was found under its id of before is not lost', async () => {
  const run = await startRun();
  const first = await open(run, several('between'), undefined, 1_004);
  await accept(event('between', 1));
  await match();
  await accept(event('between', 2));
  const events = await receivedOf('between');
  const second = await open(run, several('between'), undefined, 1_004);
  expect(second).toMatchObject({ data: [1], more: true });
  await offerTo(first.id, events.slice(1));
  const next = await take(run, second.id, 1);
  expect(next.events.map((each) => each.event['data'])).toEqual([2]);
  await match();
  expect(await takenBy(second.id)).toEqual([1, 2]);
});

test('a listener that was closed since gives its events again, and then the others', async () => {
  const run = await startRun();
  const first = await open(run, several('over'), undefined, 1_002);
  await accept(event('over', 1), event('over', 2));
  await match();
  await close(run, first.id, 1);
  const second = await open(run, several('over'), undefined, 1_002);
  const more = second.more ? await take(run, second.id, 1) : { events: [] };
  const data = [...second.data, ...more.events.map((each) => each.event['data'])];
  expect(data).toEqual([1, 2]);
  await accept(event('over', 3));
  await match();
  expect(await takenBy(second.id)).toEqual([1, 2, 3]);
});

test('a closed listener opens again for a run from before a restore only', async () => {
  const run = await startRun();
  const { id } = await open(run, several('closed'));
  await accept(event('closed', 1));
  await match();
  await close(run, id, 1);
  expect(await take(run, id)).toEqual({ events: [], done: true, more: false });
  for (const sql of AFTER_RESTORE) await app.orm.em.fork().execute(sql);
  expect(await take(run, id)).toMatchObject({ events: [{ seq: 1 }], done: false });
  await close(run, id, 1);
  expect(await take(run, id)).toEqual({ events: [], done: true, more: false });
});

test('a listener of other filters, at a visit that was that of another item, begins anew', async () => {
  const run = await startRun();
  await open(run, several('left'), undefined, 1_003);
  await accept(event('left', 1), event('right', 2));
  await match();
  const second = await open(run, several('right'), undefined, 1_003);
  expect(second).toMatchObject({ data: [2] });
  expect(await idsOf(run)).toEqual([second.id]);
});

test("what a team takes from one sender reaches its workflows' runs as nobody else's event", async () => {
  const admin = await app.as('admin');
  const team = (await admin.post('/teams', { name: 'till', admin: owner })).body.id;
  const other = await app.createUser({ roles: ['builder'] });
  await admin.put(`/teams/${team}/members/${other.id}`, { role: 'builder' });
  const definition = { do: [{ keep: { set: { a: 1 } } }] };
  const startOf = async (more: object): Promise<string> => {
    const { body } = await client.post('/workflows', { name: 'Sells', definition, ...more });
    return (await client.post(`/workflows/${body.id}/run`, {})).body.id;
  };
  const [ofTeam, own] = [await startOf({ team_id: team }), await startOf({})];
  const bind = { source: 'urn:bound', user_id: other.id, team_id: team };
  const bound = await client.post('/event-sources', bind);
  expect(bound.status).toBe(201);
  const sold = (data: string) => ({ ...event('sold', data), source: 'urn:bound' });
  const send = async (by: Client, query: string, data: string): Promise<number> => {
    const headers = { 'content-type': 'application/cloudevents+json' };
    return (await by.post(`/events${query}`, sold(data), { headers })).status;
  };
  const all = { ...specOf('sold'), mode: 'any' as const, goes_on: true, once: false };
  // One finds them in its inbox, the other is there when they come.
  const waits = await open(ofTeam, all);
  expect(await send(client, '', 'own')).toBe(202);
  expect(await send(await app.as(other), `?team_id=${team}`, 'of the team')).toBe(202);
  await match();
  expect(await takenBy(waits.id)).toEqual(['of the team']);
  const late = await open(await startedBefore(ofTeam), all);
  expect(late.data).toEqual(['of the team']);
  expect((await open(own, all)).data).toEqual(['own']);
  // Without the record, the owner's events reach the run again.
  expect((await client.delete(`/event-sources/${bound.body.id}`)).status).toBe(204);
  expect(await send(client, '', 'unbound')).toBe(202);
  await match();
  expect(await takenBy(waits.id)).toEqual(['of the team', 'unbound']);
});

/** Another run of the same workflow, as if it had begun before all events. */
async function startedBefore(run: string): Promise<string> {
  const { workflow_id: workflow } = (await client.get(`/runs/${run}`)).body;
  const { id } = (await client.post(`/workflows/${workflow}/run`, {})).body;
  await app.orm.em
    .fork()
    .execute(`update run set created_at = (select created_at from run where id = ?) where id = ?`, [run, id]);
  return id;
}

test('a long inbox is read in parts, and misses nothing that is stored meanwhile', async () => {
  const run = await startRun();
  const late = app.orm.em.fork();
  await late.begin();
  await acceptEvents(late, { owner_id: owner }, [event('long', 'wanted')]);
  await app.orm.em.fork().execute(
    `insert into inbound_event (id, owner_id, source, event_id, type, event)
     select gen_random_uuid(), ?, 'urn:many', n::text, 'long',
            json_build_object('id', n::text, 'source', 'urn:many', 'type', 'long', 'data', n)
       from generate_series(1, 5_100) n`,
    [owner],
  );
  const first = await open(run, specOf('long', { data: 'wanted' }));
  expect(first).toMatchObject({ data: [], done: false, more: true });
  await late.commit();
  let taken = await take(run, first.id);
  while (taken.more) taken = await take(run, first.id);
  expect(taken).toMatchObject({ done: true, events: [{ event: { data: 'wanted' } }] });
  await app.orm.em.fork().execute(`update inbound_event set matched_at = now() where type = 'long'`);
});

test('what was being stored while a listener opened is found afterwards, however large it is', async () => {
  const run = await startRun();
  const late = app.orm.em.fork();
  await late.begin();
  const large = Array.from({ length: 5 }, () => event('large', randomBytes(750_000).toString('base64')));
  await acceptEvents(late, { owner_id: owner }, [...large, event('large', 'wanted')]);
  const { id, more } = await open(run, specOf('large', { data: 'wanted' }));
  expect(more).toBe(false);
  await late.commit();
  expect(await app.orm.em.fork().transactional((em) => catchUp(em, id))).toHaveLength(1);
  expect(await takenBy(id)).toEqual(['wanted']);
  await match();
});

test('a correlation with a value that the database cannot store holds nobody up', async () => {
  const run = await startRun();
  const correlation = { name: 'odd', from: '[0] | implode', plain: true };
  const odd = await open(run, specOf('odd', {}, [correlation]));
  const plain = await open(await startRun(), specOf('odd'));
  await accept(event('odd', 1));
  await match();
  expect([await takenBy(odd.id), await takenBy(plain.id)]).toEqual([[1], [1]]);
});

test('an emitted event that listeners cannot get stays in the log, and holds no run up', async () => {
  const run = await startRun();
  const emit = (key: string, more: object) => {
    const emitted = { ...event('emitted', key), ...more };
    return serviceEvent({ key, type: EVENT.eventEmitted, message: key, data: { event: emitted } });
  };
  const long = randomBytes(4_000).toString('base64');
  const events = [
    emit('long', { id: long }),
    emit('zone', { time: '2026-01-01T00:00:00+20:00' }),
    emit('year', { time: '0000-01-01T00:00:00Z' }),
  ];
  const { closed } = await app.orm.em
    .fork()
    .transactional((em) => appendEvents(em, run, { events, projection: null, acks: [] }));
  expect(closed).toBe(false);
  const received = await app.orm.em
    .fork()
    .execute<{ data: string; at: string | null }[]>(
      `select event ->> 'data' as data, at::text from inbound_event where type = 'emitted' order by 1`,
    );
  expect(received).toEqual([
    { data: 'year', at: null },
    { data: 'zone', at: '2025-12-31 04:00:00+00' },
  ]);
});

test('a start begins with the events that it has, or fails, before they are too many bytes', async () => {
  const schedule = async (on: object): Promise<string> => {
    const definition = { schedule: { on }, do: [{ keep: { set: { a: 1 } } }] };
    const { body } = await client.post('/workflows', { name: 'Gathers', definition });
    expect([body.runnable, body.problems]).toEqual([true, []]);
    return body.id;
  };
  const filter = { with: { type: 'big' } };
  const any = await schedule({ any: [filter], until: 'false' });
  const all = await schedule({ all: [filter, filter, filter, filter] });
  for (let n = 0; n < 3; n++) await accept(event('big', 'x'.repeat(1_500_000)));
  await match();
  const [run] = (await client.get(`/runs?workflow_id=${any}`)).body;
  expect(run.started_by).toHaveLength(3);
  const { last } = (await client.get(`/workflows/${all}/schedule`)).body;
  expect(last).toMatchObject([{ outcome: 'failed', detail: expect.stringContaining('bytes') }]);
});

test('a new revision keeps the starts that have their events and wait', async () => {
  const on = { one: { with: { type: 'waits' } } };
  const definition = { schedule: { on, read: 'data' }, do: [{ keep: { set: { a: 1 } } }] };
  const { body } = await client.post('/workflows', { name: 'Waits', definition });
  await client.patch(`/workflows/${body.id}/schedule`, { overlap: 'buffer_one' });
  await accept(event('waits', 1), event('waits', 2));
  await match();
  const changed = { ...definition, do: [{ keep: { set: { a: 2 } } }] };
  expect((await client.patch(`/workflows/${body.id}`, { definition: changed })).status).toBe(200);
  const parts = await app.orm.em.fork().execute<{ id: string; status: string }[]>(
    `select l.id, l.status from listener l join listener whole on whole.id = l.part_of
        where l.workflow_id = ? and whole.status = 'open'`,
    [body.id],
  );
  expect(parts.map(({ status }) => status)).toEqual(['done']);
  expect(await takenBy(parts[0]?.id ?? '')).toEqual([2]);
});

const rowsOf = (ids: readonly string[]) =>
  app.orm.em.fork().execute<{ id: string; taken: unknown[]; signals: number }[]>(
    `select l.id,
            (select coalesce(json_agg(i.event -> 'data' order by e.seq), '[]') from listener_event e
               join inbound_event i on i.id = e.event_id where e.listener_id = l.id) as taken,
            (select count(*)::int from run_signal s where s.run_id = l.run_id) as signals
       from listener l where l.id = any(?::uuid[]) order by l.id`,
    [`{${ids.join(',')}}`],
  );
const goesOn = (...filters: object[]): ListenerSpec => ({
  mode: 'any',
  filters: filters.map((filter) => ({ with: {}, correlate: [], ...filter })),
  goes_on: true,
  variables: {},
  once: false,
});

test('however many shapes listeners of a type have, none is overlooked', async () => {
  const ids = await insertListeners(app.orm.em.fork(), owner, 1_200, (n) =>
    specOf('shapes', {}, [{ name: 'c', from: `.data.c + ${n} - ${n}`, expect: '7', plain: true }]),
  );
  await accept(event('shapes', { c: 7 }), event('shapes', { c: 8 }));
  await match();
  for (const { taken, signals } of await rowsOf(ids)) expect([taken, signals]).toEqual([[{ c: 7 }], 1]);
});

test('many listeners with several filters take the events in their order', async () => {
  const ids = await insertListeners(app.orm.em.fork(), owner, 1_100, (n) =>
    goesOn(
      { with: { type: 'wide.a' } },
      { with: { type: 'wide.b', ...(n < 600 ? { source: 'urn:test' } : {}) } },
    ),
  );
  await accept(event('wide.b', 1), event('wide.a', 2), event('wide.b', 3));
  await match();
  for (const { taken, signals } of await rowsOf(ids)) expect([taken, signals]).toEqual([[1, 2, 3], 1]);
});

test('a matcher that is killed after some of the listeners gives each the event once', async () => {
  const ids = await insertListeners(app.orm.em.fork(), owner, 300, () => goesOn({ with: { type: 'kill' } }));
  const blocking = app.orm.em.fork();
  await blocking.begin();
  const [{ own } = { own: 0 }] = await blocking.execute<{ own: number }[]>(
    'select pg_backend_pid() as own from listener where id = ? for update',
    [ids[250]],
  );
  await accept(event('kill', 1));
  const failed: object[] = [];
  const logger = { warn: (details: object) => void failed.push(details) };
  const killed = matchEvents({ orm: app.orm, temporal: noTemporal, limits: runLimits(app.env), logger });
  const waiting = () =>
    app.orm.em.fork().execute<{ pid: number }[]>(
      `select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%from listener l%'`,
    );
  await until(waiting, ({ length }) => length === 1);
  const before = await rowsOf(ids);
  expect(new Set(before.map(({ taken }) => taken.length))).toEqual(new Set([0, 1]));
  // All that a process holds: the transaction that waits, and the one with the lock of the sender.
  await app.orm.em.fork().execute(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid not in (pg_backend_pid(), ?)
        and (wait_event_type = 'Lock' or state = 'idle in transaction')`,
    [own],
  );
  await killed;
  expect(failed).not.toEqual([]);
  await blocking.rollback();
  await match();
  for (const { taken, signals } of await rowsOf(ids)) expect([taken, signals]).toEqual([[1], 1]);
});

test('what does not fit into a run waits in rows, and the run is told once', async () => {
  const run = await startRun();
  const { id } = await open(run, goesOn({ with: { type: 'much' } }));
  for (let from = 0; from < 300; from += 100)
    await accept(...Array.from({ length: 100 }, (_, n) => event('much', from + n)));
  await match();
  const signals = await app.orm.em
    .fork()
    .execute<{ payload: any }[]>('select payload from run_signal where run_id = ?', [run]);
  expect(signals).toHaveLength(1);
  expect(signals[0]?.payload.taken.events.length).toBeLessThanOrEqual(100);
  const taken: unknown[] = [];
  for (let after = 0, more = true; more; after = taken.length) {
    const page = await take(run, id, after);
    expect(page.events.length).toBeLessThanOrEqual(100);
    taken.push(...page.events.map((each) => each.event['data']));
    more = page.more;
  }
  expect(taken).toEqual(Array.from({ length: 300 }, (_, n) => n));
});

test('a retry takes over what was worked on, with its numbers and bindings', async () => {
  const spec = (): ListenerSpec =>
    goesOn({ with: { type: 'again' }, correlate: [{ name: 'room', from: '.data.room', plain: true }] });
  const first = await startRun();
  const { id } = await open(first, spec());
  const of = (room: number, n: number) => event('again', { room, n });
  for (let from = 0; from < 250; from += 50)
    await accept(...Array.from({ length: 50 }, (_, n) => of(1, from + n)), of(2, from));
  await match();
  expect(await takenBy(id)).toHaveLength(250);
  // The run worked on 240, and gave the others back.
  const em = app.orm.em.fork();
  await em.execute(`delete from listener_event where listener_id = ? and seq > 240`, [id]);
  await em.execute(`update listener set status = 'closed' where id = ?`, [id]);
  const second = await startRun();
  await em.execute('update run set retry_of = ? where id = ?', [first, second]);
  const third = await startRun();
  await em.execute('update run set retry_of = ? where id = ?', [second, third]);
  // The second run ended before its listen.
  const resumed = await open(third, spec(), { id, seq: 240 });
  expect(resumed.after).toBe(240);
  const numbers = resumed.events.map(({ seq, event: { data } }) => [seq, (data as { n: number }).n]);
  expect(numbers).toEqual(Array.from({ length: 10 }, (_, n) => [241 + n, 240 + n]));
  await accept(of(2, 250), of(1, 251));
  await match();
  expect((await takenBy(resumed.id)).slice(-1)).toEqual([{ room: 1, n: 251 }]);
  expect(await takenBy(resumed.id)).toHaveLength(251);
});

test('listeners of a run that is ended by force are closed with it', async () => {
  const run = await startRun();
  const { id } = await open(run, specOf('forced'));
  const event = serviceEvent({ key: 'run:ended', type: EVENT.runFaulted, message: 'lost', data: {} });
  await app.orm.em
    .fork()
    .transactional((em) =>
      appendEvents(
        em,
        run,
        { events: [event], projection: null, acks: [] },
        { end: { status: 'faulted', error: { type: 't', title: 'lost', status: 500 } } },
      ),
    );
  const rows = await app.orm.em.fork().execute<{ status: string; keys: number }[]>(
    `select status, (select count(*)::int from listener_key where listener_id = l.id) as keys
       from listener l where id = ?`,
    [id],
  );
  expect(rows).toEqual([{ status: 'closed', keys: 0 }]);
});

test('a sender of very many events with costly filters does not hold up the others', async () => {
  const costly = Array.from({ length: 10 }, (_, n) => ({
    with: { type: 'flood', data: `\${ [range(10000)] | length < ${n} }` },
  }));
  await insertListeners(app.orm.em.fork(), owner, 2, () => goesOn(...costly));
  const other = await app.createUser({ username: 'quiet', roles: ['builder'] });
  const [id] = await insertListeners(app.orm.em.fork(), other.id, 1, () =>
    goesOn({ with: { type: 'quiet' } }),
  );
  for (let n = 0; n < 2; n++) await accept(...Array.from({ length: 100 }, () => event('flood')));
  await app.orm.em
    .fork()
    .transactional((em) => acceptEvents(em, { owner_id: other.id }, [event('quiet', 'heard')]));
  await match();
  expect(await rowsOf([id ?? ''])).toMatchObject([{ taken: ['heard'] }]);
  const [row] = await app.orm.em.fork().execute<{ flooded: number }[]>(
    `select count(*)::int as flooded from inbound_event f, inbound_event q
      where f.type = 'flood' and q.type = 'quiet' and f.matched_at < q.matched_at`,
  );
  expect(row?.flooded).toBeLessThanOrEqual(100);
});

test('a listener whose correlation binds while another event looks for it is found', async () => {
  const correlate = [{ name: 'room', from: '.data.room', plain: true }];
  const spec = goesOn({ with: { type: 'binds' }, correlate });
  const [id = ''] = await insertListeners(app.orm.em.fork(), owner, 1, () => spec);
  await accept(event('binds', { room: 1 }));
  let isBound = false;
  // Is called when the shapes have been read.
  const pause = async (): Promise<void> => {
    if (isBound) return;
    isBound = true;
    await match();
  };
  const found = new Set<string>();
  await findListeners(
    { em: app.orm.em.fork(), sender: owner, pause },
    [{ event: event('binds', { room: 1 }) }],
    async (each) => {
      for (const key of each.keys()) found.add(key);
    },
  );
  expect(await takenBy(id)).toEqual([{ room: 1 }]);
  expect([...found]).toEqual([id]);
});

/** Senders who have an event, in the order of their ids. */
async function sendersWithEvents(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await app.createUser({ roles: ['builder'] })).id);
  for (const id of ids)
    await app.orm.em.fork().transactional((em) => acceptEvents(em, { owner_id: id }, [event('turns')]));
  return ids.toSorted();
}

test('a listener that moves from a late page of shapes to an early one is found', async () => {
  const ids = await insertListeners(app.orm.em.fork(), owner, 1_200, (n) =>
    specOf('pages', {}, [{ name: 'c', from: `.data.c + ${n} - ${n}`, expect: '7', plain: true }]),
  );
  const em = app.orm.em.fork();
  const keys = await em.execute<{ shape: string; value: string; listener_id: string }[]>(
    'select shape, value, listener_id from listener_key where listener_id = any(?::uuid[]) order by shape',
    [arrayLiteral(ids)],
  );
  const [first, last] = [keys.at(0), keys.at(-1)];
  let calls = 0;
  const found = new Set<string>();
  const search = { em, sender: owner, pause: async () => {} };
  await findListeners(search, [{ event: event('pages', { c: 7 }) }], async (each) => {
    for (const id of each.keys()) found.add(id);
    // After the first page.
    if (calls++ === 0)
      await em.execute('update listener_key set shape = ?, value = ? where listener_id = ?', [
        first?.shape,
        first?.value,
        last?.listener_id,
      ]);
  });
  expect(calls).toBeGreaterThan(1);
  expect(ids.filter((id) => !found.has(id))).toEqual([]);
});

test('every slow sender gets its turn beside a quick one that always has events', async () => {
  const [quick = '', ...slow] = await sendersWithEvents(4);
  const turns = new SenderTurns();
  const em = app.orm.em.fork();
  const first = [await turns.take(em), await turns.take(em), await turns.take(em), await turns.take(em)];
  for (const turn of first) if (turn) turns.done(turn, { outcome: 1, ms: turn.sender === quick ? 1 : 2_000 });
  const busy = [];
  const taken = new Map<string, number>();
  for (let n = 0; n < 30; n++) {
    const turn = await turns.take(em);
    if (!turn) throw new Error('the quick one has events');
    taken.set(turn.sender, (taken.get(turn.sender) ?? 0) + 1);
    if (turn.sender === quick) turns.done(turn, { outcome: 1, ms: 1 });
    else busy.push(turn);
    const [oldest] = busy;
    if (n % 3 < 2 || !oldest) continue;
    busy.shift();
    turns.done(oldest, { outcome: 1, ms: 2_000 });
  }
  expect(busy.length).toBeLessThanOrEqual(2);
  for (const sender of slow) expect(taken.get(sender)).toBeGreaterThanOrEqual(2);
  await match();
});

test('a batch that failed is tried again with fewer events, and not at once', async () => {
  const [sender] = await sendersWithEvents(1);
  const turns = new SenderTurns();
  const em = app.orm.em.fork();
  const turn = await turns.take(em);
  if (!turn) throw new Error('the sender has events');
  expect(turn.sender).toBe(sender);
  turns.done(turn, { outcome: 'failed', ms: 1 });
  expect(await turns.take(em)).toBeNull();
  turns.wake();
  expect(await turns.take(em)).toEqual({ sender, size: turn.size / 2 });
  await match();
});

test('a listener whose filters take long is locked for a moment at a time', async () => {
  const spec = goesOn({ with: { type: 'slowly' } });
  const [id = ''] = await insertListeners(app.orm.em.fork(), owner, 1, () => spec);
  await accept(...Array.from({ length: 8 }, (_, n) => event('slowly', n)));
  await offerTo(id, await receivedOf('slowly'), () => sleep(200));
  const transactions = () =>
    app.orm.em
      .fork()
      .execute<{ count: number }[]>(
        'select count(distinct xmin::text)::int as count from listener_event where listener_id = ?',
        [id],
      );
  const before = (await transactions())[0]?.count;
  expect(before).toBeGreaterThan(1);
  await match();
  expect(await takenBy(id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(await transactions()).toEqual([{ count: before }]);
});
