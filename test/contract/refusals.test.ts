/**
 * Rules for every endpoint, checked on every endpoint: which callers and requests are refused, and in which
 * order.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { consumedTypes, type Endpoint } from '../../api/endpoint.ts';
import { ROLES } from '../../contracts/roles.ts';
import { startTestApp, type Client, type Reply, type TestApp } from '../support/app.ts';

const nobody = '0190d4c2-0000-7000-8000-000000000000';
let app: TestApp;
let admin: Client;
let endpoints: Endpoint[];
let guarded: Endpoint[];

beforeAll(async () => {
  app = await startTestApp();
  admin = await app.as('admin');
  endpoints = app.app.endpoints;
  guarded = endpoints.filter((endpoint) => endpoint.role !== 'public');
});
afterAll(() => app.close());

function pathOf(endpoint: Endpoint): string {
  return endpoint.path.replaceAll(/\{\w+\}/g, nobody);
}

/** Whether the path names something that has to exist; a PUT creates what the end of its path names. */
function namesSomething({ method, path }: Endpoint): boolean {
  return method === 'PUT' ? path.includes('}/') : path.includes('{');
}

function takesJson(endpoint: Endpoint): boolean {
  return (
    !['GET', 'DELETE'].includes(endpoint.method) &&
    !endpoint.rawBody &&
    consumedTypes(endpoint).includes('application/json')
  );
}

/** Sends a request to each endpoint and returns the wrong answers, so a failure names every endpoint. */
async function wrongAnswers(
  asked: Endpoint[],
  ask: (endpoint: Endpoint) => Promise<Reply>,
  right: (reply: Reply) => boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const endpoint of asked) {
    const reply = await ask(endpoint);
    if (!right(reply))
      wrong.push(
        `${endpoint.method} ${endpoint.path}: ${reply.status} ${JSON.stringify(reply.body)?.slice(0, 200)}`,
      );
  }
  return wrong;
}

test('endpoints answer 401 without a token, before any other check', async () => {
  const anonymousFails = guarded.filter((endpoint) => !endpoint.anonymousToo);
  expect(
    await wrongAnswers(
      anonymousFails,
      (endpoint) => app.anonymous.request(endpoint.method, `${pathOf(endpoint)}?x=1`),
      (reply) =>
        reply.status === 401 &&
        reply.headers.get('www-authenticate') !== null &&
        reply.body.code === 'token_required',
    ),
  ).toEqual([]);
});

test('endpoints answer 403 for a role that is too low, before 404 and before reading the body', async () => {
  for (const role of ROLES.slice(0, -1)) {
    const client = await app.as(role);
    const higher = guarded.filter(
      (endpoint) => endpoint.role !== 'public' && ROLES.indexOf(endpoint.role) > ROLES.indexOf(role),
    );
    expect(
      await wrongAnswers(
        higher,
        (endpoint) =>
          client.request(endpoint.method, pathOf(endpoint), takesJson(endpoint) ? { body: '{' } : {}),
        (reply) => reply.status === 403 && reply.body.code === 'role_required',
      ),
    ).toEqual([]);
  }
});

test('endpoints answer 404 for an unknown id, before 400, 415 and 422', async () => {
  // A PUT may create what its path names.
  const named = guarded.filter(namesSomething);
  expect(
    await wrongAnswers(
      named,
      (endpoint) => admin.request(endpoint.method, `${pathOf(endpoint)}?colour=red`),
      (reply) => reply.status === 404 && reply.body.code === 'not_found',
    ),
  ).toEqual([]);
  const withBody = named.filter(takesJson);
  expect(
    await wrongAnswers(
      withBody,
      (endpoint) => admin.request(endpoint.method, pathOf(endpoint), { body: '{' }),
      (reply) => reply.status === 404,
    ),
  ).toEqual([]);
  expect(
    await wrongAnswers(
      withBody,
      (endpoint) =>
        admin.request(endpoint.method, pathOf(endpoint), {
          body: 'x',
          headers: { 'content-type': 'text/plain' },
        }),
      (reply) => reply.status === 404,
    ),
  ).toEqual([]);
  expect(
    await wrongAnswers(
      named,
      (endpoint) => admin.request(endpoint.method, endpoint.path.replaceAll(/\{\w+\}/g, '%00')),
      (reply) => reply.status === 404,
    ),
  ).toEqual([]);
});

test('endpoints refuse unknown parameters, malformed JSON, other types and unknown fields', async () => {
  // UserInfo answers 403 to sessions without the scope `openid`, before it reads anything.
  const plain = guarded.filter(
    (endpoint) => !namesSomething(endpoint) && !endpoint.operationId.endsWith('UserInfo'),
  );
  expect(
    await wrongAnswers(
      plain.filter((endpoint) => endpoint.method === 'GET'),
      (endpoint) => admin.get(`${pathOf(endpoint)}?colour=red`),
      (reply) =>
        reply.status === 400 &&
        reply.body.errors.some((error: { pointer: string }) => error.pointer === 'colour'),
    ),
  ).toEqual([]);
  const withBody = plain.filter(takesJson);
  expect(
    await wrongAnswers(
      withBody,
      (endpoint) => admin.request(endpoint.method, pathOf(endpoint), { body: '{' }),
      (reply) => reply.status === 400 && reply.body.code === 'malformed_json',
    ),
  ).toEqual([]);
  expect(
    await wrongAnswers(
      withBody,
      (endpoint) =>
        admin.request(endpoint.method, pathOf(endpoint), {
          body: 'x',
          headers: { 'content-type': 'text/plain' },
        }),
      (reply) => reply.status === 415,
    ),
  ).toEqual([]);
  // Without a second factor, a host name and a mail server these answer 409, which comes before 422.
  const conflicting = ['renewMyRecoveryCodes', 'beginMyPasskey', 'sendTestMail'];
  const open = withBody.filter(({ operationId }) => !conflicting.includes(operationId));
  expect(
    await wrongAnswers(
      // Preferences have fields of any name.
      open.filter(({ operationId }) => operationId !== 'putMyPreferences'),
      (endpoint) => admin.request(endpoint.method, pathOf(endpoint), { body: { colour: 'red' } }),
      (reply) =>
        reply.status === 422 &&
        reply.body.errors.some(
          (error: { pointer: string; code: string }) =>
            error.pointer === '/colour' && error.code === 'unknown_field',
        ),
    ),
  ).toEqual([]);
  expect(
    await wrongAnswers(
      open,
      (endpoint) => admin.request(endpoint.method, pathOf(endpoint), { body: '[]' }),
      (reply) => reply.status === 422,
    ),
  ).toEqual([]);
});

test('lists refuse an invalid limit or cursor, and answer with an array', async () => {
  const lists = guarded.filter((endpoint) => endpoint.query?.shape['cursor'] && !namesSomething(endpoint));
  expect(lists.length).toBeGreaterThan(2);
  for (const bad of [
    'limit=0',
    'limit=201',
    'limit=1.5',
    'limit=',
    'cursor=x',
    `cursor=${Buffer.from('[{"a":1}]').toString('base64url')}`,
    `cursor=${Buffer.from('["\\u0000"]').toString('base64url')}`,
  ]) {
    expect([
      bad,
      await wrongAnswers(
        lists,
        (endpoint) => admin.get(`${pathOf(endpoint)}?${bad}`),
        (reply) => reply.status === 400,
      ),
    ]).toEqual([bad, []]);
  }
  expect(
    await wrongAnswers(
      lists,
      (endpoint) => admin.get(pathOf(endpoint)),
      (reply) => reply.status === 200 && Array.isArray(reply.body),
    ),
  ).toEqual([]);
});

test('HEAD answers with the status of GET and without a body', async () => {
  const readable = endpoints.filter(
    // Streams do not end.
    (endpoint) =>
      endpoint.method === 'GET' && !namesSomething(endpoint) && !/events|stream$/.test(endpoint.path),
  );
  for (const endpoint of readable) {
    const [get, head] = [await admin.get(endpoint.path), await admin.request('HEAD', endpoint.path)];
    expect([endpoint.path, head.status, head.body]).toEqual([endpoint.path, get.status, null]);
  }
});
