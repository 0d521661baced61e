/** A person's data: what there is, its erasure on request, and what stays without the name. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { sealAudit } from '../../../domain/audit/seal.ts';
import { getUser } from '../../../domain/auth/users.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { removeHistories } from '../../../domain/privacy/histories.ts';
import { beginErasure } from '../../../domain/privacy/erase.ts';
import { RENAMING } from '../../../domain/privacy/replace-names.ts';
import { escalateHumanTask } from '../../../domain/hitl/lifecycle.ts';
import { noTemporal, startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { sessionCookie } from '../../support/browser.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let admin: Client;
let boss: TestUser;
let bob: TestUser;

beforeAll(async () => {
  app = await startTestApp({ temporal: { ...noTemporal, removeHistory: async () => 'none' } });
  boss = await app.user('admin');
  admin = await app.as('admin');
  bob = await app.createUser({ username: 'bob', roles: ['approver'] });
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> => fork().execute<T[]>(sql, values);
const files = { remove: async () => {} };
const KEEP = { runs: 'keep', freeText: 'report' } as const;
const taskFor = (run: string, name: string): Promise<string> =>
  insertTask(app.orm, run, { candidates: { users: [name], roles: [], groups: [] } });

/** Every table in which the text occurs, in any column. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await rows<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await rows<{ found: boolean }>(
        `select exists (select from "${name}" t where t::text ilike ?) as found`,
        [`%${text}%`],
      );
      return row?.found === true ? [name] : [];
    }),
  );
  return found.flat().toSorted();
}

/** Somebody who has used most of the platform, and whose name is in other people's records. */
async function person(username: string): Promise<{ user: TestUser; runId: string; taskId: string }> {
  const user = await app.createUser({ username, roles: ['builder'], groups: ['finance'] });
  const client = await app.as(user);
  await rows('update user_account set display_name = ?, email = ?, second_factor = true where id = ?', [
    `${username} display`,
    `${username}@example.com`,
    user.id,
  ]);
  expect((await client.put('/secrets/API_KEY', { value: 'a secret value' })).status).toBeLessThan(300);
  await sessionCookie(app, user);
  const owner = await app.createUser({ roles: ['builder'] });
  const runId = await insertRun(app.orm, { owner: owner.id });
  const taskId = await taskFor(runId, username.toUpperCase());
  const asBob = await app.as('admin');
  const asked = await asBob.post(`/hitl/tasks/${taskId}/comments`, {
    comment: `@${username.toLowerCase()}, please look; write to x@${username}.example`,
  });
  expect(asked.status).toBe(201);
  await rows(
    `insert into notification (id, user_id, kind, task_id, notice_id, comment_id)
     values (?, ?, 'mentioned', ?, 1, ?)`,
    [uuidv7(), user.id, taskId, asked.body.id],
  );
  expect((await client.post(`/hitl/tasks/${taskId}/comments`, { comment: 'I did' })).status).toBe(201);
  expect((await client.post(`/hitl/tasks/${taskId}/decision`, { decision: 'approve' })).status).toBe(200);
  return { user, runId, taskId };
}

/** Works to the end, which a busy machine does not reach while the request waits. */
async function erase(id: string, body: Record<string, unknown>): ReturnType<Client['post']> {
  const reply = await admin.post(`/users/${id}/erase`, body);
  if (reply.status !== 202) return reply;
  await continueErasures({ fork, files }, 240_000);
  await removeHistories(fork, app.app.deps.temporal, 60_000);
  return admin.get(`/users/${id}/erasure`);
}

test('all that is about a person goes, and what has to stay names the id only', async () => {
  const { user, runId, taskId } = await person('Petra.Novak');
  const plan = await erase(user.id, { dry_run: true });
  expect(plan.body).toMatchObject({
    status: 'planned',
    owned: {},
    obstacles: [],
    removed: { secrets: 1, sessions: expect.any(Number), notifications: 1 },
    kept: expect.arrayContaining([
      expect.objectContaining({ kind: 'decisions', count: 1 }),
      expect.objectContaining({ kind: 'backups', count: null }),
    ]),
  });
  expect(await tablesWith('petra.novak')).toEqual([
    'hitl_audit',
    'hitl_comment',
    'hitl_task',
    'run_event',
    'user_account',
  ]);
  await sealAudit(fork);

  const done = await erase(user.id, { confirm: 'Petra.Novak' });
  expect([done.status, done.body]).toEqual([
    200,
    expect.objectContaining({
      status: 'done',
      removed: expect.objectContaining({ secrets: 1, notifications: 1 }),
      replaced: expect.objectContaining({ account: 1, comments: 1, human_tasks: 1, task_history: 2 }),
    }),
  ]);
  // The address of somebody else's host is no mention.
  expect(await tablesWith('petra.novak')).toEqual(['hitl_comment']);
  const [comment] = await rows<{ comment: string }>(
    `select comment from hitl_comment where task_id = ? and comment like '%look%'`,
    [taskId],
  );
  expect(comment?.comment).toBe(`@erased-${user.id}, please look; write to x@Petra.Novak.example`);
  const history = (await admin.get(`/hitl/tasks/${taskId}/audit`)).body as Record<string, unknown>[];
  expect(history.at(-1)).toMatchObject({
    action: 'decided',
    actor: { id: user.id, username: `erased-${user.id}` },
  });
  expect(history[0]).toMatchObject({ data: { candidates: { users: [user.id] } } });
  const [event] = await rows<{ message: string }>(
    `select message from run_event where run_id = ? and message like '%decided%'`,
    [runId],
  );
  expect(event?.message).toContain(`: erased-${user.id} decided approve`);

  const { body: record } = await admin.get(`/users/${user.id}`);
  expect(record).toMatchObject({
    username: `erased-${user.id}`,
    display_name: 'Erased user',
    email: `erased-${user.id}@erased.invalid`,
    roles: [],
    groups: [],
    status: 'disabled',
    has_password: false,
    second_factor: false,
    erased_at: expect.any(String),
  });
  expect((await (await app.as(user)).get('/users/me')).status).toBe(401);
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({ status: 'done' });

  // The chain of the audit log holds, and its entries show the erased account.
  await sealAudit(fork);
  expect((await admin.get('/audit/verification')).body).toMatchObject({ ok: true });
  const entries = (await admin.get(`/audit?actor_id=${user.id}`)).body as Record<string, unknown>[];
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries)
    expect(entry).toMatchObject({ actor: { id: user.id, username: `erased-${user.id}` } });
  const about = (await admin.get(`/audit?object_id=${user.id}`)).body as Record<string, unknown>[];
  expect(about.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['eraseUser', 'erasure_finished']),
  );

  // Who takes the name over gets nothing of it, and the account stays empty.
  const heir = await app.createUser({ username: 'petra.novak', roles: ['approver'] });
  expect((await (await app.as(heir)).get(`/hitl/tasks/${taskId}`)).status).toBe(404);
  expect((await admin.patch(`/users/${user.id}`, { status: 'active' })).body).toMatchObject({
    code: 'erased',
  });
  expect((await erase(user.id, { confirm: `erased-${user.id}` })).body).toMatchObject({
    code: 'already_erased',
  });
});

test('what others need has to be handed over first, and is named', async () => {
  const user = await app.createUser({ username: 'owner.one', roles: ['builder'] });
  const client = await app.as(user);
  const { body: workflow } = await client.post('/workflows', {
    name: 'theirs',
    definition: {
      document: { dsl: '1.0.3', namespace: 'test', name: 'x', version: '1.0.0' },
      do: [{ a: { set: {} } }],
    },
  });
  const runId = await insertRun(app.orm, { owner: user.id });
  const other = await insertRun(app.orm, { owner: bob.id });
  const taskId = await insertTask(app.orm, other, { assignee: user.id });
  const refused = await erase(user.id, { confirm: 'owner.one' });
  expect(refused.body).toMatchObject({
    status: 409,
    code: 'owns_objects',
    owned: {
      workflows: { count: 1, ids: [workflow.id] },
      live_runs: { count: 1, ids: [runId] },
      human_tasks: { count: 1, ids: [taskId] },
    },
  });
  const { code, detail, owned } = refused.body;
  const plan = await erase(user.id, { dry_run: true });
  expect(plan.body).toMatchObject({ status: 'blocked', owned, obstacles: [{ code, detail }] });
  const heir = await app.createUser({ roles: ['builder'] });
  const source = { source: 'https://shop.example', user_id: user.id };
  expect((await client.post('/event-sources', source)).status).toBe(201);
  expect((await admin.post(`/users/${user.id}/transfer`, { to: heir.id })).status).toBe(200);
  // The new owner sends what only the former one could.
  expect(await rows('select user_id from event_source where owner_id = ?', [heir.id])).toEqual([
    { user_id: heir.id },
  ]);
  expect((await erase(user.id, { confirm: 'owner.one' })).status).toBe(200);
  const after = await erase(user.id, { dry_run: true });
  expect(after.body).toMatchObject({ status: 'blocked', obstacles: [{ code: 'already_erased' }] });
  const late = await admin.post(`/users/${user.id}/transfer`, { to: heir.id });
  expect([late.status, late.body.code]).toEqual([409, 'erased']);
  const own = await erase(boss.id, { dry_run: true });
  expect(own.body.obstacles).toContainEqual({ code: 'own_account', detail: expect.any(String) });
  expect((await admin.get(`/workflows/${workflow.id}`)).body).toMatchObject({ owner_id: heir.id });
});

test('roles, groups and fields that are named like the person stay what they are', async () => {
  for (const username of ['approver', 'users']) {
    const user = await app.createUser({ username, roles: ['builder'] });
    const runId = await insertRun(app.orm, { owner: bob.id });
    const candidates = { users: ['bob', username], roles: ['approver'], groups: [username] };
    const taskId = await insertTask(app.orm, runId, { candidates });
    const others = await insertTask(app.orm, runId, {
      candidates: { users: [], roles: ['approver'], groups: ['users'] },
    });
    await fork().transactional((em) =>
      escalateHumanTask(em, { task_id: taskId, level: 1, to: { ...candidates, users: [username] } }),
    );
    expect((await erase(user.id, { confirm: username })).body.status).toBe('done');
    const renamed = { ...candidates, users: ['bob', user.id] };
    expect(await rows('select candidates from hitl_task where id = ?', [taskId])).toEqual([
      { candidates: renamed },
    ]);
    const data = async (id: string) =>
      rows('select data from hitl_audit where task_id = ? order by id', [id]);
    expect(await data(taskId)).toEqual([
      { data: { assignee: null, candidates: renamed } },
      { data: { level: 1, to: { ...candidates, users: [user.id] } } },
    ]);
    expect(await data(others)).toEqual([
      { data: { assignee: null, candidates: { users: [], roles: ['approver'], groups: ['users'] } } },
    ]);
  }
});

test('what the person made for a team gets an admin of the team as its owner', async () => {
  const [user, lead, maker] = await Promise.all(
    ['made.much', 'lead.one', 'maker.one'].map((username) =>
      app.createUser({ username, roles: ['builder'] }),
    ),
  );
  const team = (await admin.post('/teams', { name: 'makers', admin: lead?.id })).body;
  const member = await admin.put(`/teams/${team.id}/members/${user?.id}`, { role: 'builder' });
  expect(member.status).toBeLessThan(300);
  const source = { source: 'https://crm.example', user_id: user?.id };
  expect((await (await app.as(maker!)).post('/event-sources', source)).status).toBe(201);
  const { body: workflow } = await (
    await app.as(user!)
  ).post('/workflows', {
    name: "the team's",
    team_id: team.id,
    definition: {
      document: { dsl: '1.0.3', namespace: 'test', name: 'x', version: '1.0.0' },
      do: [{ a: { set: {} } }],
    },
  });
  expect(workflow.team_id).toBe(team.id);
  const { body } = await erase(user!.id, { confirm: 'made.much' });
  expect(body).toMatchObject({ status: 'done', removed: { team_memberships: 1 } });
  expect((await admin.get(`/workflows/${workflow.id}`)).body).toMatchObject({
    owner_id: lead?.id,
    team_id: team.id,
  });
  // Who alone may send a source of somebody else still is nobody else.
  expect(await rows('select user_id from event_source where owner_id = ?', [maker?.id])).toEqual([
    { user_id: user?.id },
  ]);
});

test('no issuer finds an account again whose erasure has only begun', async () => {
  const user = await app.createUser({ username: 'linked.one', roles: ['builder'] });
  await rows(
    `with issuer as (
       insert into identity_issuer
         (id, name, title, issuer, client_id, scopes, mapping, creates_users, enabled)
       values (gen_random_uuid(), 'directory', 'Directory', 'https://id.example', 'cadenza', '{}', '{}', true,
               true)
       returning id)
     insert into user_identity (id, user_id, issuer_id, subject, external_id, removed_at)
     select gen_random_uuid(), ?::uuid, id, 'subject', 'external', now() from issuer`,
    [user.id],
  );
  await fork().transactional(async (em) => {
    const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
    await beginErasure(em, actor, await getUser(em, user.id, true), KEEP);
  });
  expect(await rows('select from user_identity where user_id = ?', [user.id])).toEqual([]);
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({ removed: { identities: 1 } });
});

test('a file for a start that no run has taken goes', async () => {
  const user = await app.createUser({ username: 'waiting', roles: ['viewer'] });
  const owner = await app.as(await app.createUser({ roles: ['builder'] }));
  const made = await owner.post('/workflows', {
    name: 'expense',
    definition: { do: [{ first: { set: { a: 1 } } }] },
    runners: { users: ['waiting'] },
  });
  const client = await app.as(user);
  const headers = { 'content-type': 'text/plain' };
  const file = await client.post(`/files?workflow=${made.body.id}`, 'x', { headers });
  expect(file.status).toBe(201);
  const done = await erase(user.id, { confirm: 'waiting' });
  expect(done.body).toMatchObject({ status: 'done', removed: { waiting_files: 1 } });
  expect(await rows('select from file where id = ?', [file.body.id])).toEqual([]);
});

test('ended runs stay, or go along where that is asked for', async () => {
  for (const [runs, left] of [
    ['keep', 1],
    ['remove', 0],
  ] as const) {
    const user = await app.createUser({ username: `runner-${runs}`, roles: ['builder'] });
    const id = await insertRun(app.orm, { owner: user.id });
    await rows(`update run set status = 'completed', finished_at = now() where id = ?`, [id]);
    const { body } = await erase(user.id, { confirm: user.username, runs });
    expect(body.status).toBe('done');
    expect(await rows('select 1 from run where id = ?', [id])).toHaveLength(left);
    expect(body.kept.some(({ kind }: { kind: string }) => kind === 'runs')).toBe(left === 1);
  }
});

test('only another administrator may, who has just logged in and types the name', async () => {
  const user = await app.createUser({ username: 'careful.one', roles: ['builder'] });
  for (const confirm of [undefined, '', 'careful', 'CAREFUL.ONE'])
    expect([(await erase(user.id, { confirm })).status]).toEqual([422]);
  expect((await erase(boss.id, { confirm: boss.username })).body).toMatchObject({ code: 'own_account' });
  expect((await erase(uuidv7(), { confirm: 'x' })).status).toBe(404);
  expect((await erase(user.id, { confirm: 'careful.one', runs: 'burn' })).status).toBe(422);
  expect((await admin.get(`/users/${user.id}/erasure`)).status).toBe(404);
  expect((await admin.get(`/users/${user.id}`)).body).toMatchObject({
    username: 'careful.one',
    erased_at: null,
  });
});

test('an erasure that is killed goes on where it was, whoever continues it, and ends the same', async () => {
  const { user } = await person('Killed.Early');
  await fork().transactional(async (em) => {
    const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
    await beginErasure(em, actor, await getUser(em, user.id, true), KEEP);
  });
  expect((await (await app.as(user)).get('/users/me')).status).toBe(401);
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({ status: 'running' });
  for (let kills = 0; kills < 30; kills += 1) {
    let transactions = 0;
    const dying = () => {
      transactions += 1;
      if (transactions > 1) throw new Error('killed');
      return fork();
    };
    const ended = await continueErasures({ fork: dying, files }, 60_000).catch(() => true);
    if (!ended) break;
  }
  await Promise.all([1, 2, 3].map(() => continueErasures({ fork, files }, 60_000)));
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({
    status: 'done',
    replaced: { account: 1, comments: 1, human_tasks: 1, task_history: 2 },
    removed: { secrets: 1 },
  });
  expect(await tablesWith('killed.early')).toEqual(['hitl_comment']);
  expect(await rows('select former from erasure where user_id = ?', [user.id])).toEqual([{ former: null }]);
});

test('what a request that was under way adds to kinds that were removed already goes as well', async () => {
  const { user, taskId } = await person('Late.Request');
  await fork().transactional(async (em) => {
    const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
    await beginErasure(em, actor, await getUser(em, user.id, true), KEEP);
  });
  const state = async () => {
    const [row] = await rows<{ step: number; position: string | null }>(
      'select step, position from erasure where user_id = ?',
      [user.id],
    );
    return row;
  };
  const oneBatch = async () => {
    let transactions = 0;
    const dying = () => {
      transactions += 1;
      if (transactions > 1) throw new Error('killed');
      return fork();
    };
    await continueErasures({ fork: dying, files }, 60_000).catch(() => {});
  };
  const isRemoving = async () => {
    const { step = 0, position = null } = (await state()) ?? {};
    return step === RENAMING.length && position !== null;
  };
  for (let batches = 0; batches < 100 && !(await isRemoving()); batches += 1) {
    await oneBatch();
  }
  expect(await isRemoving()).toBe(true);
  await rows(
    `insert into notification (id, user_id, kind, task_id, notice_id) values (?, ?, 'mentioned', ?, 2)`,
    [uuidv7(), user.id, taskId],
  );
  const before = Number((await state())?.position);
  await oneBatch();
  expect(Number((await state())?.position)).toBeGreaterThan(before);
  await continueErasures({ fork, files }, 60_000);
  expect((await admin.get(`/users/${user.id}/erasure`)).body).toMatchObject({
    status: 'done',
    removed: { notifications: 2 },
  });
});

test('the history of human tasks can still be changed by nothing else', async () => {
  await expect(rows(`update hitl_audit set actor_name = 'me'`)).rejects.toThrow(/append-only/);
  for (const change of [`action = 'expired'`, `actor_id = null`, `actor_name = 'me'`])
    await expect(
      fork().transactional(async (em) => {
        await em.execute(`select set_config('cadenza.erases_names', 'on', true)`);
        await em.execute(`update hitl_audit set ${change}`);
      }),
    ).rejects.toThrow(/append-only/);
});

test('what is stored about a person comes in full, page by page, without a secret', async () => {
  const { user } = await person('Asking.One');
  await rows(
    `insert into auth_session (id, user_id, expires_at)
     select gen_random_uuid(), ?::uuid, now() + interval '1 day' from generate_series(1, 1200)`,
    [user.id],
  );
  const reply = await admin.get(`/users/${user.id}/personal-data`);
  expect([reply.status, reply.headers.get('content-type'), reply.headers.get('content-disposition')]).toEqual(
    [200, expect.stringContaining('application/x-ndjson'), expect.stringContaining('attachment')],
  );
  const text = String(reply.body);
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { section: string; record: unknown });
  const ofSection = (name: string) =>
    lines.flatMap(({ section, record }) => (section === name ? [record] : []));
  expect(ofSection('account')).toEqual([
    expect.objectContaining({ username: 'Asking.One', has_password: true }),
  ]);
  expect(ofSection('sessions').length).toBeGreaterThanOrEqual(1_200);
  expect(ofSection('secrets')).toEqual([expect.objectContaining({ name: 'API_KEY' })]);
  expect(ofSection('comments')).toEqual([expect.objectContaining({ comment: 'I did' })]);
  expect(ofSection('decisions')).toEqual([expect.objectContaining({ decision: 'approve' })]);
  expect(text).not.toMatch(/a secret value|hash|encrypted|argon/);
  const own = await (await app.as(user)).get('/users/me/personal-data');
  expect(String(own.body)).toContain('Asking.One');
  expect((await (await app.as(bob)).get(`/users/${user.id}/personal-data`)).status).toBe(403);
  const read = (await admin.get(`/audit?action=getPersonalData&outcome=done&object_id=${user.id}`)).body;
  expect(read).toHaveLength(1);
});
