/** Provisioning by SCIM 2.0, as Entra and Okta do it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';

let app: TestApp;
let admin: Client;
let corp: TestIssuer;
let scim: Client;
let other: Client;
const tokens = {} as Record<string, string>;

const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const patch = (...Operations: object[]) => ({ schemas: [PATCH], Operations });

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' }, keepsCallers: 'without news' });
  admin = await app.as('admin');
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  scim = await provisioner('corp', corp.url, {
    external_id_claim: 'sub',
    mapping: {
      default_roles: ['viewer'],
      roles: [{ claim: 'groups', value: 'Chiefs', roles: ['builder'] }],
    },
  });
  other = await provisioner('other', 'https://other.example', {});
});

afterAll(async () => {
  await corp.close();
  await app.close();
});

async function provisioner(name: string, issuer: string, more: object): Promise<Client> {
  const credentials = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const created = await admin.post('/identity-issuers', {
    name,
    title: name,
    issuer,
    ...credentials,
    ...more,
  });
  expect(created.status).toBe(201);
  const made = await admin.post(`/identity-issuers/${created.body.id}/scim-tokens`, { name: 'sync' });
  expect(made.status).toBe(201);
  tokens[name] = made.body.token;
  return createClient(app.url, made.body.token);
}

async function createUser(userName: string, more: object = {}) {
  const reply = await scim.post('/scim/v2/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName,
    ...more,
  });
  expect(reply.status).toBe(201);
  return reply.body;
}

async function logIn(sub: string): Promise<Browser> {
  corp.account = { sub };
  const browser = new Browser();
  await browser.follow(`${app.url}/auth/sso/corp`, (url) => url === `${app.url}/console/`);
  return browser;
}

const sessionOf = async (browser: Browser) => {
  const response = await browser.visit(`${app.url}/console/session`);
  return response.status === 200 ? JSON.parse(await response.text()) : null;
};

test('a token of the issuer is needed, and others are refused in the form of SCIM', async () => {
  for (const client of [app.anonymous, admin]) {
    const reply = await client.get('/scim/v2/Users');
    expect(reply).toMatchObject({ status: 401, body: { status: '401' } });
    expect(reply.headers.get('content-type')).toBe('application/scim+json');
  }
  expect((await scim.get('/users')).status).toBe(401);
});

test('each token has its own share of requests in a minute', async () => {
  const copy = await startTestApp({
    databaseUrl: app.databaseUrl,
    env: { BASE_URL: app.env.BASE_URL, RATE_LIMIT_PER_MINUTE: '3' },
  });
  const ask = (token: string): Promise<Reply> => createClient(copy.url, token).get('/scim/v2/ResourceTypes');
  const statuses: number[] = [];
  // A minute may end meanwhile.
  for (let count = 0; count < 8; count += 1) statuses.push((await ask(tokens['corp'] ?? '')).status);
  const refused = await ask(tokens['corp'] ?? '');
  expect([statuses[0], statuses.includes(429)]).toEqual([200, true]);
  if (refused.status === 429) {
    expect(refused.body).toMatchObject({ status: '429' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await ask(tokens['other'] ?? '')).status).toBe(200);
  await copy.close();
});

test('clients discover what there is', async () => {
  expect((await scim.get('/scim/v2/ServiceProviderConfig')).body.patch).toEqual({ supported: true });
  expect((await scim.get('/scim/v2/ResourceTypes')).body.totalResults).toBe(2);
  const schema = await scim.get('/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User');
  expect(schema.body.attributes.map(({ name }: { name: string }) => name)).toContain('userName');
});

test('who was provisioned logs in to that account, by externalId', async () => {
  const user = await createUser('ada@corp.example', {
    externalId: 'x-1',
    name: { givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ value: 'ada@corp.example', type: 'work', primary: true }],
    title: 'Countess',
  });
  expect(user).toMatchObject({ active: true, displayName: 'Ada Lovelace', title: 'Countess' });
  expect((await admin.get(`/users/${user.id}`)).body).toMatchObject({ username: 'ada', roles: ['viewer'] });
  expect(await sessionOf(await logIn('x-1'))).toMatchObject({ id: user.id });
  const twice = await scim.post('/scim/v2/Users', { userName: 'ADA@corp.example' });
  expect(twice).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } });
});

test('deactivation ends sessions at once, in the words of Okta and of Entra', async () => {
  const operations = [
    { op: 'replace', value: { active: false } },
    { op: 'Replace', path: 'active', value: 'False' },
  ];
  for (const [n, operation] of operations.entries()) {
    const { id } = await createUser(`leaver-${n}`, { externalId: `leaver-${n}` });
    const browser = await logIn(`leaver-${n}`);
    expect(await sessionOf(browser)).not.toBeNull();
    const changed = await scim.patch(`/scim/v2/Users/${id}`, patch(operation));
    expect(changed).toMatchObject({ status: 200, body: { active: false } });
    expect(await sessionOf(browser)).toBeNull();
    expect(await sessionOf(await logIn(`leaver-${n}`))).toBeNull();
  }
});

test('groups have the name of the issuer before theirs, and count in rules for roles', async () => {
  const { id } = await createUser('grace@corp.example');
  const user = async () => (await admin.get(`/users/${id}`)).body;
  const created = await scim.post('/scim/v2/Groups', { displayName: 'Chiefs', members: [{ value: id }] });
  expect(created.status).toBe(201);
  expect(await user()).toMatchObject({ groups: ['corp:Chiefs'], roles: ['builder'] });
  const path = `/scim/v2/Groups/${created.body.id}`;
  // Entra removes with a value, Okta with a filter in the path.
  await scim.patch(path, patch({ op: 'Remove', path: 'members', value: [{ value: id }] }));
  expect(await user()).toMatchObject({ groups: [], roles: ['viewer'] });
  await scim.patch(path, patch({ op: 'Add', path: 'members', value: [{ value: id }] }));
  expect((await scim.get(path)).body.members).toMatchObject([{ value: id, display: 'grace' }]);
  const removed = await scim.patch(path, patch({ op: 'remove', path: `members[value eq "${id}"]` }));
  expect(removed).toMatchObject({ status: 200, body: { members: [] } });
  expect(await user()).toMatchObject({ groups: [], roles: ['viewer'] });
  await scim.patch(
    path,
    patch({ op: 'replace', value: { displayName: 'Bosses', members: [{ value: id }] } }),
  );
  expect(await user()).toMatchObject({ groups: ['corp:Bosses'], roles: ['viewer'] });
  expect((await scim.delete(path)).status).toBe(204);
  expect((await user()).groups).toEqual([]);
});

test('human tasks of somebody who is deactivated or removed are given back', async () => {
  const [idle, removed, kept] = [
    await createUser('idle@corp.example'),
    await createUser('removed@corp.example'),
    await createUser('kept@corp.example'),
  ];
  await scim.patch(`/scim/v2/Users/${idle.id}`, patch({ op: 'replace', path: 'active', value: false }));
  expect((await scim.delete(`/scim/v2/Users/${removed.id}`)).status).toBe(204);
  const rows = await app.orm.em
    .fork()
    .execute<{ user_id: string }[]>('select user_id from task_return where user_id in (?, ?, ?)', [
      idle.id,
      removed.id,
      kept.id,
    ]);
  expect(rows.map(({ user_id }) => user_id).toSorted()).toEqual([idle.id, removed.id].toSorted());
});

test('the audit log has what the issuer did, and what followed from it', async () => {
  const { id } = await createUser('audited@corp.example');
  const group = await scim.post('/scim/v2/Groups', { displayName: 'Audited', members: [{ value: id }] });
  await scim.patch(`/scim/v2/Users/${id}`, patch({ op: 'replace', path: 'active', value: false }));
  const entries = (await admin.get(`/audit?object_id=${id}`)).body;
  expect(entries).toMatchObject([
    {
      action: 'scim_patch_user',
      via: 'scim',
      actor: null,
      details: { issuer: 'corp' },
      credential: { type: 'token' },
      changes: { status: { old: 'active', new: 'disabled' } },
    },
    { action: 'issuer_change_access', changes: { groups: { old: [], new: ['corp:Audited'] } } },
    { action: 'scim_create_user' },
    { action: 'issuer_change_access', changes: { roles: { old: [], new: ['viewer'] } } },
  ]);
  const [made] = (await admin.get(`/audit?object_id=${group.body.id}`)).body;
  expect(made).toMatchObject({ action: 'scim_create_group', changes: { name: { new: 'Audited' } } });
});

test('an account without an address gets none shown, and PUT without active keeps it as it is', async () => {
  const user = await createUser('plain@corp.example', { active: false });
  expect(user.emails).toBeUndefined();
  const put = await scim.put(`/scim/v2/Users/${user.id}`, { userName: 'plain@corp.example' });
  expect(put).toMatchObject({ status: 200, body: { active: false } });
});

test('lists are filtered and paged', async () => {
  for (const n of [1, 2, 3])
    await createUser(`list-${n}@corp.example`, { externalId: `L${n}`, active: n !== 2 });
  const found = async (filter: string, more = '') => {
    const query = `filter=${encodeURIComponent(filter)}${more}`;
    const reply = await scim.get(`/scim/v2/Users?${query}`);
    return reply.status === 200
      ? reply.body.Resources.map(({ userName }: { userName: string }) => userName.split('@')[0])
      : [reply.status, reply.body.scimType];
  };
  expect(await found('userName eq "LIST-1@corp.example"')).toEqual(['list-1']);
  expect(await found('externalId eq "L2"')).toEqual(['list-2']);
  expect(await found('externalId eq "l2"')).toEqual([]);
  expect(await found('userName sw "list-" and not (active eq false)')).toEqual(['list-1', 'list-3']);
  expect(await found('userName co "ist-1" or userName ew "3@corp.example"')).toEqual(['list-1', 'list-3']);
  expect(await found('userName sw "list-"', '&startIndex=2&count=1')).toEqual(['list-2']);
  expect(await found('userName sw "list_"')).toEqual([]);
  expect(
    await found('userName eq "list-1@corp.example" and meta.created gt "2020-01-01T00:00:00+02:00"'),
  ).toEqual(['list-1']);
  for (const wrong of [
    'password pr',
    'userName eq',
    '((((userName',
    'active gt true',
    'meta.created gt "+275760-09-12T00:00:00Z"',
    'meta.created lt "0000-01-01T00:00:00Z"',
    'meta.created gt "infinity"',
    `userName eq "${'\n'.repeat(60)}`,
  ])
    expect([wrong, await found(wrong)]).toEqual([wrong, [400, 'invalidFilter']]);
  const { body } = await scim.get('/scim/v2/Users?filter=userName%20sw%20%22list-%22&count=0');
  expect(body).toMatchObject({ totalResults: 3, itemsPerPage: 0, Resources: [] });
});

test('a change is refused if somebody else changed the user meanwhile', async () => {
  const user = await createUser('etag@corp.example');
  const headers = { 'if-match': user.meta.version };
  const body = { userName: 'etag@corp.example', displayName: 'Once' };
  expect((await scim.put(`/scim/v2/Users/${user.id}`, body, { headers })).status).toBe(200);
  expect((await scim.put(`/scim/v2/Users/${user.id}`, body, { headers })).status).toBe(412);
});

test('a token reaches the users of its own issuer only, and no local account', async () => {
  const user = await createUser('mine@corp.example');
  const group = (await scim.post('/scim/v2/Groups', { displayName: 'Own' })).body;
  const local = await app.user('admin');
  for (const path of [`Users/${user.id}`, `Groups/${group.id}`, `Users/${local.id}`])
    for (const reply of [
      await other.get(`/scim/v2/${path}`),
      await other.delete(`/scim/v2/${path}`),
      await other.patch(`/scim/v2/${path}`, patch({ op: 'replace', path: 'active', value: false })),
    ])
      expect([path, reply.status]).toEqual([path, 404]);
  const taken = await other.post('/scim/v2/Groups', { displayName: 'Own', members: [{ value: user.id }] });
  expect(taken.status).toBe(400);
  expect((await scim.post('/scim/v2/Users', {})).body.detail).toBe('userName: is required');
  expect((await other.get('/scim/v2/Users')).body.totalResults).toBe(0);
});

test('a removed user is gone there, stays here disabled, and comes back by externalId', async () => {
  const user = await createUser('back@corp.example', { externalId: 'B1' });
  expect((await scim.delete(`/scim/v2/Users/${user.id}`)).status).toBe(204);
  expect((await scim.get(`/scim/v2/Users/${user.id}`)).status).toBe(404);
  expect((await admin.get(`/users/${user.id}`)).body.status).toBe('disabled');
  const again = await createUser('back@corp.example', { externalId: 'B1' });
  expect(again.id).toBe(user.id);
  expect((await admin.get(`/users/${user.id}`)).body.status).toBe('active');
});

test('a person is found by index among many of the issuer', async () => {
  const em = app.orm.em.fork();
  const [issuer] = await em.execute<{ id: string }[]>(`select id from identity_issuer where name = 'corp'`);
  await em.execute(
    `with people as (
       insert into user_account (id, username, email, password_hash, roles, issuer_id)
       select gen_random_uuid(), 'many-' || n, 'many-' || n || '@example.com', 'x', '{viewer}', ?
         from generate_series(1, 10000) n
       returning id, username)
     insert into user_identity (id, user_id, issuer_id, subject, user_name, external_id, scim)
     select gen_random_uuid(), id, ?, username,
            case when right(username, 1) <> '7' then username end, 'id-' || username, '{}'
       from people`,
    [issuer?.id ?? '', issuer?.id ?? ''],
  );
  await em.execute('vacuum analyze user_account, user_identity');
  const keep = keepStatements(app.orm);
  const found = async (path: string): Promise<number> => (await scim.get(path)).body.totalResults;
  const filter = (text: string): string => `/scim/v2/Users?filter=${encodeURIComponent(text)}`;
  for (const text of [
    'userName eq "MANY-5000"',
    'userName eq "many-5007"',
    'externalId eq "id-many-5000"',
    'externalId eq "id-many-5000" and active eq true',
  ]) {
    let results = 0;
    const statements = await keep(async () => (results = await found(filter(text))));
    const { scanned, read } = await explainAll(app.orm, statements, ['user_account', 'user_identity']);
    expect([text, results, scanned]).toEqual([text, 1, []]);
    expect(read).toBeLessThan(100);
  }
  const taken = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], userName: 'Many-5007' };
  const statements = await keep(async () =>
    expect((await scim.post('/scim/v2/Users', { ...taken, externalId: 'new' })).status).toBe(409),
  );
  const { scanned, read } = await explainAll(app.orm, statements, ['user_account', 'user_identity']);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThan(100);
});

test('lists of groups end before the members are too many, and go on', async () => {
  const em = app.orm.em.fork();
  const people = await em.execute<{ id: string }[]>(
    `insert into user_account (id, username, email, roles, issuer_id)
     select gen_random_uuid(), 'crowd-' || n, 'crowd-' || n || '@example.com', '{viewer}', i.id
       from generate_series(1, 4000) n, identity_issuer i where i.name = 'corp'
     returning id`,
  );
  await em.execute(
    `insert into user_identity (id, user_id, issuer_id, subject)
     select gen_random_uuid(), id, issuer_id, username from user_account where username like 'crowd-%'`,
  );
  const made: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const members = n === 3 ? [] : people.map(({ id }) => ({ value: id }));
    const { status, body } = await scim.post('/scim/v2/Groups', { displayName: `Crowd ${n}`, members });
    expect([status, body.members.length]).toEqual([201, members.length]);
    made.push(body.id);
  }
  const list = `/scim/v2/Groups?filter=${encodeURIComponent('displayName sw "Crowd"')}&count=200`;
  const seen: [id: string, members: number][] = [];
  const pages: number[] = [];
  for (let startIndex = 1; startIndex <= 6;) {
    const { body } = await scim.get(`${list}&startIndex=${startIndex}`);
    expect(JSON.stringify(body).length).toBeLessThan(2 * 1024 * 1024);
    expect(body).toMatchObject({ totalResults: 6, itemsPerPage: body.Resources.length });
    for (const one of body.Resources) seen.push([one.id, one.members.length]);
    startIndex += body.itemsPerPage;
    pages.push(body.itemsPerPage);
  }
  expect(pages).toEqual([2, 3, 1]);
  expect(seen).toEqual(made.map((id, n) => [id, n === 3 ? 0 : 4_000]));
  for (const query of ['excludedAttributes=externalId,members', 'attributes=displayName,externalId']) {
    const { body } = await scim.get(`${list}&${query}`);
    expect(body.Resources.map((one: object) => 'members' in one)).toEqual(made.map(() => false));
    expect('members' in (await scim.get(`/scim/v2/Groups/${made[0]}?${query}`)).body).toBe(false);
  }
  const named = 'urn:ietf:params:scim:schemas:core:2.0:Group:members';
  for (const query of ['attributes=members.value', `attributes=${named}`, 'excludedAttributes=externalId'])
    expect((await scim.get(`/scim/v2/Groups/${made[0]}?${query}`)).body.members).toHaveLength(4_000);
}, 120_000);
