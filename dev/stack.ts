/** All of Cadenza on one machine: embedded servers where none are given, migrations, api and worker, kept running. */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { childEnv, loadEnv, type Env, type EnvSource } from '../config/env.ts';
import { generateCapability, generateEncryptionKeys, generatePassword, keptSecret, lastLines, logFileOf } from './data-dir.ts';
import { claimInstance, type Instance } from './instance.ts';
import { spawnServer, type ServerProcess } from './os-process.ts';
import { choosePort } from './ports.ts';
import { postgresStop, startPostgres } from './postgres.ts';
import { createSupervisor, type Service, type Supervisor } from './supervisor.ts';
import { startTemporal, temporalStop } from './temporal.ts';
import { waitForPolls } from './worker-polls.ts';

/** Files that Node runs: `migrate` ends with 0; the others serve, log JSON, and on SIGTERM drain and end with 0. */
export type Programs = { migrate: string; api: string; worker: string };

export type Stack = {
  baseUrl: string;
  /** Port of the A2A gRPC binding; undefined: switched off. */
  grpcPort: number | undefined;
  temporalAddress: string;
  temporalUiUrl: string | undefined;
  /** The password only if there was no user yet; without it, the one of the first start is kept in the data folder. */
  admin: { username: string; password?: string; generated: boolean } | undefined;
  dataDir: string;
};

export type StackStart = {
  /** When `/readyz` answers 200. Rejects if something does not come up; what did is stopped then. */
  ready: Promise<Stack>;
  /** Drains api and worker, then ends the servers: at most 20 s, at any moment of the start too. */
  stop(): Promise<void>;
};

type Context = { env: Env; dataDir: string; supervisor: Supervisor; say: (line: string) => void; abort: AbortSignal };

const usualGrpcPort = 50_051;
const loopback = '127.0.0.0/8,::1/128,localhost';
/** Longer than the api gives open requests; a worker's activities are taken up again elsewhere. */
const drain = [{ signal: 'SIGTERM', waitMs: 11_000 }] as const;
const readyTimeoutMs = 60_000;
/** In this time a worker with bad settings has ended. */
const workerTrialMs = 1_500;
/** Long enough to build the workflows' bundle on a slow machine. */
const workerTimeoutMs = 60_000;

export function startStack(env: Env, programs: Programs, say: (line: string) => void): StackStart {
  const aborting = new AbortController();
  let instance: Instance | undefined;
  const supervisor = createSupervisor({ say, remember: async (role, pid) => instance?.remember(role, pid) });
  mkdirSync(env.DATA_DIR, { recursive: true, mode: 0o700 });
  const context: Context = { env, dataDir: realpathSync(env.DATA_DIR), supervisor, say, abort: aborting.signal };
  const up = (async () => {
    instance = await claimInstance(context.dataDir);
    const left = await instance.endLeftovers();
    if (left.length > 0) say(`ended what an earlier start had left running: ${left.join(', ')}`);
    const stack = await bringUp(context, programs);
    instance.announce(stack.baseUrl);
    return stack;
  })();
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= (async () => {
    aborting.abort(new Error('stopped'));
    await supervisor.stop(['migrate', 'api', 'worker']);
    await supervisor.stop(['PostgreSQL', 'Temporal']);
    // A step of the start that is under way ends what it has begun when it sees the stop.
    await Promise.race([up.catch(() => undefined), sleep(5_000, undefined, { ref: false })]);
    instance?.release();
  })());
  const ready = up.catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { ready, stop };
}

async function bringUp(context: Context, programs: Programs): Promise<Stack> {
  const { env, dataDir, supervisor } = context;
  const port = await choosePort({ what: 'the API (PORT)', wanted: env.PORT, host: env.HOST });
  const baseUrl = loadEnv(childEnv({ PORT: String(port) })).BASE_URL;
  const encryptionKeys = env.ENCRYPTION_KEYS.length > 0 ? {} : { ENCRYPTION_KEYS: keptSecret(dataDir, 'encryption-keys', generateEncryptionKeys) };
  const codecToken = env.TEMPORAL_CODEC_TOKEN ?? keptSecret(dataDir, 'temporal-codec-token', generateCapability);
  const apiUrl = `http://${reachable(env.HOST)}:${port}`;
  const shared = { PORT: String(port), BASE_URL: baseUrl, DATA_DIR: dataDir, TEMPORAL_CODEC_TOKEN: codecToken, ...encryptionKeys, ...(env.EGRESS_ALLOW.length > 0 ? {} : { EGRESS_ALLOW: loopback }) };
  const [database, temporal] = await Promise.all([
    databaseOf(context).then(async (url) => {
      await supervisor.complete(programOf(context, 'migrate', programs.migrate, { ...shared, DATABASE_URL: url }));
      return { url, admin: await firstAdmin(context, url) };
    }),
    temporalOf(context, `${apiUrl}/temporal-codec/${codecToken}`),
  ]);
  const grpcPort = await grpcPortOf(context);
  const settings: EnvSource = {
    ...shared, A2A_GRPC_PORT: String(grpcPort ?? 'off'), DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address, TEMPORAL_UI_URL: temporal.uiUrl,
    ...(database.admin?.password === undefined ? {} : { ADMIN_PASSWORD: database.admin.password }),
  };
  const readyUrl = `${apiUrl}/readyz`;
  await Promise.all([
    supervisor.run(programOf(context, 'api', programs.api, settings, (running) => waitForAnswer(context, running, readyUrl))),
    supervisor.run(programOf(context, 'worker', programs.worker, settings, (running) => waitForWorker(context, temporal.address, running))),
  ]);
  await waitUntilReady(context, readyUrl);
  if (database.admin?.password !== undefined) await waitForAdmin(context, database.url);
  return { baseUrl, grpcPort, temporalAddress: temporal.address, temporalUiUrl: temporal.uiUrl, admin: database.admin, dataDir };
}

/** Who takes any port for the API takes any for gRPC too: the usual one may be another instance's in a moment. */
async function grpcPortOf({ env: { A2A_GRPC_PORT: wanted, HOST: host, PORT } }: Context): Promise<number | undefined> {
  if (wanted === 'off') return undefined;
  return choosePort({ what: 'gRPC (A2A_GRPC_PORT)', wanted: wanted ?? (PORT === 0 ? 0 : undefined), usual: usualGrpcPort, host });
}

/** Address of the database given, or of an embedded one that keeps its port when it has to be started again. */
async function databaseOf({ env, dataDir, supervisor, say }: Context): Promise<string> {
  if (env.DATABASE_URL) return env.DATABASE_URL;
  let last: { url: string; port: number } | undefined;
  await supervisor.run({
    role: 'PostgreSQL', stop: postgresStop, logFile: logFileOf(dataDir, 'postgres'),
    start: async (_attempt, spawned) => {
      const port = last?.port ?? env.POSTGRES_PORT;
      const server = await startPostgres({ dataDir, spawned, ...(port === undefined ? {} : { port }) });
      if (!last) say(`PostgreSQL on 127.0.0.1:${server.port}`);
      last = server;
      return server;
    },
  });
  if (!last) throw new Error('PostgreSQL did not start');
  return last.url;
}

async function temporalOf(context: Context, codecEndpoint: string): Promise<{ address: string; uiUrl: string | undefined }> {
  const { env, dataDir, supervisor, say, abort } = context;
  if (env.TEMPORAL_ADDRESS) return { address: env.TEMPORAL_ADDRESS, uiUrl: env.TEMPORAL_UI_URL };
  let last: { address: string; uiUrl: string; port: number; uiPort: number } | undefined;
  await supervisor.run({
    role: 'Temporal', stop: temporalStop, logFile: logFileOf(dataDir, 'temporal'),
    start: async (_attempt, spawned) => {
      const server = await startTemporal({
        dataDir, spawned, abort, codecEndpoint, progress: say, port: last?.port ?? env.TEMPORAL_PORT, uiPort: last?.uiPort ?? env.TEMPORAL_UI_PORT,
        namespaces: env.TEMPORAL_NAMESPACE === 'default' ? [] : [env.TEMPORAL_NAMESPACE],
      });
      if (!last) say(`Temporal on ${server.address}`);
      last = server;
      return server;
    },
  });
  if (!last) throw new Error('Temporal did not start');
  return { address: last.address, uiUrl: env.TEMPORAL_UI_URL ?? last.uiUrl };
}

function programOf({ dataDir }: Context, role: string, file: string, settings: EnvSource, isUp?: (running: ServerProcess) => Promise<void>): Service {
  const logFile = logFileOf(dataDir, role);
  return {
    role, stop: drain, logFile,
    start: async (_attempt, spawned) => {
      const running = await spawnServer({ command: process.execPath, args: ['--enable-source-maps', file], env: childEnv(settings), logFile });
      await spawned(running.pid);
      await isUp?.(running);
      return running;
    },
  };
}

/** The administrator that the api makes at its start if there is no user; the generated password is kept for later reading. */
async function firstAdmin({ env, dataDir }: Context, databaseUrl: string): Promise<Stack['admin']> {
  if (await hasUsers(databaseUrl)) return existsSync(join(dataDir, 'admin-password')) ? { username: env.ADMIN_USERNAME, generated: true } : undefined;
  const password = env.ADMIN_PASSWORD ?? keptSecret(dataDir, 'admin-password', generatePassword);
  return { username: env.ADMIN_USERNAME, password, generated: env.ADMIN_PASSWORD === undefined };
}

/** The api makes it beside serving; who reads `ready` may log in at once. */
async function waitForAdmin({ abort }: Context, databaseUrl: string): Promise<void> {
  for (const deadline = Date.now() + readyTimeoutMs; Date.now() < deadline; await sleep(50)) {
    abort.throwIfAborted();
    if (await hasUsers(databaseUrl)) return;
  }
  throw new Error('the api did not make the administrator');
}

async function hasUsers(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ found: boolean }>('SELECT EXISTS (SELECT 1 FROM user_account) AS found');
    return rows[0]?.found === true;
  } finally {
    await client.end();
  }
}

/** Until the api listens, whatever it answers. */
async function waitForAnswer({ dataDir }: Context, running: ServerProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + readyTimeoutMs; Date.now() < deadline && (await statusOf(url)) === undefined; await sleep(50)) {
    if (running.hasExited()) throw endedAtOnce('api', dataDir);
  }
}

/** Until the worker asks for work, so that a run started then is worked on; it need not end where Temporal is away. */
async function waitForWorker({ env, dataDir, say }: Context, address: string, running: ServerProcess): Promise<void> {
  const state = await waitForPolls({ env, address, running, trialMs: workerTrialMs, timeoutMs: workerTimeoutMs });
  if (state === 'exited') throw endedAtOnce('worker', dataDir);
  if (state === 'unknown') say(`Temporal on ${address} does not answer: runs are accepted, and start when it does (log: ${logFileOf(dataDir, 'worker')})`);
  if (state === 'late') say(`the worker takes up no work yet (log: ${logFileOf(dataDir, 'worker')})`);
}

function endedAtOnce(role: string, dataDir: string): Error {
  return new Error(`the ${role} ended at once. The end of its log:\n${lastLines(logFileOf(dataDir, role), 20)}`);
}

async function waitUntilReady({ dataDir, abort }: Context, url: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    abort.throwIfAborted();
    const status = await statusOf(url);
    if (status === 200) return;
    if (Date.now() > deadline) {
      throw new Error(`${url} answered ${status ?? 'nothing'} for ${readyTimeoutMs / 1000} s. The end of the api's log:\n${lastLines(logFileOf(dataDir, 'api'), 20)}`);
    }
    await sleep(50);
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(5_000) }).then(async (response) => {
    await response.body?.cancel();
    return response.status;
  }, () => undefined);
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
