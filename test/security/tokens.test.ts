/** Tokens that resemble ours, and our own tokens in the wrong place. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, exportSPKI, SignJWT, type JWTPayload } from 'jose';
import { createClient, startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { until } from '../support/platform.ts';

let app: TestApp;
let user: TestUser;
let claims: JWTPayload;
let header: { alg: string; typ: string; kid: string };

beforeAll(async () => {
  app = await startTestApp();
  user = await app.user('builder');
  claims = decodeJwt(user.token);
  // Our tokens always have these three.
  header = decodeProtectedHeader(user.token) as typeof header;
});
afterAll(() => app.close());

async function statusWith(token: string): Promise<number> {
  return (await createClient(app.url, token).get('/users/me')).status;
}

async function signed(changes: JWTPayload = {}, headerChanges: object = {}): Promise<string> {
  const { privateKey } = await app.app.deps.keys.current();
  return new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ ...header, ...headerChanges })
    .sign(privateKey);
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a token signed like ours is accepted, so the refusals below mean something', async () => {
  expect(await statusWith(await signed())).toBe(200);
});

test('an unsigned token is refused, however it spells its algorithm', async () => {
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    const unsigned = `${encoded({ ...header, alg })}.${encoded(claims)}.`;
    expect([alg, await statusWith(unsigned)]).toEqual([alg, 401]);
  }
});

test('a token signed with our public key as a shared secret is refused', async () => {
  const key = await app.app.deps.keys.publicKey(header.kid);
  if (key === null) throw new Error('the current key is not published');
  const jwks = JSON.stringify((await app.anonymous.get('/.well-known/jwks.json')).body);
  for (const secret of [await exportSPKI(key as Parameters<typeof exportSPKI>[0]), jwks]) {
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ ...header, alg: 'HS256' })
      .sign(new TextEncoder().encode(secret));
    expect(await statusWith(forged)).toBe(401);
  }
});

test('a token that brings its own key is refused', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' });
  const tricks = [
    { jwk },
    { kid: 'ours', jwk },
    { jku: 'http://127.0.0.1:9/keys' },
    { x5u: 'http://127.0.0.1:9/cert' },
    { kid: '../../dev/null' },
    { kid: "' or '1'='1" },
    { kid: header.kid },
  ];
  for (const trick of tricks) {
    const forged = await new SignJWT(claims).setProtectedHeader({ ...header, ...trick }).sign(privateKey);
    expect([trick, await statusWith(forged)]).toEqual([trick, 401]);
  }
});

test('a token of another audience, issuer, type or time is refused', async () => {
  const now = Math.floor(Date.now() / 1000);
  const changes: JWTPayload[] = [
    { aud: 'cadenza-files' },
    { iss: 'https://elsewhere.example.com' },
    { exp: now - 60 },
    { nbf: now + 600 },
  ];
  for (const change of changes)
    expect([change, await statusWith(await signed(change))]).toEqual([change, 401]);
  for (const typ of ['JWT', 'file-link+jwt', 'id_token']) {
    expect([typ, await statusWith(await signed({}, { typ }))]).toEqual([typ, 401]);
  }
  const { exp: _exp, ...withoutExpiry } = claims;
  const { privateKey } = await app.app.deps.keys.current();
  expect(await statusWith(await new SignJWT(withoutExpiry).setProtectedHeader(header).sign(privateKey))).toBe(
    401,
  );
});

test('the session of another user and an older epoch give no rights', async () => {
  const admin = await app.user('admin');
  expect(await statusWith(await signed({ sub: admin.id }))).toBe(401);
  expect(await statusWith(await signed({ epoch: 0 }))).toBe(401);
});

test('roles come from the user, not from the token', async () => {
  const token = await signed({ scope: 'admin', roles: ['admin'] });
  expect((await createClient(app.url, token).get('/users')).status).toBe(403);
});

test('a file link is no access token, and an access token is no file link', async () => {
  const owner = await app.as(user);
  const upload = await owner.post('/files?name=a.txt', 'text', { headers: { 'content-type': 'text/plain' } });
  const link = new URL((await owner.post(`/files/${upload.body.id}/link`, {})).body.url);
  const token = link.searchParams.get('token') ?? '';
  expect((await app.anonymous.get(link.pathname + link.search)).status).toBe(200);
  expect(await statusWith(token)).toBe(401);
  expect((await app.anonymous.get(`/files/${upload.body.id}?token=${user.token}`)).status).toBe(401);
  const other = await owner.post('/files?name=b.txt', 'text', { headers: { 'content-type': 'text/plain' } });
  expect((await app.anonymous.get(`/files/${other.body.id}?token=${token}`)).status).toBe(401);
});

test('a token is read from the Authorization header only', async () => {
  const { token } = user;
  for (const path of [`/users/me?access_token=${token}`, `/users/me?token=${token}`]) {
    expect([400, 401]).toContain((await app.anonymous.get(path)).status);
  }
  expect((await app.anonymous.get('/users/me', { headers: { cookie: `token=${token}` } })).status).toBe(401);
  expect(
    (await app.anonymous.get('/users/me', { headers: { authorization: `Basic ${token}` } })).status,
  ).toBe(401);
});

test('a token that was accepted before is refused once it expires, and once its key is gone', async () => {
  const seconds = Math.floor(Date.now() / 1_000);
  const brief = await signed({ exp: seconds + 2 });
  const lasting = await signed();
  // The second request finds the signature already checked.
  for (let n = 0; n < 2; n++) for (const token of [brief, lasting]) expect(await statusWith(token)).toBe(200);
  await until(
    () => statusWith(brief),
    (status) => status === 401,
  );
  expect(Date.now() / 1_000).toBeGreaterThanOrEqual(seconds + 2);
  expect(await statusWith(lasting)).toBe(200);
  await app.orm.em.fork().execute('delete from signing_key where kid = ?', [header.kid]);
  // Each process reads the keys anew once a minute, and for this document.
  await app.anonymous.get('/.well-known/jwks.json');
  expect(await statusWith(lasting)).toBe(401);
});
