/** Polls of external workers that wait: what they cost the database, and who is served. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';

import { JobPolls } from '../../../api/jobs/job-polls.ts';
import { listenForJobs } from '../../../db/notifications.ts';
import { createJob } from '../../../domain/jobs/job.ts';
import { takeJobs, type TakenJob } from '../../../domain/jobs/work.ts';
import type { PinnedAgent } from '../../../domain/ports.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { createClient, startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';
import { until } from '../../support/platform.ts';

let app: TestApp;
let agent: PinnedAgent;
let runId: string;
let holder: string;
let statements = 0;
let polls: JobPolls;
const logger = pino({ level: 'silent' });
const neverClosed = new AbortController().signal;

beforeAll(async () => {
  app = await startTestApp({ env: { WORKER_POLLS_PER_TOKEN: '2' } });
  const owner = await app.user('builder');
  holder = `user:${owner.id}`;
  agent = await registeredAgent(await app.as('builder'), { execution_type: 'edge' });
  runId = await insertRun(app.orm, { owner: owner.id });
  const fork = () => {
    statements++;
    return app.orm.em.fork();
  };
  const newJobs = listenForJobs(app.databaseUrl, logger);
  polls = new JobPolls({ fork, logger, newJobs, pollsPerHolder: 20_000 });
  await poll({ waitMs: 10 });
  await until(async () => newJobs.isConnected, Boolean);
  const stop = app.close;
  app.close = async () => {
    polls.stop();
    await newJobs.stop();
    await stop();
  };
});
afterAll(() => app.close());

const poll = ({ waitMs = 60_000, queue = undefined as string | undefined, max = 1 } = {}): Promise<
  TakenJob[]
> => polls.poll({ agentId: agent.id, queue, max, holder, worker: 'w' }, waitMs, neverClosed);

const addJob = (queue = 'default', key = uuidv7(), visit = 1) =>
  createJob(app.orm.em.fork(), {
    run_id: runId,
    key,
    kind: 'worker',
    task: '/do/0/far',
    visit,
    attempt: 1,
    agent: { ...agent, output_schema: {} },
    queue,
    input: { n: 1 },
    configuration: {},
    repeatable: true,
    maxAttempts: 5,
    leaseMs: 60_000,
    timeoutMs: 3_600_000,
  });

test('a thousand idle polls, and those that follow them, cost a statement every five seconds', async () => {
  const waiting = Array.from({ length: 1_000 }, () => poll({ waitMs: 1_500 }));
  await poll({ waitMs: 200 });
  statements = 0;
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 1_000 }, () => []));
  await Promise.all(Array.from({ length: 1_000 }, () => poll({ waitMs: 500 })));
  // The look for what no notification tells of.
  expect(statements).toBeLessThanOrEqual(2);
});

test('who has waited longest gets the next job, and one job is one statement or two', async () => {
  const order: number[] = [];
  const waiting = [0, 1, 2].map((n) => poll().then(() => order.push(n)));
  for (let n = 1; n <= 3; n++) {
    await addJob();
    await until(
      async () => order.length,
      (length) => length === n,
    );
  }
  await Promise.all(waiting);
  expect(order).toEqual([0, 1, 2]);
});

test('a poll gets as many jobs as it wants of its queue; one that has gone gives them back', async () => {
  for (const queue of ['a', 'b', 'a', 'a']) await addJob(queue);
  expect(await poll({ queue: 'a', max: 2, waitMs: 5_000 })).toHaveLength(2);
  expect(await poll({ queue: 'b', max: 5, waitMs: 5_000 })).toHaveLength(1);
  const gone = new AbortController();
  const left = polls.poll({ agentId: agent.id, queue: 'a', max: 5, holder, worker: 'w' }, 5_000, gone.signal);
  gone.abort();
  expect(await left).toEqual([]);
  expect(await poll({ queue: 'a', max: 5, waitMs: 5_000 })).toMatchObject([{ attempt: 1 }]);
});

test('a token has a bound of waiting polls, and all of them end when the API stops', async () => {
  const client = await app.as('builder');
  const path = `/agents/${agent.id}/jobs/poll`;
  const waiting = [1, 2].map(() => client.post(path, { wait_seconds: 60 }));
  await until(
    async () => app.app.deps.jobPolls.waiting,
    (count) => count === 2,
  );
  expect(await client.post(path, {})).toMatchObject({ status: 429, body: { code: 'too_many_polls' } });
  app.app.deps.jobPolls.stop();
  expect((await Promise.all(waiting)).map(({ status, body }) => [status, body])).toEqual([
    [200, []],
    [200, []],
  ]);
});

test('the oldest jobs are found by an index, however many wait or are held', async () => {
  await addJob('many', 'many');
  const copied = `run_id, kind, task, visit, task_attempt, agent_id, agent_version, secrets_of, input,
    configuration, output_schema, repeatable, max_attempts, lease_ms, expires_at`;
  const em = app.orm.em.fork();
  await em.execute(
    `insert into job (id, key, queue, ${copied}, holder, available_at)
     select gen_random_uuid(), 'many' || n, 'many', ${copied},
            case when n % 2 = 0 then 'user:other' end,
            clock_timestamp() + case when n % 2 = 0 then interval '1 hour' else interval '0' end
       from job, generate_series(1, 30000) n where key = 'many'`,
  );
  await em.execute('vacuum analyze job');
  for (const queue of [undefined, 'many']) {
    const asked: { sql: string; values: unknown[] }[] = [];
    const watched = { execute: async (sql: string, values: unknown[]) => (asked.push({ sql, values }), []) };
    await takeJobs(watched as never, { agentId: agent.id, queue, max: 1, holder, worker: 'w' });
    const [{ sql, values } = { sql: '', values: [] }] = asked;
    const [row] = await em.execute<any[]>(`explain (analyze, buffers, format json) ${sql}`, values);
    const plan = row['QUERY PLAN'][0].Plan;
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(150);
  }
  await em.execute(`delete from job where queue = 'many'`);
});

test('a busy pool does not keep the polls of others waiting', async () => {
  await addJob('calm');
  await addJob('hot', 'hot');
  const copied = `run_id, kind, task, visit, task_attempt, agent_id, agent_version, secrets_of, input,
    configuration, output_schema, repeatable, max_attempts, lease_ms, expires_at`;
  await app.orm.em.fork().execute(
    `insert into job (id, key, queue, ${copied})
     select gen_random_uuid(), 'hot' || n, 'hot-' || n % 4, ${copied}
       from job, generate_series(1, 800) n where key = 'hot'`,
  );
  const over = new AbortController();
  let taken = 0;
  const busy = [0, 1, 2, 3, 0, 1, 2, 3].map(async (n) => {
    const hot = { agentId: agent.id, queue: `hot-${n}`, max: 1, holder, worker: 'w' };
    while (!over.signal.aborted) {
      const jobs = await polls.poll(hot, 60_000, over.signal);
      taken += jobs.length;
    }
  });
  expect(await poll({ queue: 'calm' })).toHaveLength(1);
  expect(taken).toBeLessThan(400);
  over.abort();
  await Promise.all(busy);
});

test('two attempts of a call that store its job at the same moment get the same job', async () => {
  const em = app.orm.em.fork();
  const attempts = await em.transactional(async (tx) => {
    await tx.execute('select from run where id = ? for update', [runId]);
    const both = [addJob('twice', 'twice'), addJob('twice', 'twice')];
    await until(
      () =>
        app.orm.em.fork().execute<object[]>(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
              and query like '%insert into job%'`,
        ),
      ({ length }) => length === 2,
    );
    return both;
  });
  const [first, second] = await Promise.all(attempts);
  expect(first).toMatchObject({ key: 'twice' });
  expect(second).toEqual(first);
});

test("a token serves as long as its maker's role, and gives its name to its workers", async () => {
  const maker = await app.createUser({ roles: ['builder'] });
  const own = await registeredAgent(await app.as(maker), { name: 'own', execution_type: 'edge' });
  const { body } = await (await app.as(maker)).post(`/agents/${own.id}/worker-tokens`, { name: 'arm' });
  const worker = createClient(app.url, body.token);
  const ask = async () => (await worker.post(`/agents/${own.id}/jobs/poll`, { wait_seconds: 0 })).status;
  expect(await ask()).toBe(200);
  const seen = await until(
    () => app.orm.em.fork().execute<object[]>(`select worker from worker_seen where agent_id = ?`, [own.id]),
    ({ length }) => length > 0,
  );
  expect(seen).toEqual([{ worker: 'arm' }]);
  await (await app.as('admin')).patch(`/users/${maker.id}`, { roles: ['viewer'] });
  await until(ask, (status) => status === 401);
  await (await app.as('admin')).patch(`/users/${maker.id}`, { roles: ['builder'] });
  await until(ask, (status) => status === 200);
});

test('an agent without jobs refuses polls of owner and token until it is of kind edge', async () => {
  const client = await app.as('builder');
  const other = await registeredAgent(client, { name: 'other', execution_type: 'api' });
  const path = `/agents/${other.id}/jobs/poll`;
  const { body } = await client.post(`/agents/${other.id}/worker-tokens`, { name: 'arm' });
  const worker = createClient(app.url, body.token);
  for (const caller of [client, worker]) {
    const refused = await caller.post(path, { wait_seconds: 60 });
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      409,
      'no_jobs',
      'Only agents of kind edge have jobs for workers; this one is of kind api.',
    ]);
  }
  expect((await client.patch(`/agents/${other.id}`, { execution_type: 'edge' })).status).toBe(200);
  for (const caller of [client, worker])
    expect((await caller.post(path, { wait_seconds: 0 })).body).toEqual([]);
});

test('a job whose task was cancelled before it knew of the job is done by nobody', async () => {
  await addJob('left', 'left', 2);
  const [job] = await poll({ queue: 'left', waitMs: 5_000 });
  const em = app.orm.em.fork();
  await em.execute(
    `insert into run_task (run_id, reference, visit, seq, name, type, status, attempt, started_at)
     values (?, '/do/0/far', 2, 1, 'far', 'call', 'cancelled', 1, now())`,
    [runId],
  );
  const client = await app.as('builder');
  const beat = await client.post(`/jobs/${job?.id}/heartbeat`, {});
  expect(beat).toMatchObject({ status: 200, body: { cancelled: true } });
  await addJob('left', 'left again', 2);
  await addJob('left', 'wanted');
  expect(await poll({ queue: 'left', max: 1, waitMs: 5_000 })).toMatchObject([{ key: 'wanted' }]);
  expect(await em.execute(`select key, outcome from job where queue = 'left' order by id`)).toEqual([
    { key: 'left', outcome: 'cancelled' },
    { key: 'left again', outcome: 'cancelled' },
    { key: 'wanted', outcome: null },
  ]);
});
