import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createAdapters, createEgressPolicy } from '../../../adapters/index.ts';
import { faultOf, httpCall } from '../../support/agent-call.ts';
import { sendJson, startServer, type TestServer } from '../../support/http-server.ts';
import { closedAfterEach } from '../../support/closed-after-each.ts';

const opened = closedAfterEach();

async function server(handler: Parameters<typeof startServer>[0]): Promise<TestServer> {
  return opened(await startServer(handler));
}

function call(...args: Parameters<typeof httpCall>) {
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  return createAdapters({ egress }).http(httpCall(...args));
}

const pet = () =>
  server((request, response) =>
    sendJson(response, { id: 1, path: request.path, auth: request.headers.authorization ?? null }),
  );

test('the output is the content by default', async () => {
  const target = await pet();
  const { output } = await call({ method: 'get', endpoint: { uri: `${target.url}/pet/1?status=available` } });
  expect(output).toMatchObject({ id: 1, path: '/pet/1?status=available' });
});

test('output: response gives the exchange without credentials, output: raw gives base64', async () => {
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

test('a body is sent as JSON, a string unchanged, and the query is appended', async () => {
  const target = await pet();
  await call({ method: 'post', endpoint: `${target.url}/a?x=1`, body: { a: 1 }, query: { y: [1, 2] } });
  await call({
    method: 'post',
    endpoint: target.url,
    body: '{"raw":1}',
    headers: { 'Content-Type': 'application/json' },
  });
  expect(target.seen[0]).toMatchObject({
    path: '/a?x=1&y=1&y=2',
    body: '{"a":1}',
    headers: { 'content-type': 'application/json', 'idempotency-key': expect.any(String) },
  });
  expect(target.seen[1]?.body).toBe('{"raw":1}');
});

test('a redirect status is an error, unless redirect is true: then it is followed', async () => {
  const target = await server((request, response) => {
    if (request.path === '/away') return void response.writeHead(302, { location: '/there' }).end();
    if (request.path === '/304') return void response.writeHead(304).end();
    sendJson(response, { path: request.path });
  });
  expect(await faultOf(call({ method: 'get', endpoint: `${target.url}/away` }))).toMatchObject({
    kind: 'communication',
    status: 302,
  });
  expect((await call({ method: 'get', endpoint: `${target.url}/away`, redirect: true })).output).toEqual({
    path: '/there',
  });
  expect((await call({ method: 'get', endpoint: `${target.url}/304`, redirect: true })).output).toBeNull();
});

test('basic authentication takes literal values or a secret', async () => {
  const target = await pet();
  const expected = `Basic ${Buffer.from('ada:pa:ss').toString('base64')}`;
  const secrets = { account: '{"username":"ada","password":"pa:ss"}', plain: 'ada:pa:ss' };
  for (const basic of [{ username: 'ada', password: 'pa:ss' }, { use: 'account' }, { use: 'plain' }]) {
    await call({ method: 'get', endpoint: { uri: target.url, authentication: { basic } } }, { secrets });
  }
  expect(target.seen.map(({ headers }) => headers.authorization)).toEqual([expected, expected, expected]);
  expect(
    await faultOf(
      call({ method: 'get', endpoint: { uri: target.url, authentication: { basic: { use: 'nope' } } } }),
    ),
  ).toMatchObject({ kind: 'configuration' });
});

test('digest authentication answers the challenge', async () => {
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  const target = await server((request, response) => {
    const authorization = request.headers.authorization ?? '';
    if (authorization === '')
      return void response
        .writeHead(401, {
          'www-authenticate':
            'Digest realm="r", nonce="n\\"1", qop="auth,auth-int", opaque="o", algorithm=MD5',
        })
        .end();
    const field = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(authorization)?.[1] ?? '';
    const expected = md5(
      [md5('ada:r:secret'), 'n"1', field('nc'), field('cnonce'), 'auth', md5(`GET:${request.path}`)].join(
        ':',
      ),
    );
    sendJson(response, { ok: field('response') === expected && field('opaque') === 'o' });
  });
  const result = await call({
    method: 'get',
    endpoint: {
      uri: `${target.url}/x?y=1`,
      authentication: { digest: { username: 'ada', password: 'secret' } },
    },
  });
  expect(result).toMatchObject({ output: { ok: true }, usage: { requests: 2 } });
});

test('oauth2 gets its token by client credentials, and oidc by discovery', async () => {
  const target = await server((request, response) => {
    if (request.path === '/realm/oauth2/token')
      return sendJson(response, { access_token: 'from-oauth2', expires_in: 60 });
    if (request.path === '/realm/.well-known/openid-configuration')
      return sendJson(response, { token_endpoint: `http://${request.headers.host}/found` });
    if (request.path === '/found') return sendJson(response, { access_token: 'from-oidc', expires_in: 60 });
    sendJson(response, {
      ok:
        request.headers.authorization === 'Bearer from-oauth2' ||
        request.headers.authorization === 'Bearer from-oidc',
    });
  });
  const policy = {
    authority: `${target.url}/realm`,
    grant: 'client_credentials',
    client: { id: 'me', secret: 'client-secret', authentication: 'client_secret_basic' },
    scopes: ['api'],
  };
  for (const scheme of ['oauth2', 'oidc']) {
    expect(
      (await call({ method: 'get', endpoint: { uri: target.url, authentication: { [scheme]: policy } } }))
        .output,
    ).toEqual({ ok: true });
  }
  expect(target.seen[0]).toMatchObject({
    headers: { authorization: `Basic ${Buffer.from('me:client-secret').toString('base64')}` },
    body: 'grant_type=client_credentials&scope=api',
  });
});

describe('token requests', () => {
  const jwt = (claims: object): string =>
    ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'sig'].join('.');
  async function callWithPolicy(policy: Record<string, unknown>, token = 'plain-token', scheme = 'oauth2') {
    const target = await server((request, response) => {
      if (request.path.startsWith('/.well-known/'))
        return sendJson(response, { token_endpoint: `http://${request.headers.host}/discovered` });
      sendJson(
        response,
        request.path === '/api'
          ? { auth: request.headers.authorization === `Bearer ${token}` }
          : { access_token: token, expires_in: 60 },
      );
    });
    const authentication = {
      [scheme]: { authority: target.url, client: { id: 'me', secret: 'client-secret' }, ...policy },
    };
    const result = call({ method: 'get', endpoint: { uri: `${target.url}/api`, authentication } });
    return {
      result,
      request: async () => (await result, target.seen.find(({ method }) => method === 'POST')),
    };
  }
  const form = (body = ''): Record<string, string> => Object.fromEntries(new URLSearchParams(body));
  const client = { client_id: 'me', client_secret: 'client-secret' };

  test('the password grant sends user name, password and audiences', async () => {
    const { request, result } = await callWithPolicy({
      grant: 'password',
      username: 'ada',
      password: 'user-password',
      audiences: ['a', 'b'],
    });
    expect(form((await request())?.body)).toEqual({
      grant_type: 'password',
      username: 'ada',
      password: 'user-password',
      audience: 'a b',
      ...client,
    });
    expect((await result).output).toEqual({ auth: true });
  });

  test('a token exchange can be sent as JSON', async () => {
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    const { request } = await callWithPolicy({
      grant: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject: { token: 'subject-token', type },
      request: { encoding: 'application/json' },
    });
    expect(await request()).toMatchObject({ headers: { 'content-type': 'application/json' } });
    expect(JSON.parse((await request())?.body ?? '')).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'subject-token',
      subject_token_type: type,
      ...client,
    });
  });

  test('client_secret_jwt signs, private_key_jwt sends its assertion, none sends only the id', async () => {
    const signed = form(
      (
        await (
          await callWithPolicy({
            grant: 'client_credentials',
            client: { id: 'me', secret: 'client-secret', authentication: 'client_secret_jwt' },
          })
        ).request()
      )?.body,
    );
    const [head = '', claims = '', signature] = (signed['client_assertion'] ?? '').split('.');
    expect(signature).toBe(
      createHmac('sha256', 'client-secret').update(`${head}.${claims}`).digest('base64url'),
    );
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'me',
      sub: 'me',
      aud: expect.stringContaining('/oauth2/token'),
    });
    expect(signed['client_secret']).toBeUndefined();
    const assertion = 'a.signed.assertion';
    expect(
      form(
        (
          await (
            await callWithPolicy({
              grant: 'client_credentials',
              client: { id: 'me', assertion, authentication: 'private_key_jwt' },
            })
          ).request()
        )?.body,
      ),
    ).toMatchObject({ client_assertion: assertion });
    expect(
      form(
        (
          await (
            await callWithPolicy({
              grant: 'client_credentials',
              client: { id: 'me', authentication: 'none' },
            })
          ).request()
        )?.body,
      ),
    ).toEqual({ grant_type: 'client_credentials', client_id: 'me' });
  });

  test('the authority can be a discovery document, for oauth2 and oidc', async () => {
    for (const scheme of ['oauth2', 'oidc']) {
      const target = await server((request, response) =>
        sendJson(
          response,
          request.method === 'POST'
            ? { access_token: 'plain-token' }
            : request.path === '/api'
              ? { auth: request.headers.authorization }
              : { token_endpoint: `http://${request.headers.host}/found` },
        ),
      );
      const authentication = {
        [scheme]: {
          authority: `${target.url}/.well-known/openid-configuration`,
          grant: 'client_credentials',
          client: { id: 'me' },
        },
      };
      await call({ method: 'get', endpoint: { uri: `${target.url}/api`, authentication } });
      expect(target.seen.map(({ path }) => path)).toEqual([
        '/.well-known/openid-configuration',
        '/found',
        '/api',
      ]);
    }
  });

  test('a token of an issuer that is not listed is refused', async () => {
    const issuers = ['https://good.example'];
    expect(
      (
        await (
          await callWithPolicy({ grant: 'client_credentials', issuers }, jwt({ iss: 'https://good.example' }))
        ).result
      ).output,
    ).toEqual({ auth: true });
    for (const token of [jwt({ iss: 'https://bad.example' }), jwt({}), 'opaque-token']) {
      expect(
        await faultOf((await callWithPolicy({ grant: 'client_credentials', issuers }, token)).result),
      ).toMatchObject({ kind: 'authentication', status: 401 });
    }
  });

  test('a refusing token endpoint and an interactive grant become faults', async () => {
    const target = await server((request, response) =>
      sendJson(response, request.path === '/oauth2/token' ? { error: 'invalid_client' } : {}, 401),
    );
    const faultWithGrant = (grant: string) =>
      faultOf(
        call({
          method: 'get',
          endpoint: {
            uri: `${target.url}/api`,
            authentication: {
              oauth2: { authority: target.url, grant, client: { id: 'me', secret: 'wrong-secret' } },
            },
          },
        }),
      );
    expect(await faultWithGrant('client_credentials')).toMatchObject({
      kind: 'authentication',
      detail: expect.stringContaining('invalid_client'),
    });
    expect(await faultWithGrant('authorization_code')).toMatchObject({ kind: 'configuration' });
  });
});

test.each(['SHA-256', 'SHA-256-sess', 'MD5-sess'])(
  'digest authentication works with %s',
  async (algorithm) => {
    const hash = (text: string) =>
      createHash(algorithm.startsWith('MD5') ? 'md5' : 'sha256')
        .update(text)
        .digest('hex');
    const target = await server((request, response) => {
      const authorization = request.headers.authorization ?? '';
      if (authorization === '')
        return void response
          .writeHead(401, {
            'www-authenticate': `Digest realm="r", nonce="n", qop="auth", algorithm=${algorithm}`,
          })
          .end();
      const field = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(authorization)?.[1] ?? '';
      const first = hash('ada:r:secret');
      const base = algorithm.endsWith('-sess') ? hash(`${first}:n:${field('cnonce')}`) : first;
      const ok =
        field('response') ===
        hash([base, 'n', field('nc'), field('cnonce'), 'auth', hash(`POST:${request.path}`)].join(':'));
      sendJson(response, { ok, body: request.body });
    });
    const { output } = await call({
      method: 'post',
      endpoint: {
        uri: `${target.url}/x`,
        authentication: { digest: { username: 'ada', password: 'secret' } },
      },
      body: { a: 1 },
    });
    expect(output).toEqual({ ok: true, body: '{"a":1}' });
  },
);

test('values that expressions took from secrets do not appear in the output', async () => {
  const target = await server((request, response) => sendJson(response, { seen: request.headers['x-key'] }));
  const egress = createEgressPolicy({ allow: ['127.0.0.1'] });
  opened(egress);
  const prepared = httpCall({ method: 'get', endpoint: target.url, headers: { 'X-Key': 'from-a-secret' } });
  expect(
    (await createAdapters({ egress }).http({ ...prepared, sensitive: ['from-a-secret'] })).output,
  ).toEqual({
    seen: '<SECRET>',
  });
});
