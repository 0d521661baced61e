/** Counts of what is used read what counts, not the 40,000 ended runs, push notifications and workflows. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';

import { checkQuota } from '../../../domain/quotas/check.ts';
import { readQuotas } from '../../../domain/quotas/usage.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { explainAll, keepStatements, type KeepStatements } from '../../support/plans.ts';

const ROWS = 40_000;
const LIVE = 20;
const BIG = ['run', 'delivery_target', 'file', 'workflow', 'workflow_schedule'];
/** Of which every row counts. */
const COUNTED = ['secret', 'access_token'];

let app: TestApp;
let userId: string;
let kept: KeepStatements;

beforeAll(async () => {
  app = await startTestApp();
  userId = (await app.user('builder')).id;
  const em = app.orm.em.fork();
  await em.execute(
    `insert into run (id, workflow_name, definition, status, owner_id, root_run_id, finished_at)
     select id, 'w', '{}', case when n <= ? then 'running' else 'completed' end, ?, id,
            case when n > ? then clock_timestamp() end
       from (select n, gen_random_uuid() as id from generate_series(1, ?) n) made`,
    [LIVE, userId, LIVE, ROWS],
  );
  await em.execute(
    `insert into delivery_target (id, kind, owner_id, url)
     select gen_random_uuid(), case when n <= ? then 'webhook' else 'a2a_push' end, ?, 'https://a.example'
       from generate_series(1, ?) n`,
    [LIVE, userId, ROWS],
  );
  await em.execute(
    `insert into file (id, owner_id, name, media_type, size, sha256)
     select gen_random_uuid(), ?, 'f', 'text/plain', 1, 'none' from generate_series(1, ?)`,
    [userId, ROWS],
  );
  await em.execute(
    `with owner as (
       insert into user_account (id, username, email, password_hash, roles)
       select gen_random_uuid(), 'u' || n, n || '@x.example', null, '{viewer}' from generate_series(1, 400) n
       returning id)
     insert into workflow (id, owner_id, name, revision, valid, runnable)
     select gen_random_uuid(), owner.id, 'w', 1, true, true from owner, generate_series(1, ? / 400)`,
    [ROWS],
  );
  await em.execute(
    `insert into workflow_schedule (workflow_id, kind, catch_up_seconds)
     select id, case when row_number() over () <= ? then 'every' end, 0 from workflow`,
    [LIVE],
  );
  await em.execute(
    `insert into secret (owner_id, name, value_encrypted)
     select gen_random_uuid(), 's' || n, repeat('x', 200) from generate_series(1, ?) n`,
    [ROWS],
  );
  await em.execute(
    `insert into access_token (id, user_id, name, token_hash, hint, scopes, expires_at)
     select gen_random_uuid(), ?, 't', n::text::bytea, 'h', '{}', now() + interval '1 day'
       from generate_series(1, ?) n`,
    [userId, ROWS],
  );
  for (const table of [...BIG, ...COUNTED]) await em.execute(`vacuum analyze ${table}`);
  kept = keepStatements(app.orm);
});
afterAll(() => app.close());

test.each(['platform', 'user'] as const)('the quotas of the %s read what counts', async (scope) => {
  const id = scope === 'platform' ? null : userId;
  let used: Record<string, number> = {};
  const statements = await kept(async () => {
    const quotas = await readQuotas(app.orm.em.fork(), app.app.deps.env, { scope, id, name: null });
    used = Object.fromEntries(quotas.map((quota) => [quota.name, quota.used]));
  });
  expect(used).toMatchObject({
    live_runs: LIVE,
    webhooks: LIVE,
    files: ROWS,
    stored_bytes: ROWS,
    ...(scope === 'platform' ? { schedules: LIVE, secrets: ROWS, tokens: ROWS } : {}),
  });
  const { scanned, read } = await explainAll(app.orm, statements, BIG);
  expect(scanned).toEqual([]);
  expect(read).toBeLessThan(20 * LIVE);
});

test.each(['secrets', 'tokens', 'schedules', 'webhooks'] as const)(
  'the platform has no more %s than allowed, whatever there is: the count ends at the limit',
  async (quota) => {
    const limits = {
      ...app.app.deps.env,
      PLATFORM_MAX_SECRETS: 10,
      PLATFORM_MAX_TOKENS: 10,
      PLATFORM_MAX_SCHEDULES: 10,
      PLATFORM_MAX_WEBHOOKS: 10,
    };
    const holder = uuidv7();
    const statements = await kept(async () => {
      const checked = app.orm.em.fork().transactional((em) => checkQuota(em, limits, quota, holder));
      await expect(checked).rejects.toMatchObject({
        code: quota === 'tokens' ? 'too_many_tokens' : 'limit_reached',
        extra: { scope: 'platform' },
      });
    });
    const { read } = await explainAll(app.orm, statements, [...BIG, ...COUNTED]);
    expect(read).toBeGreaterThan(10);
    expect(read).toBeLessThan(30);
  },
);

test.each([
  ['platform', 5],
  ['platform', 1_000],
  ['user', 1_000],
])('the count of the %s before a run starts, up to %d, reads few blocks', async (scope, most) => {
  const em = app.orm.em.fork();
  const id = scope === 'platform' ? null : userId;
  const count = 'select count_live_runs(?, ?::uuid, ?) as live';
  const [row] = await em.execute<{ live: string }[]>(count, [scope, id, most]);
  expect(Number(row?.live)).toBe(Math.min(LIVE, most));
  const [size] = await em.execute<{ pages: number }[]>(
    `select relpages as pages from pg_class where oid = 'run'::regclass`,
  );
  const [explained] = await em.execute<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }[]>(
    `explain (analyze, buffers, format json) ${count}`,
    [scope, id, most],
  );
  const plan = explained?.['QUERY PLAN'][0]?.Plan ?? {};
  const blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
  expect(blocks).toBeGreaterThan(0);
  expect(blocks).toBeLessThan((size?.pages ?? 0) / 4);
});
