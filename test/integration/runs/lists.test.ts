/** Filters of the list of runs: they narrow what the caller sees, and show nobody more. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp, type TestUser } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let ann: TestUser;
let bob: TestUser;
let asAnn: Client;
let asBob: Client;
let asAdmin: Client;

beforeAll(async () => {
  app = await startTestApp();
  ann = await app.createUser({ roles: ['builder'] });
  bob = await app.createUser({ roles: ['builder'] });
  [asAnn, asBob, asAdmin] = [await app.as(ann), await app.as(bob), await app.as('admin')];
});
afterAll(() => app.close());

const idsOf = async (client: Client, query: string): Promise<string[]> => {
  const { status, body } = await client.get(`/runs?${query}`);
  expect([query, status, body.errors]).toEqual([query, 200, undefined]);
  return body.map(({ id }: { id: string }) => id);
};

async function runOf(owner: TestUser, workflowId: string): Promise<string> {
  const id = await insertRun(app.orm, { owner: owner.id, status: 'completed' });
  await app.orm.em.fork().execute('update run set workflow_id = ? where id = ?', [workflowId, id]);
  return id;
}

async function workflow(client: Client, tags: string[], visibility = 'private'): Promise<string> {
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const { status, body } = await client.post('/workflows', { name: 'w', definition, tags, visibility });
  expect(status).toBe(201);
  return body.id;
}

test('an owner is an id, or me, and shows nobody the runs of others', async () => {
  const id = await workflow(asAnn, [], 'public');
  const [annsRun, bobsRun] = [await runOf(ann, id), await runOf(bob, id)];
  const of = `workflow_id=${id}`;
  expect(await idsOf(asAdmin, of)).toEqual([bobsRun, annsRun]);
  expect(await idsOf(asAdmin, `${of}&owner_id=${ann.id}`)).toEqual([annsRun]);
  expect(await idsOf(asAdmin, `${of}&owner_id=me`)).toEqual([]);
  for (const owner of ['me', ann.id, ann.id.toUpperCase()])
    expect(await idsOf(asAnn, `${of}&owner_id=${owner}`)).toEqual([annsRun]);
  expect(await idsOf(asAnn, `${of}&owner_id=${bob.id}`)).toEqual([]);
  for (const owner of ['you', ''])
    expect((await asAnn.get(`/runs?owner_id=${owner}`)).body).toMatchObject({
      code: 'invalid_query',
      errors: [{ pointer: 'owner_id', message: 'must be the id of a user, or me' }],
    });
});

test('a tag is one of a workflow that the caller sees', async () => {
  const shared = await workflow(asAnn, ['money', 'with, comma "quoted"'], 'public');
  const other = await workflow(asAnn, ['other']);
  const [annsRun, bobsRun] = [await runOf(ann, shared), await runOf(bob, shared)];
  await runOf(ann, other);
  expect(await idsOf(asAnn, 'tag=money')).toEqual([annsRun]);
  expect(await idsOf(asBob, 'tag=money')).toEqual([bobsRun]);
  expect(await idsOf(asAdmin, 'tag=money')).toEqual([bobsRun, annsRun]);
  const quoted = encodeURIComponent('with, comma "quoted"');
  expect(await idsOf(asBob, `tag=${quoted}&status=completed`)).toEqual([bobsRun]);
  expect(await idsOf(asBob, 'tag=mon')).toEqual([]);
  // Bob keeps his run, but learns no tags of a workflow that is private by now.
  await asAnn.patch(`/workflows/${shared}`, { visibility: 'private' });
  expect(await idsOf(asBob, 'tag=money')).toEqual([]);
  expect(await idsOf(asBob, `workflow_id=${shared}`)).toEqual([bobsRun]);
  expect(await idsOf(asAnn, 'tag=money')).toEqual([annsRun]);
});

test('a search finds by text in the workflow’s name, or by a whole id', async () => {
  const [annsRun, bobsRun] = [
    await insertRun(app.orm, { owner: ann.id }),
    await insertRun(app.orm, { owner: bob.id }),
  ];
  expect(await idsOf(asAnn, `q=${annsRun}`)).toEqual([annsRun]);
  expect(await idsOf(asAnn, `q=${annsRun.toUpperCase()}`)).toEqual([annsRun]);
  expect(await idsOf(asAnn, 'q=URCHAS')).toContain(annsRun);
  expect(await idsOf(asAnn, `q=${annsRun.slice(0, 20)}`)).toEqual([]);
  expect(await idsOf(asAnn, `q=${bobsRun}`)).toEqual([]);
  expect(await idsOf(asAdmin, `q=${bobsRun}`)).toEqual([bobsRun]);
});
