/**
 * Many runs that wait for people on one installation, whose programs run as in production: memory, decisions
 * among them, and human tasks that all expire at the same moment. `npm run bench:scale [waiting] [expiring]`,
 * 2,000 and 500 by default, at most 100,000 each. With `--temporal-on-postgres`, Temporal's own server keeps
 * its data in PostgreSQL, as in Compose; it is built from Go modules once.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { createClient } from '../support/app.ts';
import { agentTask, humanTask } from '../support/definitions.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { until } from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';
import { percentile, perSecond } from './beside/in-turns.ts';
import { residentKib } from './beside/processes.ts';

const MAX = 100_000;
const AT_ONCE = 16;
const DECISIONS = 50;
const [waiting = 2_000, expiring = 500] = process.argv
  .slice(2)
  .filter((text) => !text.startsWith('-'))
  .map((text) => Math.min(MAX, Number(text)));
const temporalOnPostgres = process.argv.includes('--temporal-on-postgres');

const env = { USER_MAX_LIVE_RUNS: String(4 * MAX) };
const platform = await startOwnPlatform({ env, worker: false, temporalOnPostgres });
const [api, worker] = await Promise.all([
  startProgram('api', platform, env),
  startProgram('worker', platform, env),
]);
const builder = createClient(api.url, (await platform.user('admin')).token);
// Of a session, it would end after a quarter of an hour.
const { body: access } = await builder.post('/users/me/tokens', {
  name: 'bench',
  scopes: ['runs:write', 'hitl:decide'],
  expires_at: new Date(Date.now() + 24 * 3_600_000).toISOString(),
});
const client = createClient(api.url, access.token);
const em = platform.orm.em.fork();
let called = (_run: string): void => {};
const agent = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    called((JSON.parse(body) as { run: string }).run);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
});
await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
const { body: registered } = await builder.post('/agents', {
  name: 'echo',
  type: 'api',
  version: '1.0.0',
  visibility: 'private',
  configuration: { endpoint: `http://127.0.0.1:${(agent.address() as AddressInfo).port}` },
});
const workflowOf = async (name: string, more: object): Promise<string> => {
  const call = agentTask(registered.id, { input: { run: '${ $workflow.id }' } });
  const definition = { do: [{ ask: humanTask('Go?', { ...more }) }, { call }] };
  const { body } = await builder.post('/workflows', { name, definition });
  if (!body.runnable) throw new Error(JSON.stringify(body.problems));
  return body.id;
};
const [patient, hasty] = [
  await workflowOf('waits', {}),
  await workflowOf('expires', { expires: '${ .after }' }),
];

/** Of runs that were started and do not wait yet: a backlog makes Temporal slower. */
const MAX_BEHIND = 200;
/** Starts that were answered 503 and sent again. */
let refused = 0;

/** Starts runs and waits until they wait. @returns how many a second */
async function startWaiting(workflow: string, count: number, input: () => object): Promise<number> {
  const begun = performance.now();
  let started = 0;
  let mayStart = Promise.resolve();
  const fewBehind = (most: number) => async (): Promise<void> => {
    await until(behind, ([row]) => Number(row?.behind) <= most, 3_600_000);
  };
  await perSecond(
    async () => {
      if (++started % MAX_BEHIND === 0) mayStart = mayStart.then(fewBehind(MAX_BEHIND));
      await mayStart;
      const start = () => client.post(`/workflows/${workflow}/run`, { input_params: input() });
      let answer = await start();
      for (; answer.status === 503; answer = await start()) {
        refused++;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      if (answer.status !== 201) throw new Error(`the run was refused: ${JSON.stringify(answer.body)}`);
    },
    count,
    AT_ONCE,
  );
  await fewBehind(0)();
  return count / ((performance.now() - begun) / 1_000);
}

/** Read by an index: a count of all that wait would take longer than what is measured. */
function behind(): Promise<{ behind: number }[]> {
  return em.execute<{ behind: number }[]>(
    `select count(*)::int as behind from run where status in ('pending', 'running')`,
  );
}

/** From the request to the agent's call of the next step, one after the other. @returns milliseconds */
async function decide(count: number): Promise<number[]> {
  const tasks = await em.execute<{ id: string; run_id: string }[]>(
    `select t.id, t.run_id from hitl_task t where t.status = 'open' and t.expires_at is null
     order by md5(t.id::text) limit ?`,
    [count],
  );
  const times: number[] = [];
  for (const { id, run_id } of tasks) {
    const at = performance.now();
    const reached = new Promise<void>((resolve) => {
      called = (run) => void (run === run_id && resolve());
    });
    const { status } = await client.post(`/hitl/tasks/${id}/decision`, { decision: 'approve' });
    if (status !== 200) throw new Error(`the decision was refused: ${status}`);
    await reached;
    times.push(performance.now() - at);
  }
  return times;
}

const mib = (pid: number): number => residentKib(pid) / 1024;
const memory = (): string =>
  `worker ${mib(worker.pid()).toFixed(0)} MiB, api ${mib(api.pid()).toFixed(0)} MiB`;
const spread = (times: readonly number[]): string =>
  [0.5, 0.99].map((part) => `${percentile(times, part).toFixed(0)} ms`).join(', ');
const report = (name: string, value: string): void => void process.stdout.write(`| ${name} | ${value} |\n`);
const none = (): object => ({});

await startWaiting(patient, DECISIONS, none);
report('decision → next step, few wait: median, p99', spread(await decide(DECISIONS)));
report('memory, few wait', memory());
const sizes = await storedBytes();
const rate = await startWaiting(patient, waiting, none);
report(`until ${waiting} wait, runs/s`, rate.toFixed(1));
report(`memory, ${waiting} wait`, memory());
report('PostgreSQL for each, KiB', (((await storedBytes()) - sizes) / waiting / 1024).toFixed(1));
report(`decision → next step, ${waiting} wait: median, p99`, spread(await decide(DECISIONS)));

const expiry = Date.now() + 10_000 + (expiring / rate) * 1_500;
await startWaiting(hasty, expiring, () => ({
  after: `PT${(Math.max(0, expiry - Date.now()) / 1_000).toFixed(3)}S`,
}));
if (Date.now() > expiry) throw new Error('the runs began too slowly; try fewer');
await until(
  async () => Date.now(),
  (now) => now >= expiry,
  MAX * 1_000,
);
const during = await decide(DECISIONS);
const ended = (): Promise<{ left: number; last: number }[]> =>
  em.execute(
    `select count(*) filter (where status not in ('faulted', 'completed'))::int as left,
            extract(epoch from max(finished_at))::float8 * 1000 as last
       from run where workflow_id = ?`,
    [hasty],
  );
const [row] = await until(ended, ([found]) => found?.left === 0, 3_600_000);
report(
  `${expiring} equal expiries: until the last run has ended`,
  `${(((row?.last ?? 0) - expiry) / 1_000).toFixed(1)} s`,
);
report('decision → next step meanwhile: median, p99', spread(during));
report('memory at the end', memory());
report('starts refused with 503', String(refused));
await Promise.all([api.kill(), worker.kill()]);
agent.close();
await platform.close();
process.exit(0);

async function storedBytes(): Promise<number> {
  const [size] = await em.execute<{ bytes: number }[]>(
    'select pg_database_size(current_database())::float8 as bytes',
  );
  return size?.bytes ?? 0;
}
