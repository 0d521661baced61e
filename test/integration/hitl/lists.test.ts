/** Counts and orders of human tasks. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NewHumanTask } from '../../../contracts/activities.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { aMomentAgo, inOneHour, insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let runId: string;

beforeAll(async () => {
  app = await startTestApp();
  runId = await insertRun(app.orm, { owner: (await app.user('builder')).id });
});
afterAll(() => app.close());

/** A new person, and tasks that are for them alone. */
async function person(): Promise<{
  user: TestUser;
  client: Client;
  task: (given?: Partial<NewHumanTask>) => Promise<string>;
}> {
  const user = await app.createUser({ roles: ['approver'] });
  const candidates = { users: [user.id], roles: [], groups: [] };
  return {
    user,
    client: await app.as(user),
    task: (given = {}) => insertTask(app.orm, runId, { candidates, ...given }),
  };
}

describe('the summary', () => {
  test('needs a token, and takes no parameters', async () => {
    expect((await app.anonymous.get('/hitl/summary')).status).toBe(401);
    const viewer = await app.as('viewer');
    expect((await viewer.get('/hitl/summary?scope=all')).status).toBe(400);
    expect((await viewer.get('/hitl/summary')).body).toEqual({ open: 0, overdue: 0, claimed_by_me: 0 });
  });

  test('counts what one can decide, what of it is late, and what one has claimed', async () => {
    const [ann, bob] = [await person(), await person()];
    const users = [ann.user.id, bob.user.id];
    const shared = await ann.task({ candidates: { users, roles: [], groups: [] } });
    const late = await ann.task({ due_at: aMomentAgo() });
    await ann.task({ due_at: inOneHour() });
    expect((await ann.client.get('/hitl/summary')).body).toEqual({ open: 3, overdue: 1, claimed_by_me: 0 });
    expect((await bob.client.get('/hitl/summary')).body).toEqual({ open: 1, overdue: 0, claimed_by_me: 0 });
    await bob.client.post(`/hitl/tasks/${shared}/claim`);
    await ann.client.post(`/hitl/tasks/${late}/claim`);
    expect((await ann.client.get('/hitl/summary')).body).toEqual({ open: 2, overdue: 1, claimed_by_me: 1 });
    expect((await bob.client.get('/hitl/summary')).body).toEqual({ open: 1, overdue: 0, claimed_by_me: 1 });
    await ann.client.post(`/hitl/tasks/${late}/decision`, { decision: 'approve' });
    expect((await ann.client.get('/hitl/summary')).body).toEqual({ open: 1, overdue: 0, claimed_by_me: 0 });
  });

  test('counts to 1,000', async () => {
    const { client, task } = await person();
    const first = await task({ due_at: aMomentAgo() });
    await app.orm.em.fork().execute(
      `insert into hitl_task (id, run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
                              decisions, priority, candidates, candidate_keys, due_at)
       select gen_random_uuid(), run_id, workflow_name, owner_id, initiator_id, task, task_name, title,
              decisions, priority, candidates, candidate_keys, due_at
         from hitl_task, generate_series(1, 1000) where id = ?`,
      [first],
    );
    const { body } = await client.get('/hitl/summary');
    expect(body).toEqual({ open: 1_000, overdue: 1_000, claimed_by_me: 0 });
  });
});
