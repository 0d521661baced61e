/** People who held a human task and are no candidates any more: they have nothing of it, and others go on. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import type { NewHumanTask } from '../../../contracts/activities.ts';
import { escalateHumanTask } from '../../../domain/hitl/lifecycle.ts';
import { findTask, mayActOnTask } from '../../../domain/hitl/human-task.ts';
import { findRecipients, kindFor, noticePrincipals } from '../../../domain/notifications/recipients.ts';
import { lockRun } from '../../../domain/runs/events.ts';
import type { Role } from '../../../contracts/roles.ts';
import { startTestApp, type Client, type TestApp } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { createPerson, type Person } from '../../support/people.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let admin: Client;
let runId: string;
let team: string;

beforeAll(async () => {
  app = await startTestApp();
  const boss = await app.createUser({ username: 'boss', roles: ['admin'] });
  admin = await app.as(boss);
  runId = await insertRun(app.orm, { owner: boss.id });
  team = (await admin.post('/teams', { name: 'payers', admin: boss.id })).body.id;
});
afterAll(() => app.close());

const person = (roles?: Role[], groups?: string[]): Promise<Person> => createPerson(app, roles, groups);

const join = (who: Person): Promise<unknown> =>
  admin.put(`/teams/${team}/members/${who.user.id}`, { role: 'approver' });
async function member(roles: Role[] = ['approver']): Promise<Person> {
  const who = await person(roles);
  await join(who);
  return who;
}

const sql = <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  app.orm.em.fork().execute<T[]>(text, values);
/** Waits until every copy of the API knows it. */
const known = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 1_100));
async function leave(who: Person): Promise<void> {
  expect((await admin.delete(`/teams/${team}/members/${who.user.id}`)).status).toBe(204);
  await known();
}
/** Without an end of sessions, so that the person can be asked afterwards. */
async function setStatus(who: Person, status: 'active' | 'disabled'): Promise<void> {
  await sql('update user_account set status = ? where id = ?', [status, who.user.id]);
  await known();
}

const ofTeam = (): NewHumanTask['candidates'] => ({ users: [], roles: [], groups: [], teams: [team] });
const task = (given: Partial<NewHumanTask> = {}): Promise<string> =>
  insertTask(app.orm, runId, { candidates: ofTeam(), ...given });
const at = (id: string, action: string): string => `/hitl/tasks/${id}/${action}`;
const decide = async (who: Person, id: string): Promise<string | number> => {
  const { status, body } = await who.client.post(at(id, 'decision'), { decision: 'approve' });
  return body.code ?? status;
};
const act = async (who: Person, id: string, action: string, body?: object): Promise<any> => {
  const reply = await who.client.post(at(id, action), body);
  expect([action, reply.status, reply.body.detail]).toEqual([action, 200, undefined]);
  return reply.body;
};
const actions = async (id: string): Promise<string[]> =>
  (await admin.get(at(id, 'audit'))).body.map((row: { action: string }) => row.action);

async function listed(who: Person, query: string): Promise<string[]> {
  const { body } = await who.client.get(`/hitl/tasks?limit=200&run_id=${runId}${query}`);
  return body.map(({ id }: { id: string }) => id);
}

/** The task, the lists and the counts say the same about it. */
async function expectNothing(who: Person, id: string): Promise<void> {
  expect((await who.client.get(`/hitl/tasks/${id}`)).status).toBe(404);
  for (const query of ['', '&scope=candidate', '&scope=candidate&claimed_by=me'])
    expect([query, await listed(who, query)]).not.toEqual([query, expect.arrayContaining([id])]);
  expect((await who.client.get('/hitl/summary')).body.claimed_by_me).toBe(0);
  for (const [action, body] of [
    ['decision', { decision: 'approve' }],
    ['claim', undefined],
    ['release', undefined],
    ['delegate', { to: 'boss' }],
    ['comments', { comment: 'x' }],
  ] as const)
    expect([action, (await who.client.post(at(id, action), body)).status]).toEqual([action, 404]);
}

async function expectTheirs(who: Person, id: string): Promise<void> {
  const { body } = await who.client.get(`/hitl/tasks/${id}`);
  expect(body.can).toContain('decide');
  expect(await listed(who, '')).toContain(id);
}

describe('a claim', () => {
  test('of a former member of the team gives nothing, and the others decide', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    expect(await decide(bob, id)).toBe('claimed_by_another');
    await leave(ann);
    await expectNothing(ann, id);
    await expectTheirs(bob, id);
    expect(await decide(bob, id)).toBe(200);
    expect(await actions(id)).toEqual(['created', 'claimed', 'released', 'decided']);
    expect((await bob.client.get(`/hitl/tasks/${id}`)).body).toMatchObject({ claimed_by: null });
  });

  test('is taken over by another claim, and is not back when the member is', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    await leave(ann);
    expect(await act(bob, id, 'claim')).toMatchObject({ status: 'claimed', claimed_by: bob.user.id });
    await join(ann);
    await known();
    expect(await decide(ann, id)).toBe('claimed_by_another');
    expect(await decide(bob, id)).toBe(200);
  });

  test('counts again for a member who comes back before somebody has taken it over', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    await leave(ann);
    await join(ann);
    await known();
    expect(await decide(bob, id)).toBe('claimed_by_another');
    await expectTheirs(ann, id);
    expect((await ann.client.get('/hitl/summary')).body.claimed_by_me).toBe(1);
    expect(await decide(ann, id)).toBe(200);
  });

  test('of somebody who has left the group, has lost the role, or is disabled', async () => {
    const group = `group-${uuidv7()}`;
    const bob = await person(['approver'], [group]);
    const losses = [{ groups: [] }, { roles: ['viewer'] }, { status: 'disabled' }];
    for (const loss of losses) {
      const ann = await person(['approver'], [group]);
      const id = await task({ candidates: { users: [], roles: [], groups: [group] } });
      await act(ann, id, 'claim');
      expect((await admin.patch(`/users/${ann.user.id}`, loss)).status).toBe(200);
      await known();
      expect([loss, [404, 'role_required', 'invalid_token', 'not_found']]).toEqual([
        loss,
        expect.arrayContaining([await decide(ann, id)]),
      ]);
      await expectTheirs(bob, id);
      expect([loss, await decide(bob, id)]).toEqual([loss, 200]);
    }
  });

  test('does not go to the deputy of a former member', async () => {
    const [ann, bob, dora] = [await member(), await member(), await person()];
    const id = await task();
    await act(ann, id, 'claim');
    const until_at = new Date(Date.now() + 3_600_000).toISOString();
    const given = { user_id: ann.user.id, deputy: dora.user.id, until: until_at };
    expect((await admin.post('/absences', given)).status).toBe(201);
    await until(
      () => listed(dora, ''),
      (ids) => ids.includes(id),
    );
    await leave(ann);
    await expectNothing(dora, id);
    expect(await decide(bob, id)).toBe(200);
  });

  test('of an admin who is no candidate stays theirs', async () => {
    const [chief, bob] = [await person(['admin']), await member()];
    const id = await task();
    await act(chief, id, 'claim');
    expect(await decide(bob, id)).toBe('claimed_by_another');
    expect(await listed(chief, '')).toContain(id);
    expect((await chief.client.get('/hitl/summary')).body.claimed_by_me).toBe(1);
    expect(await decide(chief, id)).toBe(200);
  });

  test('is no obstacle to batches, keys and delegating', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const [one, two, three] = [await task(), await task(), await task()];
    for (const id of [one, two, three]) await act(ann, id, 'claim');
    await leave(ann);
    const batch = { decisions: [{ task_id: one, decision: 'approve' }] };
    expect((await bob.client.post('/hitl/decisions', batch)).body.results).toMatchObject([{ status: 200 }]);
    const headers = { 'idempotency-key': uuidv7() };
    for (const _ of [1, 2])
      expect((await bob.client.post(at(two, 'decision'), { decision: 'approve' }, { headers })).status).toBe(
        200,
      );
    expect(await act(bob, three, 'delegate', { to: cleo.user.id })).toMatchObject({
      status: 'open',
      claimed_by: null,
      assignee: cleo.user.id,
    });
    for (const id of [one, two])
      expect(await sql('select 1 from hitl_decision where task_id = ?', [id])).toHaveLength(1);
  });

  test('one decision wins when the claimant leaves meanwhile', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => task()));
    for (const id of ids) await act(ann, id, 'claim');
    const gone = admin.delete(`/teams/${team}/members/${ann.user.id}`);
    const decided = await Promise.all(
      ids.flatMap((id) => [ann, bob, cleo].map(async (who) => ({ id, code: await decide(who, id) }))),
    );
    await gone;
    await known();
    for (const id of ids) {
      if (!decided.some((one) => one.id === id && one.code === 200)) expect(await decide(bob, id)).toBe(200);
      expect(decided.filter((one) => one.id === id && one.code === 200).length).toBeLessThanOrEqual(1);
      expect(await sql('select 1 from hitl_decision where task_id = ?', [id])).toHaveLength(1);
      expect(await sql(`select 1 from run_signal where payload ->> 'task_id' = ?`, [id])).toHaveLength(1);
    }
  });

  test('people are reminded as if nobody held it', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    const told = async (): Promise<string[]> => {
      const em = app.orm.em.fork();
      const found = await findTask(em, id);
      if (found === null) throw new Error('no task');
      const notice = { id, task_id: id, reason: 'reminder', data: {}, after_user: null, told: 0 } as const;
      const principals = await noticePrincipals(em, notice, found);
      const people = await findRecipients(em, principals, { after: null, limit: 100 });
      return people.filter((one) => kindFor(one, notice, found, new Set()) !== null).map((one) => one.id);
    };
    expect(await told()).toEqual([ann.user.id]);
    await leave(ann);
    expect(await told()).toContain(bob.user.id);
    expect(await told()).not.toContain(ann.user.id);
  });

  test('events about the task do not come to a former member', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    await leave(ann);
    await act(bob, id, 'claim');
    const seen = async ({ client }: Person) => JSON.stringify((await client.get('/events?limit=200')).body);
    expect(await seen(ann)).not.toContain(id);
  });
});

describe('a delegate', () => {
  test('who has left the team decides nothing, and the vote is back', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'delegate', { to: bob.user.id });
    expect(await decide(ann, id)).toBe('delegated');
    await leave(bob);
    await expectNothing(bob, id);
    await expectTheirs(ann, id);
    expect(await act(ann, id, 'claim')).toMatchObject({ assignee: ann.user.id, delegations: [] });
    await join(bob);
    await known();
    expect(await decide(bob, id)).toBe('claimed_by_another');
    expect(await decide(ann, id)).toBe(200);
    expect(await actions(id)).toEqual(['created', 'delegated', 'delegated', 'claimed', 'decided']);
  });

  test('who was chosen freely stays one, unless they were a member then', async () => {
    const [ann, cleo] = [await member(), await member()];
    const stranger = await person();
    const [free, bound] = [await task({ delegate: 'anyone' }), await task({ delegate: 'anyone' })];
    await act(ann, free, 'delegate', { to: stranger.user.id });
    await act(ann, bound, 'delegate', { to: cleo.user.id });
    await leave(cleo);
    await expectNothing(cleo, bound);
    await expectTheirs(stranger, free);
    expect(await decide(stranger, free)).toBe(200);
    expect(await decide(ann, bound)).toBe(200);
  });

  test('whom the task names, or an escalation later, stays whatever they leave', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const named = await task({ candidates: { ...ofTeam(), users: [bob.user.id] } });
    const later = await task();
    await act(ann, named, 'delegate', { to: bob.user.id });
    await act(ann, later, 'delegate', { to: cleo.user.id });
    await app.orm.em.fork().transactional(async (em) => {
      await lockRun(em, runId);
      const to = { users: [cleo.user.username], roles: [], groups: [] };
      await escalateHumanTask(em, { task_id: later, level: 1, to });
    });
    await leave(bob);
    await leave(cleo);
    for (const [who, id] of [
      [bob, named],
      [cleo, later],
    ] as const) {
      await expectTheirs(who, id);
      expect(await decide(who, id)).toBe(200);
    }
  });

  test('who has voted before they left has used the vote', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
    const id = await task({ quorum, delegate: 'anyone' });
    await act(ann, id, 'delegate', { to: bob.user.id });
    expect(await decide(bob, id)).toBe(200);
    await leave(bob);
    expect(await decide(ann, id)).toBe('delegated');
    expect(await listed(ann, '')).not.toContain(id);
    expect((await ann.client.post(at(id, 'delegate'), { to: cleo.user.id })).body.code).toBe('delegated');
    expect((await cleo.client.get(`/hitl/tasks/${id}`)).body.status).toBe('open');
    await expectTheirs(cleo, id);
    expect(await decide(cleo, id)).toBe(200);
    expect((await cleo.client.get(`/hitl/tasks/${id}`)).body.status).toBe('decided');
  });

  test('who has passed it on still has given it away', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const id = await task();
    await act(ann, id, 'delegate', { to: bob.user.id });
    await act(bob, id, 'delegate', { to: cleo.user.id });
    await leave(bob);
    expect(await decide(ann, id)).toBe('delegated');
    expect(await listed(ann, '')).not.toContain(id);
    await leave(cleo);
    await expectTheirs(ann, id);
    expect(await decide(ann, id)).toBe(200);
  });

  test('does not give it back to a former member', async () => {
    const [ann, bob] = [await member(), await member()];
    const id = await task();
    await act(ann, id, 'delegate', { to: bob.user.id });
    await leave(ann);
    const { body } = await bob.client.post(at(id, 'delegate'), { to: ann.user.id });
    expect(body.errors).toMatchObject([{ code: 'not_a_candidate' }]);
    await expectNothing(ann, id);
  });

  test('of a vote: it returns once, and does not count twice', async () => {
    const [ann, bob, stranger] = [await member(), await member(), await person()];
    const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
    const id = await task({ quorum, delegate: 'anyone' });
    await act(ann, id, 'delegate', { to: stranger.user.id });
    expect(await decide(ann, id)).toBe('delegated');
    await setStatus(stranger, 'disabled');
    await expectTheirs(ann, id);
    expect(await decide(ann, id)).toBe(200);
    await setStatus(stranger, 'active');
    await expectNothing(stranger, id);
    expect(await decide(ann, id)).toBe('already_voted');
    expect(await decide(bob, id)).toBe(200);
    expect((await bob.client.get(`/hitl/tasks/${id}`)).body).toMatchObject({ status: 'decided' });
  });
});

describe('a transfer', () => {
  const transfer = async (from: Person, to: Person): Promise<void> => {
    const reply = await admin.post(`/users/${from.user.id}/transfer`, { to: to.user.id });
    expect([reply.status, reply.body.human_tasks]).toEqual([200, 1]);
  };

  test.each(['claimed', 'delegated'])('returns what was %s of the team to it', async (how) => {
    const [ann, bob, stranger] = [await member(), await member(), await person()];
    const id = await task();
    if (how === 'claimed') await act(ann, id, 'claim');
    else await act(bob, id, 'delegate', { to: ann.user.id });
    await transfer(ann, stranger);
    await expectNothing(stranger, id);
    await expectTheirs(bob, id);
    expect((await bob.client.get(`/hitl/tasks/${id}`)).body).toMatchObject({
      status: 'open',
      claimed_by: null,
      assignee: null,
      delegations: [],
    });
    expect(await decide(bob, id)).toBe(200);
  });

  test('gives it to a successor in the team, while they are in it', async () => {
    const [ann, bob, cleo] = [await member(), await member(), await member()];
    const id = await task();
    await act(ann, id, 'claim');
    await transfer(ann, bob);
    expect(await decide(cleo, id)).toBe('claimed_by_another');
    await expectTheirs(bob, id);
    await leave(bob);
    await expectNothing(bob, id);
    expect(await decide(cleo, id)).toBe(200);
  });
});

test('the database and the policy agree on who can decide', async () => {
  const [outside, inside] = [`group-${uuidv7()}`, `group-${uuidv7()}`];
  const people: Person[] = [];
  for (const role of ['viewer', 'approver', 'builder', 'admin'] as const)
    for (const groups of [[], [inside], [inside, outside]]) people.push(await person([role], groups));
  for (const role of ['viewer', 'approver'] as const) {
    const who = await person(['viewer']);
    await admin.put(`/teams/${team}/members/${who.user.id}`, { role });
    people.push(who);
  }
  await known();
  const named = people[3]?.user.id ?? '';
  const nobody = { users: [], roles: [], groups: [] };
  const quorum = {
    approvals: 1,
    rejections: 1,
    exclude_initiator: false,
    exclude: { users: [], groups: [outside] },
  };
  const wrong: unknown[] = [];
  for (const candidates of [
    ofTeam(),
    { ...nobody, groups: [inside] },
    { ...nobody, roles: ['builder'] },
    { ...nobody, roles: ['viewer'] },
    { ...nobody, users: [named] },
  ])
    for (const rules of [null, quorum])
      for (const bound of [false, true]) {
        const id = await task({ candidates, quorum: rules });
        if (bound)
          await sql(
            `update hitl_task set delegates = jsonb_build_object(?::text, 'candidate') where id = ?`,
            [named, id],
          );
        for (const { user, client } of people) {
          const [row] = await sql<{ may: boolean }>(
            `select ${mayActOnTask('?::uuid')} as may from hitl_task t where id = ?`,
            [user.id, id],
          );
          const { status, body } = await client.get(`/hitl/tasks/${id}`);
          const may = status === 200 && body.can.includes('decide');
          if (row?.may !== may) wrong.push({ candidates, rules, bound, user, body: body.cannot, may });
        }
      }
  expect(wrong).toEqual([]);
});
