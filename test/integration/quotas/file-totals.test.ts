/** Totals of files are kept by a trigger, exact whatever adds, changes and removes files at once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { databaseFindings } from '../../../dev/server/checks/database.ts';
import { recountFiles, wrongTotals } from '../../../domain/quotas/file-totals.ts';
import { removeEndedRuns } from '../../../domain/retention/remove.ts';
import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let admin: Client;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
});
afterAll(() => app.close());

const fork = () => app.orm.em.fork();
const sql = (text: string, values: unknown[] = []) => fork().execute<any[]>(text, values);

interface Person {
  user: TestUser;
  client: Client;
}

async function person(): Promise<Person> {
  const user = await app.createUser({ roles: ['builder'] });
  return { user, client: await app.as(user) };
}

async function upload({ client }: Person, bytes: number, query = ''): Promise<string> {
  const headers = { 'content-type': 'text/plain' };
  const { status, body } = await client.post(`/files${query}`, 'x'.repeat(bytes), { headers });
  expect(status).toBe(201);
  return body.id;
}

async function used(client: Client, query = ''): Promise<{ stored_bytes: number; files: number }> {
  const { limits } = (await client.get(`/usage/limits${query}`)).body;
  const of = (name: string): number => limits.find((one: any) => one.name === name).used;
  return { stored_bytes: of('stored_bytes'), files: of('files') };
}

test('totals follow uploads, moves, renames and deletions, many at once', async () => {
  const people = await Promise.all([person(), person(), person()]);
  const [ann, bob] = people as [Person, Person, Person];
  const team = (await admin.post('/teams', { name: 'totals', admin: ann.user.id })).body;
  await admin.put(`/teams/${team.id}/members/${bob.user.id}`, { role: 'admin' });
  const churn = async (who: Person, n: number): Promise<void> => {
    const kept = await upload(who, 10 + n);
    const gone = await upload(who, 1_000);
    await who.client.patch(`/files/${kept}`, { name: `n${n}` });
    if (n % 3 === 0 && who !== people[2]) await who.client.patch(`/files/${kept}`, { team_id: team.id });
    expect((await who.client.delete(`/files/${gone}`)).status).toBe(204);
  };
  await Promise.all(people.flatMap((who) => Array.from({ length: 12 }, (_, n) => churn(who, n))));
  expect(await wrongTotals(fork())).toEqual([]);
  expect(await used(ann.client)).toEqual({
    stored_bytes: 8 * 10 + 1 + 2 + 4 + 5 + 7 + 8 + 10 + 11,
    files: 8,
  });
  expect(await used(ann.client, `?team_id=${team.id}`)).toEqual({ stored_bytes: 2 * (40 + 18), files: 8 });
  const [{ bytes }] = await sql('select coalesce(sum(size), 0)::int as bytes from file');
  expect((await used(admin, '?platform=true')).stored_bytes).toBe(bytes);
});

test('totals follow retention, a transfer, and statements of copies that know nothing of them', async () => {
  const [ann, bob] = await Promise.all([person(), person()]);
  const run = await insertRun(app.orm, { owner: ann.user.id });
  await sql(
    `insert into file (id, owner_id, name, media_type, size, sha256, of_runs)
     select gen_random_uuid(), ?, 'f', 'text/plain', 2000000000, repeat('0', 64), n > 5
        from generate_series(1, 10) n`,
    [ann.user.id],
  );
  expect(await used(ann.client)).toEqual({ stored_bytes: 20_000_000_000, files: 5 });
  await sql(`insert into run_file (run_id, file_id) select ?, id from file where owner_id = ? and of_runs`, [
    run,
    ann.user.id,
  ]);
  await sql(
    `update run set status = 'completed', finished_at = clock_timestamp() - interval '10 days' where id = ?`,
    [run],
  );
  await removeEndedRuns(fork(), 1);
  expect(await used(ann.client)).toEqual({ stored_bytes: 10_000_000_000, files: 5 });
  await admin.patch(`/users/${bob.user.id}`, { quotas: { stored_bytes: 20_000_000_000 } });
  expect((await admin.post(`/users/${ann.user.id}/transfer`, { to: bob.user.id })).status).toBe(200);
  expect(await used(ann.client)).toEqual({ stored_bytes: 0, files: 0 });
  expect(await used(bob.client)).toEqual({ stored_bytes: 10_000_000_000, files: 5 });
  await expect(
    fork().transactional(async (em) => {
      await em.execute('delete from file where owner_id = ?', [bob.user.id]);
      throw new Error('rolled back');
    }),
  ).rejects.toThrow();
  expect(await used(bob.client)).toEqual({ stored_bytes: 10_000_000_000, files: 5 });
  expect(await wrongTotals(fork())).toEqual([]);
});

test('the doctor finds totals that are not those of the files, and a recount repairs them', async () => {
  const ann = await person();
  await upload(ann, 10);
  const finding = async () =>
    (await databaseFindings(fork(), app.app.deps.env)).find(({ check }) => check === 'totals of files');
  expect(await finding()).toMatchObject({ status: 'ok' });
  await sql('update file_total set bytes = bytes + 5 where holder_id = ?', [ann.user.id]);
  expect(await finding()).toMatchObject({
    status: 'error',
    detail: expect.stringContaining('cadenza server recount'),
  });
  const uploads = Promise.all([1, 2, 3].map(() => upload(ann, 10)));
  expect(await recountFiles(fork)).toEqual([ann.user.id]);
  await uploads;
  expect(await finding()).toMatchObject({ status: 'ok' });
  expect(await used(ann.client)).toEqual({ stored_bytes: 40, files: 4 });
  expect(await recountFiles(fork)).toEqual([]);
});
