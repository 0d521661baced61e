/** Bearer tokens that no program would make: each is answered with 401, and counts for its address. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { startTestApp, type TestApp } from '../support/app.ts';
import { CLIENT_ID, CLIENT_SECRET, startIssuer, type TestIssuer } from '../support/issuer.ts';

let app: TestApp;
let corp: TestIssuer;

beforeAll(async () => {
  app = await startTestApp({ env: { EGRESS_ALLOW: '127.0.0.1', RATE_LIMIT_ADDRESS_PER_MINUTE: '1000000' } });
  corp = await startIssuer({ redirectUris: [`${app.url}/auth/sso/corp/callback`] });
  const registered = await (
    await app.as('admin')
  ).post('/identity-issuers', {
    name: 'corp',
    title: 'Corp',
    issuer: corp.url,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    audiences: ['https://cadenza.example'],
    token_types: ['at+jwt', 'none'],
  });
  expect(registered.status).toBe(201);
});
afterAll(async () => {
  await corp.close();
  await app.close();
});

const HUGE = 'x'.repeat(8_000);
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1.5,
  1e300,
  '',
  ' ',
  HUGE,
  'nul\0character',
  'lone \ud800 surrogate',
  [],
  [''],
  ['a', ['b']],
  [null, 1],
  {},
  { toString: 1, valueOf: 1 },
  { $ne: null },
];

const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const SIGNATURE = encoded('no signature');
const HEADER = { alg: 'RS256', typ: 'at+jwt', kid: 'k' };

function tokens(): string[] {
  const now = Math.floor(Date.now() / 1_000);
  const audience = 'https://cadenza.example';
  const claims = { iss: corp.url, aud: audience, sub: 'robot', iat: now, exp: now + 60 };
  const own = { ...claims, iss: app.env.BASE_URL, aud: 'cadenza' };
  const header = encoded(HEADER);
  const made = (head: unknown, body: unknown): string =>
    `${encoded(JSON.stringify(head))}.${encoded(JSON.stringify(body))}.${SIGNATURE}`;
  return [
    ...VALUES.flatMap((value) => [
      ...['iss', 'aud', 'exp', 'sub', 'nbf'].map((name) => made(HEADER, { ...claims, [name]: value })),
      ...['kid', 'typ', 'alg', 'crit', 'b64', 'jwk'].flatMap((name) => [
        made({ ...HEADER, [name]: value }, claims),
        made({ ...HEADER, alg: 'ES256', [name]: value }, own),
      ]),
      made(HEADER, value),
      made(value, claims),
      made(value, own),
    ]),
    ...['', '.', '..', '...', 'a.b.c', '%%%', '\u00ff\u00fe', HUGE].flatMap((text) => [
      text,
      `${text}.${encoded(claims)}.${SIGNATURE}`,
      `${header}.${text}.${SIGNATURE}`,
      `${header}.${encoded(claims)}.${text}`,
    ]),
    // Not JSON, and not UTF-8.
    `${encoded('{')}.${encoded(claims)}.${SIGNATURE}`,
    `${Buffer.from([0xff, 0xfe]).toString('base64url')}.${encoded(claims)}.${SIGNATURE}`,
    `${header}.${encoded('[')}.${SIGNATURE}`,
    `${header}.${encoded(claims)}`,
    `${header}.${encoded(claims)}.a.b.c`,
  ].filter((token) => token !== '');
}

async function counted(): Promise<number> {
  const [row] = await app.orm.em
    .fork()
    .execute<{ count: number }[]>(
      'select coalesce(sum(requests), 0)::int as count from address_request_count',
    );
  return row?.count ?? 0;
}

test.each([
  ['GET', '/users/me'],
  ['POST', '/agents'],
  ['POST', '/mcp'],
  ['GET', '/v1/models'],
  ['POST', '/jobs/00000000-0000-7000-8000-000000000001/heartbeat'],
])('%s %s answers 401 to each, and counts it', async (method, path) => {
  const wrong: string[] = [];
  const before = await counted();
  const all = tokens();
  for (const token of all) {
    const { status } = await app.anonymous.request(method, path, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (status !== 401) wrong.push(`${status}: ${token.slice(0, 300)}`);
  }
  expect(wrong).toEqual([]);
  expect((await counted()) - before).toBe(all.length);
});
