/** Personal access tokens: they end at their time, and their owner sees where they were used. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createAccessToken } from '../../domain/auth/access-tokens.ts';
import { createClient, startTestApp, type Client, type TestApp, type TestUser } from '../support/app.ts';
import { until } from '../support/platform.ts';

let app: TestApp;
let user: TestUser;
let own: Client;

beforeAll(async () => {
  app = await startTestApp({ env: { TRUST_PROXY: 'true' }, keepsCallers: true });
  user = await app.createUser({ roles: ['builder'] });
  own = await app.as(user);
});
afterAll(() => app.close());

async function newToken(expiresAt: Date): Promise<{ id: string; client: Client }> {
  const limits = app.env;
  const given = {
    name: 'test',
    scopes: ['runs:read'],
    expiresAt,
    maxDays: 365,
    secondFactorRoles: [],
    limits,
  };
  const { token, record } = await createAccessToken(app.orm.em.fork(), user, given);
  return { id: record.id, client: createClient(app.url, token) };
}
const tomorrow = (): Date => new Date(Date.now() + 86_400_000);
const listed = async (id: string) =>
  (await own.get('/users/me/tokens')).body.find((one: { id: string }) => one.id === id);

test('a token ends at its time, also where its caller is remembered', async () => {
  const { client } = await newToken(new Date(Date.now() + 3_000));
  expect((await client.get('/runs')).status).toBe(200);
  await until(
    () => client.get('/runs'),
    ({ status }) => status === 401,
  );
  const { id, client: other } = await newToken(tomorrow());
  expect((await other.post('/runs/actions', {})).body.code).toBe('insufficient_scope');
  await app.orm.em.fork().execute('update access_token set expires_at = now() where id = ?', [id]);
  const refused = await other.post('/runs/actions', {});
  expect([refused.status, refused.body.code]).toEqual([401, 'invalid_token']);
});

test('its owner sees when and from where it was used last, at most once a minute', async () => {
  const { id, client } = await newToken(tomorrow());
  const from = (address: string) => client.get('/runs', { headers: { 'x-forwarded-for': address } });
  expect(await listed(id)).toMatchObject({ last_used_at: null, last_address: null });
  const before = Date.now();
  expect((await from('203.0.113.7')).status).toBe(200);
  const used = await listed(id);
  expect(used.last_address).toBe('203.0.113.7');
  expect(Date.parse(used.last_used_at)).toBeGreaterThanOrEqual(before - 1_000);
  expect((await from('203.0.113.8')).status).toBe(200);
  expect(await listed(id)).toEqual(used);
  const em = app.orm.em.fork();
  await em.execute(`update access_token set last_used_at = now() - interval '2 minutes' where id = ?`, [id]);
  // What this process remembers of callers is a second old at most.
  await until(
    async () => {
      await from('203.0.113.9');
      return listed(id);
    },
    (one) => one.last_address === '203.0.113.9',
  );
});
