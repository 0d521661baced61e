/** Counts and orders of human tasks. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
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

describe('the list', () => {
  /** All pages, by their `Link`. */
  async function readAll(client: Client, path: string): Promise<string[]> {
    const ids: string[] = [];
    let next: string | undefined = path;
    while (next !== undefined && ids.length < 100) {
      const { status, body, headers } = await client.get(next);
      expect(status).toBe(200);
      ids.push(...body.map(({ id }: { id: string }) => id));
      const link = /<([^>]*)>/.exec(headers.get('link') ?? '')?.[1];
      next = link === undefined ? undefined : link.slice(link.indexOf('/hitl'));
    }
    return ids;
  }

  /** A person whose tasks are, by name, in each of the orders. */
  async function someTasks() {
    const { client, task, user } = await person();
    const due = (day: number) => `2027-01-0${day}T00:00:00.000Z`;
    const ids = {
      plain: await task(),
      urgent: await task({ priority: 90, due_at: due(5) }),
      soon: await task({ due_at: due(2) }),
      alsoSoon: await task({ due_at: due(2) }),
      slow: await task({ priority: 10, due_at: due(3) }),
      last: await task({ priority: 10 }),
    };
    // Finer than what a record shows.
    await app.orm.em
      .fork()
      .execute(`update hitl_task set due_at = due_at + interval '7 microseconds' where id = ?`, [ids.soon]);
    return { client, user, ids, due };
  }

  test('has three orders, each the same on pages of any size', async () => {
    const { client, ids } = await someTasks();
    const { plain, urgent, soon, alsoSoon, slow, last } = ids;
    const orders = {
      priority: [urgent, plain, soon, alsoSoon, slow, last],
      due: [alsoSoon, soon, slow, urgent, plain, last],
      created: [plain, urgent, soon, alsoSoon, slow, last],
    };
    expect(await readAll(client, '/hitl/tasks')).toEqual(orders.priority);
    for (const [sort, order] of Object.entries(orders))
      for (const limit of [1, 2, 4, 200])
        expect([sort, limit, await readAll(client, `/hitl/tasks?sort=${sort}&limit=${limit}`)]).toEqual([
          sort,
          limit,
          order,
        ]);
    expect((await client.get('/hitl/tasks?sort=name')).body.errors).toMatchObject([{ pointer: 'sort' }]);
  });

  test('refuses the cursor of another order', async () => {
    const { client } = await someTasks();
    const cursorOf = async (sort: string) => {
      const { headers } = await client.get(`/hitl/tasks?sort=${sort}&limit=1`);
      return new URL(/<([^>]*)>/.exec(headers.get('link') ?? '')?.[1] ?? '').searchParams.get('cursor');
    };
    const sorts = ['priority', 'due', 'created'];
    for (const from of sorts) {
      const cursor = await cursorOf(from);
      for (const sort of sorts) {
        const { status, body } = await client.get(`/hitl/tasks?sort=${sort}&cursor=${cursor}`);
        expect([from, sort, status]).toEqual([from, sort, from === sort ? 200 : 400]);
        if (from !== sort) {
          expect(body).toMatchObject({ code: 'invalid_cursor', errors: [{ pointer: 'cursor' }] });
          expect(body.detail).toContain('another order');
        }
      }
    }
    // A time that PostgreSQL does not know, in a cursor that somebody wrote.
    for (const at of ['0000-01-01T00:00:00Z', 'infinity', 7]) {
      const cursor = Buffer.from(JSON.stringify(['due', at, uuidv7()])).toString('base64url');
      expect((await client.get(`/hitl/tasks?sort=due&cursor=${cursor}`)).body.code).toBe('invalid_cursor');
    }
  });

  test('filters by due time and by who has claimed', async () => {
    const { client, user, ids, due } = await someTasks();
    const { urgent, soon, alsoSoon, slow, plain } = ids;
    expect(await readAll(client, `/hitl/tasks?sort=due&due_before=${due(3)}`)).toEqual([alsoSoon, soon]);
    // The same moment, written elsewhere in the world.
    const elsewhere = encodeURIComponent('2027-01-03T23:59:00.001+23:59');
    expect(await readAll(client, `/hitl/tasks?sort=due&limit=1&due_before=${elsewhere}`)).toEqual([
      alsoSoon,
      soon,
      slow,
    ]);
    for (const id of [urgent, plain]) await client.post(`/hitl/tasks/${id}/claim`);
    for (const claimant of ['me', user.id])
      expect(await readAll(client, `/hitl/tasks?claimed_by=${claimant}`)).toEqual([urgent, plain]);
    expect(await readAll(client, `/hitl/tasks?claimed_by=${uuidv7()}`)).toEqual([]);
    expect((await client.get('/hitl/tasks?claimed_by=you')).body.errors).toMatchObject([
      { pointer: 'claimed_by', message: 'must be the id of a user, or me' },
    ]);
    // A filter shows nobody what is not theirs.
    const stranger = (await person()).client;
    for (const scope of ['mine', 'candidate'])
      expect(await readAll(stranger, `/hitl/tasks?scope=${scope}&claimed_by=${user.id}`)).toEqual([]);
    expect((await stranger.get(`/hitl/tasks?scope=all&claimed_by=${user.id}`)).status).toBe(403);
  });
});

describe('the list of a team', () => {
  test("has the tasks of the runs of the team's workflows that the caller sees, and no others", async () => {
    const { client, user, task } = await person();
    const member = await app.createUser({ roles: ['viewer'] });
    const admin = await app.as('admin');
    const { body: team } = await admin.post('/teams', { name: 'payroll', admin: member.id });
    const { body: other } = await admin.post('/teams', { name: 'pensions', admin: member.id });
    const run = await insertRun(app.orm, { owner: member.id, team: team.id });
    const ofTeam = await insertTask(app.orm, run, {
      candidates: { users: [user.id], roles: [], groups: [], teams: [other.id] },
    });
    await task();
    const listed = async (one: Client, query: string): Promise<unknown[]> => {
      const { status, body } = await one.get(`/hitl/tasks?team_id=${query}`);
      expect(status).toBe(200);
      return body.map(({ id, team_id }: { id: string; team_id: string | null }) => [id, team_id]);
    };
    expect(await listed(client, team.id)).toEqual([[ofTeam, team.id]]);
    expect(await listed(client, `${team.id}&sort=due&status=open,decided`)).toEqual([[ofTeam, team.id]]);
    expect(await listed(client, `${team.id}&status=decided`)).toEqual([]);
    // The team that a task names is not the team of its run.
    const asMember = await app.as(member);
    expect(await listed(asMember, other.id)).toEqual([]);
    expect(await listed(asMember, team.id)).toEqual([[ofTeam, team.id]]);
    expect(await listed((await person()).client, `${team.id}&scope=candidate`)).toEqual([]);
    expect(await listed(admin, `${team.id}&scope=all`)).toEqual([[ofTeam, team.id]]);
    expect((await client.get('/hitl/tasks?team_id=payroll')).body.errors).toMatchObject([
      { pointer: 'team_id' },
    ]);
  });
});

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
