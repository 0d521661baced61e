/**
 * Requests to our API beside a bare Koa server that sends the same statements: `npm run bench:api [seconds]`.
 * Both are processes of their own and take turns; 64 connections.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as send } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v7 } from 'uuid';
import { startProgram } from '../support/programs.ts';
import { statementsOf } from './beside/recorded.ts';
import { percentile } from './beside/in-turns.ts';
import { statOf, TICKS_PER_SECOND } from './beside/processes.ts';
import { startWorld } from './beside/world.ts';

const CONNECTIONS = 64;
const ROUNDS = 3;
/** Of each server, in each round. */
const DECISIONS = 64;
const LISTED = 60;
/** Runs that are started together. */
const AT_ONCE = 32;
const seconds = Number(process.argv[2] ?? 3);

interface Load {
  perSecond: number;
  p99: number;
  /** Of the server's process, for each request. */
  cpuMs: number;
}
type Call = () => Promise<void>;

const world = await startWorld();
const { platform } = world;
const user = await platform.createUser({ roles: ['admin'] });
const admin = await platform.as(user);
const ours = await startProgram('api', platform);
const tasks = await Promise.all(Array.from({ length: LISTED }, () => world.waitingRun()));
const [agent] = (await admin.get('/agents')).body;
const run = (await admin.get(`/hitl/tasks/${tasks[0]}`)).body.run_id;
const paths = ['/hitl/tasks', `/agents/${agent.id}`, `/runs/${run}`];

// The platform's own worker shares this process: nothing of it may be recorded.
await sleep(2_000);
const routes = [];
for (const path of paths) {
  await admin.get(path);
  routes.push({ path, statements: await statementsOf(() => admin.get(path)) });
}
const bare = fork(fileURLToPath(new URL('baseline/bare-api.ts', import.meta.url)), [
  platform.databaseUrl,
  JSON.stringify(routes),
]);
const [barePort] = (await once(bare, 'message')) as [number];
const servers = {
  ours: { url: ours.url, pid: ours.pid() },
  bare: { url: `http://127.0.0.1:${barePort}`, pid: bare.pid ?? 0 },
};
const agents = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

function decide(task: string) {
  return admin.post(`/hitl/tasks/${task}/decision`, { decision: 'approve' });
}

async function call(url: string, body?: string): Promise<void> {
  const outgoing = send(url, {
    agent: agents,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${user.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
  });
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
}

/** The next call until there is none, or the time is over. */
async function load(pid: number, next: () => Call | null, forMs = Infinity): Promise<Load> {
  const times: number[] = [];
  const cpu = processorMs(pid);
  const at = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let work = next(); work !== null && performance.now() - at < forMs; work = next()) {
        const began = performance.now();
        await work();
        times.push(performance.now() - began);
      }
    }),
  );
  return {
    perSecond: (times.length / (performance.now() - at)) * 1_000,
    p99: percentile(times, 0.99),
    cpuMs: (processorMs(pid) - cpu) / times.length,
  };
}

/** Time of all threads of a process on a processor. */
function processorMs(pid: number): number {
  const [user = 0, system = 0] = statOf(pid).slice(11, 13);
  return ((user + system) * 1_000) / TICKS_PER_SECOND;
}

function print(name: string, measured: Record<'ours' | 'bare', Load[]>): void {
  const median = (of: Load[], what: keyof Load): number =>
    percentile(
      of.map((one) => one[what]),
      0.5,
    );
  const line = (what: keyof Load, unit: string): string => {
    const [mine, theirs] = [median(measured.ours, what), median(measured.bare, what)];
    const ratio = (mine / theirs).toFixed(2);
    return `  ${what}: ${mine.toFixed(1)}${unit} : ${theirs.toFixed(1)}${unit} = ${ratio}`;
  };
  process.stdout.write(
    `${[name, line('perSecond', '/s'), line('p99', ' ms'), line('cpuMs', ' ms')].join('\n')}\n`,
  );
}

for (const path of paths) {
  const measured: Record<'ours' | 'bare', Load[]> = { ours: [], bare: [] };
  for (let round = 0; round <= ROUNDS; round++)
    for (const name of ['ours', 'bare'] as const) {
      const { url, pid } = servers[name];
      const result = await load(pid, () => () => call(url + path), seconds * 1_000);
      // The first round compiles.
      if (round > 0) measured[name].push(result);
    }
  print(
    `GET ${path}, statements: ${routes.find((route) => route.path === path)?.statements.length}`,
    measured,
  );
}

const deciding = await tasksThatWait(2 * DECISIONS * (ROUNDS + 1) + 1);
// The runs of our decisions would go on beside the measurement, those of the others would not.
await platform.stopWorker();
const first = deciding.pop() ?? { id: '', run_id: '', version: '' };
const recordedAt = Date.now();
let decidedAt = '';
const recorded = await statementsOf(async () => {
  decidedAt = (await decide(first.id)).body.decision.decided_at;
});
const statements = JSON.stringify(recorded);
// Version 7: the first 48 bits are the time.
const made = new Set(
  (statements.match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? []).filter(
    (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) >= recordedAt,
  ),
);
const decisions: Record<'ours' | 'bare', Load[]> = { ours: [], bare: [] };
for (let round = 0; round <= ROUNDS; round++)
  for (const name of ['ours', 'bare'] as const) {
    const waiting = deciding.splice(0, DECISIONS);
    const next = name === 'ours' ? ourDecision : bareDecision;
    const result = await load(servers[name].pid, () => {
      const task = waiting.pop();
      return task ? () => next(task) : null;
    });
    if (round > 0) decisions[name].push(result);
  }
print(`POST /hitl/tasks/{id}/decision, statements: ${recorded.length}`, decisions);

interface WaitingTask {
  id: string;
  run_id: string;
  version: string;
}

async function tasksThatWait(count: number): Promise<WaitingTask[]> {
  const ids: string[] = [];
  while (ids.length < count)
    ids.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => world.waitingRun()))));
  return platform.orm.em.fork().execute<WaitingTask[]>(
    `select id, run_id, xmin::text as version from hitl_task
      where status = 'open' order by id desc limit ?`,
    [count],
  );
}

function ourDecision({ id }: WaitingTask): Promise<void> {
  return call(`${servers.ours.url}/hitl/tasks/${id}/decision`, '{"decision":"approve"}');
}

/** With what the recorded statements say of their task said of this one. */
function bareDecision({ id, run_id, version }: WaitingTask): Promise<void> {
  let body = statements
    .replaceAll(first.id, id)
    .replaceAll(first.run_id, run_id)
    .replaceAll(JSON.stringify(first.version), JSON.stringify(version))
    .replaceAll(decidedAt, new Date().toISOString());
  for (const own of made) body = body.replaceAll(own, v7());
  return call(`${servers.bare.url}/transaction`, body);
}

bare.kill();
await ours.kill();
await world.stop();
process.exit(0);
