/** The audit log of teams: which entries are a team's, and who reads them. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { sealAudit } from '../../../domain/audit/seal.ts';
import { verifyAudit } from '../../../domain/audit/verify.ts';
import { SYSTEM_ORIGIN, writeAudit } from '../../../domain/audit/write.ts';
import { agentBody } from '../../support/agent-body.ts';
import { createClient, startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { until } from '../../support/platform.ts';

const PASSWORD = 'correct horse battery';
const HOOK = { name: 'Pushes', scheme: 'github', secret: 'HOOK_KEY' };
const definition = { do: [{ first: { set: { a: 1 } } }] };

let app: TestApp;
/** Of the platform. */
let admin: Client;
let red: string;
let blue: string;
/** Members of red by their role in it; on the platform all are builders. */
let ada: Client;
let ben: Client;
let vic: Client;
/** Admin of blue. */
let cleo: Client;
let stranger: Client;
let former: Client;
let benId: string;
let vicId: string;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  const person = (username: string) => app.createUser({ username, roles: ['builder'] });
  const [a, b, v, c, s, f] = await Promise.all(
    ['ada', 'ben', 'vic', 'cleo', 'stranger', 'former'].map((name) => person(name)),
  );
  [ada, ben, vic, cleo, stranger, former] = (await Promise.all(
    [a, b, v, c, s, f].map((user) => app.as(user!)),
  )) as [Client, Client, Client, Client, Client, Client];
  [benId, vicId] = [b!.id, v!.id];
  red = ok(await admin.post('/teams', { name: 'red', admin: a!.id })).id;
  blue = ok(await admin.post('/teams', { name: 'blue', admin: c!.id })).id;
  ok(await ada.put(`/teams/${red}/members/${benId}`, { role: 'builder' }));
  ok(await ada.put(`/teams/${red}/members/${vicId}`, { role: 'viewer' }));
  ok(await ada.put(`/teams/${red}/members/${f!.id}`, { role: 'admin' }));
  ok(await ada.delete(`/teams/${red}/members/${f!.id}`));
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();

function ok({ status, body }: Reply): any {
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
}

interface Entry {
  action: string;
  object: { type: string; id: string } | null;
  team_id: string | null;
  to_team_id: string | null;
}

const entriesOf = async (team: string, more = ''): Promise<Entry[]> =>
  ok(await admin.get(`/audit?limit=200&team_id=${team}${more}`));
const shown = ({ action, object }: Entry): string => `${action} ${object?.type}`;

test('an entry has the team that holds its object, whatever the kind, also of a deleted one', async () => {
  const byId = (path: string, id: string): string => `${path}/${id}`;
  const agent = ok(await ben.post('/agents', agentBody({ name: 'scorer', team_id: red })));
  const workflow = ok(await ben.post('/workflows', { name: 'flow', definition, team_id: red }));
  const text = { headers: { 'content-type': 'text/plain' } };
  const file = ok(await ben.post(`/files?name=a.txt&team_id=${red}`, 'text', text));
  const webhook = ok(await ben.post('/webhooks', { url: 'https://hooks.example.com/1', team_id: red }));
  ok(await ben.put(`/secrets/HOOK_KEY?team_id=${red}`, { value: 'a key of at least sixteen bytes' }));
  const hook = ok(await ben.post('/hooks', { ...HOOK, team_id: red }));
  const chat = { name: 'Chat', format: 'slack', url: 'https://hooks.example.com/2', team_id: red };
  const channel = ok(await ada.post('/notifications/channels', chat));
  ok(await ben.post(byId('/agents', `${agent.id}/versions`), { version: '2.0.0' }));
  ok(await ada.post('/apply', { set: 'tools', team_id: red, resources: [] }));
  const gone: [Client, string][] = [
    [ben, byId('/agents', agent.id)],
    [ben, byId('/workflows', workflow.id)],
    [ben, byId('/files', file.id)],
    [ben, byId('/webhooks', webhook.id)],
    [ben, byId('/hooks', hook.id)],
    [ben, `/secrets/HOOK_KEY?team_id=${red}`],
    [ada, byId('/notifications/channels', channel.id)],
  ];
  for (const [client, path] of gone) ok(await client.delete(path));

  const found = (await entriesOf(red)).map((entry) => shown(entry));
  for (const expected of [
    'createAgent agent',
    'createAgentVersion agent',
    'deleteAgent agent',
    'createWorkflow workflow',
    'deleteWorkflow workflow',
    'uploadFile file',
    'deleteFile file',
    'createWebhook webhook',
    'deleteWebhook webhook',
    'putSecret secret',
    'deleteSecret secret',
    'createHook hook',
    'deleteHook hook',
    'createNotificationChannel notification',
    'deleteNotificationChannel notification',
    'applySet applied_set',
    'createTeam team',
    'putTeamMember team',
    'removeTeamMember team',
  ])
    expect(found).toContain(expected);
  expect((await entriesOf(blue)).map((entry) => shown(entry))).toEqual(['createTeam team']);
  for (const entry of await entriesOf(red)) expect([entry.team_id, entry.to_team_id]).toEqual([red, null]);
});

test('what moves is in the logs of both teams, once in each', async () => {
  ok(await ben.put('/secrets/HOOK_KEY', { value: 'a key of at least sixteen bytes' }));
  const text = { headers: { 'content-type': 'text/plain' } };
  const made = {
    '/agents': ok(await ben.post('/agents', agentBody({ name: 'mover' }))),
    '/workflows': ok(await ben.post('/workflows', { name: 'moved', definition })),
    '/files': ok(await ben.post('/files?name=b.txt', 'text', text)),
    '/webhooks': ok(await ben.post('/webhooks', { url: 'https://hooks.example.com/3' })),
    '/hooks': ok(await ben.post('/hooks', HOOK)),
  };
  for (const [path, { id }] of Object.entries(made)) {
    ok(await ben.patch(`${path}/${id}`, { team_id: red }));
    ok(await admin.patch(`${path}/${id}`, { team_id: blue }));
    ok(await admin.patch(`${path}/${id}`, { team_id: null }));
    const moves = async (team: string) =>
      (await entriesOf(team, `&object_id=${id}`)).map(({ team_id: from, to_team_id: to }) => [from, to]);
    expect([path, await moves(red)]).toEqual([
      path,
      [
        [red, blue],
        [null, red],
      ],
    ]);
    expect([path, await moves(blue)]).toEqual([
      path,
      [
        [blue, null],
        [red, blue],
      ],
    ]);
  }
});

/** Every way to read a team's entries. */
const ways = (team: string): string[] => [
  `/audit?team_id=${team}`,
  `/audit?team_id=${team}&after=0`,
  `/audit/export?team_id=${team}`,
  `/audit/export?team_id=${team}&format=csv`,
  `/audit/export?team_id=${team}&after=0`,
];

test('only admins of the team and of the platform read its log, in every way', async () => {
  const root = { username: 'rita', email: 'rita@example.com', password: PASSWORD, roles: ['viewer'] };
  const { id } = ok(await admin.post('/users', root));
  ok(await ada.put(`/teams/${red}/members/${id}`, { role: 'admin' }));
  const log = ok(await app.anonymous.post('/auth/token', { username: 'rita', password: PASSWORD }));
  const rita = createClient(app.url, log.access_token);
  const tokenWith = async (scopes: string[]): Promise<Client> => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = ok(await rita.post('/users/me/tokens', { name: scopes.join(), scopes, expires_at }));
    return createClient(app.url, made.token);
  };
  const readers: [who: string, client: Client, ofRed: number, ofBlue: number][] = [
    ['the admin of red, a viewer on the platform', rita, 200, 404],
    ['their token for the audit log', await tokenWith(['audit:read']), 200, 404],
    ['their token for something else', await tokenWith(['runs:read']), 403, 403],
    ['the admin of red', ada, 200, 404],
    ['a builder of red', ben, 403, 404],
    ['a viewer of red', vic, 403, 404],
    ['the admin of blue', cleo, 404, 200],
    ['a stranger', stranger, 404, 404],
    ['a former admin of red', former, 404, 404],
    ['an admin of the platform', admin, 200, 200],
    ['nobody', app.anonymous, 401, 401],
  ];
  await until(
    () => sealAudit(fork),
    (head) => head !== null,
  );
  const wrong: string[] = [];
  for (const [who, client, ofRed, ofBlue] of readers)
    for (const [team, expected] of [
      [red, ofRed],
      [blue, ofBlue],
    ] as const)
      for (const path of ways(team)) {
        const { status, body } = await client.get(path);
        if (status !== expected) wrong.push(`${who}: ${path} ${status}, not ${expected}`);
        const other = team === red ? blue : red;
        const text = JSON.stringify(body);
        if (status === 200 && !text.includes(team)) wrong.push(`${who}: ${path} lacks entries`);
        if (status === 200 && client !== admin && text.includes(`"team_id":"${other}"`)) {
          // Of what moved between the two, each sees the entry.
          const foreign = [body]
            .flat()
            .filter((entry: Entry) => entry.team_id === other && !entry.to_team_id);
          if (Array.isArray(body) && foreign.length > 0) wrong.push(`${who}: ${path} has entries of another`);
        }
      }
  expect(wrong).toEqual([]);
  expect((await ada.get('/audit?team_id=nonsense')).status).toBe(400);
  expect((await cleo.get(`/audit?team_id=${red}`)).body.detail).toContain('team');
});

test('what members do elsewhere, and how they log in, is not in the log of their team', async () => {
  const own = ok(await ben.post('/agents', agentBody({ name: 'own' })));
  ok(await ben.put('/users/me/preferences', { theme: 'dark' }));
  await writeAudit(fork(), SYSTEM_ORIGIN, {
    action: 'log_in',
    actor: { id: benId, name: 'ben' },
    objectType: 'session',
    objectId: benId,
  });
  const ofTeam = ok(await ada.get(`/audit?limit=200&team_id=${red}&actor_id=${benId}`));
  expect(ofTeam.length).toBeGreaterThan(3);
  const actions = ofTeam.map(({ action }: Entry) => action);
  expect(actions).not.toContain('log_in');
  expect(actions).not.toContain('putMyPreferences');
  expect(ofTeam.map(({ object }: Entry) => object?.id)).not.toContain(own.id);
  // Without the team it is what one did oneself, as before.
  const mine = ok(await ada.get('/audit?limit=200'));
  const { id } = ok(await ada.get('/users/me'));
  expect(new Set(mine.map((entry: { actor: { id: string } }) => entry.actor.id))).toEqual(new Set([id]));
});

test('the log of a team is narrowed, paged and exported as all of it is', async () => {
  const agent = ok(await ben.post('/agents', agentBody({ name: 'narrow', team_id: red })));
  expect((await vic.patch(`/agents/${agent.id}`, { name: 'mine' })).status).toBe(403);
  const refused = ok(await ada.get(`/audit?team_id=${red}&outcome=refused`));
  expect(refused).toMatchObject([
    { action: 'updateAgent', actor: { id: vicId }, object: { id: agent.id }, team_id: red },
  ]);
  expect(ok(await ada.get(`/audit?team_id=${red}&action=createAgent&object_id=${agent.id}`))).toHaveLength(1);
  expect(ok(await ada.get(`/audit?team_id=${red}&actor_id=me&action=createTeam`))).toEqual([]);

  const all = ok(await ada.get(`/audit?team_id=${red}&limit=200`)).map(({ id }: { id: string }) => id);
  const paged: string[] = [];
  for (let path: string | undefined = `/audit?team_id=${red}&limit=3`; path !== undefined;) {
    const page = await ada.get(path);
    paged.push(...page.body.map(({ id }: { id: string }) => id));
    path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1]?.replace(app.url, '');
  }
  expect(paged).toEqual(all);
  const lines = ok(await ada.get(`/audit/export?team_id=${red}`))
    .trim()
    .split('\n');
  const exported = lines.map((line: string) => JSON.parse(line));
  expect(exported[0]).toMatchObject({ action: 'exportAudit', team_id: red });
  expect(exported.slice(1).map(({ id }: { id: string }) => id)).toEqual(all);
  const [header, first] = ok(await ada.get(`/audit/export?team_id=${red}&format=csv`)).split('\r\n');
  expect(header).toContain('request_id,team_id,to_team_id,data');
  expect(first).toContain(red);
});

test('an entry whose changes are too long to keep still has the teams of a move', async () => {
  const filler = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`field-${index}`, { old: 'x'.repeat(200), new: 'y' }]),
  );
  await writeAudit(fork(), SYSTEM_ORIGIN, {
    action: 'long',
    objectType: 'agent',
    data: { changes: { ...filler, team_id: { old: red, new: blue } } },
  });
  const [entry] = await entriesOf(blue, '&action=long');
  expect(entry).toMatchObject({ team_id: red, to_team_id: blue, details: { truncated: true } });
});

test('the chain holds entries with and without a team, and a changed team is found', async () => {
  // As entries were before the team was noted.
  await fork().transactional(async (em) => {
    await em.execute('set local session_replication_role = replica');
    await em.execute(
      `insert into audit_entry (action, outcome, credential, via, door, object_type, object_id)
       values ('old', 'done', 'none', 'system', 'system', 'team', ?)`,
      [red],
    );
  });
  await ada.patch(`/teams/${red}`, { description: 'changed' });
  const verify = () => verifyAudit(fork(), { after: 0n, expected: [] });
  await until(
    () => sealAudit(fork),
    (head) => head !== null,
  );
  expect(await verify()).toMatchObject({ ok: true, problems: [], unsealed: 0 });
  const [old] = ok(await admin.get('/audit?action=old'));
  expect([old.team_id, old.to_team_id]).toEqual([null, null]);
  expect(await entriesOf(red, '&action=old')).toEqual([]);
  const rollback = new Error('rolled back');
  await expect(
    fork().transactional(async (em) => {
      await em.execute('set local session_replication_role = replica');
      await em.execute(`update audit_entry set data = data - 'team_id' where action = 'updateTeam'`);
      const { problems } = await verifyAudit(em, { after: 0n, expected: [] });
      expect(problems.map(({ code }) => code)).toContain('changed_entries');
      throw rollback;
    }),
  ).rejects.toBe(rollback);
});
