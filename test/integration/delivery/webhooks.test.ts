import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import { startTestApp, type Client } from '../../support/app.ts';
import { startServer, type SeenRequest, type TestServer } from '../../support/http-server.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';
import { humanTask } from '../../support/definitions.ts';
import { ownPort } from '../../support/machine.ts';

let platform: TestPlatform;
let builder: Client;
let other: Client;
let viewer: Client;
let admin: Client;
const servers: TestServer[] = [];
/** The addresses of each name, handed out one lookup at a time. */
const names = new Map<string, string[]>();

beforeAll(async () => {
  platform = await startTestPlatform({
    // Only these are allowed; any other private address is refused.
    egressAllow: ['127.0.0.1', 'down.example'],
    lookup: async (name) => {
      const [address = '127.0.0.2', ...rest] = names.get(name) ?? [];
      names.set(name, rest);
      return [{ address, family: address.includes(':') ? 6 : 4 }];
    },
    deliveryRetry: { firstMs: 200, steadyMs: 400, longestMs: 400, timeoutMs: 6_000, maxFailures: 2 },
  });
  builder = await platform.as('builder');
  other = await platform.as(await platform.createUser({ roles: ['builder'] }));
  viewer = await platform.as('viewer');
  admin = await platform.as('admin');
});

afterAll(() => platform.close());

afterEach(async () => {
  for (const client of [builder, other]) {
    for (const { id } of (await client.get('/webhooks?limit=200')).body)
      await client.delete(`/webhooks/${id}`);
  }
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const missing = '01890000-0000-7000-8000-000000000000';
const wait = { do: [{ first: { set: { a: 1 } } }, { second: { set: { b: '${ .a + 1 }' } } }] };

async function receiver(
  answer: (
    request: SeenRequest,
    nth: number,
  ) => number | { status: number; headers?: Record<string, string>; after?: Promise<void> },
): Promise<TestServer> {
  let nth = 0;
  const server = await startServer(async (request, response) => {
    nth += 1;
    const answered = answer(request, nth);
    const { status, headers = {}, after } = typeof answered === 'number' ? { status: answered } : answered;
    await after;
    response.writeHead(status, headers).end('thanks');
  });
  servers.push(server);
  return server;
}

async function subscribe(url: string, more: object = {}, client = builder): Promise<any> {
  const reply = await client.post('/webhooks', { url, ...more });
  expect([reply.status, reply.body]).toEqual([201, expect.anything()]);
  return reply.body;
}

const deliveries = async (id: string, query = ''): Promise<any[]> =>
  (await builder.get(`/webhooks/${id}/deliveries?limit=200${query}`)).body;
const settled = (rows: any[]): boolean => rows.length > 0 && rows.every(({ status }) => status !== 'pending');
const eventsOf = (server: TestServer): any[] => server.seen.map(({ body }) => JSON.parse(body));
/** The CloudEvent ids of log entries: a task that starts gives two events. */
const idsOf = (runId: string, log: any[]): string[] =>
  log.flatMap(({ seq, type }) => [
    ...(type.endsWith('.task.started.v1') ? [`${runId}:${seq}:1`] : []),
    `${runId}:${seq}`,
  ]);
async function logOf(runId: string): Promise<any[]> {
  return (await builder.get(`/runs/${runId}/logs?limit=200`)).body;
}

test.each([
  ['GET', '/webhooks', false],
  ['POST', '/webhooks', true],
  ['GET', `/webhooks/${missing}`, false],
  ['PATCH', `/webhooks/${missing}`, true],
  ['DELETE', `/webhooks/${missing}`, true],
  ['POST', `/webhooks/${missing}/rotate-secret`, true],
  ['POST', `/webhooks/${missing}/test`, true],
  ['GET', `/webhooks/${missing}/deliveries`, false],
  ['POST', `/webhooks/${missing}/redeliver`, true],
  ['POST', `/webhooks/${missing}/deliveries/${missing}/redeliver`, true],
])('%s %s needs a token, and a role or an existing webhook', async (method, path, writes) => {
  expect((await platform.anonymous.request(method, path)).status).toBe(401);
  if (writes) expect((await viewer.request(method, path)).status).toBe(403);
  if (path !== '/webhooks') expect((await builder.request(method, path)).status).toBe(404);
});

test('a webhook is created, read, changed, listed and deleted, and its secret is shown once', async () => {
  const webhook = await subscribe('https://receiver.example/hook', {
    types: ['io.cadenza.hitl', '*.faulted.v1'],
    description: 'mine',
  });
  expect(webhook).toEqual({
    id: expect.any(String),
    owner_id: (await platform.user('builder')).id,
    owner_name: 'the-builder',
    team_id: null,
    url: 'https://receiver.example/hook',
    types: ['io.cadenza.hitl', '*.faulted.v1'],
    description: 'mine',
    active: true,
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    last_error: null,
    pending: 0,
    warnings: [],
    former_secret_until: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/=]{40,}$/),
  });
  const { secret: _, ...record } = webhook;
  const read = await builder.get(`/webhooks/${webhook.id}`);
  expect(read.body).toEqual(record);
  expect((await builder.get('/webhooks')).body).toEqual([record]);
  expect((await other.get('/webhooks')).body).toEqual([]);
  expect((await admin.get('/webhooks?active=true')).body).toEqual([record]);
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate-secret'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const) {
    expect(
      (await other.request(method, `/webhooks/${webhook.id}${path}`, method === 'PATCH' ? { body: {} } : {}))
        .status,
    ).toBe(404);
  }
  const patched = await builder.patch(`/webhooks/${webhook.id}`, {
    types: null,
    description: null,
    active: false,
  });
  expect(patched.body).toMatchObject({ types: [], description: null, active: false });
  expect(
    (
      await builder.patch(
        `/webhooks/${webhook.id}`,
        { description: 'x' },
        { headers: { 'if-match': read.headers.get('etag') ?? '' } },
      )
    ).status,
  ).toBe(412);
  expect((await builder.post(`/webhooks/${webhook.id}/test`)).body.code).toBe('webhook_inactive');
  expect((await builder.delete(`/webhooks/${webhook.id}`)).status).toBe(204);
  expect((await builder.get(`/webhooks/${webhook.id}`)).status).toBe(404);
  for (const body of [
    {},
    { url: 'ftp://x.example' },
    { url: 'nothing' },
    { url: 'https://user:pass@x.example' },
    { url: 'https://x.example', types: ['a b'] },
    { url: 'https://x.example', secret: 'short' },
    { url: 'https://x.example', colour: 1 },
  ]) {
    expect([body, (await builder.post('/webhooks', body)).status]).toEqual([body, 422]);
  }
});

test('each event of a run is delivered once, in order, as a signed CloudEvent, to its owner', async () => {
  const server = await receiver(() => 204);
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const { id } = await subscribe(server.url, { secret });
  const foreign = await receiver(() => 204);
  await subscribe(foreign.url, {}, other);
  const run = await startRun(builder, wait, {}, 30);
  const log = await logOf(run['id']);
  const ids = idsOf(run['id'], log);
  await until(
    async () => server.seen,
    (seen) => seen.length >= ids.length,
  );
  const rows = await until(() => deliveries(id), settled);
  expect(eventsOf(server).map((event) => event.id)).toEqual(ids);
  for (const request of server.seen) {
    const event = new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as any;
    const { seq, at, type, level, task, message, data } = log.find((entry) => entry.seq === event.seq);
    expect(event).toMatchObject({
      specversion: '1.0',
      source: `${platform.url}/runs/${run['id']}`,
      time: at,
      datacontenttype: 'application/json',
      runid: run['id'],
      workflowid: run['workflow_id'],
      workflowname: 'test',
      level,
      ...(task === null ? {} : { subject: task }),
    });
    if (event.id === `${run['id']}:${seq}`)
      expect([event.type, event.message, event.data]).toEqual([type, message, data]);
    expect(request.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': event.id,
    });
  }
  expect(rows).toHaveLength(ids.length);
  expect(rows[0]).toMatchObject({
    webhook_id: id,
    status: 'delivered',
    attempts: 1,
    response_status: 204,
    error: null,
    run_id: run['id'],
    seq: log.at(-1).seq,
    attempt_log: [{ status: 204, error: null }],
  });
  const delivery = await builder.get(`/webhooks/${id}/deliveries/${rows[0].id}`);
  expect(delivery.body.body).toBe(server.seen.at(-1)?.body);
  expect((await builder.get(`/webhooks/${id}/deliveries?limit=1`)).headers.get('link')).toContain('cursor=');
  expect(foreign.seen).toEqual([]);
});

describe('the rotation of a secret', () => {
  const HOUR_MS = 3_600_000;
  let server: TestServer;
  let webhook: any;
  beforeEach(async () => {
    server = await receiver(() => 204);
    webhook = await subscribe(server.url, { types: ['none'] });
  });

  const path = () => `/webhooks/${webhook.id}`;
  const rotate = async (body: object = {}): Promise<any> => {
    const reply = await builder.post(`${path()}/rotate-secret`, body);
    expect([reply.status, reply.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(reply.body.secret).toMatch(/^whsec_/);
    return reply.body;
  };
  /** For which of the secrets the next request is genuine, and how many signatures it has. */
  async function signedBy(...secrets: string[]): Promise<[number, ...boolean[]]> {
    const before = server.seen.length;
    expect((await builder.post(`${path()}/test`)).status).toBe(202);
    await until(
      async () => server.seen.length,
      (count) => count > before,
    );
    const { body, headers } = server.seen.at(-1)!;
    const isGenuine = (secret: string): boolean => {
      try {
        new Webhook(secret).verify(body, headers as Record<string, string>);
        return true;
      } catch {
        return false;
      }
    };
    return [String(headers['webhook-signature']).split(' ').length, ...secrets.map(isGenuine)];
  }
  const formerEnds = () =>
    platform.orm.em
      .fork()
      .execute(`update webhook set former_secret_until = now() where id = ?`, [webhook.id]);

  test('lets the former secret sign too, until its time is over', async () => {
    const first = webhook.secret;
    const { secret, ...rotated } = await rotate();
    const { former_secret_until: until_, updated_at } = rotated;
    expect(Math.abs(Date.parse(until_) - Date.now() - 24 * HOUR_MS)).toBeLessThan(HOUR_MS);
    expect(updated_at > webhook.updated_at).toBe(true);
    expect((await builder.get(path())).body).toEqual(rotated);
    expect((await builder.get('/webhooks')).body).toEqual([rotated]);
    expect(await signedBy(secret, first)).toEqual([2, true, true]);
    await formerEnds();
    expect((await builder.get(path())).body.former_secret_until).toBeNull();
    expect(await signedBy(secret, first)).toEqual([1, true, false]);
  });

  test('replaces the former secret of the one before, and may leave none', async () => {
    const first = webhook.secret;
    const second = await rotate({ former_secret_seconds: 3_600 });
    expect(Date.parse(second.former_secret_until)).toBeLessThan(Date.now() + 2 * HOUR_MS);
    const third = await rotate({ former_secret_seconds: 604_800 });
    expect(Date.parse(third.former_secret_until)).toBeGreaterThan(Date.now() + 6 * 24 * HOUR_MS);
    expect(await signedBy(third.secret, second.secret, first)).toEqual([2, true, true, false]);
    const fourth = await rotate({ former_secret_seconds: 0 });
    expect(fourth.former_secret_until).toBeNull();
    expect(await signedBy(fourth.secret, third.secret)).toEqual([1, true, false]);
  });

  test('goes on when other things of the webhook change, and ends with a secret of the caller', async () => {
    const first = webhook.secret;
    const { secret, former_secret_until: ends } = await rotate();
    const same = await builder.patch(path(), { description: 'rotating', secret });
    expect(same.body.former_secret_until).toBe(ends);
    expect(await signedBy(secret, first)).toEqual([2, true, true]);
    const own = `whsec_${Buffer.alloc(32, 6).toString('base64')}`;
    expect((await builder.patch(path(), { secret: own })).body.former_secret_until).toBeNull();
    expect(await signedBy(own, secret, first)).toEqual([1, true, false, false]);
  });

  test('happens once by If-Match, stores neither secret readable, and names what is wrong', async () => {
    const tag = (await builder.get(path())).headers.get('etag') ?? '';
    const once = () =>
      builder
        .post(`${path()}/rotate-secret`, {}, { headers: { 'if-match': tag } })
        .then(({ status }) => status);
    expect([await once(), await once()]).toEqual([200, 412]);
    const [row] = await platform.orm.em
      .fork()
      .execute<Record<string, string>[]>(`select * from webhook where id = ?`, [webhook.id]);
    for (const column of ['secret_encrypted', 'former_secret_encrypted'])
      expect([column, row?.[column]]).toEqual([column, expect.stringMatching(/^v1\./)]);
    for (const wrong of [-1, 604_801, 1.5, '60']) {
      const refused = await builder.post(`${path()}/rotate-secret`, { former_secret_seconds: wrong });
      expect([wrong, refused.status, refused.body.errors[0].pointer]).toEqual([
        wrong,
        422,
        '/former_secret_seconds',
      ]);
    }
    expect((await builder.post(`${path()}/rotate-secret`, { secret: 'x' })).status).toBe(422);
  });

  test('is for the builders of its team, and moves with the webhook', async () => {
    const person = await platform.createUser({ roles: ['builder'] });
    const lead = await platform.user('builder');
    const team = (await admin.post('/teams', { name: 'rotating', admin: lead.id })).body.id;
    expect((await builder.patch(path(), { team_id: team })).status).toBe(200);
    const client = await platform.as(person);
    expect((await client.post(`${path()}/rotate-secret`)).status).toBe(404);
    await admin.put(`/teams/${team}/members/${person.id}`, { role: 'builder' });
    const first = webhook.secret;
    const { status, body } = await client.post(`${path()}/rotate-secret`);
    expect(status).toBe(200);
    expect(await signedBy(body.secret, first)).toEqual([2, true, true]);
    const entries = (await admin.get(`/audit?object_id=${webhook.id}&action=rotateWebhookSecret`)).body;
    expect(entries).toMatchObject([{ actor: { id: person.id }, object: { type: 'webhook' }, team_id: team }]);
    expect(JSON.stringify(entries)).not.toContain('whsec_');
    expect((await builder.delete(path())).status).toBe(204);
  });
});

test('a type filter applies, an admin gets all runs, and a candidate the events of the task', async () => {
  const [filtered, everything, asked] = [
    await receiver(() => 200),
    await receiver(() => 200),
    await receiver(() => 200),
  ];
  await subscribe(filtered.url, { types: ['*.completed.v1'] });
  const { id: ofAdmin } = await subscribe(everything.url, {}, admin);
  const candidate = await platform.createUser({ roles: ['approver'] });
  const client = await platform.as(candidate);
  const { id: ofCandidate } = await subscribe(asked.url, {}, client);
  const run = await startRun(builder, {
    do: [{ ask: humanTask('Well?', { candidates: { users: [candidate.username] } }) }],
  });
  await until(
    async () => eventsOf(asked),
    (events) => events.some(({ type }) => type === 'io.cadenza.hitl.task-created.v1'),
  );
  const [task] = (await client.get('/hitl/tasks')).body;
  expect((await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' })).status).toBe(200);
  const log = await until(
    () => logOf(run['id']),
    (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1')),
  );
  const ids = idsOf(run['id'], log);
  await until(
    async () => everything.seen.length,
    (count) => count >= ids.length,
  );
  await until(
    async () => filtered.seen.length,
    (count) => count >= 2,
  );
  expect(eventsOf(everything).map((event) => event.id)).toEqual(ids);
  const hitl = log.filter(({ type }) => type.startsWith('io.cadenza.hitl.')).map(({ seq }) => seq);
  await until(
    async () => asked.seen.length,
    (count) => count >= hitl.length,
  );
  expect(eventsOf(asked).map(({ seq }) => seq)).toEqual(hitl);
  expect(eventsOf(filtered).map(({ type }) => type)).toEqual(
    log.map(({ type }) => type).filter((type) => type.endsWith('.completed.v1')),
  );
  await admin.delete(`/webhooks/${ofAdmin}`);
  await client.delete(`/webhooks/${ofCandidate}`);
});

test('an emitted event is delivered unchanged, under its own type', async () => {
  const [filtered, everything] = [await receiver(() => 200), await receiver(() => 200)];
  await subscribe(filtered.url, { types: ['com.example'] });
  await subscribe(everything.url);
  const event = {
    id: '1',
    source: 'https://example.com',
    type: 'com.example.told.v1',
    tenant: 't',
    data: { a: 1 },
  };
  const run = await startRun(
    builder,
    { do: [1, 2].map((n) => ({ [`tell${n}`]: { emit: { event: { with: event } } } })) },
    {},
    30,
  );
  const events = await until(
    async () => eventsOf(filtered),
    ({ length }) => length >= 2,
  );
  expect(events).toEqual(
    Array.from({ length: 2 }, () => ({
      specversion: '1.0',
      time: expect.any(String),
      datacontenttype: 'application/json',
      ...event,
    })),
  );
  expect(events[1]).toEqual(run['output']);
  // Their author gave both events one id, and a receiver must not take the second for a repeat of the first.
  expect(new Set(filtered.seen.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  await until(
    async () => everything.seen.length,
    (count) => count >= run['logs'].length,
  );
  expect(eventsOf(everything).filter(({ type }) => type.includes('emitted'))).toEqual([]);
});

test('a receiver that was down gets everything in order, even if the worker stopped meanwhile', async () => {
  let up = false;
  const server = await receiver(() => (up ? 200 : 503));
  const { id } = await subscribe(server.url);
  const run = await startRun(builder, wait, {}, 30);
  const log = await logOf(run['id']);
  await until(
    async () => server.seen.length,
    (count) => count >= 3,
  );
  // All attempts so far were for the first event, which holds the others back.
  expect(new Set(eventsOf(server).map(({ seq }) => seq))).toEqual(new Set([1]));
  await platform.stopWorker();
  const another = await startRun(builder, wait);
  up = true;
  const before = server.seen.length;
  await platform.startWorker();
  const logs = [
    ...log,
    ...(await until(
      () => logOf(another['id']),
      (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1')),
    )),
  ];
  const rows = await until(
    () => deliveries(id),
    (all) => all.length >= idsOf('', logs).length && settled(all),
  );
  const delivered = eventsOf(server)
    .slice(before)
    .map(({ id: event }) => event);
  expect(delivered).toEqual([...idsOf(run['id'], log), ...idsOf(another['id'], logs.slice(log.length))]);
  expect(rows.at(-1).attempts).toBeGreaterThan(2);
  expect(rows.at(-1).attempt_log[0]).toMatchObject({ status: 503, error: 'answered 503' });
});

test('slow responses, refused connections and redirects are retried, and 410 disables at once', async () => {
  const elsewhere = await receiver(() => 200);
  const secondAttempt = Promise.withResolvers<void>();
  const slow = await receiver((_, nth) => {
    if (nth === 2) secondAttempt.resolve();
    return { status: 200, ...(nth === 1 ? { after: secondAttempt.promise } : {}) };
  });
  const redirecting = await receiver((_, nth) =>
    nth === 1 ? { status: 307, headers: { location: elsewhere.url } } : 200,
  );
  const gone = await receiver(() => 410);
  const closed = await receiver(() => 200);
  await closed.close();
  const hooks = [];
  for (const { url } of [slow, redirecting, gone, closed])
    hooks.push(await subscribe(url, { types: ['none'] }));
  for (const { id } of hooks) expect((await builder.post(`/webhooks/${id}/test`)).status).toBe(202);
  const [ofSlow, ofRedirecting, ofGone, ofClosed] = hooks.map(({ id }) => id);
  expect((await until(() => deliveries(ofSlow), settled))[0]).toMatchObject({
    status: 'delivered',
    attempts: 2,
    attempt_log: [{ error: expect.stringContaining('did not answer') }, { status: 200 }],
  });
  expect((await until(() => deliveries(ofRedirecting), settled))[0]).toMatchObject({
    status: 'delivered',
    attempts: 2,
    attempt_log: [{ status: 307, error: expect.stringContaining('not followed') }, { status: 200 }],
  });
  expect(elsewhere.seen).toEqual([]);
  expect((await until(() => deliveries(ofGone), settled))[0]).toMatchObject({
    status: 'failed',
    attempts: 1,
    response_status: 410,
  });
  expect((await builder.get(`/webhooks/${ofGone}`)).body).toMatchObject({
    active: false,
    disabled_reason: 'gone',
    disabled_at: expect.any(String),
  });
  expect(
    (
      await until(
        () => deliveries(ofClosed),
        ([row]) => row.attempts > 1,
      )
    )[0],
  ).toMatchObject({
    status: 'pending',
    response_status: null,
    error: expect.stringContaining('refused the connection'),
    next_attempt_at: expect.any(String),
  });
});

test('deliveries are given up after 24 hours, disable the webhook, and can be redelivered', async () => {
  let up = false;
  const server = await receiver(() => (up ? 200 : 500));
  const { id } = await subscribe(server.url, { types: ['none'] });
  for (let n = 0; n < 3; n++) await builder.post(`/webhooks/${id}/test`);
  await until(
    () => deliveries(id),
    (rows) => rows.at(-1).attempts > 0,
  );
  await platform.orm.em.fork().execute(`update delivery set expires_at = now() where target_id = ?`, [id]);
  await until(
    () => builder.get(`/webhooks/${id}`),
    ({ body }) => body.active === false,
  );
  expect((await builder.get(`/webhooks/${id}`)).body).toMatchObject({
    disabled_reason: 'failing',
    last_error: 'answered 500',
    pending: 1,
  });
  const rows = await deliveries(id);
  expect(rows.map(({ status }) => status)).toEqual(['pending', 'failed', 'failed']);
  expect((await builder.post(`/webhooks/${id}/deliveries/${rows[1].id}/redeliver`)).body.code).toBe(
    'webhook_inactive',
  );
  up = true;
  server.seen.length = 0;
  expect((await builder.patch(`/webhooks/${id}`, { active: true })).body).toMatchObject({
    active: true,
    disabled_reason: null,
    failing_since: null,
    last_error: null,
  });
  expect(
    (
      await until(
        () => deliveries(id),
        ([newest]) => newest.status === 'delivered',
      )
    )[0].id,
  ).toBe(rows[0].id);
  const again = await builder.post(`/webhooks/${id}/deliveries/${rows[1].id}/redeliver`);
  expect(again.body).toMatchObject({
    status: 'pending',
    redelivery_of: rows[1].id,
    event_id: rows[1].event_id,
  });
  await until(() => deliveries(id), settled2);
  expect((await builder.post(`/webhooks/${id}/redeliver`)).body).toEqual({ redelivered: 1 });
  await until(() => deliveries(id), settled2);
  expect((await builder.post(`/webhooks/${id}/redeliver`)).body).toEqual({ redelivered: 0 });
  expect(server.seen.map(({ headers }) => headers['webhook-id'])).toEqual([
    rows[0].event_id,
    rows[1].event_id,
    rows[2].event_id,
  ]);
  expect((await builder.post(`/webhooks/${id}/deliveries/${missing}/redeliver`)).status).toBe(404);
});
const settled2 = (rows: any[]): boolean => rows.every(({ status }) => status !== 'pending');

test('a webhook says since when it fails, why, and how many deliveries wait', async () => {
  let status = 503;
  const server = await receiver(() => status);
  const { id } = await subscribe(server.url, { types: ['none'] });
  const state = async (): Promise<any> => (await builder.get(`/webhooks/${id}`)).body;
  for (let n = 0; n < 2; n++) await builder.post(`/webhooks/${id}/test`);
  const failing = await until(state, ({ last_error: error }) => error === 'answered 503');
  expect(failing).toMatchObject({ active: true, pending: 2, failing_since: expect.any(String) });
  status = 500;
  const later = await until(state, ({ last_error: error }) => error === 'answered 500');
  expect(later.failing_since).toBe(failing.failing_since);
  expect((await builder.get('/webhooks')).body).toMatchObject([{ id, failing_since: later.failing_since }]);
  status = 200;
  const well = await until(state, ({ pending }) => pending === 0);
  expect(well).toMatchObject({ failing_since: null, last_error: null });
});

test('at most 100 waiting deliveries of a webhook are counted', async () => {
  const { id } = await subscribe('https://receiver.example/hook');
  await platform.orm.em.fork().execute(
    `insert into delivery (id, target_id, ord, message_id, type, content_type, body, expires_at)
     select gen_random_uuid(), ?, -n, n::text, 'x', 'x', '', clock_timestamp()
       from generate_series(1, 150) n`,
    [id],
  );
  expect((await builder.get('/webhooks')).body).toMatchObject([{ id, pending: 100 }]);
});

test('event types that match none of our events are warned of, and others are not', async () => {
  const types = ['io.cadenza.hitll', '*.completd.v1', 'com.example.order', 'io.cadenza', '*.v1', '*task*'];
  const { id, warnings } = await subscribe('https://receiver.example/hook', { types });
  const others = "matches none of Cadenza's own events (only events that workflows emit can match)";
  expect(warnings).toEqual([
    { pointer: '/types/0', message: `${others}, did you mean "io.cadenza.hitl"?` },
    { pointer: '/types/1', message: others },
    { pointer: '/types/2', message: others },
  ]);
  const right = await builder.patch(`/webhooks/${id}`, { types: ['io.cadenza.hitl', '*.webhook.test.v1'] });
  expect(right.body.warnings).toEqual([]);
});

test('creating or changing a webhook refuses literal private addresses, as deliveries do', async () => {
  const { id } = await subscribe('https://public.example');
  const refused = [
    'http://127.0.0.2',
    'https://127.0.0.2:8443/x',
    'https://[::1]',
    'https://[::ffff:127.0.0.2]',
    'https://2130706434',
    'https://0x7f.2',
    'https://10.0.0.1',
    'https://169.254.169.254',
    'https://100.64.0.1',
    'https://0.0.0.0',
    'https://[fd00::1]',
    'http://93.184.215.14',
  ];
  for (const url of refused) {
    for (const reply of [
      await builder.post('/webhooks', { url }),
      await builder.patch(`/webhooks/${id}`, { url }),
    ]) {
      expect([url, reply.status, reply.body.errors]).toEqual([
        url,
        422,
        [{ pointer: '/url', code: 'egress_refused', message: expect.stringContaining('EGRESS_ALLOW') }],
      ]);
    }
  }
  // Accepted: addresses that EGRESS_ALLOW names, public addresses, and names, which the delivery looks up.
  for (const url of [
    'http://127.0.0.1:9/x',
    'https://93.184.215.14',
    'https://private.example',
    'http://down.example',
  ]) {
    expect([url, (await builder.post('/webhooks', { url })).status]).toEqual([url, 201]);
    expect([url, (await builder.patch(`/webhooks/${id}`, { url })).status]).toEqual([url, 200]);
  }
  expect((await builder.get(`/webhooks/${id}`)).body.url).toBe('http://down.example');
});

test('a webhook by http is refused to a host that EGRESS_ALLOW cannot name', async () => {
  const app = await startTestApp({ env: { EGRESS_ALLOW: 'hooks.example' } });
  try {
    const owner = await app.as('builder');
    const post = (url: string) => owner.post('/webhooks', { url });
    const refused = await post('http://other.example/x');
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [
        {
          pointer: '/url',
          code: 'egress_refused',
          message: 'must be https (see the setting EGRESS_ALLOW)',
        },
      ],
    ]);
    for (const url of ['http://hooks.example/x', 'https://other.example/x'])
      expect([url, (await post(url)).status]).toEqual([url, 201]);
  } finally {
    await app.close();
  }
});

test('creating a webhook refuses our own servers, even if EGRESS_ALLOW names their address', async () => {
  const database = new URL(platform.databaseUrl).port;
  for (const url of [
    `http://127.0.0.1:${database}`,
    `https://127.0.0.1:${database}/x`,
    `${platform.url}/metrics`,
  ]) {
    const reply = await builder.post('/webhooks', { url });
    expect([url, reply.status, reply.body.errors]).toEqual([
      url,
      422,
      [
        {
          pointer: '/url',
          code: 'egress_refused',
          message: expect.stringContaining('server of this installation'),
        },
      ],
    ]);
  }
});

test('no delivery reaches a private address, by number, name, mapping, rebinding or plain HTTP', async () => {
  let packets = 0;
  const trap = createServer((socket) => {
    packets += 1;
    socket.destroy();
  });
  // 127.0.0.2 is a loopback address, too, but it is not on the list of allowed addresses.
  const port = await ownPort();
  await new Promise<void>((resolve) => trap.listen(port, '0.0.0.0', resolve));
  names.set('rebinding.example', ['93.184.215.14', '127.0.0.2']);
  const urls = [
    `http://127.0.0.2:${port}`,
    `https://127.0.0.2:${port}`,
    `http://[::1]:${port}`,
    `http://[::ffff:127.0.0.2]:${port}`,
    `http://2130706434:${port}`,
    `http://0x7f.2:${port}`,
    `http://10.0.0.1:${port}`,
    `http://169.254.169.254`,
    `http://100.64.0.1`,
    `http://0.0.0.0:${port}`,
    `https://private.example:${port}`,
    `http://localhost:${port}`,
    `http://rebinding.example:${port}`,
    `http://plain.example:${port}`,
  ];
  names.set('plain.example', ['93.184.215.14', '93.184.215.14', '93.184.215.14']);
  for (const url of urls) {
    const { id } = await subscribe('https://public.example', { types: ['none'] });
    // As if the settings had allowed the address when the webhook was created.
    await platform.orm.em.fork().execute('update delivery_target set url = ? where id = ?', [url, id]);
    await builder.post(`/webhooks/${id}/test`);
    const [row] = await until(
      () => deliveries(id),
      ([first]) => first.attempts > 1,
    );
    expect([url, row.response_status, row.error]).toEqual([url, null, expect.stringMatching(/not allowed/)]);
    await builder.delete(`/webhooks/${id}`);
  }
  await new Promise((resolve) => trap.close(resolve));
  expect(packets).toBe(0);
});

test('the outbox fills without Temporal, and the reconciler sends it', async () => {
  await platform.stopWorker();
  const server = await receiver(() => 200);
  const { id } = await subscribe(server.url);
  const run = await startRun(builder, wait);
  expect(await deliveries(id)).toEqual([]);
  // The fan-out reads up to the oldest open transaction of the whole server, which may belong to another
  // test.
  const rows = await until(
    async () => {
      await platform.reconcile();
      return deliveries(id);
    },
    ({ length }) => length > 0,
  );
  expect(rows.map(({ run_id }) => run_id)).toEqual([run['id']]);
  await platform.startWorker();
  const log = await until(
    () => logOf(run['id']),
    (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1')),
  );
  const ids = idsOf(run['id'], log);
  await until(
    async () => server.seen.length,
    (count) => count >= ids.length,
  );
  expect(eventsOf(server).map((event) => event.id)).toEqual(ids);
});
