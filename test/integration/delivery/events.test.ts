import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import type { EntityManager } from '../../../db/orm.ts';
import { createDeliveryKinds } from '../../../worker/delivery-kinds.ts';
import { fanOut } from '../../../domain/delivery/fan-out.ts';
import { createRun } from '../../../domain/runs/create.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { runLimits } from '../../../domain/runs/limits.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';

let app: TestApp;
let builder: Client;
let admin: Client;
let owner: TestUser;
let other: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
  admin = await app.as('admin');
  owner = await app.user('builder');
  other = await app.createUser({ roles: ['builder'] });
});

const open: { close(): void }[] = [];
afterEach(() => open.splice(0).forEach((stream) => stream.close()));
afterAll(() => app.close());

interface StreamEvent {
  id: string;
  type: string;
  /** The text by which tests recognize an event. */
  note: string;
  cloudEvent: any;
}

/** Reads the stream as a browser does: an id without data also updates the last id. */
async function listen(user: TestUser, options: { path?: string; query?: string; lastEventId?: string } = {}) {
  const abort = new AbortController();
  const headers = {
    authorization: `Bearer ${user.token}`,
    ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
  };
  const reply = await fetch(`${app.url}${options.path ?? '/events'}${options.query ?? ''}`, {
    headers,
    signal: abort.signal,
  });
  const events: StreamEvent[] = [];
  const state = { lastEventId: options.lastEventId ?? '', ended: false, text: '' };
  const connected = Promise.withResolvers<void>();
  const reading = (async () => {
    let rest = '';
    for await (const chunk of (reply.body ?? []) as AsyncIterable<Uint8Array>) {
      const text = Buffer.from(chunk).toString();
      state.text += text;
      rest += text;
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const fields = rest
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const);
        rest = rest.slice(end + 2);
        const field = (name: string) => fields.find(([key]) => key === name)?.[1];
        state.lastEventId = field('id') ?? state.lastEventId;
        const data = field('data');
        if (data !== undefined)
          events.push({
            id: state.lastEventId,
            type: field('event') ?? '',
            note: JSON.parse(data).message,
            cloudEvent: JSON.parse(data),
          });
        connected.resolve();
      }
    }
  })()
    .catch(() => {})
    .finally(() => {
      state.ended = true;
      connected.resolve();
    });
  await connected.promise;
  const stream = {
    reply,
    events,
    state,
    notes: () => events.map(({ note }) => note),
    close: () => abort.abort(),
    reading,
  };
  open.push(stream);
  return stream;
}

async function until(check: () => boolean, timeoutMs = 120_000): Promise<void> {
  for (const deadline = Date.now() + timeoutMs; !check() && Date.now() < deadline;) await sleep(20);
  expect(check()).toBe(true);
}

const transaction = <T>(work: (em: EntityManager) => Promise<T>): Promise<T> =>
  app.orm.em.fork().transactional(work);

async function newRun(user: TestUser): Promise<string> {
  const { id } = await transaction((em) =>
    createRun(em, {
      workflow_id: null,
      workflow_revision: null,
      workflow_name: 'x',
      definition: { do: [] },
      input: {},
      owner_id: user.id,
      rights_of: user.id,
      agents: [],
      limits: runLimits(app.env),
    }),
  );
  return id;
}

let notes = 0;
async function note(
  em: EntityManager,
  runId: string,
  message: string,
  more: { type?: string; data?: Record<string, unknown> } = {},
): Promise<void> {
  notes += 1;
  await appendEvents(em, runId, {
    events: [serviceEvent({ key: `note:${notes}`, type: 'io.cadenza.test.note.v1', message, ...more })],
    projection: null,
    acks: [],
  });
}

test('GET and POST /events refuse missing tokens, low roles, and invalid ids and type filters', async () => {
  expect((await app.anonymous.get('/events')).status).toBe(401);
  expect((await app.anonymous.post('/events', {})).status).toBe(401);
  expect((await (await app.as('viewer')).post('/events', {})).status).toBe(403);
  expect((await builder.get('/events', { headers: { 'last-event-id': 'x' } })).status).toBe(400);
  expect((await builder.get('/events?types=a%20b')).status).toBe(400);
  expect((await builder.get('/events?colour=red')).status).toBe(400);
});

test("GET /events streams the caller's events as CloudEvents, all of them to admins, by type", async () => {
  const run = await newRun(owner);
  const foreign = await newRun(other);
  const [mine, all, filtered] = [
    await listen(owner),
    await listen(await app.user('admin')),
    await listen(owner, { query: '?types=*.special.v1,io.none' }),
  ];
  expect(mine.reply.headers.get('content-type')).toMatch('text/event-stream');
  await transaction((em) => note(em, run, 'one'));
  await transaction((em) => note(em, foreign, 'foreign'));
  await transaction((em) => note(em, run, 'two', { type: 'io.cadenza.test.special.v1' }));
  await until(() => all.events.length === 3);
  await until(() => mine.events.length === 2);
  await until(() => filtered.events.length === 1);
  expect(all.notes()).toEqual(['one', 'foreign', 'two']);
  expect(mine.notes()).toEqual(['one', 'two']);
  expect(filtered.notes()).toEqual(['two']);
  expect(mine.events[0]).toMatchObject({
    type: 'io.cadenza.test.note.v1',
    cloudEvent: {
      specversion: '1.0',
      id: `${run}:2`,
      source: `${app.url}/runs/${run}`,
      runid: run,
      seq: 2,
      message: 'one',
      data: {},
    },
  });
});

test('a stream is filtered by run and workflow, and an admin can follow only what is their own', async () => {
  const boss = await app.user('admin');
  const [own, ofOwner] = [await newRun(boss), await newRun(owner)];
  const workflow = (
    await builder.post('/workflows', { name: 'followed', definition: { do: [{ a: { set: { b: 1 } } }] } })
  ).body.id;
  await app.orm.em
    .fork()
    .execute('update run set workflow_id = ?, workflow_revision = 1 where id = ?', [workflow, ofOwner]);
  const streams = {
    mine: await listen(boss, { query: '?mine=true' }),
    all: await listen(boss, { query: '?mine=false' }),
    run: await listen(boss, { query: `?run_id=${ofOwner.toUpperCase()}` }),
    workflow: await listen(boss, { query: `?workflow_id=${workflow}` }),
    foreign: await listen(other, { query: `?run_id=${ofOwner}` }),
  };
  const start = streams.mine.state.lastEventId;
  await transaction((em) => note(em, own, 'own'));
  await transaction((em) => note(em, ofOwner, 'theirs'));
  await transaction((em) => note(em, own, 'end'));
  await until(() => streams.all.events.length === 3);
  await until(() => streams.mine.events.length === 2);
  await until(() => streams.run.events.length === 1 && streams.workflow.events.length === 1);
  const notes = Object.entries(streams).map(([name, stream]) => [name, stream.notes()]);
  expect(Object.fromEntries(notes)).toEqual({
    mine: ['own', 'end'],
    all: ['own', 'theirs', 'end'],
    run: ['theirs'],
    workflow: ['theirs'],
    foreign: [],
  });
  // A stream that resumes reads what it missed by the same filter.
  const again = {
    mine: await listen(boss, { query: '?mine=true', lastEventId: start }),
    run: await listen(boss, { query: `?run_id=${ofOwner}`, lastEventId: start }),
    workflow: await listen(boss, { query: `?workflow_id=${workflow}`, lastEventId: start }),
    foreign: await listen(other, { query: `?run_id=${ofOwner}`, lastEventId: start }),
  };
  await until(() => again.mine.events.length === 2);
  await until(() => again.run.events.length === 1 && again.workflow.events.length === 1);
  expect(again.mine.notes()).toEqual(['own', 'end']);
  expect([again.run.notes(), again.workflow.notes()]).toEqual([['theirs'], ['theirs']]);
  expect(again.foreign.notes()).toEqual([]);
  for (const query of ['run_id=x', 'workflow_id=', 'mine=yes', "run_id=' or true"])
    expect((await builder.get(`/events?${encodeURI(query)}`)).status).toBe(400);
});

test('a client that reconnects gets exactly the events that it missed', async () => {
  const run = await newRun(owner);
  const foreign = await newRun(other);
  const first = await listen(owner);
  for (const text of ['a', 'b', 'c']) await transaction((em) => note(em, run, text));
  await until(() => first.events.length === 3);
  first.close();
  for (let n = 0; n < 250; n++) await transaction((em) => note(em, foreign, 'noise'));
  for (const text of ['d', 'e']) await transaction((em) => note(em, run, text));
  const second = await listen(owner, { lastEventId: first.state.lastEventId });
  await until(() => second.events.length === 2);
  expect(second.notes()).toEqual(['d', 'e']);
  const fromB = await listen(owner, { lastEventId: first.events[1]?.id ?? '' });
  await until(() => fromB.events.length === 3);
  expect(fromB.notes()).toEqual(['c', 'd', 'e']);
  // Nothing came since it connected, so the place from that moment is enough.
  const quiet = await listen(owner);
  quiet.close();
  await transaction((em) => note(em, run, 'f'));
  const back = await listen(owner, { lastEventId: quiet.state.lastEventId });
  await until(() => back.events.length === 1);
  expect(back.notes()).toEqual(['f']);
});

test('a new stream leaves out earlier events, even while an older transaction is open', async () => {
  const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const older = transaction(async (em) => {
    await em.execute('select pg_current_xact_id()');
    begun.resolve();
    await release.promise;
  });
  await begun.promise;
  const run = await newRun(owner);
  await transaction((em) => note(em, run, 'before'));
  const stream = await listen(owner);
  release.resolve();
  await older;
  await transaction((em) => note(em, run, 'after'));
  await until(() => stream.events.length > 0);
  expect(stream.notes()).toEqual(['after']);
});

function deliveryKinds() {
  const { encryption, keys } = app.app.deps;
  return createDeliveryKinds({ orm: app.orm, encryption, keys, baseUrl: app.url });
}

/** A webhook of the builder for the events that tests write. */
async function subscribe(): Promise<{ id: string }> {
  const webhook = { url: 'https://receiver.example', types: ['io.cadenza.test'] };
  return (await builder.post('/webhooks', webhook)).body;
}

test('stream and outbox wait for a transaction that commits late', async () => {
  const [slowRun, fastRun] = [await newRun(owner), await newRun(owner)];
  const kinds = deliveryKinds();
  const hook = await subscribe();
  const stream = await listen(owner);
  const release = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  const late = transaction(async (em) => {
    await note(em, slowRun, 'early, committed late');
    written.resolve();
    await release.promise;
  });
  await written.promise;
  await transaction((em) => note(em, fastRun, 'later, committed first'));
  await sleep(500);
  await fanOut({ orm: app.orm, kinds });
  expect(stream.notes()).toEqual([]);
  expect((await builder.get(`/webhooks/${hook.id}/deliveries`)).body).toEqual([]);
  release.resolve();
  await late;
  await until(() => stream.events.length === 2);
  await sleep(200);
  expect(stream.notes()).toEqual(['early, committed late', 'later, committed first']);
  for (let state = ''; state !== 'done'; await sleep(5)) ({ state } = await fanOut({ orm: app.orm, kinds }));
  const rows = (await builder.get(`/webhooks/${hook.id}/deliveries`)).body;
  expect(rows.map(({ run_id }: any) => run_id)).toEqual([fastRun, slowRun]);
  await builder.delete(`/webhooks/${hook.id}`);
});

test('a transaction that stays open in another database of the server holds nothing back', async () => {
  const other = new URL(app.databaseUrl);
  other.pathname = '/postgres';
  const elsewhere = new pg.Client({ connectionString: other.href });
  await elsewhere.connect();
  try {
    await elsewhere.query('begin');
    await elsewhere.query('select pg_current_xact_id()');
    const run = await newRun(owner);
    const stream = await listen(owner);
    const start = stream.state.lastEventId;
    const hook = await subscribe();
    await transaction((em) => note(em, run, 'a'));
    await until(() => stream.events.length > 0);
    expect(stream.notes()).toEqual(['a']);
    const again = await listen(owner, { lastEventId: start });
    await until(() => again.events.length > 0);
    expect(again.notes()).toEqual(['a']);
    const kinds = deliveryKinds();
    for (let state = ''; state !== 'done'; await sleep(5))
      ({ state } = await fanOut({ orm: app.orm, kinds }));
    expect((await builder.get(`/webhooks/${hook.id}/deliveries`)).body).toMatchObject([{ run_id: run }]);
    await builder.delete(`/webhooks/${hook.id}`);
  } finally {
    await elsewhere.end();
  }
});

test('the events of a run keep their order across overlapping transactions', async () => {
  const run = await newRun(owner);
  const stream = await listen(owner);
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const earlier = transaction(async (em) => {
    // The transaction takes its place in the order here.
    await em.execute('select pg_current_xact_id()');
    begun.resolve();
    await go.promise;
    await note(em, run, 'second');
  });
  await begun.promise;
  await transaction((em) => note(em, run, 'first'));
  go.resolve();
  await earlier;
  await until(() => stream.events.length === 2);
  expect(stream.notes()).toEqual(['first', 'second']);
});

test('concurrent readers of the log fill the outbox once, even with many events', async () => {
  const run = await newRun(owner);
  const kinds = deliveryKinds();
  const hook = await subscribe();
  for (let batch = 0; batch < 6; batch++) {
    await transaction((em) =>
      appendEvents(em, run, {
        events: Array.from({ length: 200 }, (_, index) =>
          serviceEvent({
            key: `bulk:${batch}:${index}`,
            type: 'io.cadenza.test.bulk.v1',
            message: `${batch}`,
          }),
        ),
        projection: null,
        acks: [],
      }),
    );
  }
  const pump = async (): Promise<void> => {
    // Open transactions of other tests on this server delay the reading; wait for them.
    for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(5))
      if ((await fanOut({ orm: app.orm, kinds })).state === 'done') return;
  };
  await Promise.all([pump(), pump(), pump()]);
  await pump();
  const rows = await app.orm.em
    .fork()
    .execute<{ seq: number; n: string }[]>(
      'select seq, count(*) as n from delivery where target_id = ? group by seq order by min(ord)',
      [hook.id],
    );
  expect(rows).toHaveLength(1200);
  expect(rows.every(({ n }) => Number(n) === 1)).toBe(true);
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq).toSorted((a, b) => a - b));
  await builder.delete(`/webhooks/${hook.id}`);
});

test('the streams of a disabled user end, and a heartbeat carries the place', async () => {
  const user = await app.createUser({ roles: ['builder'] });
  const stream = await listen(user);
  const ofRun = await listen(user, { path: `/runs/${await newRun(user)}/events` });
  await until(() => /: heartbeat\nid: [\w-]+\n\n/.test(stream.state.text));
  expect(stream.state.ended).toBe(false);
  await app.orm.em.fork().execute(`update user_account set status = 'disabled' where id = ?`, [user.id]);
  await until(() => stream.state.ended && ofRun.state.ended);
});

const event = {
  specversion: '1.0',
  id: 'e-1',
  source: 'https://shop.example/orders',
  type: 'com.example.order.created',
  time: '2026-11-21T10:00:00.5+01:00',
  subject: 'order 7',
  traceid: 'abc',
  data: { total: 12.5 },
};
const asStructured = { headers: { 'content-type': 'application/cloudevents+json' } };

test('POST /events takes a structured CloudEvent once for each sender, source and id', async () => {
  const first = await builder.post('/events', event, asStructured);
  expect([first.status, first.body]).toEqual([
    202,
    {
      id: expect.any(String),
      source: event.source,
      event_id: 'e-1',
      type: event.type,
      received_at: expect.any(String),
      duplicate: false,
    },
  ]);
  const second = await builder.post('/events', { ...event, data: 'other' }, asStructured);
  expect([second.status, second.body]).toEqual([202, { ...first.body, duplicate: true }]);
  expect((await admin.post('/events', event, asStructured)).body.duplicate).toBe(false);
  const [row] = await app.orm.em
    .fork()
    .execute<any[]>('select event, at from inbound_event where id = ?', [first.body.id]);
  expect(row.event).toEqual(event);
  expect(new Date(row.at).toISOString()).toBe('2026-11-21T09:00:00.500Z');
  const many = await Promise.all(
    Array.from({ length: 10 }, () => builder.post('/events', { ...event, id: 'race' }, asStructured)),
  );
  expect(many.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
  expect(many.filter(({ body }) => !body.duplicate)).toHaveLength(1);
});

test('POST /events takes a binary CloudEvent with JSON, text or bytes', async () => {
  const send = (id: string, body: string | Uint8Array, type: string) =>
    builder.post('/events', body, {
      headers: {
        'content-type': type,
        'ce-specversion': '1.0',
        'ce-id': id,
        'ce-source': '/sensors/1',
        'ce-type': 'reading',
        'ce-subject': 'K%C3%BCche',
        'ce-myext': 'x',
      },
    });
  const stored = async (reply: any): Promise<any> => {
    expect(reply.status).toBe(202);
    const [row] = await app.orm.em
      .fork()
      .execute<any[]>('select event from inbound_event where id = ?', [reply.body.id]);
    return row.event;
  };
  const common = { specversion: '1.0', source: '/sensors/1', type: 'reading', subject: 'Küche', myext: 'x' };
  expect(await stored(await send('b-1', '{"t": 21}', 'application/json'))).toEqual({
    ...common,
    id: 'b-1',
    datacontenttype: 'application/json',
    data: { t: 21 },
  });
  expect(await stored(await send('b-2', 'warm', 'text/plain'))).toEqual({
    ...common,
    id: 'b-2',
    datacontenttype: 'text/plain',
    data: 'warm',
  });
  expect(await stored(await send('b-3', Buffer.from([0, 255]), 'image/png'))).toEqual({
    ...common,
    id: 'b-3',
    datacontenttype: 'image/png',
    data_base64: 'AP8=',
  });
});

test('POST /events refuses anything but a valid CloudEvent', async () => {
  for (const bad of [
    {},
    { ...event, specversion: '0.3' },
    { ...event, id: '' },
    { ...event, time: 'yesterday' },
    { ...event, Upper: 1 },
    { ...event, ext: {} },
    { ...event, data_base64: 'AA==' },
    { ...event, source: 'a\u0000b' },
    { ...event, source: 'not a uri' },
    { ...event, source: 'https://shop.example/%zz' },
    [],
  ]) {
    expect([bad, (await builder.post('/events', bad, asStructured)).status]).toEqual([bad, 422]);
  }
  expect((await builder.post('/events', '{', asStructured)).status).toBe(400);
  expect((await builder.post('/events', event)).status).toBe(415);
  const attributes = { 'ce-id': 'b-9', 'ce-source': '/sensors/1', 'ce-type': 'reading' };
  expect(await builder.post('/events', { t: 21 }, { headers: attributes })).toMatchObject({
    status: 422,
    body: {
      errors: [
        { pointer: '/specversion', code: 'required', message: expect.stringContaining('ce-specversion') },
      ],
    },
  });
  expect(
    (await builder.post('/events', { ...event, data: 'x'.repeat(2_200_000) }, asStructured)).status,
  ).toBe(413);
});
