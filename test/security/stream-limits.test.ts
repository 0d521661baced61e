/** The log is read once for all streams, and the number of streams is limited for each user. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { appendEvents, serviceEvent } from '../../domain/runs/events.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { insertRun } from '../support/human-tasks.ts';
import { until } from '../support/platform.ts';
import { openStream, type SseReader } from '../support/sse-client.ts';
import { threadClock } from '../support/machine.ts';

const [perUser, perAddress] = [25, 30];
let app: TestApp;
const open: SseReader[] = [];

beforeAll(async () => {
  app = await startTestApp({
    env: { TRUST_PROXY: 'true', STREAMS_PER_USER: String(perUser), STREAMS_PER_ADDRESS: String(perAddress) },
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => (stream.drop(), stream.ended)));
  await until(
    async () => app.app.deps.eventReaders.size + app.app.deps.runReaders.size,
    (size) => size === 0,
  );
});
afterAll(() => app.close());

async function stream(user: TestUser, path: string, address = '203.0.113.1'): Promise<SseReader> {
  const reader = await openStream(app.url + path, {
    headers: { authorization: `Bearer ${user.token}`, 'x-forwarded-for': address },
  });
  open.push(reader);
  return reader;
}

async function append(runId: string, from: number, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) =>
    serviceEvent({
      key: `event:${from + index}`,
      type: 'io.cadenza.test.v1',
      message: `number ${from + index}`,
    }),
  );
  await app.orm.em
    .fork()
    .transactional((em) => appendEvents(em, runId, { events, projection: null, acks: [] }));
}

test('streams of a user and of an address are limited, and closing one makes room', async () => {
  const [first, second] = [await app.createUser(), await app.createUser()];
  const runId = await insertRun(app.orm, { owner: first.id });
  for (let index = 0; index < perUser; index += 1)
    await stream(first, index % 2 ? '/events' : `/runs/${runId}/events`);
  const client = await app.as(first);
  const refused = await client.get('/events', { headers: { 'x-forwarded-for': '203.0.113.2' } });
  expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
    429,
    'too_many_streams',
    'The limit of 25 open streams of a user is reached: close one first.',
  ]);
  expect(refused.headers.get('retry-after')).toBe('5');
  for (let index = 0; index < perAddress - perUser; index += 1) await stream(second, '/events');
  await expect(stream(second, '/events')).rejects.toThrow(
    'The limit of 30 open streams of an address is reached',
  );
  await stream(second, '/events', '203.0.113.2');
  expect((await client.get(`/runs/${runId}`)).status).toBe(200);
  open[0]?.drop();
  await until(
    async () =>
      client.get('/runs/not-an-id/events').then(() =>
        stream(first, '/events').then(
          () => 'open',
          () => 'refused',
        ),
      ),
    (state) => state === 'open',
  );
});

test('who leaves while a stream is opened takes no room', async () => {
  const user = await app.createUser();
  const runId = await insertRun(app.orm, { owner: user.id });
  const headers = { authorization: `Bearer ${user.token}`, 'x-forwarded-for': '203.0.113.9' };
  for (let index = 0; index < perUser * 3; index += 1) {
    const signal = AbortSignal.timeout(1 + (index % 12));
    await fetch(`${app.url}${index % 2 ? '/events' : `/runs/${runId}/events`}`, { headers, signal })
      .then((response) => response.text())
      .catch(() => undefined);
  }
  for (let index = 0; index < perUser; index += 1)
    await until(
      () =>
        stream(user, '/events', '203.0.113.9').then(
          () => 'open',
          () => 'refused',
        ),
      (state) => state === 'open',
    );
  expect(open).toHaveLength(perUser);
});

/** The number of transactions while `count` streams get the same 20 events. */
async function readsFor(user: TestUser, count: number): Promise<number> {
  const runId = await insertRun(app.orm, { owner: user.id });
  const streams: SseReader[] = [];
  for (let index = 0; index < count; index += 1)
    streams.push(await stream(user, index % 2 ? '/events' : `/runs/${runId}/events`));
  const em = app.app.deps.orm.em;
  const fork = em.fork.bind(em);
  let reads = 0;
  em.fork = (options) => {
    reads += 1;
    return fork(options);
  };
  for (let event = 0; event < 20; event += 1) await append(runId, event, 1);
  await until(
    async () => streams.map(({ events }) => events.length),
    (lengths) => lengths.every((length) => length === 20),
  );
  em.fork = fork;
  for (const each of streams) each.drop();
  return reads;
}

test('twenty streams cause as many reads as two', async () => {
  const user = await app.createUser();
  const few = await readsFor(user, 2);
  const many = await readsFor(user, 20);
  expect(many).toBeLessThan(few * 2 + 20);
});

test('all streams share one reader, and each shows only events that its user may see', async () => {
  const [first, second] = [await app.createUser(), await app.createUser()];
  const admin = await app.user('admin');
  const runs = [
    await insertRun(app.orm, { owner: first.id }),
    await insertRun(app.orm, { owner: second.id }),
  ];
  const streams = [
    await stream(first, '/events'),
    await stream(second, '/events'),
    await stream(admin, '/events'),
  ];
  expect(app.app.deps.eventReaders.size).toBe(1);
  for (const runId of runs) await append(runId, 0, 3);
  await until(
    async () => streams.map(({ events }) => events.length),
    (lengths) => lengths[0] === 3 && lengths[1] === 3 && (lengths[2] ?? 0) >= 6,
  );
  const seen = (index: number): string[] =>
    runs.filter((runId) => streams[index]?.events.some(({ data }) => JSON.stringify(data).includes(runId)));
  expect([seen(0), seen(1), seen(2)]).toEqual([[runs[0]], [runs[1]], runs]);
});

test('a slow client misses nothing and gets nothing twice', async () => {
  const user = await app.createUser();
  const runId = await insertRun(app.orm, { owner: user.id });
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${user.token}` };
  const slow = await Promise.all(
    ['/events', `/runs/${runId}/events`].map((path) =>
      fetch(app.url + path, { headers, signal: abort.signal }),
    ),
  );
  const quick = await stream(user, `/runs/${runId}/events`);
  for (let batch = 0; batch < 5; batch += 1) await append(runId, batch * 600, 600);
  await until(
    async () => quick.events.length,
    (length) => length === 3_000,
  );
  for (const response of slow) {
    const numbers: string[] = [];
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('latin1');
      const end = text.lastIndexOf('\n\n');
      numbers.push(
        ...[...text.slice(0, end + 1).matchAll(/number (\d+)"/g)].map(([, number = '']) => number),
      );
      text = text.slice(end + 1);
      if (numbers.length >= 3_000) break;
    }
    expect(numbers).toEqual(Array.from({ length: 3_000 }, (_, index) => String(index)));
  }
  abort.abort();
});

test('a client that disconnects delays nothing', async () => {
  const user = await app.createUser();
  const runId = await insertRun(app.orm, { owner: user.id });
  for (const path of ['/events', `/runs/${runId}/events`]) {
    const reader = await stream(user, path);
    reader.drop();
    const spentMs = threadClock();
    await reader.ended;
    for (let count = 0; count < 20; count += 1)
      expect((await app.anonymous.get('/healthz')).status).toBe(200);
    // A stream that waits for a stopped reader would keep this thread busy until its heartbeat after 15 s.
    expect([path, spentMs() < 5_000]).toEqual([path, true]);
  }
});
