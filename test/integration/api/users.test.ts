import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { resolveSecret } from '../../../domain/secrets/service.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';

const good = {
  username: 'ada',
  email: 'ada@example.com',
  password: 'a long enough one',
  roles: ['approver'],
  groups: ['finance', 'finance'],
};
let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

test('managing users needs a token and the role admin', async () => {
  const builder = await app.as('builder');
  const { id } = await app.user('viewer');
  for (const [method, path] of [
    ['GET', '/users'],
    ['POST', '/users'],
    ['GET', `/users/${id}`],
    ['PATCH', `/users/${id}`],
  ] as const) {
    expect((await app.anonymous.request(method, path)).status).toBe(401);
    expect((await builder.request(method, path)).status).toBe(403);
  }
  for (const [method, path] of [
    ['GET', '/users/me'],
    ['POST', '/users/me/password'],
    ['GET', '/users/me/clients'],
    ['POST', '/users/me/clients'],
    ['DELETE', `/users/me/clients/${id}`],
  ] as const) {
    expect((await app.anonymous.request(method, path)).status).toBe(401);
  }
});

test('an admin creates and reads a user, and the password is never shown', async () => {
  const created = await admin.post('/users', good, { headers: { 'idempotency-key': 'new-user' } });
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.any(String),
    username: 'ada',
    budget: null,
    erased_at: null,
    quotas: null,
    email: 'ada@example.com',
    display_name: null,
    roles: ['approver'],
    groups: ['finance'],
    has_password: true,
    second_factor: false,
    invited_until: null,
    issuer_id: null,
    status: 'active',
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect(created.headers.get('location')).toBe(`/users/${created.body.id}`);
  expect(
    (await admin.post('/users', good, { headers: { 'idempotency-key': 'new-user' } })).headers.get(
      'idempotency-replayed',
    ),
  ).toBe('true');
  expect((await admin.get(`/users/${created.body.id}`)).body).toEqual(created.body);
  const [record] = await app.orm.em
    .fork()
    .execute<{ fingerprint: string; body: string }[]>('select * from idempotency_record');
  expect(JSON.stringify(record)).not.toContain(good.password);
  expect((await admin.get('/users/0190d4c2-0000-7000-8000-000000000000')).status).toBe(404);
  expect((await admin.get('/users/nobody')).status).toBe(404);
});

test('user names and e-mail addresses are unique in any case, and all mistakes are listed', async () => {
  const sameName = await admin.post('/users', { ...good, username: 'ADA', email: 'other@example.com' });
  expect([sameName.status, sameName.body.code]).toEqual([409, 'username_taken']);
  expect(
    (await admin.post('/users', { ...good, username: 'other', email: 'Ada@Example.com' })).body.code,
  ).toBe('email_taken');
  const wrong = await admin.post('/users', {
    username: 'a@b',
    email: 'x',
    password: 'short',
    roles: ['king'],
    groups: [''],
    id: 'mine',
  });
  expect(wrong.status).toBe(422);
  expect(wrong.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([
    '/username',
    '/email',
    '/roles/0',
    '/groups/0',
    '/password',
  ]);
});

test('of two concurrent creations of one user name one gets 409', async () => {
  const replies = await Promise.all(
    [1, 2].map(() => admin.post('/users', { ...good, username: 'twin', email: 'twin@example.com' })),
  );
  expect(replies.map((reply) => reply.status).toSorted()).toEqual([201, 409]);
});

test('PATCH checks If-Match, accepts what GET returned, and clears by null', async () => {
  const user = await app.createUser({ roles: ['viewer'] });
  const read = await admin.get(`/users/${user.id}`);
  const path = `/users/${user.id}`;
  const changed = await admin.patch(
    path,
    { ...read.body, display_name: 'Grace', roles: ['builder'] },
    { headers: { 'if-match': read.headers.get('etag') ?? '' } },
  );
  expect(changed.body).toMatchObject({ display_name: 'Grace', roles: ['builder'] });
  expect(changed.headers.get('etag')).not.toBe(read.headers.get('etag'));
  const stale = await admin.patch(
    path,
    { display_name: 'X' },
    { headers: { 'if-match': read.headers.get('etag') ?? '' } },
  );
  expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
  expect(
    (await admin.patch(path, { display_name: null }, { headers: { 'if-match': '*' } })).body.display_name,
  ).toBeNull();
  expect((await admin.patch(path, { password_hash: 'x' })).body.errors[0].code).toBe('unknown_field');
  expect((await admin.patch(path, '[]')).status).toBe(422);
});

test('a change of roles or status applies at once, and ends the sessions of a disabled user', async () => {
  const user = await app.createUser({ roles: ['admin'] });
  const client = createClient(app.url, user.token);
  expect((await client.get('/users')).status).toBe(200);
  await admin.patch(`/users/${user.id}`, { roles: ['viewer'] });
  expect((await client.get('/users')).status).toBe(403);
  await admin.patch(`/users/${user.id}`, { status: 'disabled' });
  expect((await client.get('/users/me')).status).toBe(401);
  await admin.patch(`/users/${user.id}`, { status: 'active', password: 'a reset password' });
  expect((await client.get('/users/me')).status).toBe(401);
  expect(
    (await app.anonymous.post('/auth/token', { username: user.username, password: 'a reset password' }))
      .status,
  ).toBe(200);
});

test('the last administrator cannot lose the role or be disabled', async () => {
  const { id } = await app.user('admin');
  for (const changes of [{ roles: ['viewer'] }, { status: 'disabled' }]) {
    const reply = await admin.patch(`/users/${id}`, changes);
    expect([reply.status, reply.body.code]).toEqual([409, 'last_admin']);
  }
});

test('of administrators who remove each other at once, whichever way, one remains', async () => {
  type Target = Pick<TestUser, 'id' | 'username'>;
  const removals: ((by: Client, of: Target) => Promise<Reply>)[] = [
    (by, { id }) => by.patch(`/users/${id}`, { roles: ['viewer'] }),
    (by, { id }) => by.patch(`/users/${id}`, { status: 'disabled' }),
    (by, { id }) => by.patch(`/users/${id}`, { password: null }),
    (by, { id, username }) => by.post(`/users/${id}/erase`, { confirm: username }),
  ];
  const { id: ours } = await app.user('admin');
  const setRoles = (id: string, role: string) =>
    app.orm.em.fork().execute('update user_account set roles = array[?] where id = ?', [role, id]);
  // What goes wrong depends on who is first, so each is tried several times.
  for (const remove of removals.flatMap((one) => Array.from({ length: 4 }, () => one))) {
    const [one, two] = await Promise.all([1, 2].map(() => app.createUser({ roles: ['admin'] })));
    if (!one || !two) throw new Error('unreachable');
    await setRoles(ours, 'viewer');
    const [byOne, byTwo] = [createClient(app.url, one.token), createClient(app.url, two.token)];
    const replies = await Promise.all([remove(byOne, two), remove(byTwo, one)]);
    const refusal = replies.find(({ status }) => status > 299);
    expect(replies.filter(({ status }) => status < 300)).toHaveLength(1);
    // The second may find itself removed already.
    expect(['last_admin', 'role_required', 'invalid_token']).toContain(refusal?.body.code);
    const left = await app.orm.em.fork().execute<object[]>(
      `select 1 from user_account
        where 'admin' = any(roles) and status = 'active' and password_hash is not null`,
    );
    expect(left).toHaveLength(1);
    await setRoles(ours, 'admin');
    await Promise.all([one, two].map(({ id }) => setRoles(id, 'viewer')));
  }
});

test('a copy of the API that does not ask before cannot remove the last administrators either', async () => {
  const { id: ours } = await app.user('admin');
  const { id: other } = await app.createUser({ roles: ['admin'] });
  const changes = [
    `update user_account set roles = '{viewer}' where id = ?`,
    `update user_account set status = 'disabled' where id = ?`,
    'update user_account set password_hash = null where id = ?',
  ];
  for (const change of changes) {
    // Neither commits before both have changed their row, as two requests at once may.
    let isChanged: () => void = () => {};
    let waiting = 2;
    const bothChanged = new Promise<void>((resolve) => {
      isChanged = () => (--waiting === 0 ? resolve() : undefined);
    });
    const removals = [ours, other].map((id) =>
      app.orm.em.fork().transactional(async (em) => {
        await em.execute(change, [id]);
        isChanged();
        await bothChanged;
      }),
    );
    const results = await Promise.allSettled(removals);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const failure = results.find(({ status }) => status === 'rejected');
    expect(failure).toMatchObject({ reason: { code: 'CZA01' } });
    await app.orm.em.fork().execute(
      `update user_account set roles = '{admin}', status = 'active',
              password_hash = coalesce(password_hash, 'x') where id = any(array[?, ?]::uuid[])`,
      [ours, other],
    );
  }
  await app.orm.em.fork().execute(`update user_account set roles = '{viewer}' where id = ?`, [other]);
  expect(
    (
      await app.orm.em
        .fork()
        .execute(changes[1] ?? '', [ours])
        .catch((error) => error)
    ).code,
  ).toBe('CZA01');
});

test('users are listed in pages and by filters', async () => {
  const all: string[] = [];
  let path: string | undefined = '/users?limit=3';
  while (path) {
    const reply: Awaited<ReturnType<Client['get']>> = await admin.get(path);
    expect(reply.body.length).toBeLessThanOrEqual(3);
    all.push(...reply.body.map((user: { id: string }) => user.id));
    path = /<(.+)>/.exec(reply.headers.get('link') ?? '')?.[1];
  }
  expect(all).toEqual([...new Set(all)].toSorted());
  expect(all.length).toBeGreaterThan(4);
  expect(
    (await admin.get('/users?group=finance')).body.map((user: { username: string }) => user.username),
  ).toEqual(['ada', 'twin']);
  expect(
    (await admin.get('/users?role=admin')).body.map((user: { username: string }) => user.username),
  ).toEqual(['the-admin']);
  expect(
    (await admin.get('/users?q=AD&status=active')).body.map((user: { username: string }) => user.username),
  ).toEqual(['the-admin', 'ada']);
  expect((await admin.get('/users?q=%25')).body).toEqual([]);
  expect((await admin.get('/users?role=king')).status).toBe(400);
});

test('machine clients are listed in pages', async () => {
  const user = createClient(app.url, (await app.createUser()).token);
  for (const name of ['a', 'b', 'c']) {
    await user.post('/users/me/clients', { name });
  }
  const first = await user.get('/users/me/clients?limit=2');
  expect(first.body).toHaveLength(2);
  const second = await user.get(/<(.+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '');
  expect(second.body.map((client: { name: string }) => client.name)).toEqual(['c']);
  expect((await user.post('/users/me/clients', { name: '' })).status).toBe(422);
});

test('an admin transfers what a user owns to another user, secrets included', async () => {
  const [from, to] = [await app.createUser(), await app.createUser()];
  const [leaver, heir] = [await app.as(from), await app.as(to)];
  const agent = await leaver.post('/agents', {
    name: 'kept',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: 'https://example.com', api_key: 'literal' },
  });
  expect(agent.status).toBe(201);
  await leaver.put('/secrets/SHARED', { value: 'theirs' });
  await heir.put('/secrets/SHARED', { value: 'mine' });
  expect((await heir.get(`/agents/${agent.body.id}`)).status).toBe(404);
  const path = `/users/${from.id}/transfer`;
  expect((await heir.post(path, { to: to.id })).status).toBe(403);
  expect((await admin.post(path, { to: from.id })).body.errors[0].pointer).toBe('/to');
  expect((await admin.post(path, { to: '0190d4c2-0000-7000-8000-000000000000' })).status).toBe(422);
  await admin.patch(`/users/${from.id}`, { status: 'disabled' });
  const done = await admin.post(path, { to: to.id });
  expect(done.body).toEqual({
    status: 'done',
    to: to.id,
    agents: 1,
    workflows: 0,
    runs: 0,
    files: 0,
    webhooks: 0,
    items: 0,
    human_tasks: 0,
    conversations: 0,
    chats: 0,
    secrets: 2,
    secrets_renamed: { SHARED: 'SHARED_2' },
  });
  expect((await heir.get(`/agents/${agent.body.id}`)).body.owner_id).toBe(to.id);
  const names = (await heir.get('/secrets')).body.map((secret: { name: string }) => secret.name);
  expect(names).toEqual([expect.stringMatching(/^AGENT_/), 'SHARED', 'SHARED_2']);
  const name = names[0];
  expect(await resolveSecret(app.orm.em.fork(), app.app.deps.encryption, to.id, name)).toBe('literal');
  expect((await admin.post(`/users/${to.id}/transfer`, { to: from.id })).body.errors[0].message).toBe(
    'is not an active user',
  );
});
