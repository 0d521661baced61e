/** `/readyz` before the first log-in is possible. */
import { afterEach, expect, test } from '@jest/globals';

import { seedAdmin } from '../../../domain/auth/seed.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;
afterEach(() => app.close());

test('GET /readyz answers 503 until the first administrator can log in', async () => {
  const login = { username: 'admin', password: 'a long enough password' };
  app = await startTestApp({ env: { ADMIN_PASSWORD: login.password } });
  const before = await app.anonymous.get('/readyz');
  expect([before.status, before.headers.get('retry-after')]).toEqual([503, '5']);
  expect(before.body).toMatchObject({
    status: 'down',
    checks: { admin: 'missing', database: 'ok' },
    problems: [expect.stringContaining('nobody can log in')],
  });
  await seedAdmin(app.orm, login);
  const ready = await app.anonymous.get('/readyz');
  expect([ready.status, ready.body.checks.admin, ready.body.problems]).toEqual([200, 'ok', undefined]);
  expect((await app.anonymous.post('/auth/token', login)).status).toBe(200);
});

test('GET /readyz names ADMIN_PASSWORD if no administrator can be created', async () => {
  app = await startTestApp();
  const { status, body } = await app.anonymous.get('/readyz');
  expect([status, body.checks.admin, body.problems]).toEqual([
    503,
    'missing',
    [expect.stringContaining('set ADMIN_PASSWORD')],
  ]);
});

test('GET /readyz tells a missing database from one that is not migrated', async () => {
  const other = await startTestApp();
  const missing = new URL(other.databaseUrl);
  missing.pathname = `/missing_${Date.now()}`;
  app = await startTestApp({ databaseUrl: missing.href });
  const { status, body } = await app.anonymous.get('/readyz');
  await other.close();
  expect([status, body.status, body.checks.database]).toEqual([503, 'down', 'database_missing']);
});
