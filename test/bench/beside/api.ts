/**
 * Requests to our API beside a bare Koa server that sends the same statements. Both are processes of their
 * own and take turns.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as send } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v7 } from 'uuid';
import { runWorkflowId } from '../../../contracts/temporal.ts';
import { startProgram, type Program } from '../../support/programs.ts';
import type { Client } from '../../support/app.ts';
import { statementsOf, type BareRoute } from './recorded.ts';
import { percentile } from './in-turns.ts';
import { statOf, TICKS_PER_SECOND } from './processes.ts';
import type { World } from './world.ts';

const CONNECTIONS = 64;
/** Of each server, in each turn. */
const DECISIONS = 64;
/**
 * Of each server before: what has run a few times only is not compiled, which takes more time than the work.
 */
const FIRST_DECISIONS = 512;
const LISTED = 60;
/** Runs that are started together. */
const AT_ONCE = 32;
const DECIDE = 'POST /hitl/tasks/{id}/decision';
/** The same, where the bare server sends a signal to the run as well. */
const DECIDE_AND_SIGNAL = `${DECIDE}, both signal`;
/** Those that have an aim: as many requests a second as 0.6 times the bare server. */
export const API_AIMS = ['GET /hitl/tasks', 'GET /agents/{id}', 'GET /runs/{id}', DECIDE];

/** Medians of the turns. */
export interface Load {
  perSecond: number;
  p50: number;
  p99: number;
  /** Of the server's process, for each request. */
  cpuMs: number;
}

export interface ApiMeasure {
  /** What both servers send for one request. */
  statements: string[];
  ours: Load;
  bare: Load;
}

export interface ApiOptions {
  /** Of each turn of a read. */
  seconds: number;
  rounds: number;
  /** By name; default: all. */
  measures?: (name: string) => boolean;
}

type Call = () => Promise<void>;
const BOTH = ['ours', 'bare'] as const;

/** By method and path template. */
export async function measureApi(
  world: World,
  { seconds, rounds, measures = () => true }: ApiOptions,
): Promise<Record<string, ApiMeasure>> {
  const user = await world.platform.createUser({ roles: ['admin'] });
  const admin = await world.platform.as(user);
  const tasks = await Promise.all(Array.from({ length: LISTED }, () => world.waitingRun()));
  // The platform's own worker shares this process: nothing of it may be recorded.
  await sleep(2_000);
  const routes = await recordedReads(admin, tasks[0] ?? '');
  const servers = await startServers(world, [...routes.values()], user.token);
  const measured: Record<string, ApiMeasure> = {};
  try {
    for (const [name, { path, statements }] of routes) {
      if (!measures(name)) continue;
      const turns = await inTurns(BOTH, rounds, (server) =>
        servers[server].load(() => () => servers[server].call(path), seconds * 1_000),
      );
      measured[name] = { statements: statements.map(({ text }) => text), ...medians(turns) };
    }
    if (measures(DECIDE) || measures(DECIDE_AND_SIGNAL))
      Object.assign(measured, await measureDecisions(world, admin, servers, rounds));
    return measured;
  } finally {
    await Promise.all([servers.ours.stop(), servers.bare.stop()]);
  }
}

async function measureDecisions(
  world: World,
  admin: Client,
  servers: Record<'ours' | 'bare', Server>,
  rounds: number,
): Promise<Record<string, ApiMeasure>> {
  const kinds = ['ours', 'bare', 'signalling'] as const;
  const count = kinds.length * (FIRST_DECISIONS + rounds * DECISIONS) + 1;
  const [first, ...waiting] = await waitingTasks(world, count);
  if (first === undefined) throw new Error('no task waits');
  // The runs of our decisions would go on beside the measurement, those of the others would not.
  await world.platform.stopWorker();
  const recorded = await recordedDecision(admin, first);
  const { ours, bare } = servers;
  const decide = {
    ours: ({ id }: WaitingTask) => ours.call(`/hitl/tasks/${id}/decision`, '{"decision":"approve"}'),
    bare: (task: WaitingTask) => bare.call('/transaction', recorded.of(task)),
    signalling: (task: WaitingTask) =>
      bare.call(`/transaction?signal=${runWorkflowId(task.run_id)}`, recorded.of(task)),
  };
  const turns = await inTurns(kinds, rounds, (kind, round) => {
    const tasks = waiting.splice(0, round === 0 ? FIRST_DECISIONS : DECISIONS);
    return servers[kind === 'ours' ? 'ours' : 'bare'].load(() => {
      const task = tasks.pop();
      return task === undefined ? null : () => decide[kind](task);
    });
  });
  await world.platform.startWorker();
  const { statements } = recorded;
  return {
    [DECIDE]: { statements, ...medians(turns) },
    [DECIDE_AND_SIGNAL]: { statements, ...medians({ ...turns, bare: turns.signalling }) },
  };
}

/** Of records and lists that the world has. */
interface Subjects {
  task: string;
  run: string;
  agent: string;
  workflow: string;
}

const READS: Record<string, (of: Subjects) => string> = {
  // A page of 50.
  'GET /hitl/tasks': () => '/hitl/tasks?scope=all',
  'GET /agents/{id}': ({ agent }) => `/agents/${agent}`,
  'GET /runs/{id}': ({ run }) => `/runs/${run}`,
  'GET /hitl/tasks/{id}': ({ task }) => `/hitl/tasks/${task}`,
  'GET /runs': () => '/runs',
  'GET /agents': () => '/agents',
  'GET /workflows/{id}': ({ workflow }) => `/workflows/${workflow}`,
  'GET /runs/{id}/logs': ({ run }) => `/runs/${run}/logs`,
};
export const API_NAMES = [...Object.keys(READS), DECIDE, DECIDE_AND_SIGNAL];

/** By name. */
async function recordedReads(admin: Client, task: string): Promise<Map<string, BareRoute>> {
  const run = (await admin.get(`/hitl/tasks/${task}`)).body.run_id;
  const [agent] = (await admin.get('/agents')).body;
  const [workflow] = (await admin.get('/workflows')).body;
  const subjects = { task, run, agent: agent.id, workflow: workflow.id };
  const routes = new Map<string, BareRoute>();
  for (const [name, pathOf] of Object.entries(READS)) {
    const path = pathOf(subjects);
    // The next ones find the caller known, as they do under load.
    await admin.get(path);
    routes.set(name, { path, statements: await statementsOf(() => admin.get(path)) });
  }
  return routes;
}

interface RecordedDecision {
  statements: string[];
  /** What the recorded statements say of their task, said of another one, as JSON. */
  of(task: WaitingTask): string;
}

interface WaitingTask {
  id: string;
  run_id: string;
  version: string;
}

async function recordedDecision(admin: Client, task: WaitingTask): Promise<RecordedDecision> {
  const at = Date.now();
  let decidedAt = '';
  const recorded = await statementsOf(async () => {
    const { body } = await admin.post(`/hitl/tasks/${task.id}/decision`, { decision: 'approve' });
    decidedAt = body.decision.decided_at;
  });
  const statements = JSON.stringify(recorded);
  // Version 7: the first 48 bits are the time.
  const made = new Set(
    (statements.match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? []).filter(
      (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) >= at,
    ),
  );
  return {
    statements: recorded.map(({ text }) => text),
    of({ id, run_id: run, version }) {
      let body = statements
        .replaceAll(task.id, id)
        .replaceAll(task.run_id, run)
        .replaceAll(JSON.stringify(task.version), JSON.stringify(version))
        .replaceAll(decidedAt, new Date().toISOString());
      for (const own of made) body = body.replaceAll(own, v7());
      return body;
    },
  };
}

async function waitingTasks(world: World, count: number): Promise<WaitingTask[]> {
  for (let n = 0; n < count; n += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => world.waitingRun()));
  return world.platform.orm.em.fork().execute<WaitingTask[]>(
    `select id, run_id, xmin::text as version from hitl_task
      where status = 'open' order by id desc limit ?`,
    [count],
  );
}

interface Server {
  /** @throws if the answer is not 200 */
  call(path: string, body?: string): Promise<void>;
  /** Calls until there are none, or the time is over. */
  load(next: () => Call | null, forMs?: number): Promise<Load>;
  stop(): Promise<void>;
}

async function startServers(
  { platform, temporalAddress }: World,
  routes: BareRoute[],
  token: string,
): Promise<Record<'ours' | 'bare', Server>> {
  const ours: Program = await startProgram('api', platform);
  const bare = fork(fileURLToPath(new URL('../baseline/bare-api.ts', import.meta.url)), [
    platform.databaseUrl,
    JSON.stringify(routes),
    temporalAddress,
  ]);
  const [port] = (await once(bare, 'message')) as [number];
  return {
    ours: serverAt(ours.url, ours.pid(), token, () => ours.kill()),
    bare: serverAt(`http://127.0.0.1:${port}`, bare.pid ?? 0, token, async () => void bare.kill()),
  };
}

function serverAt(url: string, pid: number, token: string, stop: () => Promise<void>): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    async call(path, body) {
      const outgoing = send(url + path, {
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      });
      outgoing.end(body);
      const [response] = await once(outgoing, 'response');
      response.resume();
      await once(response, 'end');
      if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`);
    },
    async load(next, forMs = Number.POSITIVE_INFINITY) {
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
        p50: percentile(times, 0.5),
        p99: percentile(times, 0.99),
        cpuMs: (processorMs(pid) - cpu) / times.length,
      };
    },
    stop,
  };
}

/** Time of all threads of a process on a processor. */
function processorMs(pid: number): number {
  const [user = 0, system = 0] = statOf(pid).slice(11, 13);
  return ((user + system) * 1_000) / TICKS_PER_SECOND;
}

/** `rounds` turns of each, after one that compiles. */
async function inTurns<K extends string>(
  kinds: readonly K[],
  rounds: number,
  turn: (kind: K, round: number) => Promise<Load>,
): Promise<Record<K, Load[]>> {
  const turns = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as Record<K, Load[]>;
  for (let round = 0; round <= rounds; round++)
    for (const kind of kinds) {
      const load = await turn(kind, round);
      if (round > 0) turns[kind].push(load);
    }
  return turns;
}

function medians(turns: Record<'ours' | 'bare', Load[]>): Pick<ApiMeasure, 'ours' | 'bare'> {
  const median = (loads: Load[], what: keyof Load): number =>
    percentile(
      loads.map((load) => load[what]),
      0.5,
    );
  const of = (loads: Load[]): Load => ({
    perSecond: median(loads, 'perSecond'),
    p50: median(loads, 'p50'),
    p99: median(loads, 'p99'),
    cpuMs: median(loads, 'cpuMs'),
  });
  return { ours: of(turns.ours), bare: of(turns.bare) };
}
