import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import type { Quorum } from '../../../contracts/hitl.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let ann: TestUser;
let bob: TestUser;
let dora: TestUser;
let olga: TestUser;
let asAnn: Client;
let asBob: Client;
let asDora: Client;
let asAdmin: Client;
let runId: string;

beforeAll(async () => {
  app = await startTestApp();
  olga = await app.createUser({ username: 'olga', roles: ['builder'] });
  ann = await app.createUser({ username: 'ann', roles: ['approver'], groups: ['finance'] });
  bob = await app.createUser({ username: 'bob', roles: ['approver'] });
  dora = await app.createUser({ username: 'dora', roles: ['approver'] });
  [asAnn, asBob, asDora, asAdmin] = await Promise.all([
    app.as(ann),
    app.as(bob),
    app.as(dora),
    app.as('admin'),
  ]);
  runId = await insertRun(app.orm, { owner: olga.id });
});
afterAll(() => app.close());

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
const forPeople = (...users: string[]): Partial<NewHumanTask> => ({
  candidates: { users, roles: [], groups: [] },
});
const task = (given: Partial<NewHumanTask>): Promise<string> => insertTask(app.orm, runId, given);
const quorumOf = (given: Partial<Quorum>): Quorum => ({
  approvals: 2,
  rejections: 1,
  exclude_initiator: false,
  ...given,
});
const approve = (client: Client, id: string) =>
  client.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
const lists = async (client: Client, id: string): Promise<boolean> =>
  (await client.get('/hitl/tasks?limit=200')).body.some((one: { id: string }) => one.id === id);

/** Ann is away, and Dora is her deputy, while `during` runs. */
async function whileAway(during: () => Promise<void>): Promise<void> {
  const made = await asAnn.post('/absences', { deputy: 'DORA', until: inDays(3), note: 'Holiday' });
  expect(made.status).toBe(201);
  try {
    await during();
  } finally {
    expect((await asAnn.delete(`/absences/${made.body.id}`)).status).toBe(204);
  }
}

describe('an absence', () => {
  test('needs a deputy who may decide, a period, and no other absence in it', async () => {
    const refused = (body: object) => asAnn.post('/absences', body);
    expect((await refused({ deputy: 'ann', until: inDays(1) })).body.errors[0].code).toBe('same_person');
    const viewer = await app.user('viewer');
    expect((await refused({ deputy: viewer.id, until: inDays(1) })).body.errors[0].code).toBe(
      'cannot_decide',
    );
    expect((await refused({ deputy: 'dora', until: inDays(-1) })).status).toBe(422);
    expect((await refused({ deputy: 'nobody', until: inDays(1) })).body.errors[0].code).toBe('unknown_user');
    expect((await refused({ user_id: bob.id, deputy: 'dora', until: inDays(1) })).status).toBe(403);
    await whileAway(async () => {
      expect((await refused({ deputy: 'bob', until: inDays(1) })).body.code).toBe('absence_overlaps');
      expect((await asDora.get('/absences')).body).toMatchObject([
        { user: { id: ann.id }, deputy: { id: dora.id } },
      ]);
      expect((await asBob.get('/absences')).body).toEqual([]);
    });
  });

  test('lets the deputy see and decide, and the audit says for whom', async () => {
    const id = await task(forPeople('ann'));
    expect((await asDora.get(`/hitl/tasks/${id}`)).status).toBe(404);
    await whileAway(async () => {
      expect(await lists(asDora, id)).toBe(true);
      expect((await asDora.get(`/hitl/tasks/${id}`)).body.can).toContain('decide');
      const decided = await approve(asDora, id);
      expect(decided.body.decision).toMatchObject({ decided_by: dora.id });
      const [last] = (await asAnn.get(`/hitl/tasks/${id}/audit`)).body.toReversed();
      expect(last).toMatchObject({
        action: 'decided',
        actor: { id: dora.id },
        as_admin: false,
        data: { deputy_for: ann.id },
      });
    });
    expect((await asDora.get(`/hitl/tasks/${id}`)).status).toBe(404);
  });

  test('shows the deputy what is open or changes meanwhile, not what was decided before', async () => {
    const before = await task(forPeople('ann'));
    expect((await approve(asAnn, before)).status).toBe(200);
    const open = await task(forPeople('ann'));
    await whileAway(async () => {
      expect((await asDora.get(`/hitl/tasks/${before}`)).status).toBe(404);
      expect((await approve(asDora, open)).status).toBe(200);
      const { body } = await asDora.get('/hitl/tasks?scope=candidate&status=decided&limit=200');
      const ids = body.map(({ id }: { id: string }) => id);
      expect(ids).toContain(open);
      expect(ids).not.toContain(before);
    });
  });

  test('lets the deputy comment, and not as an admin', async () => {
    const id = await task(forPeople('ann'));
    await whileAway(async () => {
      expect((await asDora.post(`/hitl/tasks/${id}/comments`, { comment: 'Mine' })).status).toBe(201);
    });
    const [last] = (await asAnn.get(`/hitl/tasks/${id}/audit`)).body.toReversed();
    expect(last).toMatchObject({ action: 'commented', actor: { id: dora.id }, as_admin: false });
  });

  test('counts from its begin until its end', async () => {
    const id = await task(forPeople('ann'));
    const seen = async () => [
      (await asDora.get(`/hitl/tasks/${id}`)).status,
      await lists(asDora, id),
      (await asDora.get('/absences?current=true')).body.length,
    ];
    const made = await asAnn.post('/absences', { deputy: 'dora', from: inDays(1), until: inDays(2) });
    expect(made.status).toBe(201);
    const move = (days: number) =>
      app.orm.em.fork().execute(
        `update absence set from_at = from_at + make_interval(days => ?),
                              until_at = until_at + make_interval(days => ?) where id = ?`,
        [days, days, made.body.id],
      );
    expect(await seen()).toEqual([404, false, 0]);
    expect((await approve(asDora, id)).status).toBe(404);
    await move(-1);
    expect(await seen()).toEqual([200, true, 1]);
    await move(-1);
    expect(await seen()).toEqual([404, false, 0]);
    expect((await approve(asDora, id)).status).toBe(404);
    expect((await asAnn.get('/absences')).body.map((one: { id: string }) => one.id)).toContain(made.body.id);
  });

  test('is one step: the deputy of a deputy gets nothing', async () => {
    const id = await task(forPeople('ann'));
    await whileAway(async () => {
      const chained = await asDora.post('/absences', { deputy: 'bob', until: inDays(1) });
      expect(chained.status).toBe(201);
      expect((await asBob.get(`/hitl/tasks/${id}`)).status).toBe(404);
      await asDora.delete(`/absences/${chained.body.id}`);
    });
  });

  test('gives what the absent person has claimed to the deputy, who holds it for them', async () => {
    const id = await task(forPeople('ann', 'bob'));
    expect((await asAnn.post(`/hitl/tasks/${id}/claim`)).status).toBe(200);
    await whileAway(async () => {
      expect(await lists(asDora, id)).toBe(true);
      expect((await asDora.post(`/hitl/tasks/${id}/release`)).status).toBe(200);
      const claimed = await asDora.post(`/hitl/tasks/${id}/claim`);
      expect(claimed.body.claimed_by).toBe(ann.id);
      expect((await approve(asBob, id)).body.code).toBe('claimed_by_another');
      expect((await approve(asDora, id)).status).toBe(200);
    });
  });

  test('never gives the rights of an admin', async () => {
    const admin = await app.user('admin');
    const made = await asAdmin.post('/absences', { user_id: admin.id, deputy: 'dora', until: inDays(1) });
    const id = await task(forPeople('bob'));
    expect((await asDora.get(`/hitl/tasks/${id}`)).status).toBe(404);
    await asAdmin.delete(`/absences/${made.body.id}`);
  });

  test('ends with the role and the account of the two', async () => {
    const id = await task(forPeople('ann'));
    const em = app.orm.em.fork();
    await whileAway(async () => {
      await em.execute(`update user_account set status = 'disabled' where id = ?`, [ann.id]);
      expect((await asDora.get(`/hitl/tasks/${id}`)).status).toBe(404);
      await em.execute(`update user_account set status = 'active', roles = '{viewer}' where id = ?`, [
        ann.id,
      ]);
      expect((await asDora.get(`/hitl/tasks/${id}`)).status).toBe(404);
      await em.execute(`update user_account set roles = '{approver}' where id = ?`, [ann.id]);
    });
  });
});

describe('four eyes', () => {
  test('a person counts once: as themself and as a deputy', async () => {
    const id = await task({ ...forPeople('ann', 'bob', 'dora'), quorum: quorumOf({}) });
    await whileAway(async () => {
      expect((await approve(asDora, id)).body.decision.delivered).toBeNull();
      expect((await approve(asDora, id)).body.code).toBe('already_voted');
      expect(await lists(asDora, id)).toBe(false);
      expect((await asDora.get(`/hitl/tasks/${id}`)).body.cannot.decide).toBe('already_voted');
    });
    expect((await approve(asAnn, id)).body.task.status).toBe('decided');
  });

  test('an absent person whose deputy has voted has voted', async () => {
    const id = await task({ ...forPeople('ann', 'bob'), quorum: quorumOf({}) });
    await whileAway(async () => {
      expect((await approve(asDora, id)).status).toBe(200);
      expect((await approve(asAnn, id)).body.code).toBe('already_voted');
      expect(await lists(asAnn, id)).toBe(false);
    });
    const handed = await task({ ...forPeople('bob'), assignee: 'ann', quorum: quorumOf({}) });
    await whileAway(async () => expect((await approve(asDora, handed)).status).toBe(200));
    const heir = await app.createUser({ username: 'heir', roles: ['approver'] });
    expect((await asAdmin.post(`/users/${ann.id}/transfer`, { to: heir.id })).status).toBe(200);
    expect((await approve(await app.as(heir), handed)).status).toBe(404);
    const other = await task({ ...forPeople('ann', 'bob'), quorum: quorumOf({}) });
    await whileAway(async () => {
      expect((await approve(asAnn, other)).status).toBe(200);
      expect((await approve(asDora, other)).body.code).toBe('already_voted');
    });
  });

  test('whoever started the run decides neither as a deputy nor through one', async () => {
    const mine = await insertRun(app.orm, { owner: dora.id });
    const quorum = quorumOf({ approvals: 1, exclude_initiator: true });
    const byDora = await insertTask(app.orm, mine, { ...forPeople('ann'), quorum });
    const hers = await insertRun(app.orm, { owner: ann.id });
    const byAnn = await insertTask(app.orm, hers, { ...forPeople('ann', 'bob'), quorum });
    await whileAway(async () => {
      expect((await approve(asDora, byDora)).body.code).toBe('initiator_excluded');
      expect((await approve(asDora, byAnn)).status).toBe(403);
      expect(await lists(asDora, byDora)).toBe(false);
      expect(await lists(asDora, byAnn)).toBe(false);
    });
  });

  test('people and groups that the quorum excludes do not decide, nor do their deputies', async () => {
    const exclude = { users: ['BOB'], groups: ['finance'] };
    const quorum = quorumOf({ approvals: 1, exclude });
    const id = await task({ ...forPeople('ann', 'bob', 'dora'), quorum });
    expect((await approve(asBob, id)).body.code).toBe('person_excluded');
    expect((await approve(asAnn, id)).body.code).toBe('person_excluded');
    expect(await lists(asBob, id)).toBe(false);
    expect(await lists(asAnn, id)).toBe(false);
    const forAnn = await task({ ...forPeople('ann'), quorum });
    await whileAway(async () => expect((await approve(asDora, forAnn)).status).toBe(403));
    expect((await asDora.get(`/hitl/tasks/${id}`)).body.quorum.exclude).toEqual(exclude);
    expect((await approve(asDora, id)).status).toBe(200);
  });
});
