import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';

let app: TestApp;
let asAnn: Client;
let asBob: Client;
let asOlga: Client;
let runId: string;

beforeAll(async () => {
  app = await startTestApp();
  const olga = await app.createUser({ username: 'olga', roles: ['builder'] });
  const ann = await app.createUser({ username: 'ann', roles: ['approver'] });
  const bob = await app.createUser({ username: 'bob', roles: ['approver'] });
  [asOlga, asAnn, asBob] = await Promise.all([app.as(olga), app.as(ann), app.as(bob)]);
  runId = await insertRun(app.orm, { owner: olga.id });
});
afterAll(() => app.close());

const upload = (client: Client, query: string, content = 'receipt'): Promise<Reply> =>
  client.post(`/files${query}`, content, { headers: { 'content-type': 'text/plain' } });
const forAnn = () => insertTask(app.orm, runId, { candidates: { users: ['ann'], roles: [], groups: [] } });

test('whoever may decide a task attaches files to the decision, which the run can read', async () => {
  const id = await forAnn();
  const query = `?human_task=${id}&name=receipt.txt&visibility=public`;
  expect((await upload(asAnn, '')).body.code).toBe('role_required');
  expect((await upload(asBob, query)).status).toBe(404);
  const file = (await upload(asAnn, query)).body;
  expect(file).toMatchObject({ name: 'receipt.txt', visibility: 'private' });
  const decided = await asAnn.post(`/hitl/tasks/${id}/decision`, {
    decision: 'approve',
    payload: { receipt: { file_id: file.id } },
  });
  expect(decided.status).toBe(200);
  expect((await asOlga.get(`/files/${file.id}/metadata`)).status).toBe(200);
  expect((await asBob.get(`/files/${file.id}/metadata`)).status).toBe(404);
  expect((await upload(asAnn, query)).body.code).toBe('already_decided');
});

test('files of decisions are bounded in size and number', async () => {
  const query = `?human_task=${await forAnn()}`;
  const large = await upload(asAnn, query, 'x'.repeat(25 * 1024 * 1024 + 1));
  expect([large.status, large.body.code]).toEqual([413, 'file_too_large']);
  await app.orm.em.fork().execute(
    `with made as (
       insert into file (id, owner_id, name, media_type, size, sha256, visibility, of_runs)
       select gen_random_uuid(), id, 'f', 'text/plain', 0, '', 'private', true
         from user_account, generate_series(1, 50) where username = 'ann' returning id)
     insert into run_file (run_id, file_id) select ?, id from made`,
    [runId],
  );
  expect((await upload(asAnn, query)).body.code).toBe('limit_reached');
});
