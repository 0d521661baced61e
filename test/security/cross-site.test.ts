/**
 * Requests that a foreign page makes a browser send carry the session cookie. None of them may count, on any
 * operation of the OpenAPI document.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { startTestApp, type Reply, type TestApp } from '../support/app.ts';
import { openStream } from '../support/sse-client.ts';
import { sessionCookie } from '../support/browser.ts';

const nobody = '0190d4c2-0000-7000-8000-000000000000';
let app: TestApp;
let cookie: string;
/** `bearer`: takes tokens only, no cookies. */
let operations: { method: string; path: string; open: boolean; bearer: boolean }[];

beforeAll(async () => {
  app = await startTestApp();
  cookie = await sessionCookie(app, await app.user('admin'));
  const withResource = app.app.endpoints.filter(({ resource }) => resource !== undefined);
  const bearer = new Set(withResource.map(({ path }) => path));
  const { paths } = (await app.anonymous.get('/openapi.json')).body as {
    paths: Record<string, Record<string, { 'x-role': string }>>;
  };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      open: operation['x-role'] === 'public',
      bearer: bearer.has(path),
    })),
  );
});
afterAll(() => app.close());

/** Sends no body, or one that no operation accepts: what is let through changes nothing. */
function send(
  operation: { method: string; path: string },
  headers: Record<string, string>,
  cookieSent = cookie,
): Promise<Reply> {
  const path = `${operation.path.replaceAll(/\{\w+\}/g, nobody)}?not-a-parameter=1`;
  return app.anonymous.request(operation.method, path, { headers: { ...headers, cookie: cookieSent } });
}

const own = (): string => new URL(app.url).origin;
const otherPort = (): string => `http://127.0.0.1:${Number(new URL(app.url).port) + 1}`;
const foreign: [string, () => Record<string, string>][] = [
  ['a page of another site', () => ({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })],
  ['a page of the same site on another port', () => ({ 'sec-fetch-site': 'same-site', origin: otherPort() })],
  ['a foreign page that claims our origin', () => ({ 'sec-fetch-site': 'cross-site', origin: own() })],
  ['a foreign Origin in a browser without fetch metadata', () => ({ origin: 'https://evil.example' })],
  ['another port in a browser without fetch metadata', () => ({ origin: otherPort() })],
  ['our host over HTTPS', () => ({ origin: own().replace('http:', 'https:') })],
  ['a sandboxed page', () => ({ origin: 'null' })],
  ['no Origin', () => ({})],
];

describe.each(foreign)('from %s', (_name, headers) => {
  test('the cookie counts for no operation', async () => {
    const letThrough: string[] = [];
    const guarded = operations.filter(({ open }) => !open);
    for (const operation of guarded) {
      const { status, body } = await send(operation, headers());
      const refused = status === 401 && body.code === 'foreign_page';
      // Some need no user: they answer as if there were no cookie.
      const anonymous = body.code === 'token_required' || (operation.method === 'GET' && status === 400);
      if (!refused && !anonymous) letThrough.push(`${operation.method} ${operation.path}: ${status}`);
    }
    expect(letThrough).toEqual([]);
    expect(guarded.filter(({ method }) => method !== 'GET').length).toBeGreaterThan(50);
  });
});

test('a navigation by the user may read, and change nothing', async () => {
  const headers = { 'sec-fetch-site': 'none' };
  const wrong: string[] = [];
  for (const operation of operations.filter(({ open, bearer }) => !open && !bearer)) {
    const { status } = await send(operation, headers);
    if ((status === 401) !== (operation.method !== 'GET'))
      wrong.push(`${operation.method} ${operation.path}: ${status}`);
  }
  expect(wrong).toEqual([]);
});

const ownPages: [string, () => Record<string, string>][] = [
  ['with fetch metadata', () => ({ 'sec-fetch-site': 'same-origin' })],
  ['with an Origin of ours', () => ({ origin: own() })],
];
test.each(ownPages)('pages of this server are let through %s', async (_name, headers) => {
  const refused: string[] = [];
  for (const operation of operations.filter(({ open, bearer }) => !open && !bearer)) {
    const { status } = await send(operation, headers());
    if (status === 401 || status === 403) refused.push(`${operation.method} ${operation.path}: ${status}`);
  }
  expect(refused).toEqual([]);
});

test('the address that a browser used for the server is ours too, X-Forwarded-Host is not', async () => {
  const port = new URL(app.url).port;
  const localhost = `http://localhost:${port}`;
  const get = (url: string, headers: Record<string, string>): Promise<Reply> =>
    app.anonymous.get(`${url}/users/me`, { headers: { cookie, ...headers } });
  expect((await get(localhost, { origin: localhost })).status).toBe(200);
  expect((await get(localhost, { origin: 'http://evil.example' })).status).toBe(401);
  const forwarded = { origin: 'http://evil.example', 'x-forwarded-host': 'evil.example' };
  expect((await get(localhost, forwarded)).status).toBe(401);
});

test('a token beats the cookie, and a bad token is not saved by it', async () => {
  const viewer = await app.as('viewer');
  const headers = { cookie, 'sec-fetch-site': 'same-origin' };
  expect((await viewer.get('/users/me', { headers })).body.username).toBe('the-viewer');
  const bad = { ...headers, authorization: 'Bearer nonsense' };
  const reply = await app.anonymous.get('/users/me', { headers: bad });
  expect([reply.status, reply.body.code]).toEqual([401, 'invalid_token']);
});

test('no foreign page can log a browser in or out', async () => {
  const { username } = await app.user('admin');
  for (const [, headers] of foreign) {
    const body = { username, password: 'whatever it is' };
    const reply = await app.anonymous.post('/console/session', body, { headers: headers() });
    expect([reply.status, reply.body.code]).toEqual([403, 'foreign_page']);
    expect(reply.headers.getSetCookie()).toEqual([]);
  }
  expect((await send({ method: 'GET', path: '/users/me' }, ownPages[0]![1]())).status).toBe(400);
});

test('cookies give no access to A2A, streams and the name of the user from foreign pages', async () => {
  for (const [, headers] of foreign) {
    const a2a = await app.anonymous.post(`/a2a/${nobody}`, {}, { headers: { ...headers(), cookie } });
    expect(a2a.status).toBe(401);
    const session = await app.anonymous.get('/console/session', { headers: { ...headers(), cookie } });
    expect(session.status).toBe(204);
    await expect(openStream(`${app.url}/events`, { headers: { ...headers(), cookie } })).rejects.toThrow(
      '401',
    );
  }
});

test('answers to a cookie never allow foreign pages to read them', async () => {
  const open = await startTestApp({ env: { CORS_ORIGINS: 'https://app.example.com' } });
  const mine = await sessionCookie(open, await open.user('viewer'));
  const reply = await open.anonymous.get('/users/me', {
    headers: { origin: 'https://app.example.com', cookie: mine },
  });
  expect(reply.status).toBe(401);
  expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
  await open.close();
});
