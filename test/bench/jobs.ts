/**
 * Ten thousand external workers that wait for jobs of one agent, at one copy of the API: what they cost while
 * nothing comes, and how fast jobs reach them. `npm run bench:jobs`, with `--write` into docs/benchmarks.md.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';

import { createJob } from '../../domain/jobs/job.ts';
import type { PinnedAgent } from '../../domain/ports.ts';
import { createClient } from '../support/app.ts';
import { registeredAgent } from '../support/agent-body.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { insertRun } from '../support/human-tasks.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { until } from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';

const POLLERS = 10_000;
const IDLE_SECONDS = 30;
const JOBS = 2_000;
/** How many are connected at once. */
const BATCH = 200;
const CLOCK_TICKS = 100;

const env = { WORKER_POLLS_PER_TOKEN: String(POLLERS) };
const platform = await startOwnPlatform({ env, worker: false });
const api = await startProgram('api', platform, env);
const owner = await platform.user('builder');
const client = createClient(api.url, owner.token);
const agent: PinnedAgent = await registeredAgent(client, { execution_type: 'edge' });
const { body: token } = await client.post(`/agents/${agent.id}/worker-tokens`, { name: 'bench' });
const runId = await insertRun(platform.orm, { owner: owner.id });
const connections = new Agent({ keepAlive: true, maxSockets: POLLERS });

let isOver = false;
const arrivals: number[] = [];
function poll(): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${api.url}/agents/${agent.id}/jobs/poll`,
      {
        method: 'POST',
        agent: connections,
        headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve(JSON.parse(text)));
      },
    );
    sent.on('error', reject).end(JSON.stringify({ wait_seconds: 25 }));
  });
}
async function work(): Promise<void> {
  while (!isOver) {
    const jobs = await poll().catch(() => []);
    if (jobs.length > 0) arrivals.push(performance.now());
  }
}

const statements = async (): Promise<number> => {
  const em = platform.orm.em.fork();
  await em.execute('select pg_stat_clear_snapshot()');
  const [row] = await em.execute<{ count: number }[]>(
    `select (xact_commit + xact_rollback)::int as count from pg_stat_database
      where datname = current_database()`,
  );
  return row?.count ?? 0;
};
const processorMs = (): number => {
  const fields = readFileSync(`/proc/${api.pid()}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / CLOCK_TICKS;
};

const workers: Promise<void>[] = [];
for (let n = 0; n < POLLERS; n += BATCH) {
  for (let i = 0; i < BATCH; i++) workers.push(work());
  await sleep(100);
}
await sleep(5_000);
const before = { statements: await statements(), ms: processorMs(), at: performance.now() };
await sleep(IDLE_SECONDS * 1_000);
const seconds = (performance.now() - before.at) / 1_000;
const idle = {
  statements: ((await statements()) - before.statements) / seconds,
  cpu: (processorMs() - before.ms) / seconds / 10,
};

const begun = performance.now();
const em = platform.orm.em.fork();
for (let n = 0; n < JOBS; n++)
  await createJob(em.fork(), {
    run_id: runId,
    key: uuidv7(),
    kind: 'worker',
    task: '/do/0/far',
    visit: 1,
    attempt: 1,
    agent: { ...agent, output_schema: {} },
    queue: 'default',
    input: { n },
    configuration: {},
    repeatable: true,
    maxAttempts: 5,
    leaseMs: 600_000,
    timeoutMs: 3_600_000,
  });
const made = performance.now();
await until(
  async () => arrivals.length,
  (count) => count >= JOBS,
);
const taken = Math.max(...arrivals);
isOver = true;
await api.kill();
connections.destroy();
await Promise.allSettled(workers);
await platform.close();

const rate = (count: number, ms: number): string => Math.round(count / (ms / 1_000)).toLocaleString('en-US');
const body = `## External workers

\`npm run bench:jobs\`: ${POLLERS.toLocaleString('en-US')} workers of one agent wait at one copy of the API,
each asks again every 25 seconds, and everything runs on one machine with 2 processors.

| measured                                                   |  value |
| ---------------------------------------------------------- | -----: |
| transactions a second of the database, while nothing comes | ${idle.statements.toFixed(1)} |
| processor of the API, while nothing comes                  | ${idle.cpu.toFixed(1)} % |
| jobs made a second, one after the other                    | ${rate(JOBS, made - begun)} |
| jobs a second that reach a worker                          | ${rate(JOBS, taken - begun)} |
| the last job reaches its worker after it was made          | ${Math.max(0, taken - made).toFixed(0)} ms |
`;
process.stdout.write(body);
if (process.argv.includes('--write'))
  await writeDocsSection({ file: 'docs/benchmarks.md', name: 'jobs', script: 'bench:jobs', body });
