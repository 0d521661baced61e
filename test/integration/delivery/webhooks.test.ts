import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';

import type { Client } from '../../support/app.ts';
import { startServer, type SeenRequest, type TestServer } from '../../support/http-server.ts';
import { startRun, startTestPlatform, until, type TestPlatform } from '../../support/platform.ts';

let platform: TestPlatform;
let builder: Client;
let other: Client;
let viewer: Client;
let admin: Client;
const servers: TestServer[] = [];
/** What names stand for; a list is given one by one. */
const names = new Map<string, string[]>();

beforeAll(async () => {
  platform = await startTestPlatform({
    // Port by port: what is not named here is a private address like any other.
    egressAllow: ['127.0.0.1', 'down.example'],
    lookup: async (name) => {
      const [address = '127.0.0.2', ...rest] = names.get(name) ?? [];
      names.set(name, rest);
      return [{ address, family: address.includes(':') ? 6 : 4 }];
    },
    deliveryRetry: { firstMs: 200, steadyMs: 400, longestMs: 400, timeoutMs: 1_000, maxFailures: 2 },
  });
  builder = await platform.as('builder');
  other = await platform.as(await platform.createUser({ roles: ['builder'] }));
  viewer = await platform.as('viewer');
  admin = await platform.as('admin');
});

afterAll(() => platform.close());

afterEach(async () => {
  for (const client of [builder, other]) {
    for (const { id } of (await client.get('/webhooks?limit=200')).body) await client.delete(`/webhooks/${id}`);
  }
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const missing = '01890000-0000-7000-8000-000000000000';
const wait = { do: [{ first: { set: { a: 1 } } }, { second: { set: { b: '${ .a + 1 }' } } }] };

async function receiver(answer: (request: SeenRequest, nth: number) => number | { status: number; headers?: Record<string, string>; afterMs?: number }): Promise<TestServer> {
  let nth = 0;
  const server = await startServer(async (request, response) => {
    nth += 1;
    const given = answer(request, nth);
    const { status, headers = {}, afterMs = 0 } = typeof given === 'number' ? { status: given } : given;
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
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

const deliveries = async (id: string, query = ''): Promise<any[]> => (await builder.get(`/webhooks/${id}/deliveries?limit=200${query}`)).body;
const settled = (rows: any[]): boolean => rows.length > 0 && rows.every(({ status }) => status !== 'pending');
const eventsOf = (server: TestServer): any[] => server.seen.map(({ body }) => JSON.parse(body));
async function logOf(runId: string): Promise<any[]> {
  return (await builder.get(`/runs/${runId}/logs?limit=200`)).body;
}

test.each([
  ['GET', '/webhooks', false], ['POST', '/webhooks', true], ['GET', `/webhooks/${missing}`, false], ['PATCH', `/webhooks/${missing}`, true],
  ['DELETE', `/webhooks/${missing}`, true], ['POST', `/webhooks/${missing}/test`, true], ['GET', `/webhooks/${missing}/deliveries`, false],
  ['POST', `/webhooks/${missing}/redeliver`, true], ['POST', `/webhooks/${missing}/deliveries/${missing}/redeliver`, true],
])('%s %s: 401, then 403 or 404', async (method, path, writes) => {
  expect((await platform.anonymous.request(method, path)).status).toBe(401);
  if (writes) expect((await viewer.request(method, path)).status).toBe(403);
  if (path !== '/webhooks') expect((await builder.request(method, path)).status).toBe(404);
});

test('create, read, change, list, delete; the secret is shown once', async () => {
  const made = await subscribe('https://receiver.example/hook', { types: ['io.cadenza.hitl', '*.faulted.v1'], description: 'mine' });
  expect(made).toEqual({
    id: expect.any(String), owner_id: (await platform.user('builder')).id, url: 'https://receiver.example/hook', types: ['io.cadenza.hitl', '*.faulted.v1'],
    description: 'mine', active: true, disabled_reason: null, disabled_at: null, created_at: expect.any(String), updated_at: expect.any(String),
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/=]{40,}$/),
  });
  const { secret: _, ...record } = made;
  const read = await builder.get(`/webhooks/${made.id}`);
  expect(read.body).toEqual(record);
  expect((await builder.get('/webhooks')).body).toEqual([record]);
  expect((await other.get('/webhooks')).body).toEqual([]);
  expect((await admin.get('/webhooks?active=true')).body).toEqual([record]);
  for (const [method, path] of [['GET', ''], ['PATCH', ''], ['DELETE', ''], ['POST', '/test'], ['GET', '/deliveries']] as const) {
    expect((await other.request(method, `/webhooks/${made.id}${path}`, method === 'PATCH' ? { body: {} } : {})).status).toBe(404);
  }
  const patched = await builder.patch(`/webhooks/${made.id}`, { types: null, description: null, active: false });
  expect(patched.body).toMatchObject({ types: [], description: null, active: false });
  expect((await builder.patch(`/webhooks/${made.id}`, { description: 'x' }, { headers: { 'if-match': read.headers.get('etag') ?? '' } })).status).toBe(412);
  expect((await builder.post(`/webhooks/${made.id}/test`)).body.code).toBe('webhook_inactive');
  expect((await builder.delete(`/webhooks/${made.id}`)).status).toBe(204);
  expect((await builder.get(`/webhooks/${made.id}`)).status).toBe(404);
  for (const body of [{}, { url: 'ftp://x.example' }, { url: 'nothing' }, { url: 'https://user:pass@x.example' }, { url: 'https://x.example', types: ['a b'] }, { url: 'https://x.example', secret: 'short' }, { url: 'https://x.example', colour: 1 }]) {
    expect([body, (await builder.post('/webhooks', body)).status]).toEqual([body, 422]);
  }
});

test('every event of a run arrives once, in order, as a signed CloudEvent; others see nothing of it', async () => {
  const server = await receiver(() => 204);
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const { id } = await subscribe(server.url, { secret });
  const foreign = await receiver(() => 204);
  await subscribe(foreign.url, {}, other);
  const run = await startRun(builder, wait, {}, 30);
  const log = await logOf(run['id']);
  await until(async () => server.seen, (seen) => seen.length >= log.length);
  const rows = await until(() => deliveries(id), settled);
  expect(eventsOf(server).map(({ data }) => data.seq)).toEqual(log.map(({ seq }) => seq));
  for (const [index, request] of server.seen.entries()) {
    const event = new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as any;
    const { seq, at, type, level, task, message, data } = log[index];
    expect(event).toEqual({
      specversion: '1.0', id: `${run['id']}:${seq}`, source: `${platform.url}/runs/${run['id']}`, type, ...(task === null ? {} : { subject: task }), time: at,
      datacontenttype: 'application/json',
      data: { run_id: run['id'], workflow_id: run['workflow_id'], workflow_name: 'test', seq, level, task, message, data },
    });
    expect(request.headers).toMatchObject({ 'content-type': 'application/cloudevents+json; charset=utf-8', 'webhook-id': event.id });
  }
  expect(rows).toHaveLength(log.length);
  expect(rows[0]).toMatchObject({ webhook_id: id, status: 'delivered', attempts: 1, response_status: 204, error: null, run_id: run['id'], seq: log.at(-1).seq, attempt_log: [{ status: 204, error: null }] });
  const one = await builder.get(`/webhooks/${id}/deliveries/${rows[0].id}`);
  expect(one.body.body).toBe(server.seen.at(-1)?.body);
  expect((await builder.get(`/webhooks/${id}/deliveries?limit=1`)).headers.get('link')).toContain('cursor=');
  expect(foreign.seen).toEqual([]);
});

test('types filter; an admin sees all runs; a candidate gets the events of the human task', async () => {
  const [filtered, everything, asked] = [await receiver(() => 200), await receiver(() => 200), await receiver(() => 200)];
  await subscribe(filtered.url, { types: ['*.completed.v1'] });
  const { id: ofAdmin } = await subscribe(everything.url, {}, admin);
  const candidate = await platform.createUser({ roles: ['approver'] });
  const client = await platform.as(candidate);
  const { id: ofCandidate } = await subscribe(asked.url, {}, client);
  const run = await startRun(builder, { do: [{ ask: { call: 'human', with: { title: 'Well?', candidates: { users: [candidate.username] } } } }] });
  await until(async () => eventsOf(asked), (events) => events.some(({ type }) => type === 'io.cadenza.hitl.task-created.v1'));
  const [task] = (await client.get('/hitl/tasks')).body;
  expect((await client.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' })).status).toBe(200);
  const log = await until(() => logOf(run['id']), (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1')));
  await until(async () => everything.seen.length, (count) => count >= log.length);
  await until(async () => filtered.seen.length, (count) => count >= 2);
  expect(eventsOf(everything).map(({ data }) => data.seq)).toEqual(log.map(({ seq }) => seq));
  const hitl = log.filter(({ type }) => type.startsWith('io.cadenza.hitl.')).map(({ seq }) => seq);
  await until(async () => asked.seen.length, (count) => count >= hitl.length);
  expect(eventsOf(asked).map(({ data }) => data.seq)).toEqual(hitl);
  expect(eventsOf(filtered).map(({ type }) => type)).toEqual(log.map(({ type }) => type).filter((type) => type.endsWith('.completed.v1')));
  await admin.delete(`/webhooks/${ofAdmin}`);
  await client.delete(`/webhooks/${ofCandidate}`);
});

test('what a task emits is passed on as it was emitted, by its own type', async () => {
  const [filtered, everything] = [await receiver(() => 200), await receiver(() => 200)];
  await subscribe(filtered.url, { types: ['com.example'] });
  await subscribe(everything.url);
  const event = { id: '1', source: 'https://example.com', type: 'com.example.told.v1', tenant: 't', data: { a: 1 } };
  const run = await startRun(builder, { do: [1, 2].map((n) => ({ [`tell${n}`]: { emit: { event: { with: event } } } })) }, {}, 30);
  const events = await until(async () => eventsOf(filtered), ({ length }) => length >= 2);
  expect(events).toEqual(Array.from({ length: 2 }, () => ({ specversion: '1.0', time: expect.any(String), datacontenttype: 'application/json', ...event })));
  expect(events[1]).toEqual(run['output']);
  // Their author gave both the same id: a receiver must not take the second for a repeat of the first.
  expect(new Set(filtered.seen.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  await until(async () => everything.seen.length, (count) => count >= run['logs'].length);
  expect(eventsOf(everything).filter(({ type }) => type.includes('emitted'))).toEqual([]);
});

test('a target that is down gets everything, in order, when it is back; worker and Temporal signal lost in between', async () => {
  let up = false;
  const server = await receiver(() => (up ? 200 : 503));
  const { id } = await subscribe(server.url);
  const run = await startRun(builder, wait, {}, 30);
  const log = await logOf(run['id']);
  await until(async () => server.seen.length, (count) => count >= 3);
  // All attempts so far were at the first event: it keeps the others waiting.
  expect(new Set(eventsOf(server).map(({ data }) => data.seq))).toEqual(new Set([1]));
  await platform.stopWorker();
  const another = await startRun(builder, wait);
  up = true;
  const before = server.seen.length;
  await platform.startWorker();
  const logs = [...log, ...(await until(() => logOf(another['id']), (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1'))))];
  const rows = await until(() => deliveries(id), (all) => all.length >= logs.length && settled(all), 40_000);
  const delivered = eventsOf(server).slice(before).map(({ id: event }) => event);
  const expected = [...log.map(({ seq }) => `${run['id']}:${seq}`), ...logs.slice(log.length).map(({ seq }) => `${another['id']}:${seq}`)];
  expect(delivered).toEqual(expected);
  expect(rows.at(-1).attempts).toBeGreaterThan(2);
  expect(rows.at(-1).attempt_log[0]).toMatchObject({ status: 503, error: 'answered 503' });
}, 90_000);

test('slow answers, refused connections and redirects are failures; 410 switches off at once', async () => {
  const elsewhere = await receiver(() => 200);
  const slow = await receiver((_, nth) => ({ status: 200, afterMs: nth === 1 ? 1_600 : 0 }));
  const redirecting = await receiver((_, nth) => (nth === 1 ? { status: 307, headers: { location: elsewhere.url } } : 200));
  const gone = await receiver(() => 410);
  const closed = await receiver(() => 200);
  await closed.close();
  const hooks = [];
  for (const { url } of [slow, redirecting, gone, closed]) hooks.push(await subscribe(url, { types: ['none'] }));
  for (const { id } of hooks) expect((await builder.post(`/webhooks/${id}/test`)).status).toBe(202);
  const [ofSlow, ofRedirecting, ofGone, ofClosed] = hooks.map(({ id }) => id);
  expect((await until(() => deliveries(ofSlow), settled))[0]).toMatchObject({ status: 'delivered', attempts: 2, attempt_log: [{ error: expect.stringContaining('did not answer') }, { status: 200 }] });
  expect((await until(() => deliveries(ofRedirecting), settled))[0]).toMatchObject({ status: 'delivered', attempts: 2, attempt_log: [{ status: 307, error: expect.stringContaining('not followed') }, { status: 200 }] });
  expect(elsewhere.seen).toEqual([]);
  expect((await until(() => deliveries(ofGone), settled))[0]).toMatchObject({ status: 'failed', attempts: 1, response_status: 410 });
  expect((await builder.get(`/webhooks/${ofGone}`)).body).toMatchObject({ active: false, disabled_reason: 'gone', disabled_at: expect.any(String) });
  expect((await until(() => deliveries(ofClosed), ([row]) => row.attempts > 1))[0]).toMatchObject({ status: 'pending', response_status: null, error: expect.stringContaining('refused the connection'), next_attempt_at: expect.any(String) });
});

test('after 24 hours a delivery is given up; several in a row switch off; switching on and redelivering bring them back', async () => {
  let up = false;
  const server = await receiver(() => (up ? 200 : 500));
  const { id } = await subscribe(server.url, { types: ['none'] });
  for (let n = 0; n < 3; n++) await builder.post(`/webhooks/${id}/test`);
  await until(() => deliveries(id), (rows) => rows.at(-1).attempts > 0);
  await platform.orm.em.fork().execute(`update delivery set expires_at = now() where target_id = ?`, [id]);
  await until(() => builder.get(`/webhooks/${id}`), ({ body }) => body.active === false);
  expect((await builder.get(`/webhooks/${id}`)).body.disabled_reason).toBe('failing');
  const rows = await deliveries(id);
  expect(rows.map(({ status }) => status)).toEqual(['pending', 'failed', 'failed']);
  expect((await builder.post(`/webhooks/${id}/deliveries/${rows[1].id}/redeliver`)).body.code).toBe('webhook_inactive');
  up = true;
  server.seen.length = 0;
  expect((await builder.patch(`/webhooks/${id}`, { active: true })).body).toMatchObject({ active: true, disabled_reason: null });
  expect((await until(() => deliveries(id), ([newest]) => newest.status === 'delivered'))[0].id).toBe(rows[0].id);
  const again = await builder.post(`/webhooks/${id}/deliveries/${rows[1].id}/redeliver`);
  expect(again.body).toMatchObject({ status: 'pending', redelivery_of: rows[1].id, event_id: rows[1].event_id });
  await until(() => deliveries(id), settled2);
  expect((await builder.post(`/webhooks/${id}/redeliver`)).body).toEqual({ redelivered: 1 });
  await until(() => deliveries(id), settled2);
  expect((await builder.post(`/webhooks/${id}/redeliver`)).body).toEqual({ redelivered: 0 });
  expect(server.seen.map(({ headers }) => headers['webhook-id'])).toEqual([rows[0].event_id, rows[1].event_id, rows[2].event_id]);
  expect((await builder.post(`/webhooks/${id}/deliveries/${missing}/redeliver`)).status).toBe(404);
});
const settled2 = (rows: any[]): boolean => rows.every(({ status }) => status !== 'pending');

test('no packet reaches private addresses, by number, by name, mapped, after a rebinding, or without TLS', async () => {
  let packets = 0;
  const trap = createServer((socket) => {
    packets += 1;
    socket.destroy();
  });
  // Not loopback alone: 127.0.0.2 is not on the list of what is allowed.
  await new Promise<void>((resolve) => trap.listen(0, '0.0.0.0', resolve));
  const { port } = trap.address() as AddressInfo;
  names.set('rebinding.example', ['93.184.215.14', '127.0.0.2']);
  const urls = [
    `http://127.0.0.2:${port}`, `https://127.0.0.2:${port}`, `http://[::1]:${port}`, `http://[::ffff:127.0.0.2]:${port}`, `http://2130706434:${port}`, `http://0x7f.2:${port}`,
    `http://10.0.0.1:${port}`, `http://169.254.169.254`, `http://100.64.0.1`, `http://0.0.0.0:${port}`, `https://private.example:${port}`, `http://localhost:${port}`,
    `http://rebinding.example:${port}`, `http://plain.example:${port}`,
  ];
  names.set('plain.example', ['93.184.215.14', '93.184.215.14', '93.184.215.14']);
  for (const url of urls) {
    const { id } = await subscribe(url, { types: ['none'] });
    await builder.post(`/webhooks/${id}/test`);
    const [row] = await until(() => deliveries(id), ([first]) => first.attempts > 1);
    expect([url, row.response_status, row.error]).toEqual([url, null, expect.stringMatching(/not allowed/)]);
    await builder.delete(`/webhooks/${id}`);
  }
  await new Promise((resolve) => trap.close(resolve));
  expect(packets).toBe(0);
});

test('without Temporal the outbox fills all the same, and the reconciler sends it', async () => {
  await platform.stopWorker();
  const server = await receiver(() => 200);
  const { id } = await subscribe(server.url);
  const run = await startRun(builder, wait);
  expect(await deliveries(id)).toEqual([]);
  // A transaction of another test's database may be open: the fan-out reads up to the oldest one of the whole server.
  const rows = await until(async () => {
    await platform.reconcile();
    return deliveries(id);
  }, ({ length }) => length > 0);
  expect(rows.map(({ run_id }) => run_id)).toEqual([run['id']]);
  await platform.startWorker();
  const log = await until(() => logOf(run['id']), (rows) => rows.some(({ type }) => type.endsWith('workflow.completed.v1')));
  await until(async () => server.seen.length, (count) => count >= log.length);
  expect(eventsOf(server).map(({ data }) => data.seq)).toEqual(log.map(({ seq }) => seq));
});
