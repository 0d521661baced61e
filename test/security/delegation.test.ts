/**
 * Delegation moves votes between people and creates none: nobody has two votes, however votes are passed on.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NewHumanTask } from '../../contracts/activities.ts';
import { startTestApp, type Client, type TestApp } from '../support/app.ts';
import { insertRun, insertTask } from '../support/human-tasks.ts';

const names = ['ann', 'bob', 'cid', 'xeno', 'yoko'] as const;
type Name = (typeof names)[number];

let app: TestApp;
const as = new Map<Name, Client>();
const ids = new Map<Name, string>();
let asAdmin: Client;

beforeAll(async () => {
  app = await startTestApp();
  for (const username of names) {
    const user = await app.createUser({ username, roles: ['approver'] });
    ids.set(username, user.id);
    as.set(username, await app.as(user));
  }
  asAdmin = await app.as('admin');
});
afterAll(() => app.close());

const quorum = { approvals: 2, rejections: 1, exclude_initiator: false };
const candidates = (...users: Name[]): NewHumanTask['candidates'] => ({ users, roles: [], groups: [] });

async function newTask(given: Partial<NewHumanTask>): Promise<string> {
  const owner = await app.user('builder');
  return insertTask(app.orm, await insertRun(app.orm, { owner: owner.id }), given);
}

const client = (who: Name): Client => as.get(who) ?? app.anonymous;
/** The code of the refusal, or the new state of the task. */
async function act(who: Client, taskId: string, action: string, body: unknown): Promise<string> {
  const { body: answer } = await who.post(`/hitl/tasks/${taskId}/${action}`, body);
  return answer.errors?.[0].code ?? answer.code ?? answer.task?.status ?? answer.status;
}
const vote = (who: Name, taskId: string): Promise<string> =>
  act(client(who), taskId, 'decision', { decision: 'approve' });
const delegate = (who: Name, taskId: string, to: Name): Promise<string> =>
  act(client(who), taskId, 'delegate', { to });

describe('delegating a vote of a quorum', () => {
  test('passes the vote on: the delegate votes for the delegator', async () => {
    const id = await newTask({ candidates: candidates('ann', 'bob'), quorum, delegate: 'anyone' });
    expect(await delegate('ann', id, 'xeno')).toBe('open');
    expect(await vote('ann', id)).toBe('delegated');
    expect(await act(client('ann'), id, 'claim', {})).toBe('delegated');
    expect(await delegate('ann', id, 'yoko')).toBe('delegated');
    expect(await vote('xeno', id)).toBe('open');
    expect(await vote('xeno', id)).toBe('already_voted');
    const audit = await app.orm.em
      .fork()
      .execute<{ data: unknown }[]>(`select data from hitl_audit where task_id = ? and action = 'voted'`, [
        id,
      ]);
    expect(audit).toMatchObject([{ data: { in_place_of: [ids.get('ann')] } }]);
    expect((await client('bob').get(`/hitl/tasks/${id}`)).body).toMatchObject({
      delegate: 'anyone',
      delegations: [{ from: ids.get('ann'), to: ids.get('xeno') }],
      tally: { approve: 1 },
    });
    expect(await vote('bob', id)).toBe('decided');
  });

  test('along a chain gives the vote to the last person, and back to the first', async () => {
    const id = await newTask({ candidates: candidates('ann', 'bob'), quorum, delegate: 'anyone' });
    expect(await delegate('ann', id, 'xeno')).toBe('open');
    expect(await delegate('xeno', id, 'yoko')).toBe('open');
    expect(await vote('xeno', id)).toBe('delegated');
    expect(await delegate('yoko', id, 'ann')).toBe('open');
    expect(await vote('yoko', id)).toBe('delegated');
    expect(await vote('ann', id)).toBe('open');
    expect(await vote('bob', id)).toBe('decided');
  });

  test('to a candidate leaves that candidate with one vote', async () => {
    const id = await newTask({ candidates: candidates('ann', 'bob', 'cid'), quorum });
    expect(await delegate('ann', id, 'bob')).toBe('open');
    expect(await vote('bob', id)).toBe('open');
    expect(await vote('bob', id)).toBe('already_voted');
    expect(await delegate('bob', id, 'cid')).toBe('already_voted');
    expect(await vote('cid', id)).toBe('decided');
  });

  test('is open to each voter, whoever is assigned', async () => {
    const id = await newTask({
      candidates: candidates('ann', 'bob'),
      assignee: 'ann',
      quorum,
      delegate: 'anyone',
    });
    expect(await delegate('bob', id, 'xeno')).toBe('open');
    expect(await delegate('ann', id, 'yoko')).toBe('open');
    for (const [name, status] of [
      ['ann', 'delegated'],
      ['bob', 'delegated'],
      ['xeno', 'open'],
      ['yoko', 'decided'],
    ] as const)
      expect(await vote(name, id)).toBe(status);
  });

  test('is refused if too few people would be left to decide', async () => {
    const id = await newTask({ candidates: candidates('ann', 'bob'), quorum });
    expect(await delegate('ann', id, 'bob')).toBe('quorum_unreachable');
    expect(await vote('ann', id)).toBe('open');
  });

  test('is refused if the delegate has voted, to the voter and to admins', async () => {
    const id = await newTask({
      candidates: candidates('ann', 'bob'),
      assignee: 'ann',
      quorum,
      delegate: 'anyone',
    });
    expect(await vote('ann', id)).toBe('open');
    expect(await delegate('ann', id, 'xeno')).toBe('already_voted');
    expect(await act(asAdmin, id, 'delegate', { to: 'xeno' })).toBe('already_voted');
  });

  test('leaves an admin who delegates without a vote', async () => {
    const id = await newTask({ candidates: candidates('ann', 'bob'), quorum, delegate: 'anyone' });
    expect(await act(asAdmin, id, 'delegate', { to: 'xeno' })).toBe('open');
    expect(await act(asAdmin, id, 'decision', { decision: 'approve' })).toBe('delegated');
    expect(await vote('xeno', id)).toBe('open');
  });

  test('never gives anybody a second vote, whatever a person and their delegates do', async () => {
    const accomplices = ['ann', 'xeno', 'yoko'] as const;
    const accomplice = fc.constantFrom(...accomplices);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ who: accomplice, to: fc.option(accomplice) }), { minLength: 1, maxLength: 10 }),
        async (moves) => {
          const id = await newTask({ candidates: candidates('ann', 'bob'), quorum, delegate: 'anyone' });
          for (const { who: one, to } of moves) await (to === null ? vote(one, id) : delegate(one, id, to));
          const { body } = await client('bob').get(`/hitl/tasks/${id}`);
          expect(body.status).toBe('open');
          expect(body.tally.approve).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 40, seed: 20260801 },
    );
  });
});

describe('a task that is delegated', () => {
  test('goes to candidates only, unless the definition says anyone, and may be given back', async () => {
    const only = await newTask({ candidates: candidates('ann', 'bob') });
    expect(await delegate('ann', only, 'xeno')).toBe('not_a_candidate');
    expect(await act(asAdmin, only, 'delegate', { to: 'xeno' })).toBe('not_a_candidate');
    expect(await delegate('ann', only, 'bob')).toBe('open');
    expect(await vote('ann', only)).toBe('delegated');
    expect(await delegate('bob', only, 'ann')).toBe('open');
    expect(await vote('bob', only)).toBe('delegated');
    expect(await vote('ann', only)).toBe('decided');
    const open = await newTask({ candidates: candidates('ann', 'bob'), delegate: 'anyone' });
    expect(await delegate('ann', open, 'xeno')).toBe('open');
    expect(await vote('xeno', open)).toBe('decided');
  });

  test('is not voted on again by the person who takes over from its voter', async () => {
    const leaver = await app.createUser({ roles: ['approver'] });
    const heir = await app.createUser({ roles: ['approver'] });
    const id = await newTask({ assignee: leaver.id, candidates: candidates('bob'), quorum });
    expect(await act(await app.as(leaver), id, 'decision', { decision: 'approve' })).toBe('open');
    expect((await asAdmin.post(`/users/${leaver.id}/transfer`, { to: heir.id })).body).toMatchObject({
      human_tasks: 0,
    });
    expect(await act(await app.as(heir), id, 'decision', { decision: 'approve' })).toBe('not_found');
  });
});
