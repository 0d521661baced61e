/** Events from outside: their senders, batches, sources that are bound, and inbound webhooks. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { HookScheme } from '../../contracts/hooks.ts';
import { decodeCursor, encodeCursor } from '../../db/sql.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';
import { until } from '../support/platform.ts';

const password = 'correct horse battery';
let app: TestApp;
let owner: Client;
let other: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { EVENT_RETENTION_DAYS: '5' } });
  const admin = await app.as('admin');
  await admin.post('/users', { username: 'shop', email: 's@example.com', password, roles: ['builder'] });
  const login = await app.anonymous.post('/auth/token', { username: 'shop', password });
  owner = createClient(app.url, login.body.access_token);
  other = await app.as('builder');
});
afterAll(() => app.close());

const event = (id: string, more: object = {}) => ({
  specversion: '1.0',
  id,
  source: 'https://shop.example/orders',
  type: 'order.paid',
  data: { order: 7 },
  ...more,
});
const send = (client: Client, body: unknown, type = 'application/cloudevents+json'): Promise<Reply> =>
  client.post('/events', body, { headers: { 'content-type': type } });
const batch = (client: Client, events: unknown[]): Promise<Reply> =>
  send(client, events, 'application/cloudevents-batch+json');

test('a batch is taken whole or not at all, each event once, and its owner alone reads it', async () => {
  const bad = await batch(owner, [event('b1'), event('b2', { type: '' }), event('b3', { Upper: 1 })]);
  expect([bad.status, bad.body.errors.map(({ pointer }: any) => pointer)]).toEqual([
    422,
    ['/1/type', '/2/Upper'],
  ]);
  const first = await batch(owner, [event('b1'), event('b2'), event('b1', { data: 'again' })]);
  expect([first.status, first.body.map(({ duplicate }: any) => duplicate)]).toEqual([
    202,
    [false, false, true],
  ]);
  expect(first.body[2].id).toBe(first.body[0].id);
  expect((await batch(owner, [])).body).toEqual([]);
  expect(
    (
      await batch(
        owner,
        Array.from({ length: 501 }, (_, n) => event(`m${n}`)),
      )
    ).status,
  ).toBe(422);

  const listed = await owner.get('/events/received?type=order.paid&limit=1');
  expect(listed.body).toMatchObject([{ event_id: 'b2', client_id: null, event: { data: { order: 7 } } }]);
  const next = /<(.+)>/.exec(listed.headers.get('link') ?? '')?.[1] ?? '';
  const { pathname, search } = new URL(next);
  expect((await owner.get(pathname + search)).body).toMatchObject([{ event_id: 'b1' }]);
  const [place = '', last = ''] = decodeCursor(new URL(next).searchParams.get('cursor') ?? '') as string[];
  const day = place.slice(0, 10);
  for (const time of [
    `${day}T25:00:00Z`,
    `${day}T01:00:00`,
    '0000-01-01 00:00:00+00',
    `${day}T01:00:00+99:00`,
  ])
    expect(await owner.get(`/events/received?cursor=${encodeCursor([time, last])}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    });
  const { id } = first.body[0];
  expect((await owner.get(`/events/received/${id}`)).body.event).toEqual(event('b1'));
  expect((await other.get(`/events/received/${id}`)).status).toBe(404);
  expect((await other.get('/events/received')).body).toEqual([]);
});

test('received events are those of a person or of a team, and a list of both is refused', async () => {
  const admin = await app.as('admin');
  const { id } = (await admin.post('/teams', { name: 'Received' })).body;
  for (const client of [owner, admin])
    for (const person of ['me', id])
      expect(await client.get(`/events/received?team_id=${id}&owner_id=${person}`)).toMatchObject({
        status: 400,
        body: {
          code: 'invalid_query',
          detail: 'owner_id must not be given with team_id: the events of a team have no other owner.',
          errors: [{ pointer: 'owner_id', code: 'invalid_query' }],
        },
      });
  expect((await admin.get(`/events/received?team_id=${id}`)).body).toEqual([]);
  expect((await send(owner, event('own', { type: 'of.a.person' }))).status).toBe(202);
  const own = await owner.get('/events/received?owner_id=me&type=of.a.person');
  expect(own.body).toMatchObject([{ event_id: 'own', team_id: null }]);
});

test('a large event is omitted in the list, and whole in its record', async () => {
  const large = event('large', { type: 'large', data: 'x'.repeat(20_000) });
  const { body } = await send(owner, large);
  expect((await owner.get('/events/received?type=large')).body[0]).toMatchObject({ omitted: ['event'] });
  expect((await owner.get(`/events/received/${body.id}`)).body.event).toEqual(large);
});

test('events of a bound source are taken from its client only, and no client unbinds itself', async () => {
  const made = await owner.post('/users/me/clients', { name: 'till' });
  const { client_id: clientId, client_secret: secret } = made.body;
  const token = await app.anonymous.post('/auth/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: secret,
  });
  const till = createClient(app.url, token.body.access_token);
  const source = 'urn:till:1';
  const bound = await owner.post('/event-sources', { source, client_id: clientId });
  expect([bound.status, bound.body]).toMatchObject([201, { source, client_id: clientId, shared_with: [] }]);
  expect((await owner.post('/event-sources', { source })).status).toBe(409);
  expect((await owner.post('/event-sources', { source: 'x', client_id: bound.body.id })).status).toBe(422);

  const forged = await send(owner, event('f1', { source }));
  expect([forged.status, forged.body.code]).toEqual([403, 'source_bound']);
  expect((await send(till, event('f1', { source }))).body.duplicate).toBe(false);
  expect((await owner.get('/events/received?event_id=f1')).body[0].client_id).toBe(clientId);
  const unbound = await till.patch(`/event-sources/${bound.body.id}`, { client_id: null });
  expect([unbound.status, unbound.body.code]).toEqual([403, 'person_required']);
  expect((await till.delete(`/event-sources/${bound.body.id}`)).status).toBe(403);
  const viaHook = await createHook('github', { source });
  expect([viaHook.status, viaHook.body.code]).toEqual([403, 'source_bound']);
  // Others have their own events of this source.
  expect((await send(other, event('f1', { source }))).status).toBe(202);
  const changed = await owner.patch(`/event-sources/${bound.body.id}`, {
    client_id: null,
    shared_with: [bound.body.owner_id],
  });
  expect(changed.body).toMatchObject({ client_id: null, shared_with: [bound.body.owner_id] });
  expect((await send(owner, event('f2', { source }))).status).toBe(202);
});

test('an event has to fit into the indexes', async () => {
  const long = (bytes: number): string => randomBytes(bytes).toString('base64url').slice(0, bytes);
  const reply = await batch(owner, [
    event('fits', { source: long(2_000) }),
    event(long(900), { source: long(2_000) }),
    event('wide', { type: '語'.repeat(900) }),
  ]);
  expect([reply.status, reply.body.errors.map(({ pointer }: any) => pointer)]).toEqual([
    422,
    ['/1/id', '/2/type'],
  ]);
});

test('names of attributes are short, and a refusal of long ones is too', async () => {
  const long = 'n'.repeat(64 * 1024);
  const bad = Array.from({ length: 30 }, (_, n) => event(`l${n}`, { [`${long}${n}`]: 'x' }));
  const reply = await batch(owner, [event('fine'), ...bad]);
  expect(reply.status).toBe(422);
  expect(JSON.stringify(reply.body).length).toBeLessThan(100_000);
  expect(reply.body.errors[0].pointer).toMatch(/^\/1\/n+/);
  expect((await owner.get('/events/received?event_id=fine')).body).toEqual([]);
});

test('nobody sends events as a run or as an inbound webhook', async () => {
  for (const path of ['runs/01', 'hooks/01']) {
    const reply = await send(owner, event('r', { source: `${app.env.BASE_URL}/${path}` }));
    expect([reply.status, reply.body.errors[0].code]).toEqual([422, 'reserved_source']);
  }
});

const KEYS = { NEW: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', OLD: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' };

async function createHook(scheme: HookScheme, more: object = {}): Promise<Reply> {
  for (const [name, value] of Object.entries(KEYS)) await owner.put(`/secrets/${name}`, { value });
  return owner.post('/hooks', { name: scheme, scheme, secret: 'NEW', ...more });
}

/** The headers with which each service signs. */
function signed(scheme: HookScheme, body: string, { key = KEYS.NEW, id = 'm1', ago = 0 } = {}) {
  const at = String(Math.floor(Date.now() / 1_000) - ago);
  const hex = (content: string): string => createHmac('sha256', key).update(content).digest('hex');
  switch (scheme) {
    case 'github':
      return { 'x-hub-signature-256': `sha256=${hex(body)}`, 'x-github-event': 'issues' };
    case 'stripe':
      return { 'stripe-signature': `t=${at},v1=${'0'.repeat(64)},v1=${hex(`${at}.${body}`)},v0=1` };
    case 'slack':
      return { 'x-slack-request-timestamp': at, 'x-slack-signature': `v0=${hex(`v0:${at}:${body}`)}` };
    case 'standard': {
      const mac = createHmac('sha256', Buffer.from(key.slice(6), 'base64')).update(`${id}.${at}.${body}`);
      return {
        'webhook-id': id,
        'webhook-timestamp': at,
        'webhook-signature': `v1,AAAA v1,${mac.digest('base64')}`,
      };
    }
  }
}

const call = (id: string, body: string, headers: Record<string, string>): Promise<Reply> =>
  app.anonymous.post(`/hooks/${id}`, body, { headers: { 'content-type': 'application/json', ...headers } });
const received = async (id: string): Promise<any[]> => {
  const { body } = await owner.get('/events/received?limit=200');
  return body.filter(({ hook_id: hook }: any) => hook === id);
};

test.each<{ scheme: HookScheme; body: object; type: string; eventId: string | null }>([
  { scheme: 'github', body: { action: 'opened' }, type: 'com.github.issues.opened', eventId: null },
  {
    scheme: 'stripe',
    body: { id: 'evt_1', type: 'charge.paid' },
    type: 'com.stripe.charge.paid',
    eventId: 'evt_1',
  },
  {
    scheme: 'slack',
    body: { event_id: 'Ev1', event: { type: 'ping' } },
    type: 'com.slack.ping',
    eventId: 'Ev1',
  },
  { scheme: 'standard', body: { type: 'user.made' }, type: 'user.made', eventId: 'm1' },
])('a call that $scheme signs becomes an event, once', async ({ scheme, body, type, eventId }) => {
  const { body: hook } = await createHook(scheme);
  const text = JSON.stringify(body);
  const headers = signed(scheme, text);
  const taken = scheme === 'slack' ? [200, null] : [202, {}];
  for (const reply of await Promise.all([1, 2, 3].map(() => call(hook.id, text, headers))))
    expect([reply.status, reply.body]).toEqual(taken);
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const events = await received(hook.id);
  expect(events).toMatchObject([
    { event_id: eventId ?? digest, source: hook.url, type, event: { data: body, specversion: '1.0' } },
  ]);

  const refused = async (reply: Promise<Reply>): Promise<unknown> => {
    const { status, body: problem } = await reply;
    return [status, problem.code, problem.detail];
  };
  const unknown = await refused(call('0190f0f0-0000-7000-8000-000000000000', text, headers));
  expect(unknown).toEqual([401, 'invalid_signature', expect.any(String)]);
  const attacks = [
    call('no-id', text, headers),
    call(hook.id, `${text} `, headers),
    call(hook.id, text, signed(scheme, text, { key: KEYS.OLD })),
    call(hook.id, text, {}),
    ...(scheme === 'github' ? [] : [call(hook.id, text, signed(scheme, text, { ago: 400 }))]),
    ...(scheme === 'github' ? [] : [call(hook.id, text, signed(scheme, text, { ago: -400 }))]),
  ];
  const { 'webhook-signature': signature } = headers;
  if (signature !== undefined)
    attacks.push(call(hook.id, text, { ...headers, 'webhook-signature': `${signature}=x` }));
  for (const attack of attacks) expect(await refused(attack)).toEqual(unknown);

  // Rotation: both keys, then only the new one.
  await owner.patch(`/hooks/${hook.id}`, { former_secret: 'OLD' });
  const rotated = JSON.stringify({ ...body, id: 'evt_2', event_id: 'Ev2' });
  const old = signed(scheme, rotated, { key: KEYS.OLD, id: 'm2' });
  expect((await call(hook.id, rotated, old)).status).toBe(taken[0]);
  await owner.patch(`/hooks/${hook.id}`, { former_secret: null });
  expect(await refused(call(hook.id, rotated, old))).toEqual(unknown);
  await owner.patch(`/hooks/${hook.id}`, { active: false });
  expect(await refused(call(hook.id, text, headers))).toEqual(unknown);
  expect(await received(hook.id)).toHaveLength(2);
});

test('the owner of a hook sees why a call was refused last, and nobody else does', async () => {
  await owner.put('/secrets/GONE', { value: KEYS.NEW });
  const { body: hook } = await createHook('stripe', { secret: 'GONE' });
  const refusalOf = async (headers: Record<string, string>): Promise<string> => {
    await app.orm.em.fork().execute('update inbound_hook set last_refused_at = null where id = ?', [hook.id]);
    expect((await call(hook.id, '{}', headers)).status).toBe(401);
    const record = await until(
      async () => (await owner.get(`/hooks/${hook.id}`)).body,
      ({ last_refused_at: at }) => at !== null,
    );
    return record.last_refusal;
  };
  expect(await refusalOf({})).toBe('unsigned');
  expect(await refusalOf(signed('stripe', '{}', { key: KEYS.OLD }))).toBe('wrong_signature');
  expect(await refusalOf(signed('stripe', '{}', { ago: 400 }))).toBe('old_signature');
  await owner.patch(`/hooks/${hook.id}`, { active: false });
  expect(await refusalOf(signed('stripe', '{}'))).toBe('inactive');
  await owner.patch(`/hooks/${hook.id}`, { active: true });
  await owner.delete('/secrets/GONE');
  expect(await refusalOf(signed('stripe', '{}'))).toBe('no_secret');
  // It can be renamed and turned off all the same, but turned on only with another secret.
  const change = async (body: object) => (await owner.patch(`/hooks/${hook.id}`, body)).status;
  expect(await change({ name: 'Without a secret' })).toBe(200);
  expect(await change({ active: false })).toBe(200);
  expect([await change({ active: true }), await change({ former_secret: 'NOBODY' })]).toEqual([422, 422]);
  expect(await change({ secret: 'NEW', former_secret: 'GONE' })).toBe(200);
  expect([await change({ active: true }), await change({ active: true, former_secret: null })]).toEqual([
    422, 200,
  ]);
  expect((await other.get(`/hooks/${hook.id}`)).status).toBe(404);
});

test('a hook sends nothing of a source that was bound to another sender since', async () => {
  const source = 'urn:till';
  const { body: hook } = await createHook('stripe', { source });
  const callOnce = (id: string) => {
    const text = JSON.stringify({ id, type: 'paid' });
    return call(hook.id, text, signed('stripe', text));
  };
  expect((await callOnce('evt_a')).status).toBe(202);
  const machine = (await owner.post('/users/me/clients', { name: 'till' })).body;
  const bound = (await owner.post('/event-sources', { source, client_id: machine.id })).body;
  expect((await callOnce('evt_b')).status).toBe(401);
  const record = await until(
    async () => (await owner.get(`/hooks/${hook.id}`)).body,
    ({ last_refused_at: at }) => at !== null,
  );
  expect(record.last_refusal).toBe('source_bound');
  // Nor does anybody get around it by another secret.
  expect((await owner.patch(`/hooks/${hook.id}`, { secret: 'OLD' })).body.code).toBe('source_bound');
  expect((await owner.patch(`/hooks/${hook.id}`, { name: 'Till' })).status).toBe(200);
  await owner.delete(`/event-sources/${bound.id}`);
  expect((await callOnce('evt_c')).status).toBe(202);
  expect((await received(hook.id)).map(({ event_id: id }) => id).toSorted()).toEqual(['evt_a', 'evt_c']);
});

test('builders of a team send by its hooks only what they may send, also by hooks of others', async () => {
  const admin = await app.as('admin');
  const [ann, bert] = [
    await app.createUser({ roles: ['builder'] }),
    await app.createUser({ roles: ['builder'] }),
  ];
  const [asAnn, asBert] = [await app.as(ann), await app.as(bert)];
  const { id: team } = (await admin.post('/teams', { name: `till-${ann.username}`, admin: ann.id })).body;
  await asAnn.put(`/teams/${team}/members/${bert.id}`, { role: 'builder' });
  for (const [name, value] of Object.entries(KEYS))
    expect((await asAnn.put(`/secrets/${name}?team_id=${team}`, { value })).status).toBeLessThan(300);
  const source = 'urn:team-till';
  const bound = { source, user_id: ann.id, team_id: team };
  expect((await asAnn.post('/event-sources', bound)).status).toBe(201);
  const wanted = { name: 'Till', scheme: 'standard', secret: 'NEW', source, team_id: team };
  expect((await asBert.post('/hooks', wanted)).body.code).toBe('source_bound');
  const own = (await asAnn.post('/hooks', wanted)).body;
  const free = (await asAnn.post('/hooks', { ...wanted, name: 'Free', source: null })).body;
  const codes = [
    await asBert.patch(`/hooks/${own.id}`, { secret: 'OLD' }),
    await asBert.patch(`/hooks/${own.id}`, { former_secret: 'OLD' }),
    await asBert.patch(`/hooks/${own.id}`, { scheme: 'slack' }),
    await asBert.patch(`/hooks/${free.id}`, { source }),
  ].map(({ status, body }) => [status, body.code]);
  expect(codes).toEqual(codes.map(() => [403, 'source_bound']));
  const renamed = await asBert.patch(`/hooks/${own.id}`, { name: 'The till', active: false });
  expect(renamed.body).toMatchObject({ name: 'The till', active: false, secret: 'NEW', source });
  expect((await asAnn.patch(`/hooks/${own.id}`, { secret: 'OLD', active: true })).status).toBe(200);
  // A builder has the team's secrets and its bindings, so could sign anyway: the log says who did it.
  const key = `whsec_${randomBytes(24).toString('base64')}`;
  const text = JSON.stringify({ type: 'paid' });
  expect((await call(own.id, text, signed('standard', text, { key }))).status).toBe(401);
  expect((await asBert.put(`/secrets/OLD?team_id=${team}`, { value: key })).status).toBe(200);
  expect((await call(own.id, text, signed('standard', text, { key }))).status).toBe(202);
  const log = await asAnn.get(`/audit?team_id=${team}&action=putSecret&actor_id=${bert.id}`);
  expect(log.body).toMatchObject([{ action: 'putSecret', actor: { id: bert.id }, team_id: team }]);
  // Others neither read the webhook nor what it has sent.
  const stranger = await app.as(await app.createUser({ roles: ['builder'] }));
  expect((await stranger.get(`/hooks/${own.id}`)).status).toBe(404);
  expect((await stranger.get(`/events/received?team_id=${team}`)).body).toEqual([]);
});

test('a hook needs a secret of its owner, and takes forms, texts, bytes and challenges', async () => {
  const missing = await createHook('github', { secret: 'NOBODY' });
  expect([missing.status, missing.body.errors[0].pointer]).toEqual([422, '/secret']);
  await owner.put('/secrets/SHORT', { value: 'short' });
  const short = await createHook('slack', { secret: 'SHORT' });
  expect([short.status, short.body.errors[0]]).toEqual([
    422,
    {
      pointer: '/secret',
      code: 'invalid_secret',
      message: 'the value of SHORT must have at least 16 bytes',
    },
  ]);

  const { body: hook } = await createHook('slack', { event_type: 'chat', source: 'urn:chat' });
  const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-1' });
  const answer = await call(hook.id, challenge, signed('slack', challenge));
  expect([answer.status, answer.body]).toEqual([200, { challenge: 'c-1' }]);
  const send = (body: string, type: string) =>
    call(hook.id, body, { ...signed('slack', body), 'content-type': type });
  await send('command=%2Fgo&text=a+b', 'application/x-www-form-urlencoded');
  await send(
    `payload=${encodeURIComponent('{"type":"block_actions"}')}`,
    'application/x-www-form-urlencoded',
  );
  await send('plain', 'text/plain; charset=utf-8');
  await send('{"broken', 'application/json');
  const events = (await received(hook.id)).map(({ type, source, event: { data, data_base64: bytes } }) => [
    type,
    source,
    data ?? Buffer.from(bytes, 'base64').toString(),
  ]);
  expect(events.toReversed()).toEqual([
    ['chat', 'urn:chat', { command: '/go', text: 'a b' }],
    ['chat', 'urn:chat', { type: 'block_actions' }],
    ['chat', 'urn:chat', 'plain'],
    ['chat', 'urn:chat', '{"broken'],
  ]);
  // A secret that was stored anew, and is no key, signs nothing.
  const weak = await createHook('standard');
  await owner.put('/secrets/NEW', { value: '!' });
  const forged = signed('standard', '{}', { key: 'whsec_', id: 'forged' });
  expect((await call(weak.body.id, '{}', forged)).status).toBe(401);
  await owner.put('/secrets/NEW', { value: KEYS.NEW });
  const huge = 'x'.repeat(2_200_000);
  expect((await call(hook.id, huge, signed('slack', huge))).status).toBe(413);
  expect((await app.anonymous.get(`/hooks/${hook.id}`)).status).toBe(401);
  expect((await other.patch(`/hooks/${hook.id}`, { secret: 'NEW' })).status).toBe(404);
  await owner.delete(`/hooks/${hook.id}`);
  expect((await send('later', 'text/plain')).status).toBe(401);
});
