/** Groups that give a role in a team: by log-ins at a real issuer, by SCIM, and local ones. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { Role } from '../../../contracts/roles.ts';
import { SYSTEM_ORIGIN } from '../../../domain/audit/write.ts';
import { findRecipients } from '../../../domain/notifications/recipients.ts';
import { auditFollowed, FollowedTeams } from '../../../domain/teams/audit-followed.ts';
import { holdTeamGroups, lockTeamGroups } from '../../../domain/teams/follow-groups.ts';
import { putTeamGroup } from '../../../domain/teams/groups.ts';
import { requireMembership } from '../../../domain/teams/holding.ts';
import { continueFollowing } from '../../../domain/teams/people-of-groups.ts';
import { agentBody } from '../../support/agent-body.ts';
import {
  createClient,
  startTestApp,
  type Client,
  type Reply,
  type TestApp,
  type TestUser,
} from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { Browser, CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';
import { allowedMs } from '../../support/machine.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';
import { until } from '../../support/platform.ts';
import { recordStatements } from '../../support/statements.ts';

const definition = { do: [{ first: { set: { a: 1 } } }] };
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const patch = (...Operations: object[]) => ({ schemas: [PATCH], Operations });

let app: TestApp;
let admin: Client;
let corp: TestIssuer;
let corpId: string;
let scim: Client;
let count = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1' }, keepsCallers: 'without news' });
  admin = await app.as('admin');
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  ({ id: corpId, scim } = await issuerOf('corp', corp.url));
});
afterAll(async () => {
  await corp.close();
  await app.close();
});

function created(reply: Reply): any {
  if (reply.status >= 300) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

async function issuerOf(name: string, issuer: string): Promise<{ id: string; scim: Client }> {
  const { id } = created(
    await admin.post('/identity-issuers', {
      name,
      title: name,
      issuer,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      external_id_claim: 'sub',
      mapping: { default_roles: ['viewer'] },
    }),
  );
  const { token } = created(await admin.post(`/identity-issuers/${id}/scim-tokens`, { name: 'sync' }));
  return { id, scim: createClient(app.url, token) };
}

interface TeamWorld {
  id: string;
  lead: { user: TestUser; client: Client };
}

/** A team whose only member is its admin, a viewer of the platform. */
async function newTeam(): Promise<TeamWorld> {
  count += 1;
  const user = await app.createUser({ username: `lead-${count}`, roles: ['viewer'] });
  const { id } = created(await admin.post('/teams', { name: `grouped-${count}`, admin: user.id }));
  return { id, lead: { user, client: await app.as(user) } };
}

const groupPath = (team: string, group: string): string =>
  `/teams/${team}/groups/${encodeURIComponent(group)}`;
const memberPath = (team: string, user: string): string => `/teams/${team}/members/${user}`;

/** Somebody of the directory, a viewer of the platform, with a session here. */
async function provisioned(): Promise<{ user: TestUser; client: Client }> {
  count += 1;
  const user = await app.createUser({ username: `person-${count}`, roles: ['viewer'] });
  const em = app.orm.em.fork();
  await em.execute('update user_account set issuer_id = ?, password_hash = null where id = ?', [
    corpId,
    user.id,
  ]);
  await em.execute(
    `insert into user_identity (id, user_id, issuer_id, subject, user_name, external_id, scim)
     values (gen_random_uuid(), ?, ?, ?, ?, ?, '{}')`,
    [user.id, corpId, user.username, user.username, user.username],
  );
  return { user, client: await app.as(user) };
}

async function newGroup(...members: string[]): Promise<{ name: string; path: string }> {
  count += 1;
  const displayName = `group ${count}/eu`;
  const body = { displayName, members: members.map((value) => ({ value })) };
  const { id } = created(await scim.post('/scim/v2/Groups', body));
  return { name: `corp:${displayName}`, path: `/scim/v2/Groups/${id}` };
}

const setMembers = async (path: string, ...members: string[]): Promise<void> => {
  const value = members.map((id) => ({ value: id }));
  created(await scim.patch(path, patch({ op: 'replace', path: 'members', value })));
};

async function membersOf(team: string): Promise<Record<string, [role: Role, own: Role | null, by: string]>> {
  const list: any[] = created(await admin.get(`/teams/${team}/members?limit=200`));
  return Object.fromEntries(
    list.map(({ user_id: id, role, own_role: own, groups }) => [
      id,
      [role, own, groups.map((one: any) => `${one.group}=${one.role}`).join()],
    ]),
  );
}

test('a log-in gives the role of a group, and the next one without the group takes it', async () => {
  const { id: team, lead } = await newTeam();
  const path = groupPath(team, 'corp:eu/finance');
  expect(await lead.client.put(path, { role: 'approver' })).toMatchObject({
    status: 201,
    body: { team_id: team, group: 'corp:eu/finance', role: 'approver', added_by: lead.user.id },
  });
  const logIn = async (groups: string[]): Promise<string> => {
    corp.account = { sub: 'claimed', preferred_username: 'claimed', groups };
    const browser = new Browser();
    await browser.follow(`${app.url}/auth/sso/corp`, (url) => url === `${app.url}/console/`);
    return JSON.parse(await (await browser.visit(`${app.url}/console/session`)).text()).id;
  };
  const person = await logIn(['eu/finance', 'others']);
  expect((await membersOf(team))[person]).toEqual(['approver', null, 'corp:eu/finance=approver']);
  expect(await lead.client.put(path, { role: 'builder' })).toMatchObject({ status: 200 });
  expect((await membersOf(team))[person]).toEqual(['builder', null, 'corp:eu/finance=builder']);
  await logIn(['others']);
  expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
  const [entry] = created(await admin.get(`/audit?object_id=${person}&action=issuer_change_access`));
  const [{ name }] = created(await lead.client.get('/teams'));
  expect(entry.changes).toMatchObject({ teams: { old: [`${name}: builder`], new: [] } });
  const changes = created(await admin.get(`/audit?object_id=${team}&action=putTeamGroup`));
  expect(changes).toMatchObject([
    { changes: { role: { old: 'approver', new: 'builder' } }, details: { people: 1 } },
    { changes: { role: { old: null, new: 'approver' } }, details: { people: 0 } },
  ]);
});

test('SCIM gives and takes rights at once, and disabling the user takes all', async () => {
  const { id: team, lead } = await newTeam();
  const [ada, bob] = [await provisioned(), await provisioned()];
  const group = await newGroup(ada.user.id);
  created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  const agent = created(await ada.client.post('/agents', agentBody({ team_id: team })));
  const statusOf = async (client: Client): Promise<number> =>
    (await client.get(`/agents/${agent.id}`)).status;
  expect([await statusOf(ada.client), await statusOf(bob.client)]).toEqual([200, 404]);
  await setMembers(group.path, bob.user.id);
  expect([await statusOf(ada.client), await statusOf(bob.client)]).toEqual([404, 200]);
  expect((await bob.client.patch(`/agents/${agent.id}`, { description: 'x' })).status).toBe(200);
  // What the former member made is the admin's now.
  expect(created(await bob.client.get(`/agents/${agent.id}`)).owner_id).toBe(lead.user.id);
  created(
    await scim.patch(`/scim/v2/Users/${bob.user.id}`, patch({ op: 'replace', path: 'active', value: false })),
  );
  expect(await statusOf(bob.client)).toBe(401);
  expect((await scim.delete(group.path)).status).toBe(204);
  expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
  expect(created(await lead.client.get(`/teams/${team}/groups`))).toMatchObject([
    { group: group.name, role: 'builder' },
  ]);
});

test('what nobody of the team can take over goes to an administrator', async () => {
  const { id: team, lead } = await newTeam();
  const ada = await provisioned();
  const group = await newGroup(ada.user.id);
  created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  const body = {
    name: 'w',
    definition: { ...definition, schedule: { on: { one: { with: { type: 'go' } } } } },
  };
  const workflow = created(await ada.client.post('/workflows', { ...body, team_id: team }));
  created(await admin.delete(memberPath(team, lead.user.id)));
  created(await scim.delete(`/scim/v2/Users/${ada.user.id}`));
  expect(await membersOf(team)).toEqual({});
  const { owner_id: owner } = created(await admin.get(`/workflows/${workflow.id}`));
  expect(created(await admin.get(`/users/${owner}`)).roles).toContain('admin');
  const listeners = await app.orm.em
    .fork()
    .execute('select owner_id from listener where workflow_id = ?', [workflow.id]);
  expect(listeners).toEqual([{ owner_id: owner }]);
});

test('the highest role counts; the own one stays beside those of groups', async () => {
  const { id: team, lead } = await newTeam();
  const ada = await provisioned();
  const id = ada.user.id;
  const [low, high] = [await newGroup(id), await newGroup(id)];
  created(await lead.client.put(groupPath(team, low.name), { role: 'viewer' }));
  created(await lead.client.put(groupPath(team, high.name), { role: 'builder' }));
  const both = `${low.name}=viewer,${high.name}=builder`;
  const member = memberPath(team, id);
  expect((await membersOf(team))[id]).toEqual(['builder', null, both]);
  // Nobody takes by hand what a group gives, not even who has it.
  for (const refused of [
    await lead.client.delete(member),
    await admin.delete(member),
    await ada.client.delete(member),
    await lead.client.put(member, { role: 'approver' }),
  ])
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'role_of_group', group: high.name, detail: expect.stringContaining(high.name) },
    });
  expect(await lead.client.put(member, { role: 'admin' })).toMatchObject({
    status: 200,
    body: { role: 'admin', own_role: 'admin', groups: [{ group: low.name }, { group: high.name }] },
  });
  expect((await lead.client.delete(member)).status).toBe(204);
  expect((await membersOf(team))[id]).toEqual(['builder', null, both]);
  created(await lead.client.put(member, { role: 'builder' }));
  await setMembers(high.path);
  expect((await membersOf(team))[id]).toEqual(['builder', 'builder', `${low.name}=viewer`]);
  expect((await lead.client.delete(groupPath(team, low.name))).status).toBe(204);
  expect((await membersOf(team))[id]).toEqual(['builder', 'builder', '']);
  created(await lead.client.put(groupPath(team, low.name), { role: 'admin' }));
  expect((await membersOf(team))[id]).toEqual(['admin', 'builder', `${low.name}=admin`]);
  expect((await ada.client.delete(member)).status).toBe(204);
  await setMembers(low.path);
  expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
  expect((await lead.client.delete(groupPath(team, 'corp:none'))).status).toBe(404);
});

test('a team keeps an admin, unless the directory or an administrator decides otherwise', async () => {
  const { id: team, lead } = await newTeam();
  const ada = await provisioned();
  const group = await newGroup(ada.user.id);
  const path = groupPath(team, group.name);
  created(await lead.client.put(path, { role: 'admin' }));
  // The group has an admin, so the other one may leave.
  expect((await lead.client.delete(memberPath(team, lead.user.id))).status).toBe(204);
  for (const refused of [await ada.client.put(path, { role: 'builder' }), await ada.client.delete(path)])
    expect(refused).toMatchObject({ status: 409, body: { code: 'last_team_admin' } });
  expect((await membersOf(team))[ada.user.id]?.[0]).toBe('admin');
  expect((await admin.put(path, { role: 'builder' })).status).toBe(200);
  expect((await ada.client.put(path, { role: 'admin' })).status).toBe(403);
  created(await admin.put(path, { role: 'admin' }));
  await setMembers(group.path);
  expect(await membersOf(team)).toEqual({});
});

test('whatever asks for members sees those of groups', async () => {
  const { id: team, lead } = await newTeam();
  const [ada, owner] = [await provisioned(), await app.createUser()];
  const group = await newGroup(ada.user.id);
  created(await lead.client.put(groupPath(team, group.name), { role: 'approver' }));
  const em = app.orm.em.fork();
  const candidates = { users: [], roles: [], groups: [], teams: [team] };
  const task = await insertTask(app.orm, await insertRun(app.orm, { owner: owner.id, team }), { candidates });
  const found = async (): Promise<string[]> =>
    (await findRecipients(em, [`team:${team}`], { after: null, limit: 10 })).map(({ id }) => id);
  expect(await found()).toContain(ada.user.id);
  expect(created(await ada.client.get(`/hitl/tasks?team_id=${team}`))).toMatchObject([{ id: task }]);
  expect((await ada.client.get('/users/me')).body.id).toBe(ada.user.id);
  expect((await ada.client.post(`/hitl/tasks/${task}/claim`)).status).toBe(200);
  await setMembers(group.path);
  // The task is the others' again.
  expect(await found()).toEqual([lead.user.id]);
  expect((await ada.client.get(`/hitl/tasks/${task}`)).status).toBe(404);
  const decided = await lead.client.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' });
  expect(decided.status).toBe(200);
});

test('local groups count too, and a group that nobody could have is refused', async () => {
  const { id: team, lead } = await newTeam();
  const user = await app.createUser({ username: 'local', roles: ['viewer'] });
  created(await lead.client.put(groupPath(team, 'local people'), { role: 'viewer' }));
  created(await admin.patch(`/users/${user.id}`, { groups: ['local people'] }));
  expect((await membersOf(team))[user.id]).toEqual(['viewer', null, 'local people=viewer']);
  const made = created(
    await admin.post('/users', {
      username: 'made',
      email: 'made@example.com',
      password: null,
      roles: ['viewer'],
      groups: ['local people'],
    }),
  );
  expect((await membersOf(team))[made.id]).toEqual(['viewer', null, 'local people=viewer']);
  created(await admin.patch(`/users/${user.id}`, { groups: [] }));
  expect((await membersOf(team))[user.id]).toBeUndefined();
  const codeOf = async (group: string): Promise<string> => {
    const { status, body } = await lead.client.put(groupPath(team, group), { role: 'viewer' });
    return status === 422 ? body.errors[0].code : `${status}`;
  };
  expect(await codeOf('nobody:finance')).toBe('unknown_issuer');
  expect(await codeOf('corp:')).toBe('group_name');
  expect(await codeOf('a\u202eb')).toBe('group_name');
  expect(await codeOf('x'.repeat(101))).toBe('group_name');
  expect(await codeOf('x'.repeat(134))).toMatch(/404|too_long/);
  expect((await lead.client.put(groupPath(team, 'g'), { role: 'owner' })).status).toBe(422);
});

test('groups and teams of a person are bounded', async () => {
  const { id: team, lead } = await newTeam();
  for (let n = 1; n <= 50; n += 1)
    created(await lead.client.put(groupPath(team, `g-${n}`), { role: 'viewer' }));
  expect(await lead.client.put(groupPath(team, 'g-51'), { role: 'viewer' })).toMatchObject({
    status: 409,
    body: { code: 'too_many_groups' },
  });
  expect((await lead.client.put(groupPath(team, 'g-50'), { role: 'builder' })).status).toBe(200);
  const page = await lead.client.get(`/teams/${team}/groups?limit=30`);
  expect(page.body).toHaveLength(30);
  const next = /<(.*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
  expect(created(await lead.client.get(next))).toHaveLength(20);
  // Of 101 teams that name a group, the oldest hundred count.
  const em = app.orm.em.fork();
  const { id: by } = await app.user('admin');
  await em.execute(
    `insert into team (id, name, created_by)
     select ('10000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'wide-' || n, ?::uuid
       from generate_series(1, 101) n`,
    [by],
  );
  await em.execute(
    `insert into team_group (team_id, group_name, role, added_by)
     select id, 'wide', 'viewer', ?::uuid from team where name like 'wide-%'`,
    [by],
  );
  const user = await app.createUser({ roles: ['viewer'] });
  created(await admin.patch(`/users/${user.id}`, { groups: ['wide'] }));
  const client = await app.as(user);
  const teams = created(await client.get('/teams?limit=200')).map(({ name }: { name: string }) => name);
  expect(teams).toHaveLength(100);
  expect(teams).not.toContain('wide-101');
  created(await admin.delete('/teams/10000000-0000-7000-8000-000000000001'));
  expect((await client.get('/teams/10000000-0000-7000-8000-000000000101')).status).toBe(200);
});

test('an issuer that is removed takes its groups from teams, also for another of its name', async () => {
  const { id: team, lead } = await newTeam();
  const gone = await issuerOf('gone', 'https://gone.example');
  const { id } = created(await gone.scim.post('/scim/v2/Users', { userName: 'temporary', externalId: 't' }));
  const finance = { displayName: 'finance', members: [{ value: id }] };
  created(await gone.scim.post('/scim/v2/Groups', finance));
  created(await lead.client.put(groupPath(team, 'gone:finance'), { role: 'builder' }));
  expect((await membersOf(team))[id]?.[0]).toBe('builder');
  created(await admin.delete(`/identity-issuers/${gone.id}`));
  expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
  expect(created(await lead.client.get(`/teams/${team}/groups`))).toEqual([]);
  const again = await issuerOf('gone', 'https://again.example');
  const other = created(await again.scim.post('/scim/v2/Users', { userName: 'other', externalId: 'o' }));
  created(
    await again.scim.post('/scim/v2/Groups', { displayName: 'finance', members: [{ value: other.id }] }),
  );
  expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
});

test('who acts with the role of a group is finished first, and what they made is handed over', async () => {
  const { id: team, lead } = await newTeam();
  const ada = await provisioned();
  const group = await newGroup(ada.user.id);
  created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  for (const take of [
    () => setMembers(group.path),
    async () => created(await scim.delete(group.path)),
    async () => created(await lead.client.delete(groupPath(team, group.name))),
    async () => created(await scim.delete(`/scim/v2/Users/${ada.user.id}`)),
  ]) {
    const em = app.orm.em.fork();
    await em.begin();
    await em.execute('select from team where id = ? for key share', [team]);
    await requireMembership(em, { id: ada.user.id }, team, 'builder');
    const taking = take();
    const waits = `select 1 from pg_stat_activity
                    where wait_event_type = 'Lock' and datname = current_database()`;
    await until(
      () => app.orm.em.fork().execute(waits),
      (rows) => rows.length > 0,
    );
    const [made] = await em.execute<{ id: string }[]>(
      `insert into workflow (id, owner_id, team_id, name, tags, revision, valid, runnable, created_at,
                             updated_at)
       values (gen_random_uuid(), ?, ?, 'made meanwhile', '{}', 1, true, true, now(), now()) returning id`,
      [ada.user.id, team],
    );
    await em.commit();
    await taking;
    const [row] = await em.execute<{ owner_id: string }[]>('select owner_id from workflow where id = ?', [
      made?.id ?? '',
    ]);
    expect(row?.owner_id).toBe(lead.user.id);
    expect(Object.keys(await membersOf(team))).toEqual([lead.user.id]);
    const again = await newGroup(ada.user.id).catch(() => null);
    if (again === null) break;
    Object.assign(group, again);
    created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  }
});

test('a group comes into a team and goes while people join and leave it, and nobody is lost', async () => {
  const { id: team, lead } = await newTeam();
  const people = await Promise.all([provisioned(), provisioned(), provisioned()]);
  const ids = people.map(({ user }) => user.id);
  const group = await newGroup();
  for (let round = 0; round < 12; round += 1) {
    const inside = ids.filter((_, n) => ((round >> n) & 1) === 1);
    const path = groupPath(team, group.name);
    const [, changed] = await Promise.all([
      setMembers(group.path, ...inside),
      round % 3 === 2 ? lead.client.delete(path) : lead.client.put(path, { role: 'viewer' }),
      lead.client.put(memberPath(team, ids[0] ?? ''), { role: 'builder' }),
    ]);
    expect(changed.status).toBeLessThan(300);
    const expected = round % 3 === 2 ? [] : inside;
    const members = await membersOf(team);
    expect(ids.filter((id) => members[id]?.[2] !== undefined && members[id][2] !== '')).toEqual(expected);
    expect(Object.keys(members).toSorted()).toEqual(
      [...new Set([...expected, ids[0], lead.user.id])].toSorted(),
    );
  }
});

/** People of the issuer, without a log-in. @returns their ids */
async function insertPeople(prefix: string, many: number): Promise<string[]> {
  const rows = await app.orm.em.fork().execute<{ id: string }[]>(
    `with people as (
       insert into user_account (id, username, email, roles, issuer_id)
       select gen_random_uuid(), ? || n, ? || n || '@example.com', '{viewer}', ?::uuid
         from generate_series(1, ?::int) n
       returning id, username),
     identities as (
       insert into user_identity (id, user_id, issuer_id, subject, user_name, external_id, scim)
       select gen_random_uuid(), id, ?::uuid, username, username, username, '{}' from people)
     select id from people order by id`,
    [prefix, prefix, corpId, many, corpId],
  );
  return rows.map(({ id }) => id);
}

test('5,000 people of a group are followed in few statements', async () => {
  const [one, two] = [await newTeam(), await newTeam()];
  const ids = await insertPeople('crowd-', 5_000);
  const group = await newGroup();
  for (const { id, lead } of [one, two])
    created(await lead.client.put(groupPath(id, group.name), { role: 'builder' }));
  const statements = await recordStatements(app.orm);
  const timed = async (work: () => Promise<unknown>): Promise<void> => {
    statements.length = 0;
    const begun = performance.now();
    await work();
    expect(performance.now() - begun).toBeLessThan(allowedMs(4_000));
    // Five batches, and one entry of the audit log for each hundred people.
    expect(statements.length).toBeLessThan(150);
  };
  const membersIn = async (id: string): Promise<number> => created(await admin.get(`/teams/${id}`)).members;
  await timed(() => setMembers(group.path, ...ids));
  expect([await membersIn(one.id), await membersIn(two.id)]).toEqual([5_001, 5_001]);
  await timed(async () =>
    created(await one.lead.client.put(groupPath(one.id, group.name), { role: 'viewer' })),
  );
  await timed(() => setMembers(group.path));
  expect([await membersIn(one.id), await membersIn(two.id)]).toEqual([1, 1]);
}, 120_000);

/** Entries of the audit log for teams whose members groups have changed, newest first. */
async function followedIn(team: string, by: Client = admin): Promise<any[]> {
  const path = `/audit?team_id=${team}&action=groups_change_members&limit=100`;
  return created(await by.get(path)).map(({ object, via, details, address, user_agent: agent }: any) => {
    expect([object, address, agent]).toEqual([
      expect.objectContaining({ type: 'team', id: team }),
      null,
      null,
    ]);
    return { via, ...details };
  });
}

test('more people than one batch get the role of a group in batches, and lose it at once', async () => {
  const { id: team, lead } = await newTeam();
  const other = await newTeam();
  const ids = await insertPeople('many-', 2_500);
  const em = app.orm.em.fork();
  await em.execute(`update user_account set groups = '{many}' where username like 'many-%'`);
  created(await other.lead.client.put(groupPath(other.id, 'many'), { role: 'viewer' }));
  await continueFollowing(() => app.orm.em.fork(), allowedMs(20_000));
  const { id: adminId } = await app.user('admin');
  const actor = { id: adminId, username: 'admin', roles: ['admin' as const], groups: [] };
  const path = groupPath(team, 'many');
  const pending = async () => created(await lead.client.get(`/teams/${team}/groups`))[0]?.pending;
  const put = (role: Role) =>
    app.orm.em.fork().transactional(async (tx) => {
      await lockTeamGroups(tx);
      return putTeamGroup(tx, actor, team, { group: 'many', role });
    });
  const followed = async (role: Role): Promise<string[]> => {
    const rows = await app.orm.em.fork().execute<{ id: string }[]>(
      `select user_id as id from team_member
          where team_id = ? and group_role = ? and role = ? order by user_id`,
      [team, role, role],
    );
    return rows.map(({ id }) => id);
  };

  // The transaction of the change follows the first thousand.
  expect(await put('builder')).toMatchObject({ before: null, people: 1_000 });
  expect(await followed('builder')).toEqual(ids.slice(0, 1_000));
  expect(await pending()).toBe(true);
  // Whose groups change meanwhile is followed at once, and who leaves gets nothing later.
  const [late, gone] = [ids.at(-1) ?? '', ids.at(-2) ?? ''];
  created(await admin.patch(`/users/${late}`, { groups: ['many', 'others'] }));
  created(await admin.patch(`/users/${gone}`, { groups: [] }));
  expect(await followed('builder')).toEqual([...ids.slice(0, 1_000), late]);
  // A lower role counts at once for all who have the higher one, and for nobody more yet.
  await put('viewer');
  expect(await pending()).toBe(true);
  expect(await followed('builder')).toEqual([]);
  expect(await followed('viewer')).toEqual([...ids.slice(0, 1_000), late]);
  // The queue is in the database: any process goes on with it, or two.
  const goOn = () => continueFollowing(() => app.orm.em.fork(), allowedMs(20_000));
  expect(await Promise.all([goOn(), goOn()])).toEqual([false, false]);
  const all = ids.filter((id) => id !== gone);
  expect(await followed('viewer')).toEqual(all);
  expect(await pending()).toBe(false);
  const [last, middle] = await followedIn(team, lead.client);
  expect([middle, last]).toMatchObject([
    { via: 'system', group: 'many', people: { joined: 1_000, changed: 0, left: 0 } },
    { via: 'system', group: 'many', people: { joined: 498, changed: 0, left: 0 } },
  ]);
  expect(middle.members).toHaveLength(50);
  expect(middle.members[0]).toEqual({ user_id: ids[1_000], old: null, new: 'viewer' });

  // Raised by the request, which goes on after its commit.
  const raised = created(await lead.client.put(path, { role: 'approver' }));
  if (raised.pending === true) await continueFollowing(() => app.orm.em.fork(), allowedMs(20_000));
  expect(await followed('approver')).toEqual(all);
  // What a group gives no more is taken in the transaction of the change, from all.
  const before = await followedIn(team);
  created(await lead.client.delete(path));
  expect(created(await admin.get(`/teams/${team}`)).members).toBe(1);
  expect(await app.orm.em.fork().execute('select from group_to_follow')).toEqual([]);
  const [entry] = created(await lead.client.get(`/audit?team_id=${team}&action=removeTeamGroup`));
  expect(entry.details.people).toBe(2_499);
  // The team's own entry tells of the team, and the other one has not changed.
  expect(await followedIn(team)).toEqual(before);
  expect(created(await admin.get(`/teams/${other.id}`)).members).toBe(2_500);
}, 120_000);

test('a log-in waits for one batch of a large group at most, and a batch for no later log-in', async () => {
  const { id: team } = await newTeam();
  await insertPeople('queued-', 4_500);
  const fork = () => app.orm.em.fork();
  await fork().execute(`update user_account set groups = '{queued}' where username like 'queued-%'`);
  const { id: adminId } = await app.user('admin');
  const actor = { id: adminId, username: 'admin', roles: ['admin' as const], groups: [] };
  await fork().transactional(async (em) => {
    await lockTeamGroups(em);
    // Leaves four batches to the queue.
    await putTeamGroup(em, actor, team, { group: 'queued', role: 'viewer' });
  });
  const waiting = (many: number) =>
    until(
      () =>
        fork().execute(`select from pg_locks
          where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`),
      (rows) => rows.length === many,
    );
  const logIn = async (): Promise<void> => {
    corp.account = { sub: 'waits', preferred_username: 'waits', groups: [] };
    await new Browser().follow(`${app.url}/auth/sso/corp`, (url) => url === `${app.url}/console/`);
  };
  // One batch each: the time is over after it.
  const work = () => continueFollowing(fork, 1);
  /** In the order in which they had the lock. */
  const done = async (): Promise<string[]> => {
    const rows = await fork().execute<{ action: string }[]>(
      `select action from audit_entry where action = 'log_in' or object_id = ? and action = ? order by id`,
      [team, 'groups_change_members'],
    );
    return rows.map(({ action }) => action);
  };
  const before = (await done()).length;

  // The first batch, and three other copies of the API that wait to do the next ones.
  const batch = fork();
  await batch.begin();
  await lockTeamGroups(batch);
  const others = [work(), work(), work()];
  await waiting(3);
  const login = logIn();
  await waiting(4);
  await batch.commit();
  await Promise.all([login, ...others]);
  const joined = 'groups_change_members';
  expect((await done()).slice(before)).toEqual(['log_in', joined, joined, joined]);

  // The last batch comes while somebody logs in, and before somebody else.
  const former = fork();
  await former.begin();
  await holdTeamGroups(former);
  const last = work();
  await waiting(1);
  const later = logIn();
  await waiting(2);
  await former.commit();
  await Promise.all([last, later]);
  expect((await done()).slice(before + 4)).toEqual([joined, 'log_in']);
  expect(created(await admin.get(`/teams/${team}`)).members).toBe(4_501);
}, 120_000);

test('a team that changes because another one gets or loses a group has its own entry', async () => {
  const em = app.orm.em.fork();
  const { id: by } = await app.user('admin');
  const teamOf = (n: number): string => `11000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
  await em.execute(
    `insert into team (id, name, created_by)
     select ('11000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'full-' || n, ?::uuid
       from generate_series(1, 101) n`,
    [by],
  );
  await em.execute(
    `insert into team_group (team_id, group_name, role, added_by)
     select id, 'full', 'viewer', ?::uuid from team where name like 'full-%' and name <> 'full-1'`,
    [by],
  );
  const lead = await app.createUser({ roles: ['viewer'] });
  created(await admin.put(memberPath(teamOf(101), lead.id), { role: 'admin' }));
  const leadClient = await app.as(lead);
  const user = await app.createUser({ roles: ['viewer'] });
  created(await admin.patch(`/users/${user.id}`, { groups: ['full'] }));
  const joined = { people: { joined: 1, changed: 0, left: 0 } };
  const left = { people: { joined: 0, changed: 0, left: 1 } };
  expect(await followedIn(teamOf(101), leadClient)).toMatchObject([joined]);
  // The oldest hundred count: the newest team loses its member.
  created(await admin.put(groupPath(teamOf(1), 'full'), { role: 'builder' }));
  expect((await followedIn(teamOf(101), leadClient))[0]).toEqual({
    via: 'api',
    group: 'full',
    ...left,
    members: [{ user_id: user.id, old: 'viewer', new: null }],
  });
  // The changed team has only the entry of the request.
  expect(await followedIn(teamOf(1))).toEqual([]);
  const [own] = created(await admin.get(`/audit?team_id=${teamOf(1)}&action=putTeamGroup`));
  expect(own.details.people).toBe(1);
  created(await admin.delete(groupPath(teamOf(1), 'full')));
  expect((await followedIn(teamOf(101)))[0]).toMatchObject(joined);
  created(await admin.put(groupPath(teamOf(1), 'full'), { role: 'builder' }));
  expect((await followedIn(teamOf(101)))[0]).toMatchObject(left);
  created(await admin.delete(`/teams/${teamOf(2)}`));
  expect((await followedIn(teamOf(101)))[0]).toMatchObject({ via: 'api', ...joined });
});

test('each way by which groups change members writes an entry for each team', async () => {
  const { id: team, lead } = await newTeam();
  const entries = () => followedIn(team, lead.client);
  const change = (user: string, before: Role | null, after: Role | null) => ({
    members: [{ user_id: user, old: before, new: after }],
  });
  // SCIM.
  const ada = await provisioned();
  const group = await newGroup();
  created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  await setMembers(group.path, ada.user.id);
  expect((await entries())[0]).toMatchObject({
    via: 'scim',
    issuer: 'corp',
    ...change(ada.user.id, null, 'builder'),
  });
  await setMembers(group.path);
  expect((await entries())[0]).toMatchObject({ via: 'scim', ...change(ada.user.id, 'builder', null) });
  // A log-in.
  created(await lead.client.put(groupPath(team, 'corp:nightly'), { role: 'approver' }));
  corp.account = { sub: `nightly-${count}`, groups: ['nightly'] };
  await new Browser().follow(`${app.url}/auth/sso/corp?fresh=true`, (url) => url === `${app.url}/console/`);
  expect((await entries())[0]).toMatchObject({
    via: 'api',
    issuer: 'corp',
    people: { joined: 1, changed: 0, left: 0 },
  });
  // A new user, and one that is changed.
  created(await lead.client.put(groupPath(team, 'local'), { role: 'viewer' }));
  count += 1;
  const user = created(
    await admin.post('/users', {
      username: `local-${count}`,
      email: `local-${count}@example.com`,
      password: 'correct horse battery',
      roles: ['viewer'],
      groups: ['local'],
    }),
  );
  expect((await entries())[0]).toMatchObject({ via: 'api', ...change(user.id, null, 'viewer') });
  created(await admin.patch(`/users/${user.id}`, { groups: [] }));
  expect((await entries())[0]).toMatchObject({ via: 'api', ...change(user.id, 'viewer', null) });
  // An issuer that is removed.
  const gone = await issuerOf('leaving', 'https://leaving.example');
  const { id } = created(await gone.scim.post('/scim/v2/Users', { userName: 'guest', externalId: 'g' }));
  const guests = { displayName: 'guests', members: [{ value: id }] };
  created(await gone.scim.post('/scim/v2/Groups', guests));
  created(await lead.client.put(groupPath(team, 'leaving:guests'), { role: 'builder' }));
  created(await admin.delete(`/identity-issuers/${gone.id}`));
  expect((await entries())[0]).toMatchObject({
    via: 'api',
    issuer: 'leaving',
    ...change(id, 'builder', null),
  });
});

test('of a change in more than 500 teams, the others are named a hundred at a time', async () => {
  const followed = new FollowedTeams(
    Array.from({ length: 620 }, (_, n) => ({
      user_id: '00000000-0000-7000-8000-000000000001',
      team_id: `12000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      team_name: 'wide',
      before: null,
      after: 'viewer' as const,
    })),
  );
  const group = `wide-${(count += 1)}`;
  await app.orm.em.fork().transactional((em) => auditFollowed(em, SYSTEM_ORIGIN, followed, { group }));
  const rows = await app.orm.em.fork().execute<{ object_id: string | null; teams: string[] | null }[]>(
    `select object_id, data -> 'teams' as teams from audit_entry
      where action = 'groups_change_members' and data ->> 'group' = ? order by id`,
    [group],
  );
  expect(rows.filter(({ object_id: id }) => id !== null)).toHaveLength(500);
  expect(rows.flatMap(({ teams }) => (teams === null ? [] : [teams.length]))).toEqual([100, 20]);
});

test('members and groups are read by index among many', async () => {
  const { id: team, lead } = await newTeam();
  const ids = await insertPeople('planned-', 3_000);
  const group = await newGroup(...ids.slice(0, 100));
  created(await lead.client.put(groupPath(team, group.name), { role: 'builder' }));
  const em = app.orm.em.fork();
  const { id: by } = await app.user('admin');
  await em.execute(
    `insert into team (id, name, created_by)
     select gen_random_uuid(), 'planned-' || n, ?::uuid from generate_series(1, 3000) n`,
    [by],
  );
  await em.execute(
    `insert into team_group (team_id, group_name, role, added_by)
     select t.id, 'planned-' || n, 'viewer', ?::uuid
       from team t, generate_series(1, 5) n where t.name like 'planned-%'`,
    [by],
  );
  await em.execute(
    `insert into team_member (team_id, user_id, role, group_role, added_by)
     select t.id, u.id, 'viewer', 'viewer', ?::uuid
       from (select id, row_number() over (order by id) n from team where name like 'planned-%') t
       join (select id, row_number() over (order by id) n from user_account where username like 'planned-%') u
         on u.n % 600 = t.n % 600`,
    [by],
  );
  await em.execute('vacuum analyze team, team_group, team_member, user_account, user_identity');
  const keep = keepStatements(app.orm);
  const tables = ['team', 'team_group', 'team_member', 'user_account', 'user_identity'];
  for (const [path, most] of [
    [`/teams/${team}/members?limit=50`, 400],
    [`/teams/${team}/groups`, 300],
    [`/teams/${team}`, 300],
  ] as const) {
    const statements = await keep(async () => created(await lead.client.get(path)));
    const { scanned, read } = await explainAll(app.orm, statements, tables);
    expect([path, scanned]).toEqual([path, []]);
    expect([path, read <= most, read]).toEqual([path, true, read]);
  }
  const followed = await keep(() => setMembers(group.path, ...ids.slice(0, 99)));
  expect(followed.some(({ sql }) => sql.includes('join team_group'))).toBe(true);
  const { scanned } = await explainAll(
    app.orm,
    followed.filter(({ sql }) => sql.includes('join team_group')),
    tables,
  );
  expect(scanned).toEqual([]);
}, 120_000);
