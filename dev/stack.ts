/**
 * Runs all of Cadenza on one machine: embedded servers unless external ones are configured, migrations, api
 * and worker. Restarts what fails.
 */
import { accessSync, constants, existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { childEnv, loadEnv, type Env, type EnvSource } from '../config/env.ts';
import {
  generateCapability,
  generatePassword,
  keptSecret,
  lastLines,
  logFileOf,
  RESTORE_MARK,
} from './data-dir.ts';
import { encryptionKeysFor } from './encryption-keys.ts';
import { claimInstance, type Instance } from './instance.ts';
import { spawnServer, type ServerProcess } from './os-process.ts';
import { choosePort } from './ports.ts';
import { POSTGRES_STOP, startPostgres } from './postgres.ts';
import { LOCAL_EGRESS } from './local-egress.ts';
import { createSupervisor, type Service, type Supervisor } from './supervisor.ts';
import { startTemporal, TEMPORAL_STOP, type EmbeddedTemporal } from './temporal.ts';
import { waitForPolls } from './worker-polls.ts';

/**
 * Programs that Node runs. `migrate` exits with 0. The others serve, log JSON, and on SIGTERM drain and exit
 * with 0. `backups` runs only with a timetable (BACKUP_EVERY).
 */
export type Programs = { migrate: string; api: string; worker: string; backups: string };

export type Stack = {
  baseUrl: string;
  /** Port of the A2A gRPC binding; undefined if it is off. */
  grpcPort: number | undefined;
  temporalAddress: string;
  temporalUiUrl: string | undefined;
  /**
   * `password` is set only if there was no user yet. Without it, the first start's password is in the data
   * folder.
   */
  admin: { username: string; password?: string; generated: boolean } | undefined;
  dataDir: string;
};

export type StackStart = {
  /** Resolves when `/readyz` answers 200. Rejects if a part does not start, after stopping the others. */
  ready: Promise<Stack>;
  /**
   * Drains api and worker, then ends the servers, within 20 s. May be called at any time, even during the
   * start.
   */
  stop(): Promise<void>;
};

type Context = {
  env: Env;
  dataDir: string;
  supervisor: Supervisor;
  print: (line: string) => void;
  abort: AbortSignal;
};

const USUAL_GRPC_PORT = 50_051;
/** Longer than the api lets open requests run. A worker's interrupted activities are retried elsewhere. */
const DRAIN = [{ signal: 'SIGTERM', waitMs: 11_000 }] as const;
const READY_TIMEOUT_MS = 120_000;
/** A worker with invalid settings exits within this time. */
const WORKER_TRIAL_MS = 1_500;
/** Enough to build the workflow bundle on a slow machine. */
const WORKER_TIMEOUT_MS = 120_000;

/** Starts the stack. @throws Error if the data folder is not writable */
export function startStack(env: Env, programs: Programs, print: (line: string) => void): StackStart {
  const aborting = new AbortController();
  let instance: Instance | undefined;
  const supervisor = createSupervisor({
    print,
    remember: async (role, pid) => instance?.remember(role, pid),
  });
  const context: Context = {
    env,
    dataDir: writableFolder(env.DATA_DIR),
    supervisor,
    print,
    abort: aborting.signal,
  };
  const up = (async () => {
    instance = await claimInstance(context.dataDir);
    if (existsSync(join(context.dataDir, RESTORE_MARK)))
      throw new Error(
        `a restore into ${context.dataDir} has not finished: run it again (cadenza server restore)`,
      );
    const left = await instance.endLeftovers();
    if (left.length > 0) print(`ended processes of an earlier start: ${left.join(', ')}`);
    const stack = await bringUp(context, programs);
    instance.announce(stack.baseUrl);
    return stack;
  })();
  let stopped: Promise<void> | undefined;
  const stop = () =>
    (stopped ??= (async () => {
      aborting.abort(new Error('stopped'));
      await supervisor.stop(['migrate', 'api', 'worker', 'backups']);
      await supervisor.stop(['PostgreSQL', 'Temporal']);
      // A startup step in progress ends what it has begun when it sees the abort.
      await Promise.race([up.catch(() => undefined), sleep(5_000, undefined, { ref: false })]);
      instance?.release();
    })());
  const ready = up.catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { ready, stop };
}

/** Creates the folder and returns its real path. @throws Error that names the setting */
function writableFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
    return realpathSync(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `the data folder ${resolve(path)} is not writable (${reason}). Choose another one with DATA_DIR.`,
      { cause: error },
    );
  }
}

async function bringUp(context: Context, programs: Programs): Promise<Stack> {
  const { env, dataDir, supervisor } = context;
  const port = await choosePort({ what: 'the API (PORT)', wanted: env.PORT, host: env.HOST });
  const shared = sharedSettings(context, port);
  const apiUrl = `http://${reachable(env.HOST)}:${port}`;
  const [database, temporal] = await Promise.all([
    databaseOf(context).then(async (url) => {
      const keys = await encryptionKeysFor(env, dataDir, url);
      const settings = { ...shared, ...keys, DATABASE_URL: url };
      await supervisor.complete(programOf(context, 'migrate', programs.migrate, settings));
      return { url, keys, admin: await firstAdmin(context, url) };
    }),
    temporalOf(context, `${apiUrl}/temporal-codec/${shared.TEMPORAL_CODEC_TOKEN}`),
  ]);
  const grpcPort = await grpcPortOf(context);
  const settings: EnvSource = {
    ...shared,
    ...database.keys,
    A2A_GRPC_PORT: String(grpcPort ?? 'off'),
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_UI_URL: temporal.uiUrl,
    // Its own one is always that of its database, also if somebody has removed its data.
    ...(env.TEMPORAL_ADDRESS ? {} : { ACCEPT_NEW_TEMPORAL: 'true' }),
    // Agents may call this machine, but not the servers of this installation on it.
    EGRESS_DENY: [...env.EGRESS_DENY, ...temporal.otherPorts.map((other) => `127.0.0.1:${other}`)].join(','),
    ...(database.admin?.password === undefined ? {} : { ADMIN_PASSWORD: database.admin.password }),
  };
  const readyUrl = `${apiUrl}/readyz`;
  const api = programOf(context, 'api', programs.api, settings, (running) =>
    waitForAnswer(context, running, readyUrl),
  );
  const worker = programOf(context, 'worker', programs.worker, settings, (running) =>
    waitForWorker(context, temporal.address, running),
  );
  await Promise.all([supervisor.run(api), supervisor.run(worker)]);
  await waitUntilReady(context, readyUrl);
  if (database.admin?.password !== undefined) await waitForAdmin(context, database.url);
  if (env.BACKUP_EVERY !== undefined)
    // It finds the embedded servers by the data folder, as `cadenza server backup` does.
    await supervisor.run(programOf(context, 'backups', programs.backups, shared));
  return {
    baseUrl: shared.BASE_URL,
    grpcPort,
    temporalAddress: temporal.address,
    temporalUiUrl: temporal.uiUrl,
    admin: database.admin,
    dataDir,
  };
}

/** The settings that all programs need, and that are not in the environment. */
function sharedSettings({ env, dataDir }: Context, port: number) {
  const PORT = String(port);
  return {
    PORT,
    BASE_URL: loadEnv(childEnv({ PORT })).BASE_URL,
    DATA_DIR: dataDir,
    TEMPORAL_CODEC_TOKEN:
      env.TEMPORAL_CODEC_TOKEN ?? keptSecret(dataDir, 'temporal-codec-token', generateCapability),
    ...(env.EGRESS_ALLOW.length > 0 ? {} : { EGRESS_ALLOW: LOCAL_EGRESS }),
  };
}

/**
 * Port of gRPC. If the API takes any port, gRPC does too: another instance may be about to take the usual
 * one.
 */
async function grpcPortOf({
  env: { A2A_GRPC_PORT: wanted, HOST: host, PORT },
}: Context): Promise<number | undefined> {
  if (wanted === 'off') return undefined;
  return choosePort({
    what: 'gRPC (A2A_GRPC_PORT)',
    wanted: wanted ?? (PORT === 0 ? 0 : undefined),
    usual: USUAL_GRPC_PORT,
    host,
  });
}

/** URL of the configured database, or of an embedded one, which keeps its port when it is restarted. */
async function databaseOf({ env, dataDir, supervisor, print }: Context): Promise<string> {
  if (env.DATABASE_URL) return env.DATABASE_URL;
  let last: { url: string; port: number } | undefined;
  await supervisor.run({
    role: 'PostgreSQL',
    stop: POSTGRES_STOP,
    logFile: logFileOf(dataDir, 'postgres'),
    start: async (_attempt, spawned) => {
      const port = last?.port ?? env.POSTGRES_PORT;
      const server = await startPostgres({ dataDir, spawned, ...(port === undefined ? {} : { port }) });
      if (!last) print(`PostgreSQL on 127.0.0.1:${server.port}`);
      last = server;
      return server;
    },
  });
  if (!last) throw new Error('PostgreSQL did not start');
  return last.url;
}

async function temporalOf(
  context: Context,
  codecEndpoint: string,
): Promise<{ address: string; uiUrl: string | undefined; otherPorts: readonly number[] }> {
  const { env, dataDir, supervisor, print, abort } = context;
  if (env.TEMPORAL_ADDRESS)
    return { address: env.TEMPORAL_ADDRESS, uiUrl: env.TEMPORAL_UI_URL, otherPorts: [] };
  let last: EmbeddedTemporal | undefined;
  await supervisor.run({
    role: 'Temporal',
    stop: TEMPORAL_STOP,
    logFile: logFileOf(dataDir, 'temporal'),
    start: async (_attempt, spawned) => {
      const server = await startTemporal({
        dataDir,
        spawned,
        abort,
        codecEndpoint,
        progress: print,
        stuck: (reason) => print(`Temporal: ${reason}`),
        port: last?.port ?? env.TEMPORAL_PORT,
        uiPort: last?.uiPort ?? env.TEMPORAL_UI_PORT,
        otherPorts: last?.otherPorts,
        namespaces: env.TEMPORAL_NAMESPACE === 'default' ? [] : [env.TEMPORAL_NAMESPACE],
      });
      if (!last) print(`Temporal on ${server.address}`);
      last = server;
      return server;
    },
  });
  if (!last) throw new Error('Temporal did not start');
  return {
    address: last.address,
    uiUrl: env.TEMPORAL_UI_URL ?? last.uiUrl,
    otherPorts: [last.uiPort, ...last.otherPorts],
  };
}

function programOf(
  { dataDir }: Context,
  role: string,
  file: string,
  settings: EnvSource,
  isUp?: (running: ServerProcess) => Promise<void>,
): Service {
  const logFile = logFileOf(dataDir, role);
  return {
    role,
    stop: DRAIN,
    logFile,
    start: async (_attempt, spawned) => {
      const running = await spawnServer({
        command: process.execPath,
        args: ['--enable-source-maps', file],
        env: childEnv(settings),
        logFile,
      });
      await spawned(running.pid);
      await isUp?.(running);
      return running;
    },
  };
}

/**
 * The administrator that the api creates at its start if there is no user. A generated password is stored in
 * the data folder.
 */
async function firstAdmin({ env, dataDir }: Context, databaseUrl: string): Promise<Stack['admin']> {
  if (await hasUsers(databaseUrl))
    return existsSync(join(dataDir, 'admin-password'))
      ? { username: env.ADMIN_USERNAME, generated: true }
      : undefined;
  const password = env.ADMIN_PASSWORD ?? keptSecret(dataDir, 'admin-password', generatePassword);
  return { username: env.ADMIN_USERNAME, password, generated: env.ADMIN_PASSWORD === undefined };
}

/**
 * Waits until the administrator exists. The api creates it while already serving, but `ready` promises that
 * login works.
 */
async function waitForAdmin({ abort }: Context, databaseUrl: string): Promise<void> {
  for (const deadline = Date.now() + READY_TIMEOUT_MS; Date.now() < deadline; await sleep(50)) {
    abort.throwIfAborted();
    if (await hasUsers(databaseUrl)) return;
  }
  throw new Error('the api did not create the administrator');
}

async function hasUsers(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ found: boolean }>(
      'SELECT EXISTS (SELECT 1 FROM user_account) AS found',
    );
    return rows[0]?.found === true;
  } finally {
    await client.end();
  }
}

/** Waits until the api answers, with whatever status. */
async function waitForAnswer({ dataDir }: Context, running: ServerProcess, url: string): Promise<void> {
  for (
    const deadline = Date.now() + READY_TIMEOUT_MS;
    Date.now() < deadline && (await statusOf(url)) === undefined;
    await sleep(50)
  ) {
    if (running.hasExited()) throw exitedAtStart('api', dataDir);
  }
}

/**
 * Waits until the worker polls for work, so that runs started then are executed. If Temporal is unavailable,
 * it only prints that.
 */
async function waitForWorker(
  { env, dataDir, print }: Context,
  address: string,
  running: ServerProcess,
): Promise<void> {
  const state = await waitForPolls({
    env,
    address,
    running,
    trialMs: WORKER_TRIAL_MS,
    timeoutMs: WORKER_TIMEOUT_MS,
  });
  if (state === 'exited') throw exitedAtStart('worker', dataDir);
  if (state === 'unknown')
    print(
      `Temporal on ${address} does not answer: runs are accepted, and start when it does ` +
        `(log: ${logFileOf(dataDir, 'worker')})`,
    );
  if (state === 'late') print(`the worker does not process work yet (log: ${logFileOf(dataDir, 'worker')})`);
}

function exitedAtStart(role: string, dataDir: string): Error {
  return new Error(
    `the ${role} exited immediately. The end of its log:\n${lastLines(logFileOf(dataDir, role), 20)}`,
  );
}

async function waitUntilReady({ dataDir, abort }: Context, url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    abort.throwIfAborted();
    const status = await statusOf(url);
    if (status === 200) return;
    if (Date.now() > deadline) {
      throw new Error(
        `${url} answered ${status ?? 'nothing'} for ${READY_TIMEOUT_MS / 1000} s. ` +
          `The end of the api's log:\n${lastLines(logFileOf(dataDir, 'api'), 20)}`,
      );
    }
    await sleep(50);
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status;
    },
    () => undefined,
  );
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
