/** Searches for an erased person's names: what they look for, and what they meet under way. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { getUser } from '../../../domain/auth/users.ts';
import { continueErasures } from '../../../domain/privacy/continue-erasures.ts';
import { beginErasure } from '../../../domain/privacy/erase.ts';
import { NameSearches, soughtPerson } from '../../../domain/privacy/name-searches.ts';
import { PLACES_OF_RUNS } from '../../../domain/privacy/places-of-runs.ts';
import { searchBatch } from '../../../domain/privacy/search-texts.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { keepStatements, type KeepStatements } from '../../support/plans.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let admin: Client;
let boss: TestUser;
let kept: KeepStatements;

beforeAll(async () => {
  app = await startTestApp();
  boss = await app.user('admin');
  admin = await app.as('admin');
  kept = keepStatements(app.orm);
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const rows = <T>(sql: string, values: unknown[] = []): Promise<T[]> => fork().execute<T[]>(sql, values);
const files = { remove: async () => {} };
const textsOf = async ({ id }: TestUser) => (await admin.get(`/users/${id}/erasure`)).body.texts;

async function person(username: string, displayName: string | null = null): Promise<TestUser> {
  const user = await app.createUser({ username, roles: ['builder'] });
  await rows('update user_account set display_name = ?, email = ? where id = ?', [
    displayName,
    `${user.id}@example.com`,
    user.id,
  ]);
  return user;
}

async function begin(user: TestUser): Promise<void> {
  await fork().transactional(async (em) => {
    const actor = { id: boss.id, username: boss.username, roles: boss.roles, groups: [] };
    const choices = { runs: 'keep', freeText: 'replace' } as const;
    await beginErasure(em, actor, await getUser(em, user.id, true), choices);
  });
}

/** A run of the boss with an input and an entry in its log. */
async function runAbout(name: string, isEnded = true): Promise<string> {
  const id = await insertRun(app.orm, { owner: boss.id });
  await rows(`update run set input = json_build_object('by', ?::text) where id = ?`, [name, id]);
  if (isEnded) await rows(`update run set status = 'completed', finished_at = now() where id = ?`, [id]);
  await rows(
    `insert into run_event (run_id, seq, key, type, at, level, message, data)
     values (?, 500, 'a', 'x', now(), 'info', 'by ' || ?, '{}')`,
    [id, name],
  );
  return id;
}

async function inputOf(id: string): Promise<unknown> {
  return (await rows<{ input: unknown }>('select input from run where id = ?', [id]))[0]?.input;
}

/** How often the names of all accounts were read. */
async function namesRead(work: () => Promise<unknown>): Promise<number> {
  const statements = await kept(work);
  return statements.filter(({ sql }) => /from user_account u, unnest/.test(sql)).length;
}

test('the names of all accounts are read once, however many batches an erasure has', async () => {
  const user = await person('Many.Batches');
  await rows(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?::uuid, 'of Many.Batches ' || n, 'text/plain', 1, 'x'
       from generate_series(1, 1000) n`,
    [boss.id],
  );
  await runAbout('many.batches');
  await begin(user);
  expect(await namesRead(() => continueErasures({ fork, files }, 240_000))).toBe(1);
  expect((await textsOf(user)).replaced).toEqual({ files: 1_000, runs: 1, run_logs: 1 });
});

test('what is looked for is kept within a bound, and the oldest makes room', async () => {
  const [ann, bob] = [await person('Bounded.Ann'), await person('Bounded.Bob')];
  const looksFor = (searches: NameSearches, ...people: TestUser[]) =>
    namesRead(async () => {
      for (const { id, username } of people) await searches.of(fork(), id, { username });
    });
  const { search } = await soughtPerson(fork(), ann.id, { username: ann.username });
  const size = (search?.pattern.length ?? 0) + (search?.finder.size ?? 0);
  expect(size).toBeGreaterThan(100);
  expect(await looksFor(new NameSearches(), ann, bob, ann, bob)).toBe(2);
  const one = new NameSearches(size);
  expect(await looksFor(one, ann, ann, bob, bob, ann)).toBe(3);
  expect(await looksFor(new NameSearches(size - 1), ann, ann)).toBe(2);
});

test('a run that is about to end is waited for, and searched like those that have ended', async () => {
  const user = await person('About.ToEnd');
  const id = await runAbout('About.ToEnd', false);
  await begin(user);
  const [written, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ending = fork().transactional(async (em) => {
    await em.execute(`update run set status = 'completed', finished_at = now() where id = ?`, [id]);
    written.resolve();
    await released.promise;
  });
  await written.promise;
  const erasing = continueErasures({ fork, files }, 240_000);
  await until(
    () =>
      rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
    (waiting) => waiting.length > 0,
  );
  released.resolve();
  await Promise.all([ending, erasing]);
  expect(await inputOf(id)).toEqual({ by: `erased-${user.id}` });
  expect(await textsOf(user)).toMatchObject({ replaced: { runs: 1, run_logs: 1 }, stays: [] });
});

test('a run that goes on keeps its texts, and does not wait for the search', async () => {
  const user = await person('Goes.On');
  const id = await runAbout('Goes.On', false);
  await insertTask(app.orm, id, { title: 'for Goes.On' });
  await fork().transactional(async (em) => {
    const { search } = await soughtPerson(em, user.id, { username: user.username });
    if (search === null) throw new Error('the name is searched');
    for (const place of PLACES_OF_RUNS.filter(({ kind }) => ['human_tasks', 'runs'].includes(kind))) {
      const { findings } = await searchBatch(em, place, { ...search, mode: 'replace' }, null);
      expect(findings).toEqual([expect.objectContaining({ replaced: false, stay: 'live_run' })]);
    }
    // In the middle of the search's transaction.
    await fork().transactional(async (other) => {
      await other.execute(`set local lock_timeout = '1s'`);
      await other.execute(`update run set tags = '{on}' where id = ?`, [id]);
      await other.execute(`update hitl_task set priority = 1 where run_id = ?`, [id]);
    });
  });
  expect(await inputOf(id)).toEqual({ by: 'Goes.On' });
});

test('the id of a decision stays what the task has offered, also if a person has that name', async () => {
  const user = await person('dana.fox', 'Dana Fox');
  const id = await insertRun(app.orm, { owner: boss.id });
  const decision = 'Dana Fox';
  const taskId = await insertTask(app.orm, id, {
    title: 'Who does it?',
    decisions: [{ id: decision, label: 'Dana', requires_comment: false }],
  });
  const path = `/hitl/tasks/${taskId}`;
  expect((await admin.post(`${path}/decision`, { decision, comment: 'Dana Fox it is' })).status).toBe(200);
  await rows(`update run set status = 'completed', finished_at = now() where id = ?`, [id]);
  await begin(user);
  await continueErasures({ fork, files }, 240_000);
  const { body: task } = await admin.get(path);
  expect(task.decision).toMatchObject({ decision, comment: 'Erased user it is' });
  const history = (await admin.get(`${path}/audit`)).body as { data: Record<string, unknown> }[];
  expect(history.at(-1)?.data).toMatchObject({ decision, decision_id: task.decision.id });
  const [event] = await rows<{ message: string; data: Record<string, unknown> }>(
    `select message, data from run_event where run_id = ? and data ->> 'decision' is not null`,
    [id],
  );
  expect([event?.data['decision'], event?.message]).toEqual([
    decision,
    expect.stringContaining('decided Erased user'),
  ]);
});
