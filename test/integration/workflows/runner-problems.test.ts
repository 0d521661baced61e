/** Warnings about tasks of a workflow that its runners may not decide. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type TestApp } from '../../support/app.ts';

let app: TestApp;
let builder: Client;
const definition = { do: [{ review: { call: 'human', with: { title: 'Go?', decisions: ['ok'] } } }] };
const warning = expect.objectContaining({
  pointer: '/do/0/review',
  code: 'runner_cannot_decide',
  severity: 'warning',
});

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
});
afterAll(() => app.close());

test.each<[string, object]>([
  ['users', { users: ['the-builder'] }],
  ['groups', { groups: ['staff'] }],
  ['everyone', { everyone: true }],
])(
  'a workflow with %s as runners warns of a task that only its starter may decide',
  async (_case, runners) => {
    const created = await builder.post('/workflows', { name: 'ask', definition, runners });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ valid: true, runnable: true, problems: [warning] });
  },
);

test('the warning comes and goes with the runners and the candidates', async () => {
  const { body } = await builder.post('/workflows', { name: 'later', definition, visibility: 'public' });
  expect(body.problems).toEqual([]);
  const path = `/workflows/${body.id}`;
  const given = await builder.patch(path, { runners: { everyone: true } });
  expect([given.body.problems, given.body.revision]).toEqual([[warning], 1]);
  const listed = (await builder.get('/workflows?q=later')).body;
  expect(listed).toMatchObject([{ problems: [warning] }]);
  // Who may not change the workflow does not learn that it has runners.
  const seen = await (await app.as('viewer')).get(path);
  expect([seen.status, seen.body.runners, seen.body.problems]).toEqual([200, null, []]);
  const task = { title: 'Go?', decisions: ['ok'], candidates: { roles: ['approver'] } };
  const named = { do: [{ review: { call: 'human', with: task } }] };
  expect((await builder.patch(path, { definition: named })).body.problems).toEqual([]);
  expect((await builder.patch(path, { definition })).body.problems).toEqual([warning]);
  expect((await builder.patch(path, { runners: { everyone: false } })).body.problems).toEqual([]);
});
