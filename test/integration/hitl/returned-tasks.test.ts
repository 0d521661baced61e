/** Human tasks of people whose accounts are disabled: back with who gave them, else open, else for admins. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import type { NewHumanTask } from '../../../contracts/activities.ts';
import type { Role } from '../../../contracts/roles.ts';
import { expandNotices } from '../../../domain/notifications/expand.ts';
import { returnTasks } from '../../../domain/hitl/return-tasks.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { createPerson, type Person } from '../../support/people.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';

let app: TestApp;
let admin: Client;
let boss: TestUser;
let runId: string;

beforeAll(async () => {
  app = await startTestApp();
  boss = await app.createUser({ username: 'boss', roles: ['admin'] });
  admin = await app.as(boss);
  runId = await insertRun(app.orm, { owner: boss.id });
});
afterAll(() => app.close());

const person = (roles?: Role[], groups?: string[]): Promise<Person> => createPerson(app, roles, groups);

const sql = <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);
const nobody: NewHumanTask['candidates'] = { users: [], roles: [], groups: [] };
const task = (given: Partial<NewHumanTask> = {}): Promise<string> =>
  insertTask(app.orm, runId, { candidates: nobody, ...given });
const at = (id: string, action: string): string => `/hitl/tasks/${id}/${action}`;
const record = async (id: string): Promise<any> => (await admin.get(`/hitl/tasks/${id}`)).body;
const status = async (who: Person, id: string): Promise<number> =>
  (await who.client.post(at(id, 'decision'), { decision: 'approve' })).status;

async function delegate(from: Person, id: string, to: Person): Promise<void> {
  const { status: answer, body } = await from.client.post(at(id, 'delegate'), { to: to.user.id });
  expect([answer, body.detail]).toEqual([200, undefined]);
}

async function disable(...people: Person[]): Promise<void> {
  for (const { user } of people)
    expect((await admin.patch(`/users/${user.id}`, { status: 'disabled' })).status).toBe(200);
  await reconcile();
}

/** What the worker does every ten seconds. */
async function reconcile(): Promise<void> {
  await returnTasks(
    () => app.orm.em.fork(),
    () => true,
  );
  await expandNotices({
    orm: app.orm,
    hasMail: false,
    timeZone: 'UTC',
    maxRecipients: 1_000,
    failed(error) {
      throw error;
    },
  });
}

async function told({ user }: Person, id: string): Promise<string[]> {
  const rows = await sql<{ kind: string }>(
    'select kind from notification where user_id = ? and task_id = ? order by id',
    [user.id, id],
  );
  return rows.map(({ kind }) => kind);
}

const audit = async (id: string): Promise<any[]> => (await admin.get(at(id, 'audit'))).body;
const messages = async (): Promise<string[]> => {
  const { body } = await admin.get(`/runs/${runId}/logs?limit=200`);
  return body.map(({ message }: { message: string }) => message);
};

test('a delegated task of a disabled person is back with who delegated it', async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await task({ assignee: ann.user.username, delegate: 'anyone' });
  await delegate(ann, id, bob);
  expect((await bob.client.post(at(id, 'claim'))).status).toBe(200);
  expect(await status(ann, id)).toBe(404);
  await disable(bob);
  expect(await record(id)).toMatchObject({
    status: 'open',
    assignee: ann.user.id,
    claimed_by: null,
    delegations: [],
  });
  expect(await told(ann, id)).toEqual(['assigned']);
  expect((await audit(id)).at(-1)).toMatchObject({
    action: 'delegated',
    via: 'system',
    actor: null,
    data: { from: bob.user.id, to: ann.user.id },
  });
  expect(await messages()).toContainEqual(expect.stringContaining(`is back with ${ann.user.username}`));
  expect(await status(ann, id)).toBe(200);
});

test('the nearest who may still decide gets it, and who was only between has nothing of it', async () => {
  const [ann, bob, cid] = [await person(), await person(), await person()];
  const id = await task({ assignee: ann.user.username, delegate: 'anyone' });
  await delegate(ann, id, bob);
  await delegate(bob, id, cid);
  await disable(bob, cid);
  expect(await record(id)).toMatchObject({ assignee: ann.user.id, delegations: [] });
  await admin.patch(`/users/${bob.user.id}`, { status: 'active' });
  expect((await (await app.as(bob.user)).get(`/hitl/tasks/${id}`)).status).toBe(401);
  expect(await status(ann, id)).toBe(200);
});

test('an excluded or demoted delegator gets nothing back: the candidates do, and are told', async () => {
  const [ann, bob, dan] = [await person(['approver'], ['payers']), await person(), await person()];
  await sql(`update user_account set groups = '{payers}' where id in (?, ?)`, [bob.user.id, dan.user.id]);
  const id = await task({ assignee: ann.user.username, candidates: { ...nobody, groups: ['payers'] } });
  await delegate(ann, id, bob);
  await sql(`update user_account set roles = '{viewer}' where id = ?`, [ann.user.id]);
  await disable(bob);
  expect(await record(id)).toMatchObject({ status: 'open', assignee: null });
  expect([await told(ann, id), await told(dan, id)]).toEqual([[], ['candidate']]);
  expect((await audit(id)).at(-1)).toMatchObject({ action: 'released', via: 'system' });
  expect(await status(dan, id)).toBe(200);
});

test('without a delegator a task is open to its candidates; without those, admins are told', async () => {
  const [ann, dan] = [await person(), await person()];
  const shared = await task({ assignee: ann.user.username, candidates: { ...nobody, users: [dan.user.id] } });
  const alone = await task({ assignee: ann.user.username });
  await disable(ann);
  expect(await record(shared)).toMatchObject({ assignee: null });
  expect(await told(dan, shared)).toEqual(['candidate']);
  expect(await record(alone)).toMatchObject({ assignee: ann.user.username });
  expect(await told({ user: boss, client: admin }, alone)).toEqual(['escalation']);
  expect(await told({ user: boss, client: admin }, shared)).toEqual([]);
  expect(await messages()).toContainEqual(expect.stringContaining('nobody but admins may decide it now'));
  expect((await admin.post(at(alone, 'decision'), { decision: 'approve' })).status).toBe(200);
});

test('a quorum counts as before: votes stay, and a vote that was given is back once', async () => {
  const [ann, bob, cid] = [await person(), await person(), await person()];
  const users = [ann, bob].map(({ user }) => user.id);
  const id = await task({
    candidates: { ...nobody, users },
    quorum: { approvals: 2, rejections: 1, exclude_initiator: false },
    delegate: 'anyone',
  });
  await delegate(ann, id, cid);
  await disable(cid);
  expect((await record(id)).delegations).toEqual([]);
  expect(await told(ann, id)).toEqual(['assigned']);
  expect(await status(ann, id)).toBe(200);
  // Whoever has voted keeps what they have decided, and the vote does not come back.
  await disable(ann);
  expect((await record(id)).tally.approve).toBe(1);
  expect(await told({ user: boss, client: admin }, id)).toEqual([]);
  expect(await status(bob, id)).toBe(200);
  expect((await record(id)).status).toBe('decided');
});

test('an account that is active again before that keeps its tasks', async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await task({ assignee: ann.user.username, delegate: 'anyone' });
  await delegate(ann, id, bob);
  await admin.patch(`/users/${bob.user.id}`, { status: 'disabled' });
  await admin.patch(`/users/${bob.user.id}`, { status: 'active' });
  await reconcile();
  expect(await record(id)).toMatchObject({ assignee: bob.user.id });
  expect(await sql('select from task_return')).toEqual([]);
});

test('many tasks are given back in batches, and a repeat begins where the last has ended', async () => {
  const [ann, bob] = [await person(), await person()];
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) ids.push(await task({ assignee: ann.user.username, delegate: 'anyone' }));
  for (const id of ids) await delegate(ann, id, bob);
  await admin.patch(`/users/${bob.user.id}`, { status: 'disabled' });
  let steps = 0;
  await returnTasks(
    () => app.orm.em.fork(),
    () => steps++ < 1,
  );
  const left = async (): Promise<unknown> =>
    sql('select count(*)::int as count from hitl_task where assignee_key = ?', [`id:${bob.user.id}`]);
  expect(await left()).toEqual([{ count: 10 }]);
  await reconcile();
  expect(await left()).toEqual([{ count: 0 }]);
}, 60_000);

test('the tasks of one person are found without reading those of others', async () => {
  const ann = await person();
  const id = await task({ assignee: ann.user.username });
  await sql(
    `insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
                            decisions, priority, candidates, candidate_keys)
     select gen_random_uuid(), run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
            decisions, priority, candidates, array['group:others-' || n % 100]
       from hitl_task, generate_series(1, 20000) n where id = ?`,
    [id],
  );
  await sql('analyze hitl_task');
  await sql(`update user_account set status = 'disabled' where id = ?`, [ann.user.id]);
  const statements = await keepStatements(app.orm)(async () => {
    await returnTasks(
      () => app.orm.em.fork(),
      () => true,
    );
  });
  const { scanned, read } = await explainAll(app.orm, statements, ['hitl_task']);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThan(200);
});
