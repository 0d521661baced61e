/** Polls of external workers that wait: what they cost the database, and who is served. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';

import { JobPolls } from '../../../api/jobs/job-polls.ts';
import { listenForJobs } from '../../../db/notifications.ts';
import { createJob } from '../../../domain/jobs/job.ts';
import type { TakenJob } from '../../../domain/jobs/work.ts';
import type { PinnedAgent } from '../../../domain/ports.ts';
import { registeredAgent } from '../../support/agent-body.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
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

const addJob = (queue = 'default') =>
  createJob(app.orm.em.fork(), {
    run_id: runId,
    key: uuidv7(),
    kind: 'worker',
    task: '/do/0/far',
    visit: 1,
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
