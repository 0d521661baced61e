import { createHash } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';
import { sendJson, startServer } from '../../support/http-server.ts';
import type { TestServer } from '../../support/http-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function server(handler: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const started = await startServer(handler);
  open.push(started);
  return started;
}

function call(...args: Parameters<typeof httpCall>) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  open.push(egress);
  return createAdapters({ egress }).http(httpCall(...args));
}

const pet = () => server((request, response) => sendJson(response, { id: 1, path: request.path, auth: request.headers.authorization ?? null }));

test('content is the default', async () => {
  const target = await pet();
  const { output } = await call({ method: 'get', endpoint: { uri: `${target.url}/pet/1?status=available` } });
  expect(output).toMatchObject({ id: 1, path: '/pet/1?status=available' });
});

test('response shows request and answer without credentials, raw is base64', async () => {
  const target = await pet();
  const endpoint = { uri: `${target.url}/pet/1`, authentication: { bearer: { token: 'very-secret-token' } } };
  const { output } = await call({ method: 'get', endpoint, output: 'response', headers: { 'X-A': 'b' } });
  expect(output).toMatchObject({
    request: { method: 'get', uri: `${target.url}/pet/1`, headers: { 'x-a': 'b' } },
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    content: { id: 1 },
  });
  expect(JSON.stringify(output)).not.toContain('very-secret-token');
  const raw: any = (await call({ method: 'get', endpoint: `${target.url}/pet/1`, output: 'raw' })).output;
  expect(JSON.parse(Buffer.from(raw, 'base64').toString())).toMatchObject({ id: 1 });
});

test('bodies are JSON, strings go as they are, query is added', async () => {
  const target = await pet();
  await call({ method: 'post', endpoint: `${target.url}/a?x=1`, body: { a: 1 }, query: { y: [1, 2] } });
  await call({ method: 'post', endpoint: target.url, body: '{"raw":1}', headers: { 'Content-Type': 'application/json' } });
  expect(target.seen[0]).toMatchObject({ path: '/a?x=1&y=1&y=2', body: '{"a":1}', headers: { 'content-type': 'application/json', 'idempotency-key': expect.any(String) } });
  expect(target.seen[1]?.body).toBe('{"raw":1}');
});

test('300 to 399 is an error unless redirect is true; then it is followed', async () => {
  const target = await server((request, response) => {
    if (request.path === '/away') return void response.writeHead(302, { location: '/there' }).end();
    if (request.path === '/304') return void response.writeHead(304).end();
    sendJson(response, { path: request.path });
  });
  expect(await faultOf(call({ method: 'get', endpoint: `${target.url}/away` }))).toMatchObject({ kind: 'communication', status: 302 });
  expect((await call({ method: 'get', endpoint: `${target.url}/away`, redirect: true })).output).toEqual({ path: '/there' });
  expect((await call({ method: 'get', endpoint: `${target.url}/304`, redirect: true })).output).toBeNull();
});

test('basic, from values and from a secret', async () => {
  const target = await pet();
  const expected = `Basic ${Buffer.from('ada:pa:ss').toString('base64')}`;
  const secrets = { account: '{"username":"ada","password":"pa:ss"}', plain: 'ada:pa:ss' };
  for (const basic of [{ username: 'ada', password: 'pa:ss' }, { use: 'account' }, { use: 'plain' }]) {
    await call({ method: 'get', endpoint: { uri: target.url, authentication: { basic } } }, { secrets });
  }
  expect(target.seen.map(({ headers }) => headers.authorization)).toEqual([expected, expected, expected]);
  expect(await faultOf(call({ method: 'get', endpoint: { uri: target.url, authentication: { basic: { use: 'nope' } } } }))).toMatchObject({ kind: 'configuration' });
});

test('digest answers the challenge', async () => {
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  const target = await server((request, response) => {
    const given = request.headers.authorization ?? '';
    if (given === '') return void response.writeHead(401, { 'www-authenticate': 'Digest realm="r", nonce="n\\"1", qop="auth,auth-int", opaque="o", algorithm=MD5' }).end();
    const field = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(given)?.[1] ?? '';
    const expected = md5([md5('ada:r:secret'), 'n"1', field('nc'), field('cnonce'), 'auth', md5(`GET:${request.path}`)].join(':'));
    sendJson(response, { ok: field('response') === expected && field('opaque') === 'o' });
  });
  const result = await call({ method: 'get', endpoint: { uri: `${target.url}/x?y=1`, authentication: { digest: { username: 'ada', password: 'secret' } } } });
  expect(result).toMatchObject({ output: { ok: true }, usage: { requests: 2 } });
});

test('oauth2 by client credentials, oidc by discovery', async () => {
  const target = await server((request, response) => {
    if (request.path === '/realm/oauth2/token') return sendJson(response, { access_token: 'from-oauth2', expires_in: 60 });
    if (request.path === '/realm/.well-known/openid-configuration') return sendJson(response, { token_endpoint: `http://${request.headers.host}/found` });
    if (request.path === '/found') return sendJson(response, { access_token: 'from-oidc', expires_in: 60 });
    sendJson(response, { ok: request.headers.authorization === 'Bearer from-oauth2' || request.headers.authorization === 'Bearer from-oidc' });
  });
  const policy = { authority: `${target.url}/realm`, grant: 'client_credentials', client: { id: 'me', secret: 'client-secret', authentication: 'client_secret_basic' }, scopes: ['api'] };
  for (const scheme of ['oauth2', 'oidc']) {
    expect((await call({ method: 'get', endpoint: { uri: target.url, authentication: { [scheme]: policy } } })).output).toEqual({ ok: true });
  }
  expect(target.seen[0]).toMatchObject({ headers: { authorization: `Basic ${Buffer.from('me:client-secret').toString('base64')}` }, body: 'grant_type=client_credentials&scope=api' });
});

test('values that expressions took from secrets are kept out of the output', async () => {
  const target = await server((request, response) => sendJson(response, { seen: request.headers['x-key'] }));
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  open.push(egress);
  const made = httpCall({ method: 'get', endpoint: target.url, headers: { 'X-Key': 'from-a-secret' } });
  expect((await createAdapters({ egress }).http({ ...made, sensitive: ['from-a-secret'] })).output).toEqual({ seen: '<SECRET>' });
});
