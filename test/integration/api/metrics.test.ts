/** GET /metrics: its readers, its figures, and what it never contains. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDayFigures } from '../../../domain/operations/day-figures.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/platform.ts';

const token = randomBytes(32).toString('hex');
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ env: { METRICS_TOKEN: token } });
});
afterAll(() => app.close());

const scrape = (sent = token) =>
  app.anonymous.get('/metrics', { headers: { authorization: `Bearer ${sent}` } });
/** Values by metric name and labels, as they are written. */
const valuesOf = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

test('GET /metrics answers the configured token and admins, and nobody else', async () => {
  const { status, headers } = await scrape();
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'no-store',
  ]);
  expect((await (await app.as('admin')).get('/metrics')).status).toBe(200);
  expect((await (await app.as('builder')).get('/metrics')).status).toBe(403);
  for (const wrong of [`${token}0`, token.slice(1), '']) {
    const refused = await scrape(wrong);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('Bearer'),
    ]);
  }
  expect((await app.anonymous.get('/metrics')).status).toBe(401);
  // The token opens nothing else.
  expect((await app.anonymous.get('/users', { headers: { authorization: `Bearer ${token}` } })).status).toBe(
    401,
  );
});

test('GET /metrics answers only admins if no token is configured', async () => {
  const other = await startTestApp({ databaseUrl: app.databaseUrl, env: { BASE_URL: app.url } });
  try {
    expect(
      (await other.anonymous.get('/metrics', { headers: { authorization: 'Bearer undefined' } })).status,
    ).toBe(401);
    expect((await (await other.as(await app.user('admin'))).get('/metrics')).status).toBe(200);
  } finally {
    await other.close();
  }
});

test('requests are counted by route template, never by text that a client wrote', async () => {
  const viewer = await app.as('viewer');
  const secret = 'cdz-secret-word';
  await viewer.get(`/agents/${secret}`);
  await viewer.get(`/api/v1/agents/${secret}`);
  await viewer.get(`/nowhere/${secret}`);
  await viewer.request('PROPFIND', `/agents/${secret}`);
  const counted = 'cadenza_http_request_duration_seconds_count{method="other",route="none",status="405"}';
  // A request is counted when its connection has taken the last byte. The client may have read it earlier.
  const { body } = await until(scrape, (reply) => valuesOf(reply.body).has(counted));
  const values = valuesOf(body);
  expect(
    values.get('cadenza_http_request_duration_seconds_count{method="GET",route="/agents/{id}",status="404"}'),
  ).toBe(2);
  expect(
    values.get('cadenza_http_request_duration_seconds_count{method="GET",route="none",status="404"}'),
  ).toBe(1);
  expect(values.get(counted)).toBe(1);
  for (const word of [secret, token, 'the-viewer', 'the-admin']) expect(body.includes(word)).toBe(false);
});

test('the metrics describe runs, human tasks, deliveries and the database', async () => {
  const em = app.orm.em.fork();
  const { id } = await app.createUser();
  const run = '0190d4c2-0000-7000-8000-000000000001';
  await em.execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, next_start_at)
      values (?, 'x', '{}', 'pending', ?, ?, now() - interval '100 seconds')`,
    [run, id, run],
  );
  const other = await startTestApp({ databaseUrl: app.databaseUrl, env: { METRICS_TOKEN: token } });
  try {
    const { body } = await other.anonymous.get('/metrics', { headers: { authorization: `Bearer ${token}` } });
    const values = valuesOf(body);
    for (const [name, value] of Object.entries({
      cadenza_database_up: 1,
      'cadenza_runs{status="pending"}': 1,
      'cadenza_runs{status="completed"}': 0,
      cadenza_runs_stuck: 0,
      cadenza_agent_circuits_open: 0,
      'cadenza_human_tasks{status="open"}': 0,
      cadenza_human_tasks_overdue: 0,
      cadenza_human_tasks_undecidable_now: 0,
      'cadenza_deliveries{status="pending"}': 0,
      cadenza_delivery_lag_seconds: 0,
    }))
      expect([name, values.get(name)]).toEqual([name, value]);
    expect(values.get('cadenza_reconciler_lag_seconds')).toBeGreaterThanOrEqual(100);
  } finally {
    await other.close();
  }
});

test('GET /metrics answers while the database is away, and reports that', async () => {
  const away = await startTestApp({
    databaseUrl: 'postgres://nobody@127.0.0.1:9/nowhere',
    env: { METRICS_TOKEN: token },
  });
  try {
    const { status, body } = await away.anonymous.get('/metrics', {
      headers: { authorization: `Bearer ${token}` },
    });
    expect([status, valuesOf(body).get('cadenza_database_up')]).toEqual([200, 0]);
    expect(body).not.toMatch(/^cadenza_(runs|human_tasks_overdue|reconciler_lag_seconds)\b/m);
  } finally {
    await away.close();
  }
});

test('what only traces have not read is no lag of deliveries', async () => {
  const builder = await app.as('builder');
  const definition = { do: [{ rest: { wait: { seconds: 1 } } }] };
  const { body: workflow } = await builder.post('/workflows', { name: 'rests', definition });
  expect((await builder.post(`/workflows/${workflow.id}/run`, {})).status).toBe(201);
  const { id } = await app.user('builder');
  const em = app.orm.em.fork();
  await em.execute(
    `insert into delivery_target (id, kind, owner_id, url)
     values (gen_random_uuid(), 'webhook', ?, 'https://example.com')`,
    [id],
  );
  await em.execute(`update run_event set at = at - interval '1 hour'`);
  const lag = async () => (await readDayFigures(em, 10)).eventLagSeconds;
  expect(await lag()).toBeGreaterThan(3_000);
  await em.execute(`update delivery_cursor set tx = pg_current_xact_id()`);
  await em.execute(`insert into delivery_cursor (name, tx, gpos) values ('traces', '1', -1)`);
  expect(await lag()).toBe(0);
});
