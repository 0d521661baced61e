/** Files for the start of a workflow: docs/events-and-files.md#files-of-people-who-build-nothing. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { linkFiles, readableFiles } from '../../../domain/files/run-files.ts';
import { checkWaiting, removeExpiredFiles } from '../../../domain/files/start-files.ts';
import { wrongTotals } from '../../../domain/quotas/file-totals.ts';
import { removeEndedRuns } from '../../../domain/retention/remove.ts';
import { agentBody } from '../../support/agent-body.ts';
import { startTestApp, type Client, type Reply, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun, insertTask } from '../../support/human-tasks.ts';
import { explainAll, keepStatements } from '../../support/plans.ts';

const DAY_MS = 24 * 3_600_000;
const definition = { do: [{ first: { set: { a: 1 } } }] };

let app: TestApp;
let admin: Client;
let asOlga: Client;
/** A viewer who may start `workflow` as a runner, and nothing else. */
let rita: TestUser;
let asRita: Client;
let workflow: string;

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  asOlga = await app.as(await app.createUser({ username: 'olga', roles: ['builder'] }));
  [rita, asRita] = await runnerNamed('rita');
  workflow = await workflowFor('rita');
});
afterAll(() => app.close());

const sql = (text: string, values: unknown[] = []) => app.orm.em.fork().execute<any[]>(text, values);

async function runnerNamed(username: string): Promise<[TestUser, Client]> {
  const user = await app.createUser({ username, roles: ['viewer'] });
  return [user, await app.as(user)];
}

async function workflowFor(...users: string[]): Promise<string> {
  const { status, body } = await asOlga.post('/workflows', {
    name: 'expense',
    definition,
    runners: { users },
  });
  expect(status).toBe(201);
  return body.id;
}

const upload = (
  client: Client,
  query: string,
  content = 'receipt',
  headers: Record<string, string> = {},
): Promise<Reply> =>
  client.post(`/files${query}`, content, { headers: { 'content-type': 'text/plain', ...headers } });
const start = (client: Client, id: string, file: string): Promise<Reply> =>
  client.post(`/workflows/${id}/run`, { input_params: { receipt: { file_id: file } } });
const filesOf = async (run: string): Promise<string[]> =>
  (await sql('select file_id from run_file where run_id = ?', [run])).map((row) => row.file_id);

test('a runner uploads a private file, and starts the workflow with it', async () => {
  const query = `?workflow=${workflow}&name=receipt.txt&visibility=public`;
  const { status, body: file } = await upload(asRita, query);
  expect([status, file]).toEqual([
    201,
    expect.objectContaining({
      name: 'receipt.txt',
      owner_id: rita.id,
      visibility: 'private',
      team_id: null,
      workflow_id: workflow,
    }),
  ]);
  const lifetimeMs = Date.parse(file.expires_at) - Date.parse(file.created_at);
  expect(Math.abs(lifetimeMs - DAY_MS)).toBeLessThan(10_000);
  expect((await asOlga.get(`/files/${file.id}`)).status).toBe(404);
  const run = await start(asRita, workflow, file.id);
  expect(run.status).toBe(201);
  expect(await filesOf(run.body.id)).toEqual([file.id]);
  expect((await asRita.get(`/files/${file.id}/metadata`)).body.expires_at).toBeNull();
  expect((await asRita.get(`/files?run_id=${run.body.id}`)).body).toMatchObject([{ id: file.id }]);
  expect((await asRita.get(`/files/${file.id}`)).body).toBe('receipt');
  expect((await asOlga.get(`/files/${file.id}`)).status).toBe(404);
});

test('only those who may start the workflow upload for it, and for one thing at a time', async () => {
  const stranger = await app.as(await app.createUser({ roles: ['viewer'] }));
  expect((await upload(stranger, `?workflow=${workflow}`)).status).toBe(404);
  expect((await upload(stranger, '')).body.code).toBe('role_required');
  await asOlga.patch(`/workflows/${workflow}`, { visibility: 'public' });
  const refused = await upload(stranger, `?workflow=${workflow}`);
  expect([refused.status, refused.body.code]).toEqual([403, 'role_required']);
  await asOlga.patch(`/workflows/${workflow}`, { visibility: 'private' });
  expect((await upload(asRita, '')).body.code).toBe('role_required');
  expect((await upload(asRita, `?workflow=${await workflowFor('olga')}`)).status).toBe(404);
  expect((await upload(asRita, '?workflow=none')).status).toBe(400);
  for (const other of ['human_task', 'team_id']) {
    const both = await upload(asOlga, `?workflow=${workflow}&${other}=${workflow}`);
    expect([both.status, both.body.code]).toEqual([400, 'invalid_query']);
  }
  const task = await insertTask(app.orm, await insertRun(app.orm, { owner: rita.id }), {
    assignee: 'rita',
    candidates: { users: ['rita'], roles: [], groups: [] },
  });
  expect((await upload(asRita, `?human_task=${task}`)).body.code).toBe('role_required');
});

test('only the input of runs of that workflow takes the file', async () => {
  const other = await workflowFor('rita');
  const file = (await upload(asRita, `?workflow=${workflow}`)).body.id;
  const refusal = {
    status: 422,
    body: {
      code: 'file_unavailable',
      errors: [{ pointer: '/input_params/receipt/file_id', message: expect.stringContaining(file) }],
    },
  };
  expect(await start(asRita, other, file)).toMatchObject(refusal);
  const elsewhere = (await start(asRita, other, 'none')).body.id;
  const run = (await start(asRita, workflow, 'none')).body.id;
  const em = app.orm.em.fork();
  for (const id of [elsewhere, run]) {
    await linkFiles(em, { id, owner_id: rita.id }, [file]);
    expect(await readableFiles(em, { id, owner_id: rita.id }, [file])).toEqual([]);
  }
  const taken = (await start(asRita, workflow, file)).body.id;
  expect(await readableFiles(em, { id: taken, owner_id: rita.id }, [file])).toEqual([file]);
  // Another runner cannot use it, though they know its id.
  const [sam, asSam] = await runnerNamed('sam');
  await asOlga.patch(`/workflows/${workflow}`, { runners: { users: ['rita', 'sam'] } });
  expect(await start(asSam, workflow, file)).toMatchObject(refusal);
  expect(await sql('select id from run where owner_id = ?', [sam.id])).toEqual([]);
});

test('a start that names a removed file is refused at once, and no run is left', async () => {
  const { id } = (await upload(asRita, `?workflow=${workflow}`)).body;
  await sql(`update file set expires_at = now() - interval '1 second' where id = ?`, [id]);
  await removeExpiredFiles(app.orm.em.fork());
  const runs = async (): Promise<number> => (await asRita.get('/runs?limit=100')).body.length;
  const before = await runs();
  const input = { 'a/b': [{ file_id: 'f1' }, { deep: { file_id: id.toUpperCase() } }] };
  expect(await asRita.post(`/workflows/${workflow}/run`, { input_params: input })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/input_params/a~1b/1/deep/file_id', code: 'file_unavailable' }] },
  });
  const { body: agent } = await asOlga.post('/agents', agentBody());
  const invoked = await asOlga.post(`/agents/${agent.id}/invoke`, { input: { files: [{ file_id: id }] } });
  expect(invoked).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/input/files/0/file_id', code: 'file_unavailable' }] },
  });
  expect(await runs()).toBe(before);
  // No id that this platform makes: another system's, which a workflow may hand on.
  expect((await start(asRita, workflow, randomUUID())).status).toBe(201);
});

test('it stays private and of its owner, who may remove it', async () => {
  const { id } = (await upload(asRita, `?workflow=${workflow}`)).body;
  const team = (await admin.post('/teams', { name: 'ritas', admin: rita.id })).body.id;
  for (const change of [{ visibility: 'public' }, { team_id: team }]) {
    const { status, body } = await asRita.patch(`/files/${id}`, change);
    expect([status, body.code]).toEqual([409, 'file_attached']);
  }
  expect((await asRita.patch(`/files/${id}`, { name: 'other.txt' })).body.name).toBe('other.txt');
  expect((await asRita.delete(`/files/${id}`)).status).toBe(204);
});

test('a runner has smaller files than a builder, 50 that wait, and their quota of bytes', async () => {
  const [ada, asAda] = await runnerNamed('ada');
  const id = await workflowFor('ada');
  const large = 'x'.repeat(25 * 1024 * 1024 + 1);
  const refused = await upload(asAda, `?workflow=${id}`, large);
  expect([refused.status, refused.body.code]).toEqual([413, 'file_too_large']);
  expect(refused.body.detail).toContain('25 MiB');
  expect((await upload(asOlga, `?workflow=${id}`, large)).status).toBe(201);

  await admin.patch(`/users/${ada.id}`, { quotas: { stored_bytes: 10, files: 1 } });
  const first = await upload(asAda, `?workflow=${id}`, '1234567');
  expect((await upload(asAda, `?workflow=${id}`, '1')).status).toBe(201);
  const full = await upload(asAda, `?workflow=${id}`, '1234567');
  expect([full.status, full.body]).toMatchObject([409, { code: 'limit_reached', quota: 'stored_bytes' }]);
  await admin.patch(`/users/${ada.id}`, { quotas: { stored_bytes: null } });

  await sql(
    `insert into file (id, owner_id, name, media_type, size, sha256, of_runs, attached, workflow_id,
                       expires_at)
     select gen_random_uuid(), ?, 'f', 'text/plain', 0, '', true, true, ?, now() + interval '1 hour'
       from generate_series(1, 48)`,
    [ada.id, id],
  );
  const many = await upload(asAda, `?workflow=${id}`);
  expect([many.status, many.body.code]).toEqual([409, 'limit_reached']);
  expect((await start(asAda, id, first.body.id)).status).toBe(201);
  const atOnce = await Promise.all([1, 2, 3].map(() => upload(asAda, `?workflow=${id}`)));
  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
});

test('a repeated upload with the same key stores one file', async () => {
  const key = { 'idempotency-key': 'start-files-1' };
  const first = await upload(asRita, `?workflow=${workflow}`, 'once', key);
  const again = await upload(asRita, `?workflow=${workflow}`, 'once', key);
  expect([again.status, again.body.id]).toEqual([201, first.body.id]);
  const other = await upload(asRita, `?workflow=${await workflowFor('rita')}`, 'once', key);
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
});

test('a file that no run takes within a day is removed, another goes with its last run', async () => {
  const [waiting, late, taken] = [
    (await upload(asRita, `?workflow=${workflow}`)).body.id,
    (await upload(asRita, `?workflow=${workflow}`)).body.id,
    (await upload(asRita, `?workflow=${workflow}`)).body.id,
  ];
  const run = (await start(asRita, workflow, taken)).body.id;
  await sql(
    `update file set expires_at = expires_at - interval '25 hours'
      where id in (?, ?) and expires_at is not null`,
    [late, taken],
  );
  expect(await removeExpiredFiles(app.orm.em.fork())).toEqual([late]);
  expect(await removeExpiredFiles(app.orm.em.fork())).toEqual([]);
  const statuses = async () =>
    Promise.all([waiting, late, taken].map(async (id) => (await asRita.get(`/files/${id}/metadata`)).status));
  expect(await statuses()).toEqual([200, 404, 200]);
  await sql(`update run set status = 'completed', finished_at = now() - interval '100 days' where id = ?`, [
    run,
  ]);
  expect((await removeEndedRuns(app.orm.em.fork(), 90)).files).toEqual([taken]);
  expect(await wrongTotals(app.orm.em.fork())).toEqual([]);
});

test('a removal and a start at the same time: the run has the file, or the file is gone', async () => {
  const { id } = (await upload(asRita, `?workflow=${workflow}`)).body;
  await sql(`update file set expires_at = now() - interval '1 second' where id = ?`, [id]);
  const em = app.orm.em.fork();
  await em.transactional(async (tx) => {
    await tx.execute('select from file where id = ? for key share', [id]);
    expect(await removeExpiredFiles(app.orm.em.fork())).toEqual([]);
  });
  const [run, removed] = await Promise.all([
    start(asRita, workflow, id),
    removeExpiredFiles(app.orm.em.fork()),
  ]);
  expect([run.status, removed]).toEqual(removed.length === 0 ? [201, []] : [422, [id]]);
  if (run.status === 201) expect(await filesOf(run.body.id)).toEqual([id]);
});

test('counting and removing read the files that wait, and no others', async () => {
  const kept = keepStatements(app.orm);
  await sql(
    `insert into file (id, owner_id, name, media_type, size, sha256, of_runs, attached, workflow_id)
     select gen_random_uuid(), ?, 'f', 'text/plain', 0, '', true, true, ? from generate_series(1, 20000)`,
    [rita.id, workflow],
  );
  await sql('analyze file');
  const statements = await kept(async () => {
    await app.orm.em.fork().transactional((em) => checkWaiting(em, rita.id, workflow));
    await removeExpiredFiles(app.orm.em.fork());
  });
  expect(statements).toHaveLength(3);
  const { scanned, read } = await explainAll(app.orm, statements, ['file']);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThan(200);
});
