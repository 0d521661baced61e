/** The sentence of a refusal names the parameter, what was given if it is no secret, and what is expected. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type Client, type Reply, type TestApp } from '../../support/app.ts';

let app: TestApp;
let builder: Client;

beforeAll(async () => {
  app = await startTestApp();
  builder = await app.as('builder');
});
afterAll(() => app.close());

const refusal = async (reply: Promise<Reply>): Promise<unknown[]> => {
  const { status, body } = await reply;
  return [status, body.detail];
};
const UUID = 'must be a UUID such as 0198c0de-1f2a-7b3c-8d4e-5f60718293a4';
const TIME = 'must be a time such as 2026-03-31T08:00:00Z (RFC 3339)';

test.each([
  ['/runs?limit=abc', 400, 'limit must be a whole number from 1 to 200, but is "abc"'],
  ['/runs?limit=1&limit=2', 400, 'limit must be a whole number from 1 to 200, but is given more than once'],
  ['/usage?from=yesterday', 400, `from ${TIME}, but is "yesterday"`],
  ['/usage/csv?to=2026-13-01', 400, `to ${TIME}, but is "2026-13-01"`],
  ['/audit?from=yesterday', 400, `from ${TIME}, but is "yesterday"`],
  ['/usage?by=week', 400, 'by must be run, task, agent, workflow, user, day or model, but is "week"'],
  ['/hitl/tasks?run_id=abc', 400, `run_id ${UUID}, but is "abc"`],
  ['/agents/abc', 404, `There is no such agent: id ${UUID}, but is "abc".`],
  ['/workflows/abc/revisions/1', 404, `There is no such workflow: id ${UUID}, but is "abc".`],
])('GET %s', async (path, status, detail) => {
  expect(await refusal(builder.get(path))).toEqual([status, detail]);
});

test('a secret is not repeated, whatever it is', async () => {
  const put = (value: unknown): Promise<unknown[]> => refusal(builder.put('/secrets/KEY', { value }));
  expect(await put(12345)).toEqual([422, '/value: must be text or an object, but is a number']);
  expect(await put(['hidden'])).toEqual([422, '/value: must be text or an object, but is an array']);
  expect(await put('')).toEqual([422, '/value: must not be empty']);
  expect(await refusal(builder.put('/secrets/KEY', {}))).toEqual([422, '/value: is required']);
});

test('an unknown name gets the nearest that is known, or all parameters', async () => {
  const definition = { do: [{ step: { set: { a: 1 } } }] };
  const { id } = (await builder.post('/workflows', { name: 'w', definition })).body;
  expect(await refusal(builder.post(`/workflows/${id}/run`, { input: {} }))).toEqual([
    422,
    '/input: is not a known field, did you mean "input_params"?',
  ]);
  expect(await refusal(builder.post(`/workflows/${id}/run`, { labels: { 'bad label': 'x' } }))).toEqual([
    422,
    '/labels/bad label: has a name that is not allowed: a name has 1 to 63 letters, digits and . _ / -',
  ]);
  expect(await refusal(builder.get('/hitl/tasks?stat=open'))).toEqual([
    400,
    'stat is not a known parameter, did you mean "status"?',
  ]);
  expect(await refusal(builder.get('/users/me/tokens?owner=me'))).toEqual([
    400,
    'owner is not a known parameter (known: limit, cursor)',
  ]);
  const withLimits = { name: 'a', type: 'api', version: '1.0.0', limits: { concurency: 2 } };
  expect((await builder.post('/agents', withLimits)).body.errors).toContainEqual({
    pointer: '/limits/concurency',
    code: 'unknown_field',
    message: expect.stringContaining('is not a known field'),
  });
});

test('a text that is no scope gets the one that was probably meant, or all', async () => {
  const token = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  const scope = async (text: string): Promise<unknown> =>
    (await builder.post('/users/me/tokens', { ...token, scopes: [text] })).body.errors?.[0];
  expect(await scope('run:read')).toMatchObject({
    pointer: '/scopes/0',
    message: 'is no scope, did you mean "runs:read"?',
  });
  expect(await scope('everything')).toMatchObject({
    message: expect.stringMatching(/^is no scope: there are agents:read, .+, admin and workflow:<id>$/),
  });
});

test('a field of a body is named with its place', async () => {
  const decisions = [{ task_id: 'abc', decision: 'approve' }];
  const approver = await app.as('approver');
  const reply = approver.post('/hitl/decisions', { decisions });
  expect(await refusal(reply)).toEqual([422, `/decisions/0/task_id: ${UUID}`]);
});

test('a header of a CloudEvent that is not percent-encoded is named', async () => {
  const headers = {
    'content-type': 'text/plain',
    'ce-specversion': '1.0',
    'ce-id': '%ZZ',
    'ce-source': '/shop',
    'ce-type': 'order',
  };
  expect(await refusal(builder.post('/events', 'x', { headers }))).toEqual([
    400,
    'The header ce-id must be percent-encoded UTF-8, but is "%ZZ": write a percent sign as %25.',
  ]);
});
